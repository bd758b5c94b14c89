//! The programs, and what they write.

use std::io;
use std::os::fd::OwnedFd;

use ontick_bpf::instruction::{
    CALL, EXIT, JUMP_IF_EQUAL, JUMP_IF_EQUAL_32, LOAD_32, LOAD_64, MOVE_32, OR, OR_VALUE, SET, SHIFT_LEFT, STORE_64,
};
use ontick_bpf::ring::Ring;
use ontick_bpf::tracepoint::attach;
use ontick_bpf::{Instruction, instruction};

use super::kernel::Kernel;
use crate::inspect::perf::Trace;
use crate::inspect::perf::records::{Body, Record};

/// Functions that every kernel has for its programs, by their numbers in `linux/bpf.h`.
const KTIME_GET_NS: i32 = 5;
const GET_SMP_PROCESSOR_ID: i32 = 8;
const GET_CURRENT_PID_TGID: i32 = 14;

/// What a record tells. Its words: when, a value, two threads, and in the lower half of the last the CPU and this number.
/// The value is what a call returned, or the state in which a thread lost its CPU (0: it would have gone on).
const ENDED_CALL: u8 = 1;
const SWITCHED: u8 = 2;
const WOKEN: u8 = 3;

/// Programs at work, until this is dropped. Nothing of them outlives the process.
#[derive(Debug)]
pub struct Programs {
    ring: Ring,
    _attached: Vec<OwnedFd>,
}

impl Programs {
    /// Records these events in a ring of so many octets: of `inspected`, but context switches of all.
    pub fn attach(kernel: &Kernel, traces: &[Trace], inspected: &[i32], all: &[i32], ring: usize) -> io::Result<Self> {
        let ring = Ring::new(ring)?;
        let programs = traces.iter().filter_map(|trace| match trace {
            Trace::Exit => Some((kernel.exit, exit(inspected), ENDED_CALL)),
            Trace::Waking => Some((kernel.waking, waking(kernel, inspected), WOKEN)),
            Trace::Switch => Some((kernel.switch, switch(kernel, all), SWITCHED)),
            _ => None,
        });
        let attached = programs
            .map(|(tracepoint, program, what)| attach(tracepoint, &[program, record(what, &ring)].concat()))
            .collect::<io::Result<_>>()?;
        Ok(Self { ring, _attached: attached })
    }

    /// What was recorded since.
    pub fn take(&mut self, mut found: impl FnMut(Record)) {
        let lost = self.ring.take(|words| records(words).into_iter().flatten().for_each(&mut found));
        if lost > 0 {
            found(Record { at_ns: 0, tid: 0, cpu: 0, body: Body::Lost(lost) });
        }
    }
}

/// The threads' events that a record tells of; of a switch those of both threads.
fn records([at_ns, value, threads, last]: [u64; 4]) -> [Option<Record>; 2] {
    let (tid, other) = (threads as u32 as i32, (threads >> 32) as i32);
    let (cpu, what) = (last as u32 >> 8, last as u8);
    let of = |tid, body| Some(Record { at_ns, tid, cpu, body });
    match what {
        ENDED_CALL => [of(tid, Body::Returned { result: value as i64 }), None],
        SWITCHED => [of(tid, Body::Out { preempted: value == 0 }), of(other, Body::In)],
        WOKEN => [of(tid, Body::Woken { waker: other }), None],
        _ => [None, None],
    }
}

// Each program leaves the value of its record in register 7, and its threads in register 9. The context, which has a
// tracepoint's arguments as words, is in register 1 at first.

/// `sys_exit(registers, result)`.
fn exit(inspected: &[i32]) -> Vec<Instruction> {
    let mut program =
        vec![instruction(LOAD_64, 7, 1, 8, 0), call(GET_CURRENT_PID_TGID), instruction(MOVE_32, 9, 0, 0, 0)];
    program.extend(unless_one_of(9, inspected, &nothing()));
    program
}

/// `sched_waking(thread)`, at work for whoever wakes it up.
fn waking(kernel: &Kernel, inspected: &[i32]) -> Vec<Instruction> {
    let mut program =
        vec![instruction(SET, 7, 0, 0, 0), instruction(LOAD_64, 9, 1, 0, 0), instruction(LOAD_32, 9, 9, kernel.tid, 0)];
    program.extend(unless_one_of(9, inspected, &nothing()));
    program.extend([call(GET_CURRENT_PID_TGID), instruction(SHIFT_LEFT, 0, 0, 0, 32), instruction(OR, 9, 0, 0, 0)]);
    program
}

/// `sched_switch(preempted, from, to, state)`.
fn switch(kernel: &Kernel, all: &[i32]) -> Vec<Instruction> {
    let mut program = vec![
        instruction(LOAD_64, 7, 1, 24, 0),
        instruction(LOAD_64, 2, 1, 0, 0),
        instruction(JUMP_IF_EQUAL, 2, 0, 1, 0),
        // Whoever is preempted would have gone on, in whatever state it was.
        instruction(SET, 7, 0, 0, 0),
        instruction(LOAD_64, 9, 1, 8, 0),
        instruction(LOAD_32, 9, 9, kernel.tid, 0),
        instruction(LOAD_64, 3, 1, 16, 0),
        instruction(LOAD_32, 3, 3, kernel.tid, 0),
    ];
    program.extend(unless_one_of(9, all, &unless_one_of(3, all, &nothing())));
    program.extend([instruction(SHIFT_LEFT, 3, 0, 0, 32), instruction(OR, 9, 3, 0, 0)]);
    program
}

/// What is done unless a register has the number of one of these threads; if it has, that is jumped over.
fn unless_one_of(register: u8, threads: &[i32], otherwise: &[Instruction]) -> Vec<Instruction> {
    let beyond = threads.len() + otherwise.len();
    let jump = |(n, tid): (usize, &i32)| instruction(JUMP_IF_EQUAL_32, register, 0, (beyond - n - 1) as i16, *tid);
    threads.iter().enumerate().map(jump).chain(otherwise.iter().copied()).collect()
}

fn nothing() -> [Instruction; 2] {
    [instruction(SET, 0, 0, 0, 0), instruction(EXIT, 0, 0, 0, 0)]
}

fn call(function: i32) -> Instruction {
    instruction(CALL, 0, 0, 0, function)
}

/// Writes the record, and ends.
fn record(what: u8, ring: &Ring) -> Vec<Instruction> {
    let (place, number) = (8, 6);
    let words = [
        instruction(STORE_64, place, 7, 8, 0),
        instruction(STORE_64, place, 9, 16, 0),
        call(KTIME_GET_NS),
        instruction(STORE_64, place, 0, 0, 0),
        call(GET_SMP_PROCESSOR_ID),
        instruction(SHIFT_LEFT, 0, 0, 0, 8),
        instruction(OR_VALUE, 0, 0, 0, i32::from(what)),
    ];
    [&ring.begin(place, number)[..], &words, &Ring::end(place, number, 0), &nothing()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Trace; 3] = [Trace::Exit, Trace::Waking, Trace::Switch];
    const CALLS: u64 = 2_000;

    /// So many calls that fail in the same way: how many of them a ring of so many octets told of, and how many records
    /// were lost. `None` where there may be no programs.
    fn calls(ring: usize) -> Option<(u64, u64)> {
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        let mut programs = match Kernel::find().and_then(|kernel| Programs::attach(&kernel, &ALL, &[tid], &[tid], ring))
        {
            Ok(programs) => programs,
            Err(error) => {
                ontick_skip::skipped!("no programs of bpf(2): {error}");
                return None;
            }
        };
        for _ in 0..CALLS {
            assert!(std::fs::metadata("/dev/null/nothing").is_err());
        }
        let (mut told, mut lost) = (0, 0);
        programs.take(|record| match record.body {
            Body::Returned { result } => told += u64::from(result == -i64::from(libc::ENOTDIR)),
            Body::Lost(count) => lost += count,
            _ => {}
        });
        Some((told, lost))
    }

    #[test]
    fn records_that_find_no_room_are_counted() {
        let Some((told, lost)) = calls(1 << 20) else { return };
        assert_eq!((told, lost), (CALLS, 0));
        let Some((told, lost)) = calls(1 << 12) else { return };
        assert!(told > 0 && lost > 0 && told + lost >= CALLS, "{told} told, {lost} lost");
    }

    #[test]
    fn a_record_tells_of_one_thread_or_of_two() {
        let record =
            |value: i64, what: u8| records([1_000, value as u64, 7 | 9 << 32, 5 << 32 | 3 << 8 | u64::from(what)]);
        let of = |tid, body| Some(Record { at_ns: 1_000, tid, cpu: 3, body });
        assert_eq!(record(-11, ENDED_CALL), [of(7, Body::Returned { result: -11 }), None]);
        assert_eq!(record(0, SWITCHED), [of(7, Body::Out { preempted: true }), of(9, Body::In)]);
        assert_eq!(record(1, SWITCHED), [of(7, Body::Out { preempted: false }), of(9, Body::In)]);
        assert_eq!(record(0, WOKEN), [of(7, Body::Woken { waker: 9 }), None]);
        assert_eq!(record(0, 77), [None, None]);
    }
}
