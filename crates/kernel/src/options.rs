//! The options that decide whether a kernel can act on time, each with what it should be and on whose word.
//!
//! The same table judges a configuration (`ontick kernel check`) and makes one (`ontick kernel configure`).

use Arch::{Arm, Arm64, X86};
use Want::{AtLeast, BuiltIn, Off, On};
use ontick_record::Severity;

/// What an option should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// `y`: it cannot be, or must not be, a module.
    BuiltIn,
    /// `y` or `m`.
    On,
    /// Not set.
    Off,
    /// A number that is at least this.
    AtLeast(u32),
}

/// A family of processors, as the kernel's source tree names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arch {
    /// 32-bit ARM.
    Arm,
    /// 64-bit ARM.
    Arm64,
    /// 32- and 64-bit x86.
    X86,
}

impl Arch {
    /// All that are known here.
    pub const ALL: [Self; 3] = [Arm, Arm64, X86];

    /// As `ARCH=` of the kernel's makefiles takes it.
    pub fn name(self) -> &'static str {
        match self {
            Arm => "arm",
            Arm64 => "arm64",
            X86 => "x86",
        }
    }

    /// Out of the kernel's, Debian's or `uname`'s name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "arm" | "armhf" | "armel" | "armv6l" | "armv7l" => Some(Arm),
            "arm64" | "aarch64" => Some(Arm64),
            "x86" | "x86_64" | "amd64" | "i386" | "i686" => Some(X86),
            _ => None,
        }
    }
}

/// One option of the kernel's configuration.
#[derive(Debug, Clone, Copy)]
pub struct KernelOption {
    /// Without `CONFIG_`.
    pub name: &'static str,
    /// What it was called before it got its name, if anything.
    pub formerly: Option<&'static str>,
    /// What it should be.
    pub want: Want,
    /// How bad it is if it is not.
    pub otherwise: Severity,
    /// Why, in one sentence.
    pub why: &'static str,
    /// On whose word.
    pub source: &'static str,
    /// Where it exists; empty for everywhere.
    pub arches: &'static [Arch],
    /// The kernel that brought it, major and minor version; (0, 0) for all that are looked at here.
    pub since: (u32, u32),
    /// An option that must be on for this one to say anything.
    pub given: Option<&'static str>,
}

impl KernelOption {
    const fn new(name: &'static str, want: Want, otherwise: Severity, why: &'static str, source: &'static str) -> Self {
        Self { name, formerly: None, want, otherwise, why, source, arches: &[], since: (0, 0), given: None }
    }

    const fn formerly(mut self, name: &'static str) -> Self {
        self.formerly = Some(name);
        self
    }

    const fn on(mut self, arches: &'static [Arch]) -> Self {
        self.arches = arches;
        self
    }

    const fn since(mut self, major: u32, minor: u32) -> Self {
        self.since = (major, minor);
        self
    }

    const fn given(mut self, name: &'static str) -> Self {
        self.given = Some(name);
        self
    }

    /// Whether a kernel of this architecture and version has it; what is not known rules nothing out.
    pub fn exists(&self, arch: Option<Arch>, version: Option<(u32, u32)>) -> bool {
        arch.is_none_or(|arch| self.arches.is_empty() || self.arches.contains(&arch))
            && version.is_none_or(|version| version >= self.since)
    }
}

const BAD: Severity = Severity::Bad;
const WARN: Severity = Severity::Warn;
const DEBUGGING: &str =
    "Linux Foundation real-time wiki: debug options to avoid; kernel: lib/Kconfig.debug on the option's cost";

/// All of them; what matters most comes first.
pub const OPTIONS: &[KernelOption] = &[
    KernelOption::new(
        "PREEMPT_RT",
        BuiltIn,
        BAD,
        "only then is the kernel preemptible nearly everywhere, and a bound on latency can be hoped for",
        "kernel: core-api/real-time; source 004: 95 µs at most with it; source 003: 14 ms without",
    )
    .formerly("PREEMPT_RT_FULL"),
    KernelOption::new(
        "HIGH_RES_TIMERS",
        BuiltIn,
        BAD,
        "without them a sleep ends at a tick, not at its time",
        "kernel: timers/highres; source 004 demands it",
    ),
    KernelOption::new(
        "NO_HZ_FULL",
        BuiltIn,
        WARN,
        "without it nohz_full= does nothing, and a CPU of one's own is interrupted HZ times a second",
        "kernel: timers/no_hz",
    ),
    KernelOption::new(
        "RCU_NOCB_CPU",
        BuiltIn,
        WARN,
        "without it the kernel's deferred work (RCU callbacks) cannot be moved off a CPU of one's own",
        "kernel: RCU/Design and timers/no_hz",
    ),
    KernelOption::new(
        "CPU_ISOLATION",
        BuiltIn,
        WARN,
        "without it isolcpus= and nohz_full= keep less of the kernel's own work off a CPU",
        "kernel: init/Kconfig, CPU_ISOLATION",
    ),
    KernelOption::new(
        "CPUSETS",
        BuiltIn,
        WARN,
        "without it no group of tasks can be kept off a CPU while the machine runs",
        "kernel: admin-guide/cgroup-v2, cpuset",
    ),
    KernelOption::new(
        "RCU_BOOST",
        BuiltIn,
        WARN,
        "without it a preempted RCU reader of low priority can hold up those who wait for a grace period",
        "kernel: kernel/rcu/Kconfig, default with PREEMPT_RT",
    )
    .given("PREEMPT_RT"),
    KernelOption::new(
        "HZ",
        AtLeast(250),
        WARN,
        "what waits for a tick (timers without high resolution, time slices, load balancing) waits up to 1/HZ",
        "kernel: kernel/Kconfig.hz",
    ),
    KernelOption::new(
        "RT_GROUP_SCHED",
        Off,
        WARN,
        "with it a thread in a control group without a budget of its own cannot become real-time at all",
        "kernel: scheduler/sched-rt-group and admin-guide/cgroup-v2",
    ),
    KernelOption::new(
        "CPU_FREQ_GOV_PERFORMANCE",
        On,
        WARN,
        "without it a processor's frequency cannot be held, and changes of it stall the processor",
        "kernel: admin-guide/pm/cpufreq",
    )
    .given("CPU_FREQ"),
    KernelOption::new(
        "TRANSPARENT_HUGEPAGE_ALWAYS",
        Off,
        WARN,
        "huge pages that the kernel makes by itself move memory while a program uses it",
        "kernel: admin-guide/mm/transhuge; mm/Kconfig excludes them with PREEMPT_RT",
    ),
    KernelOption::new(
        "NUMA_BALANCING_DEFAULT_ENABLED",
        Off,
        WARN,
        "memory is unmapped now and then to see who uses it, which costs the user a page fault",
        "kernel: admin-guide/sysctl/kernel, numa_balancing",
    )
    .on(&[Arm64, X86]),
    KernelOption::new("PROVE_LOCKING", Off, BAD, "every lock is checked against all others each time", DEBUGGING),
    KernelOption::new("DEBUG_LOCKDEP", Off, BAD, "the checker of locks checks itself, too", DEBUGGING),
    KernelOption::new("LOCK_STAT", Off, BAD, "every lock's waiting and holding is timed", DEBUGGING),
    KernelOption::new("KASAN", Off, BAD, "every access to memory is checked, two to three times slower", DEBUGGING),
    KernelOption::new("KCSAN", Off, BAD, "accesses to memory are delayed on purpose to find races", DEBUGGING),
    KernelOption::new("KMSAN", Off, BAD, "every value's origin is tracked", DEBUGGING).on(&[X86]),
    KernelOption::new("DEBUG_KMEMLEAK", Off, BAD, "all memory is scanned for leaks with locks held", DEBUGGING),
    KernelOption::new("DEBUG_PAGEALLOC", Off, BAD, "pages are unmapped whenever they are freed", DEBUGGING),
    KernelOption::new("DEBUG_OBJECTS", Off, BAD, "timers and work items are looked up at each use", DEBUGGING),
    KernelOption::new("SLUB_DEBUG_ON", Off, BAD, "every allocation is filled and checked", DEBUGGING),
    KernelOption::new("DEBUG_SPINLOCK", Off, WARN, "every spin lock checks its owner", DEBUGGING),
    KernelOption::new("DEBUG_MUTEXES", Off, WARN, "every mutex checks its owner", DEBUGGING),
    KernelOption::new("DEBUG_ATOMIC_SLEEP", Off, WARN, "every place that may sleep asks whether it may", DEBUGGING),
    KernelOption::new("DEBUG_PREEMPT", Off, WARN, "each use of a variable per CPU is checked", DEBUGGING),
    KernelOption::new("LATENCYTOP", Off, WARN, "every sleep's call chain is taken down", DEBUGGING),
    KernelOption::new(
        "IRQSOFF_TRACER",
        Off,
        WARN,
        "each disabling and enabling of interrupts passes a hook, whether or not anybody traces",
        "kernel: kernel/trace/Kconfig, IRQSOFF_TRACER",
    ),
    KernelOption::new(
        "PREEMPT_TRACER",
        Off,
        WARN,
        "each disabling and enabling of preemption passes a hook, whether or not anybody traces",
        "kernel: kernel/trace/Kconfig, PREEMPT_TRACER",
    ),
    KernelOption::new(
        "OSNOISE_TRACER",
        BuiltIn,
        WARN,
        "without it nobody can say what took a CPU's time from a program",
        "kernel: trace/osnoise-tracer",
    )
    .since(5, 14),
    KernelOption::new(
        "TIMERLAT_TRACER",
        BuiltIn,
        WARN,
        "without it nobody can say which part of a wake-up was late",
        "kernel: trace/timerlat-tracer",
    )
    .since(5, 14),
    KernelOption::new(
        "GPIO_CDEV",
        BuiltIn,
        WARN,
        "without it programs cannot drive GPIO lines and get their edges with time stamps",
        "kernel: userspace-api/gpio/chardev",
    )
    .since(5, 10),
    KernelOption::new(
        "NET_SCH_TAPRIO",
        On,
        WARN,
        "without it a network port cannot open and close its queues by the clock",
        "kernel: net/sched/Kconfig; source 004",
    ),
    KernelOption::new(
        "NET_SCH_ETF",
        On,
        WARN,
        "without it a frame cannot be sent at a given time",
        "kernel: net/sched/Kconfig",
    ),
    KernelOption::new(
        "PTP_1588_CLOCK",
        On,
        WARN,
        "without it the clocks of machines cannot be brought together through their network ports",
        "kernel: driver-api/ptp",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_says_why_and_who() {
        let mut names: Vec<_> = OPTIONS.iter().map(|o| o.name).collect();
        assert!(OPTIONS.iter().all(|o| o.why.len() > 20 && o.source.len() > 5 && o.otherwise != Severity::Ok));
        names.sort_unstable();
        names.windows(2).for_each(|w| assert_ne!(w[0], w[1]));
    }

    #[test]
    fn an_architecture_has_many_names_and_one() {
        for arch in Arch::ALL {
            assert_eq!(Arch::named(arch.name()), Some(arch));
        }
        assert_eq!(Arch::named("aarch64"), Some(Arm64));
        assert_eq!(Arch::named("vax"), None);
    }
}
