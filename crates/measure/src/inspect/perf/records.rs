//! The records of a ring, from bytes.

use super::abi::{self, REGISTERS};
use crate::inspect::symbols::UserStack;

/// A record of the kernel's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// When, by the monotonic clock, in ns.
    pub at_ns: u64,
    /// Of which thread.
    pub tid: i32,
    /// On which CPU.
    pub cpu: u32,
    /// What.
    pub body: Body,
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// An event of the number `id`.
    Sample {
        /// Which event.
        id: u64,
        /// A tracepoint's fields.
        raw: Vec<u8>,
        /// Where the thread was in its program.
        stack: Option<UserStack>,
    },
    /// The thread got a CPU.
    In,
    /// The thread lost its CPU: because it waits, or because another one came first.
    Out {
        /// It would have gone on.
        preempted: bool,
    },
    /// A system call of the thread ended.
    Returned {
        /// What it returned.
        result: i64,
    },
    /// The thread was woken up, by an interrupt or not.
    Woken {
        /// While which thread was at work; 0 for none.
        waker: i32,
    },
    /// The thread has another name.
    Name {
        /// Because it became another program.
        exec: bool,
    },
    /// The thread ended.
    Ended,
    /// So many records were dropped.
    Lost(u64),
}

/// What the samples of an event hold besides number, thread, time and CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holds {
    /// A tracepoint's fields.
    pub raw: bool,
    /// Registers and stack.
    pub stack: bool,
}

/// Reads the records of a ring, until one that makes no sense.
pub fn parse(bytes: &[u8], holds: impl Fn(u64) -> Holds, mut found: impl FnMut(Record)) {
    let mut rest = bytes;
    while let Some(header) = rest.get(..8) {
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let misc = u16::from_ne_bytes([header[4], header[5]]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        let Some(body) = rest.get(8..size) else { return };
        if let Some(record) = record(kind, misc, body, &holds) {
            found(record);
        }
        rest = &rest[size..];
    }
}

fn record(kind: u32, misc: u16, body: &[u8], holds: &impl Fn(u64) -> Holds) -> Option<Record> {
    if kind == abi::RECORD_SAMPLE {
        return sample(body, holds);
    }
    let what = match kind {
        abi::RECORD_LOST => Body::Lost(Words(body).nth(1)?),
        abi::RECORD_COMM => Body::Name { exec: misc & abi::MISC_COMM_EXEC != 0 },
        abi::RECORD_EXIT => Body::Ended,
        abi::RECORD_SWITCH if misc & abi::MISC_SWITCH_OUT == 0 => Body::In,
        abi::RECORD_SWITCH => Body::Out { preempted: misc & abi::MISC_SWITCH_OUT_PREEMPTED != 0 },
        _ => return None,
    };
    // Records that are no samples end with what a sample begins with: thread, time, CPU, number.
    let mut end = Words(body.get(body.len().checked_sub(32)?..)?);
    let mut tid = (end.next()? >> 32) as i32;
    if kind == abi::RECORD_EXIT {
        // Who ended, and who was current, are not the same where the parent is told.
        tid = Words(body).nth(1).map(|tids| tids as u32 as i32)?;
    }
    Some(Record { at_ns: end.next()?, tid, cpu: end.next()? as u32, body: what })
}

fn sample(body: &[u8], holds: &impl Fn(u64) -> Holds) -> Option<Record> {
    let mut words = Words(body);
    let id = words.next()?;
    let tid = (words.next()? >> 32) as i32;
    let (at_ns, cpu) = (words.next()?, words.next()? as u32);
    let holds = holds(id);
    let mut rest = words.0;
    let raw = if holds.raw { raw(&mut rest)? } else { &[] };
    let stack = if holds.stack { stack(&mut rest) } else { None };
    Some(Record { at_ns, tid, cpu, body: Body::Sample { id, raw: raw.to_vec(), stack } })
}

/// Length and bytes, together filled up to whole words.
fn raw<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = u32::from_ne_bytes(rest.get(..4)?.try_into().ok()?) as usize;
    let bytes = rest.get(4..4usize.checked_add(length)?)?;
    *rest = &rest[4 + length..];
    Some(bytes)
}

fn stack(rest: &mut &[u8]) -> Option<UserStack> {
    let registers = REGISTERS?;
    let mut words = Words(rest);
    // 0: the thread has no registers of a program (a kernel thread); 1: those of a 32-bit program.
    if words.next()? == 0 {
        return None;
    }
    let mut stack = UserStack::default();
    for bit in 0..64 {
        if abi::registers_wanted() >> bit & 1 == 0 {
            continue;
        }
        let value = words.next()?;
        if bit == registers.instruction {
            stack.instruction = value;
        } else if Some(bit) == registers.link {
            stack.link = Some(value);
        }
    }
    let size = words.next()? as usize;
    if size > 0 {
        let copied = words.0.get(..size)?;
        let valid = Words(words.0.get(size..)?).next()? as usize;
        stack.words = copied.get(..valid.min(size))?.chunks_exact(size_of::<usize>()).map(word).collect();
    }
    Some(stack)
}

fn word(bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    let at = if cfg!(target_endian = "little") { 0 } else { 8 - bytes.len() };
    wide[at..at + bytes.len()].copy_from_slice(bytes);
    u64::from_ne_bytes(wide)
}

/// Numbers of eight bytes, one after the other.
struct Words<'b>(&'b [u8]);

impl Iterator for Words<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_at_checked(8)?;
        self.0 = rest;
        Some(u64::from_ne_bytes(word.try_into().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(kind: u32, misc: u16, words: &[u64]) -> Vec<u8> {
        let size = 8 + 8 * words.len() as u16;
        let mut bytes = [&kind.to_ne_bytes()[..], &misc.to_ne_bytes(), &size.to_ne_bytes()].concat();
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes
    }

    fn parsed(bytes: &[u8], holds: Holds) -> Vec<Record> {
        let mut found = Vec::new();
        parse(bytes, |_| holds, |record| found.push(record));
        found
    }

    /// Thread 8 of process 7, at 1000 ns on CPU 3, of event 55.
    const END: [u64; 4] = [7 | 8 << 32, 1_000, 3, 55];

    #[test]
    fn switches_names_ends_and_losses_are_read() {
        let all = [
            bytes(abi::RECORD_SWITCH, 0, &END),
            bytes(abi::RECORD_SWITCH, abi::MISC_SWITCH_OUT, &END),
            bytes(abi::RECORD_SWITCH, abi::MISC_SWITCH_OUT | abi::MISC_SWITCH_OUT_PREEMPTED, &END),
            bytes(abi::RECORD_COMM, abi::MISC_COMM_EXEC, &[&[1, 2, 3], &END[..]].concat()),
            bytes(abi::RECORD_EXIT, 0, &[&[7 | 1 << 32, 9 | 1 << 32, 5], &END[..]].concat()),
            bytes(abi::RECORD_LOST, 0, &[&[55, 12], &END[..]].concat()),
            // One that is not known, and one that is cut off.
            bytes(77, 0, &END),
            bytes(abi::RECORD_SWITCH, 0, &END)[..20].to_vec(),
        ];
        let records = parsed(&all.concat(), Holds::default());
        let bodies: Vec<&Body> = records.iter().map(|record| &record.body).collect();
        let out = |preempted| Body::Out { preempted };
        let expected = [Body::In, out(false), out(true), Body::Name { exec: true }, Body::Ended, Body::Lost(12)];
        assert_eq!(bodies, expected.iter().collect::<Vec<_>>());
        assert_eq!(records[0], Record { at_ns: 1_000, tid: 8, cpu: 3, body: Body::In });
        assert_eq!(records[4].tid, 9);
    }

    #[test]
    fn a_sample_has_fields_and_a_stack() {
        let mut words = vec![55, 7 | 8 << 32, 1_000, 3];
        // Twelve bytes of fields, after their length.
        words.extend([12 | 0xaabb << 32, 0xccdd]);
        words.push(2);
        let registers = abi::registers_wanted().count_ones() as u64;
        words.extend((0..registers).map(|n| 0x1000 + n));
        words.extend([24, 0x401, 0x402, 0x403, 16]);
        let records = parsed(&bytes(abi::RECORD_SAMPLE, 0, &words), Holds { raw: true, stack: true });
        let Body::Sample { id: 55, raw, stack: Some(stack) } = &records[0].body else { panic!("{records:?}") };
        assert_eq!(raw.len(), 12);
        assert_eq!(raw[..4], 0xaabbu32.to_ne_bytes());
        assert!(stack.instruction >= 0x1000);
        assert_eq!(stack.words, [0x401, 0x402], "the rest was not copied");
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..256), kind in 0u32..16, raw: bool, stack: bool) {
            parsed(&bytes, Holds { raw, stack });
            let mut framed = [&kind.to_ne_bytes()[..], &0u16.to_ne_bytes(), &(8 + bytes.len() as u16).to_ne_bytes()].concat();
            framed.extend(&bytes);
            parsed(&framed, Holds { raw, stack });
        }
    }
}
