//! The structures of `kmod/uapi/ontick.h`, as C compilers lay them out.

/// The version of the interface that this program speaks.
pub const ABI: u32 = 1;
pub const LABEL_LEN: usize = 32;
pub const CELLS: usize = 1024;

pub const END_KEEP: u32 = 0;
pub const END_INACTIVE: u32 = 1;
pub const END_ACTIVE: u32 = 2;
pub const END_INPUT: u32 = 3;

pub const LINE_ACTIVE_LOW: u32 = 1;

pub const CONTEXT_HARD: u32 = 0;
pub const CONTEXT_THREADED: u32 = 1;
pub const EDGE_BOTH: u32 = 3;
pub const ANSWER_FOLLOW: u32 = 0;

pub const BY_UDELAY: u32 = 0;
pub const BY_USLEEP: u32 = 1;
pub const BY_HRTIMER: u32 = 2;
pub const TRAIN_NO_PREEMPT: u32 = 1;
pub const TRAIN_NO_IRQ: u32 = 2;
pub const WIDTH_MIN_NS: u64 = 1_000;
pub const GAP_MIN_NS: u64 = 1_000;
pub const NO_PREEMPT_MAX_NS: u64 = 100_000_000;
pub const NO_IRQ_MAX_NS: u64 = 10_000_000;
pub const DUTY_MAX: u64 = 90;

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Version {
    pub abi: u32,
    pub reserved: u32,
    pub module: [u8; 24],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Line {
    pub chip: [u8; LABEL_LEN],
    pub offset: u32,
    pub flags: u32,
    pub end: u32,
    pub reserved: u32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Response {
    pub input: Line,
    pub output: Line,
    pub context: u32,
    pub edge: u32,
    pub answer: u32,
    pub cpu: i32,
    pub priority: u32,
    pub reserved: [u32; 3],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Train {
    pub line: Line,
    pub width_ns: u64,
    pub period_ns: u64,
    pub count: u64,
    pub by: u32,
    pub flags: u32,
    pub cpu: i32,
    pub priority: u32,
    pub reserved: [u64; 2],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Pulse {
    pub rose_ns: u64,
    pub width_ns: u64,
    pub missed: u64,
    pub lost: u64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Result {
    pub count: u64,
    pub missed: u64,
    pub min_ns: u64,
    pub max_ns: u64,
    pub sum_ns: u64,
    pub cells: u64,
    pub state: u32,
    pub error: u32,
    pub irq: u32,
    pub reserved: u32,
}

/// A request's number: the direction (1: to the kernel, 2: from it), its own, and how much it carries. On x86 and ARM.
const fn request(direction: u32, number: u32, size: usize) -> u32 {
    direction << 30 | (size as u32) << 16 | 0xe3 << 8 | number
}

pub const GET_VERSION: u32 = request(2, 0, size_of::<Version>());
pub const SET_RESPONSE: u32 = request(1, 1, size_of::<Response>());
pub const SET_TRAIN: u32 = request(1, 2, size_of::<Train>());
pub const START: u32 = request(0, 3, 0);
pub const STOP: u32 = request(0, 5, 0);
pub const GET_RESULT: u32 = request(3, 6, size_of::<Result>());

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::mem::offset_of;
    use std::process::Command;

    use super::*;

    /// `name size`, then `field offset` for each, of a structure here and the same of the header's.
    macro_rules! layouts {
        ($($ours:ident $theirs:literal { $($field:ident),* })*) => {{
            let (mut ours, mut program) = (String::new(), String::new());
            $(
                let _ = writeln!(ours, "{} {}", $theirs, size_of::<$ours>());
                let _ = writeln!(program, "printf(\"{0} %zu\\n\", sizeof(struct {0}));", $theirs);
                $(
                    let _ = writeln!(ours, "{} {}", stringify!($field), offset_of!($ours, $field));
                    let _ = writeln!(
                        program,
                        "printf(\"{0} %zu\\n\", offsetof(struct {1}, {0}));",
                        stringify!($field),
                        $theirs
                    );
                )*
            )*
            (ours, program)
        }};
    }

    macro_rules! numbers {
        ($($ours:ident $theirs:literal)*) => {{
            let (mut ours, mut program) = (String::new(), String::new());
            $(
                let _ = writeln!(ours, "{} {}", $theirs, $ours);
                let _ = writeln!(program, "printf(\"{0} %llu\\n\", (unsigned long long){0});", $theirs);
            )*
            (ours, program)
        }};
    }

    #[test]
    fn structures_and_numbers_are_those_of_the_header() {
        if Command::new("cc").arg("--version").output().is_err() {
            ontick_skip::skipped!("there is no cc here to compile the header with");
            return;
        }
        let (structures, of_structures) = layouts! {
            Version "ontick_version" { abi, reserved, module }
            Line "ontick_line" { chip, offset, flags, end, reserved }
            Response "ontick_response" { input, output, context, edge, answer, cpu, priority, reserved }
            Train "ontick_train" { line, width_ns, period_ns, count, by, flags, cpu, priority, reserved }
            Pulse "ontick_pulse" { rose_ns, width_ns, missed, lost }
            Result "ontick_result" { count, missed, min_ns, max_ns, sum_ns, cells, state, error, irq, reserved }
        };
        let (values, of_values) = numbers! {
            ABI "ONTICK_ABI" LABEL_LEN "ONTICK_LABEL_LEN" CELLS "ONTICK_CELLS"
            END_KEEP "ONTICK_END_KEEP" END_INACTIVE "ONTICK_END_INACTIVE" END_ACTIVE "ONTICK_END_ACTIVE"
            END_INPUT "ONTICK_END_INPUT" LINE_ACTIVE_LOW "ONTICK_LINE_ACTIVE_LOW"
            CONTEXT_HARD "ONTICK_CONTEXT_HARD" CONTEXT_THREADED "ONTICK_CONTEXT_THREADED"
            EDGE_BOTH "ONTICK_EDGE_BOTH" ANSWER_FOLLOW "ONTICK_ANSWER_FOLLOW"
            BY_UDELAY "ONTICK_BY_UDELAY" BY_USLEEP "ONTICK_BY_USLEEP" BY_HRTIMER "ONTICK_BY_HRTIMER"
            TRAIN_NO_PREEMPT "ONTICK_TRAIN_NO_PREEMPT" TRAIN_NO_IRQ "ONTICK_TRAIN_NO_IRQ"
            WIDTH_MIN_NS "ONTICK_WIDTH_MIN_NS" GAP_MIN_NS "ONTICK_GAP_MIN_NS"
            NO_PREEMPT_MAX_NS "ONTICK_NO_PREEMPT_MAX_NS" NO_IRQ_MAX_NS "ONTICK_NO_IRQ_MAX_NS"
            DUTY_MAX "ONTICK_DUTY_MAX"
            GET_VERSION "ONTICK_IOC_VERSION" SET_RESPONSE "ONTICK_IOC_RESPONSE" SET_TRAIN "ONTICK_IOC_TRAIN"
            START "ONTICK_IOC_START" STOP "ONTICK_IOC_STOP" GET_RESULT "ONTICK_IOC_RESULT"
        };
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("abi.c"), folder.path().join("abi"));
        let text = format!(
            "#include <stddef.h>\n#include <stdio.h>\n#include \"ontick.h\"\nint main(void) {{\n{of_structures}{of_values}return 0;\n}}\n"
        );
        std::fs::write(&source, text).unwrap();
        let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kmod/uapi");
        let built =
            Command::new("cc").args(["-Wall", "-Werror", "-I", header, "-o"]).args([&program, &source]).output();
        let built = built.unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let reported = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
        assert_eq!(reported, structures + &values);
    }
}
