//! The kernel itself: how far it can be preempted and what it was built with.

use super::{Check, CheckInput, MS, Observation, Remedy, US};
use crate::facts::Preemption;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "preemption",
        why: "a kernel that is not preemptible finishes what it does for another program before a timed one runs",
        source: "source 003: stock user space up to 14 ms late; source 001: PREEMPT_RT under stress below 50 µs",
        look: |look| preemption(look).only(),
    },
    Check {
        id: "kernel-config",
        why: "without the kernel's configuration some things can only be guessed",
        source: "kernel: CONFIG_IKCONFIG_PROC",
        look: |look| match look.facts.config.known() {
            true => Observation::ok(format!("read from {}", look.facts.config.source)).only(),
            false => {
                Observation::unknown("no kernel configuration was found", "/proc/config.gz or /boot/config-RELEASE")
                    .now("modprobe configs")
                    .only()
            }
        },
    },
    Check {
        id: "kernel-debugging",
        why: "lock and memory checking makes every kernel path several times longer",
        source: "Linux Foundation real-time wiki: debug options to avoid (PROVE_LOCKING, DEBUG_PREEMPT, LATENCYTOP, KASAN)",
        look: |look| {
            let config = &look.facts.config;
            let slow =
                ["PROVE_LOCKING", "KASAN", "DEBUG_PREEMPT", "DEBUG_LOCKDEP", "LATENCYTOP", "SLUB_DEBUG_ON", "KCSAN"];
            let on: Vec<&str> = slow.into_iter().filter(|name| config.has(name) == Some(true)).collect();
            match (config.known(), on.is_empty()) {
                (false, _) => Vec::new(),
                (_, true) => Observation::ok("no costly debugging is built in").only(),
                // Distributions ship DEBUG_PREEMPT or LATENCYTOP now and then; only the heavy ones are bad.
                (_, false) if on.iter().all(|n| matches!(*n, "DEBUG_PREEMPT" | "LATENCYTOP")) => {
                    Observation::warn(on.join(", "), "off").boot("a kernel built without them").only()
                }
                (_, false) => Observation::bad(on.join(", "), "off").boot("a kernel built without them").only(),
            }
        },
    },
    Check {
        id: "high-resolution-timers",
        why: "without them a sleep ends at a tick, not at its time",
        source: "kernel: timers/highres",
        look: |look| match look.facts.clock.high_resolution {
            Some(true) => Observation::ok("on").only(),
            Some(false) => {
                let tick_ns = 1_000_000_000 / u64::from(look.facts.clock.tick_hz.unwrap_or(100).max(1));
                let seen = Observation::bad("off", "on (CONFIG_HIGH_RES_TIMERS, no highres=off)").costs(tick_ns);
                seen.boot("take highres=off away, or a kernel with CONFIG_HIGH_RES_TIMERS").only()
            }
            None => Vec::new(),
        },
    },
    Check {
        id: "clock-source",
        why: "a slow clock source costs a system call and a bus access each time that a program looks at the clock",
        source: "measured on another machine: reading the TSC by vDSO 20 ns, a real system call 206 ns; kernel: timers/timekeeping",
        look: |look| clock_source(look).only(),
    },
];

fn preemption(look: &CheckInput) -> Observation {
    let kernel = &look.facts.kernel;
    let model = kernel.preemption.name();
    let dynamic = kernel.preemption_dynamic == Some(true);
    let mend = |seen: Observation| match dynamic {
        true if kernel.preemption_switch => seen.knob("preemption").boot(Remedy::at_boot("preempt=full")),
        true => seen.boot(Remedy::at_boot("preempt=full")),
        false => seen.boot(Remedy::Kernel("PREEMPT_RT")),
    };
    match kernel.preemption {
        Preemption::Rt => Observation::ok(model),
        Preemption::Full | Preemption::Lazy => {
            Observation::warn(model, "PREEMPT_RT, for a bound in the worst case").boot(Remedy::Kernel("PREEMPT_RT"))
        }
        Preemption::Voluntary | Preemption::None => {
            mend(Observation::bad(model, "PREEMPT_RT, or full").costs_elsewhere(14 * MS))
        }
        Preemption::Unknown => mend(Observation::unknown("the preemption model is unknown", "PREEMPT_RT, or full")),
    }
}

fn clock_source(look: &CheckInput) -> Observation {
    let clock = &look.facts.clock;
    let trusted = ["constant_tsc", "nonstop_tsc"].iter().all(|f| look.facts.cpus.flags.iter().any(|g| g == f));
    match clock.source.as_str() {
        "tsc" if trusted => Observation::ok("tsc, constant and never stopping"),
        "tsc" => Observation::warn(
            "tsc, but the processor does not promise that it is constant",
            "constant_tsc and nonstop_tsc",
        ),
        "arch_sys_counter" => Observation::ok("arch_sys_counter"),
        "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen" if clock.available.iter().any(|s| s == "tsc") => {
            let now = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource";
            Observation::warn(clock.source.clone(), "tsc, which is there too").now(now).boot("clocksource=tsc")
        }
        "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen" => {
            Observation::warn(clock.source.clone(), "tsc, which the hypervisor does not offer as trusted")
        }
        "hpet" | "acpi_pm" | "jiffies" | "refined-jiffies" => {
            let why_not =
                if clock.available.iter().any(|s| s == "tsc") { "tsc" } else { "tsc, which the kernel found unstable" };
            Observation::bad(clock.source.clone(), why_not)
                .costs_elsewhere(US)
                .boot("firmware update, or tsc=reliable if you know better")
        }
        "" => Observation::unknown("the clock source is unknown", "tsc or arch_sys_counter"),
        // Older ARM boards have only a timer of the chip (timer1, dmtimer, stc).
        other => Observation::warn(
            format!("{other}, a device of the chip"),
            "a counter of the processor, which this board may lack",
        ),
    }
}
