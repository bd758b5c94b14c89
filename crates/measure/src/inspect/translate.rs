//! The kernel's records as events of the program's threads, with the names of what they mention.

use std::collections::HashMap;

use super::calls::{OpenFile, takes_file};
use super::event::{Event, Kind, Waker};
use super::perf::records::{Body, Record};
use super::perf::{Trace, Tracepoints};
use super::program::{ThreadState, files};
use super::rules;
use super::symbols::{PlaceId, Symbols, UserStack};

/// Flags of a tracepoint that say that an interrupt is at work.
const HARD_INTERRUPT: u8 = 0x08;
const SOFT_INTERRUPT: u8 = 0x10;
/// What a thread waits in, or its end, by `sched_switch`.
const STATES_OF_SLEEP: i64 = 0xff;

/// What descriptors and threads are, asked once for each look.
pub struct Names {
    pid: i32,
    files: HashMap<u64, Option<OpenFile>>,
    wakers: HashMap<i32, Option<ThreadState>>,
    /// A thread of interrupts may have been interrupted, or have woken somebody up itself.
    pub unsure: bool,
}

impl Names {
    /// Of a program, as they are now.
    pub fn new(pid: i32) -> Self {
        Self { pid, files: HashMap::new(), wakers: HashMap::new(), unsure: false }
    }

    fn file(&mut self, fd: u64) -> Option<OpenFile> {
        self.files.entry(fd).or_insert_with(|| files::open_file(self.pid, fd)).clone()
    }

    fn waker(&mut self, tid: i32, interrupt: bool) -> Waker {
        let state = self.wakers.entry(tid).or_insert_with(|| ThreadState::read(tid, tid)).clone();
        let (name, policy, rank) = match state {
            Some(state) => (state.name.clone(), state.policy_name(), Some(state.rank())),
            None => ("a thread that ended".into(), "unknown".into(), None),
        };
        Waker { tid, name, policy, rank, interrupt }
    }

    /// One of which is known only that it was at work. With none at work it was an interrupt. It may have been one with
    /// another thread at work too; that matters to no rule but the one about threads of interrupts.
    fn waker_by_programs(&mut self, tid: i32) -> Waker {
        let mut waker = self.waker(tid, tid == 0);
        if rules::is_interrupt_thread(&waker.name) {
            (waker.interrupt, self.unsure) = (true, true);
        }
        waker
    }
}

/// A record as an event, or as two where one thread follows another.
pub fn events(
    record: Record,
    trace: Option<Trace>,
    tracepoints: &Tracepoints,
    symbols: &mut Symbols,
    names: &mut Names,
) -> Vec<Event> {
    if let (Body::Sample { raw, .. }, Some(Trace::Switch)) = (&record.body, trace) {
        let Some(format) = tracepoints.format(Trace::Switch) else { return Vec::new() };
        let Record { at_ns, cpu, .. } = record;
        let number = |name| format.number(raw, name);
        // It is ready to run, and has to wait: the bit above the states of sleep may say that it was interrupted.
        let preempted = number("prev_state") & STATES_OF_SLEEP == 0;
        return vec![
            Event { at_ns, tid: number("prev_pid") as i32, cpu, kind: Kind::Out { preempted } },
            Event { at_ns, tid: number("next_pid") as i32, cpu, kind: Kind::In },
        ];
    }
    event(record, trace, tracepoints, symbols, names).into_iter().collect()
}

fn event(
    record: Record,
    trace: Option<Trace>,
    tracepoints: &Tracepoints,
    symbols: &mut Symbols,
    names: &mut Names,
) -> Option<Event> {
    let Record { at_ns, mut tid, cpu, body } = record;
    let kind = match (body, trace) {
        (Body::In, _) => Kind::In,
        (Body::Returned { result }, _) => Kind::Exit { result },
        (Body::Woken { waker }, _) => Kind::Woken(names.waker_by_programs(waker)),
        (Body::Out { preempted }, _) => Kind::Out { preempted },
        (Body::Ended, _) => Kind::Ended,
        (Body::Name { exec: true }, _) => Kind::Exec,
        (Body::Sample { raw, stack, .. }, Some(trace)) => {
            let place = |symbols: &mut Symbols, stack: Option<UserStack>| -> Option<PlaceId> {
                stack.map(|stack| symbols.locate(&stack))
            };
            match trace {
                Trace::Enter => {
                    let (number, arguments) = entered(&raw)?;
                    let file = takes_file(number).then(|| names.file(arguments[0])).flatten();
                    Kind::Enter { number, arguments, file, place: place(symbols, stack) }
                }
                Trace::Exit => Kind::Exit { result: words(&raw).nth(1)? as i64 },
                Trace::Fault | Trace::KernelFault | Trace::MinorFault => {
                    Kind::Fault { major: false, place: place(symbols, stack) }
                }
                Trace::MajorFault => Kind::Fault { major: true, place: place(symbols, stack) },
                Trace::Signal => Kind::Signal(tracepoints.format(trace)?.number(&raw, "sig") as i32),
                Trace::Waking => {
                    let format = tracepoints.format(trace)?;
                    let flags = format.number(&raw, "common_flags") as u8;
                    let waker = format.number(&raw, "common_pid") as i32;
                    // The record is the waker's, or the thread's that is woken up.
                    tid = format.number(&raw, "pid") as i32;
                    Kind::Woken(names.waker(waker, flags & (HARD_INTERRUPT | SOFT_INTERRUPT) != 0))
                }
                Trace::Switch | Trace::Switches => return None,
            }
        }
        _ => return None,
    };
    Some(Event { at_ns, tid, cpu, kind })
}

/// After the fields that all tracepoints have, the numbers of a system call are as wide as a register.
fn words(raw: &[u8]) -> impl Iterator<Item = u64> + '_ {
    const COMMON: usize = 8;
    raw.get(COMMON..).unwrap_or_default().chunks_exact(size_of::<usize>()).map(|bytes| {
        let mut wide = [0; 8];
        wide[..bytes.len()].copy_from_slice(bytes);
        u64::from_ne_bytes(wide)
    })
}

fn entered(raw: &[u8]) -> Option<(i64, [u64; 6])> {
    let mut words = words(raw);
    let number = words.next()? as usize as isize as i64;
    let mut arguments = [0; 6];
    arguments.iter_mut().zip(words).for_each(|(argument, word)| *argument = word);
    Some((number, arguments))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_at_work_is_doubted_where_it_does_the_work_of_interrupts() {
        let mut names = Names::new(1);
        for (tid, name) in [(50, "logger"), (51, "ksoftirqd/0")] {
            names.wakers.insert(tid, Some(ThreadState { tid, name: name.into(), ..ThreadState::default() }));
        }
        let mut by_programs = |tid| (names.waker_by_programs(tid).interrupt, names.unsure);
        assert_eq!([by_programs(0), by_programs(50), by_programs(51)], [(true, false), (false, false), (true, true)]);
    }
}
