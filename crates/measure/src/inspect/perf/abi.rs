//! The structures and numbers of perf_event_open(2), as far as they are used.

/// `struct perf_event_attr`, in its version 7 (Linux 5.13).
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Attributes {
    pub kind: u32,
    pub size: u32,
    pub config: u64,
    pub sample_period: u64,
    pub sample_type: u64,
    pub read_format: u64,
    pub flags: u64,
    pub wakeup: u32,
    pub breakpoint_type: u32,
    pub config1: u64,
    pub config2: u64,
    pub branch_sample_type: u64,
    pub sample_regs_user: u64,
    pub sample_stack_user: u32,
    pub clockid: i32,
    pub sample_regs_intr: u64,
    pub aux_watermark: u32,
    pub sample_max_stack: u16,
    pub reserved_2: u16,
    pub aux_sample_size: u32,
    pub reserved_3: u32,
}

/// Older kernels know a shorter structure, and take a longer one whose rest is zero.
pub const SIZE: u32 = size_of::<Attributes>() as u32;

pub const TYPE_SOFTWARE: u32 = 1;
pub const TYPE_TRACEPOINT: u32 = 2;

pub const SOFTWARE_FAULTS_MINOR: u64 = 5;
pub const SOFTWARE_FAULTS_MAJOR: u64 = 6;
pub const SOFTWARE_DUMMY: u64 = 9;

pub const SAMPLE_TID: u64 = 1 << 1;
pub const SAMPLE_TIME: u64 = 1 << 2;
pub const SAMPLE_CPU: u64 = 1 << 7;
pub const SAMPLE_RAW: u64 = 1 << 10;
pub const SAMPLE_REGS_USER: u64 = 1 << 12;
pub const SAMPLE_STACK_USER: u64 = 1 << 13;
pub const SAMPLE_IDENTIFIER: u64 = 1 << 16;

pub const FLAG_DISABLED: u64 = 1;
pub const FLAG_EXCLUDE_KERNEL: u64 = 1 << 5;
pub const FLAG_COMM: u64 = 1 << 9;
pub const FLAG_TASK: u64 = 1 << 13;
pub const FLAG_SAMPLE_ID_ALL: u64 = 1 << 18;
pub const FLAG_COMM_EXEC: u64 = 1 << 24;
pub const FLAG_USE_CLOCKID: u64 = 1 << 25;
pub const FLAG_CONTEXT_SWITCH: u64 = 1 << 26;

pub const OPEN_CLOEXEC: u64 = 8;

pub const RECORD_LOST: u32 = 2;
pub const RECORD_COMM: u32 = 3;
pub const RECORD_EXIT: u32 = 4;
pub const RECORD_SAMPLE: u32 = 9;
pub const RECORD_SWITCH: u32 = 14;

pub const MISC_COMM_EXEC: u16 = 1 << 13;
pub const MISC_SWITCH_OUT: u16 = 1 << 13;
pub const MISC_SWITCH_OUT_PREEMPTED: u16 = 1 << 14;

/// Registers of a thread in its program, by the number of their bit (`asm/perf_regs.h`): instruction pointer, stack
/// pointer, and the register with the return address where there is one.
pub struct Registers {
    pub instruction: u32,
    pub stack: u32,
    pub link: Option<u32>,
}

pub const REGISTERS: Option<Registers> = if cfg!(any(target_arch = "x86_64", target_arch = "x86")) {
    Some(Registers { instruction: 8, stack: 7, link: None })
} else if cfg!(target_arch = "aarch64") {
    Some(Registers { instruction: 32, stack: 31, link: Some(30) })
} else if cfg!(target_arch = "arm") {
    Some(Registers { instruction: 15, stack: 13, link: Some(14) })
} else if cfg!(target_arch = "riscv64") {
    Some(Registers { instruction: 0, stack: 2, link: Some(1) })
} else {
    None
};

/// The bits of these registers.
pub fn registers_wanted() -> u64 {
    REGISTERS.map_or(0, |r| 1 << r.instruction | 1 << r.stack | r.link.map_or(0, |link| 1 << link))
}
