//! Who may take the CPU from a real-time task.

use super::{DEDICATED, Knob, QUICK, Want, steered};
use crate::facts::Preemption;
use crate::value_format::ValueFormat;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "rt-throttling",
        paths: &["/proc/sys/kernel/sched_rt_runtime_us"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |_, _| Want::set(-1),
        why: "with throttling a loop that never sleeps loses 50 ms of every second",
        source: "source 000 (50 ms lost every second); kernel: scheduler/sched-rt-group",
    },
    // After the sysctl: the kernel refuses a group more than the whole machine has (EINVAL).
    Knob {
        name: "rt-group-throttling",
        paths: &["/sys/fs/cgroup/cpu/cpu.rt_runtime_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.rt_runtime_us"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |_, _| Want::set(-1),
        why: "with RT_GROUP_SCHED the root group keeps its own limit, whatever the sysctl says",
        source: "measured on another machine with Linux 6.18; kernel: scheduler/sched-rt-group",
    },
    Knob {
        name: "fair-server",
        paths: &["/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime"],
        form: ValueFormat::Plain,
        profiles: DEDICATED,
        isolates: false,
        want: |target, _| steered(target, || Want::set(0)),
        why: "since Linux 6.12 starving normal tasks get 50 ms of every second from a real-time task, throttling off or not",
        source: "measured on another machine with Linux 6.18: a spinning FIFO 99 loop lost 54 ms once a second; kernel: scheduler/sched-deadline",
    },
    Knob {
        name: "preemption",
        paths: &["/sys/kernel/debug/sched/preempt"],
        form: ValueFormat::Choice,
        profiles: QUICK,
        isolates: false,
        want: |_, file| match file.facts.kernel.preemption {
            Preemption::Rt => Want::leave("PREEMPT_RT preempts everywhere already"),
            _ if !file.shown.contains("full") => Want::leave("this kernel does not offer full preemption"),
            _ => Want::set("full"),
        },
        why: "without full preemption a system call of another task is finished before the timed task gets the CPU",
        source: "kernel: admin-guide/kernel-parameters (preempt=); source 003 (up to 14 ms without, 97 µs with care)",
    },
];
