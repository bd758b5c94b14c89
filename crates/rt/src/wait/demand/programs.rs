//! Programs that count, at the scheduler's tracepoints, which threads of normal priority want one CPU.
//!
//! The scheduler calls them with the queue of that CPU locked, but for one that moves a thread there. So a count may be
//! wrong by some: whenever the CPU is idle nobody waits, and the count is set right.

use std::os::fd::AsRawFd;

use ontick_bpf::instruction::{
    AND, ATOMIC_64, ATOMIC_ADD, CALL, EXIT, JUMP, JUMP_IF_EQUAL_32, JUMP_IF_GREATER_SIGNED, JUMP_IF_LESS_SIGNED_32,
    JUMP_UNLESS_EQUAL, JUMP_UNLESS_EQUAL_32, LOAD_32, LOAD_64, LOAD_IMMEDIATE_64, MAP_VALUE, MOVE, SET, STORE_64,
};
use ontick_bpf::map::Shared;
use ontick_bpf::{Instruction, instruction};

use super::Kernel;

/// How many want the CPU now, and how many have come, among the numbers that are shared.
pub const WAITING: usize = 0;
/// See above.
pub const CAME: usize = 1;
const WORDS: usize = 2;

/// Of the kernel's functions for programs.
const GET_SMP_PROCESSOR_ID: i32 = 8;
/// Real-time priorities are below it, as the kernel counts.
const NORMAL: i32 = 100;

/// The numbers; until the CPU was idle once, somebody may wait.
pub fn shared() -> std::io::Result<Shared> {
    let shared = Shared::new(WORDS)?;
    shared.write(WAITING, 1);
    Ok(shared)
}

/// At `sched_wakeup(thread)` and `sched_wakeup_new(thread)`.
pub fn woken(kernel: &Kernel, cpu: u32, shared: &Shared) -> Vec<Instruction> {
    let body = [
        vec![
            instruction(LOAD_64, 6, 1, 0, 0),
            instruction(LOAD_32, 2, 6, kernel.priority, 0),
            instruction(JUMP_IF_LESS_SIGNED_32, 2, 0, TO_END, NORMAL),
            instruction(LOAD_32, 2, 6, kernel.cpu, 0),
            instruction(JUMP_UNLESS_EQUAL_32, 2, 0, TO_END, cpu as i32),
        ],
        counts(9, shared).to_vec(),
        add(9, WAITING, 1).to_vec(),
        add(9, CAME, 1).to_vec(),
    ];
    ended(body.concat())
}

/// At `sched_migrate_task(thread, to)`, also for a thread that is about to be woken up: that counts later.
pub fn moved(kernel: &Kernel, cpu: u32, shared: &Shared) -> Vec<Instruction> {
    let body = [
        vec![
            instruction(LOAD_64, 6, 1, 0, 0),
            instruction(LOAD_64, 7, 1, 8, 0),
            instruction(LOAD_32, 2, 6, kernel.priority, 0),
            instruction(JUMP_IF_LESS_SIGNED_32, 2, 0, TO_END, NORMAL),
            instruction(LOAD_32, 2, 6, kernel.is_queued, 0),
            instruction(JUMP_IF_EQUAL_32, 2, 0, TO_END, 0),
        ],
        counts(9, shared).to_vec(),
        vec![instruction(LOAD_32, 2, 6, kernel.cpu, 0), instruction(JUMP_UNLESS_EQUAL_32, 2, 0, 3, cpu as i32)],
        add(9, WAITING, -1).to_vec(),
        vec![instruction(JUMP, 0, 0, TO_END, 0), instruction(JUMP_UNLESS_EQUAL_32, 7, 0, TO_END, cpu as i32)],
        add(9, WAITING, 1).to_vec(),
        add(9, CAME, 1).to_vec(),
    ];
    ended(body.concat())
}

/// At `sched_switch(preempted, from, to, state)`.
pub fn switched(kernel: &Kernel, cpu: u32, shared: &Shared) -> Vec<Instruction> {
    let body = [
        vec![
            instruction(MOVE, 6, 1, 0, 0),
            instruction(CALL, 0, 0, 0, GET_SMP_PROCESSOR_ID),
            instruction(JUMP_UNLESS_EQUAL_32, 0, 0, TO_END, cpu as i32),
        ],
        counts(9, shared).to_vec(),
        vec![
            // To the idle thread: nobody waits.
            instruction(LOAD_64, 3, 6, 16, 0),
            instruction(LOAD_32, 2, 3, kernel.number, 0),
            instruction(JUMP_UNLESS_EQUAL_32, 2, 0, 3, 0),
            instruction(SET, 2, 0, 0, 0),
            instruction(STORE_64, 9, 2, WAITING as i16 * 8, 0),
            instruction(JUMP, 0, 0, TO_END, 0),
            // From the idle thread, or one of real-time priority.
            instruction(LOAD_64, 3, 6, 8, 0),
            instruction(LOAD_32, 2, 3, kernel.number, 0),
            instruction(JUMP_IF_EQUAL_32, 2, 0, TO_END, 0),
            instruction(LOAD_32, 2, 3, kernel.priority, 0),
            instruction(JUMP_IF_LESS_SIGNED_32, 2, 0, TO_END, NORMAL),
            // One that was preempted would go on, and so would one that runs.
            instruction(LOAD_64, 2, 6, 0, 0),
            instruction(AND, 2, 0, 0, 1),
            instruction(JUMP_UNLESS_EQUAL, 2, 0, 5, 0),
            instruction(LOAD_64, 2, 6, 24, 0),
            instruction(JUMP_IF_EQUAL_32, 2, 0, 3, 0),
        ],
        add(9, WAITING, -1).to_vec(),
        vec![
            instruction(JUMP, 0, 0, TO_END, 0),
            instruction(LOAD_64, 2, 9, WAITING as i16 * 8, 0),
            instruction(JUMP_IF_GREATER_SIGNED, 2, 0, TO_END, 0),
            instruction(SET, 2, 0, 0, 1),
            instruction(STORE_64, 9, 2, WAITING as i16 * 8, 0),
        ],
    ];
    ended(body.concat())
}

/// A jump over what is left of the program; how far, [`ended`] puts in.
const TO_END: i16 = i16::MAX;

fn ended(mut body: Vec<Instruction>) -> Vec<Instruction> {
    let length = body.len();
    for (at, jump) in body.iter_mut().enumerate().filter(|(_, instruction)| instruction.offset() == TO_END) {
        *jump = jump.with_offset((length - at - 1) as i16);
    }
    body.extend([instruction(SET, 0, 0, 0, 0), instruction(EXIT, 0, 0, 0, 0)]);
    body
}

/// Where the shared numbers are, to a register.
fn counts(register: u8, shared: &Shared) -> [Instruction; 2] {
    [instruction(LOAD_IMMEDIATE_64, register, MAP_VALUE, 0, shared.map().as_raw_fd()), instruction(0, 0, 0, 0, 0)]
}

/// To one of them.
fn add(register: u8, word: usize, number: i32) -> [Instruction; 2] {
    [instruction(SET, 2, 0, 0, number), instruction(ATOMIC_64, register, 2, word as i16 * 8, ATOMIC_ADD)]
}
