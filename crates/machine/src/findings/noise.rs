//! Small things that disturb now and then, the hypervisor, and programs that fight over settings.

use super::{Check, CheckInput, MS, Observation, Remedy, US};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "hypervisor",
        why: "a hypervisor takes the CPU whenever it likes, and the kernel below it sees only a gap",
        source: "measured on another machine: of the gaps over 5 µs 1489 in 15 s had no event in the guest (max 105 µs); vCPU taken 5.2 ms now and then",
        look: |look| hypervisor(look).only(),
    },
    Check {
        id: "timer-migration",
        why: "timers of idle CPUs move to one that is busy, which the timed one is",
        source: "kernel: timers/no_hz, kernel/time/timer_migration.c",
        look: |look| {
            let spared = look.target.cpus.within(&look.facts.cpus.nohz_full);
            match (look.facts.clock.timer_migration, spared) {
                (None, _) => Vec::new(),
                (Some(true), true) => Observation::ok("on, and the CPU is spared (nohz_full)").only(),
                (Some(false), false) => Observation::ok("off").only(),
                (Some(true), false) => {
                    Observation::warn("on", "off").knob("timer-migration").boot(Remedy::AtBoot(None)).only()
                }
                (Some(false), true) => Observation::warn("off, so timers stay on the CPU", "on, with nohz_full")
                    .knob("timer-migration")
                    .only(),
            }
        },
    },
    Check {
        id: "watchdogs",
        why: "the lockup detectors wake a thread of the highest priority every 4 seconds and use a counter interrupt",
        source: "kernel: admin-guide/lockup-watchdogs",
        look: |look| {
            let noise = &look.facts.noise;
            let covered = noise.watchdog_cpus.as_ref().is_none_or(|cpus| cpus.meets(&look.target.cpus));
            match (noise.nmi_watchdog, noise.soft_watchdog) {
                (None, None) => Vec::new(),
                (Some(true), _) if covered => {
                    Observation::warn("the hard-lockup detector watches the CPU", "off there")
                        .knob("nmi-watchdog")
                        .boot("nmi_watchdog=0")
                        .only()
                }
                (_, Some(true)) if covered && look.target.can_dedicate() => {
                    Observation::warn("the soft-lockup detector watches the CPU", "off there")
                        .knob("watchdog-cpus")
                        .boot(Remedy::AtBoot(None))
                        .only()
                }
                _ => Observation::ok("none on the CPU").only(),
            }
        },
    },
    Check {
        id: "memory-statistics",
        why: "a kernel thread on every CPU folds its memory statistics this often",
        source: "kernel: admin-guide/sysctl/vm (stat_interval)",
        look: |look| match look.facts.noise.stat_interval_s {
            None => Vec::new(),
            Some(s) if s >= 10 => Observation::ok(format!("every {s} s")).only(),
            Some(s) => Observation::warn(format!("every {s} s"), "every 10 s")
                .knob("stat-interval")
                .boot(Remedy::AtBoot(None))
                .only(),
        },
    },
    Check {
        id: "machine-check-poll",
        why: "a timer on every CPU, isolated or not, reads the registers of corrected hardware errors, more often after one",
        source: "kernel: ABI/testing/sysfs-mce (check_interval), arch/x86/kernel/cpu/mce/core.c",
        look: |look| match look.facts.noise.machine_check_interval_s {
            None => Vec::new(),
            Some(0) => Observation::ok("none").only(),
            Some(s) => Observation::warn(format!("every {s} s"), "none, where errors may be logged late")
                .knob("machine-check-poll")
                .only(),
        },
    },
    Check {
        id: "console-messages",
        why: "a kernel message on a serial line takes 87 µs for each character at 115 200 baud, in places with interrupts off",
        source: "kernel: admin-guide/serial-console",
        look: |look| {
            let noise = &look.facts.noise;
            match (noise.slow_consoles.is_empty(), noise.console_level) {
                (true, _) => Observation::ok("no serial line prints kernel messages").only(),
                (_, Some(level)) if level <= 3 => {
                    Observation::ok(format!("level {level} on {}", noise.slow_consoles.join(", "))).only()
                }
                (_, level) => {
                    let level = level.map_or("an unknown level".into(), |l| format!("level {l}"));
                    // A line of 80 characters.
                    let seen = Observation::warn(
                        format!("{level} on {}", noise.slow_consoles.join(", ")),
                        "level 3, or no serial console",
                    );
                    seen.costs_elsewhere(80 * 87 * US).knob("console-messages").boot("quiet, or loglevel=3").only()
                }
            }
        },
    },
    Check {
        id: "rivals",
        why: "a program that sets the same things undoes what was set, at once or at the next boot",
        source: "each program's manual; irqbalance(1), tuned-adm(8), raspi-config",
        look: |look| {
            let cpus = &look.target.cpus;
            let about = |rival: &crate::facts::Rival| {
                if rival.keeps_off.as_ref().is_some_and(|off| cpus.within(off)) {
                    return Observation::ok(format!("{} runs, and keeps off CPU {cpus}", rival.name));
                }
                let when = if rival.running { "runs" } else { "will run at boot" };
                let seen = format!("{} {when}: it sets {}", rival.name, rival.sets);
                if rival.can_be_told {
                    let should = format!("told to keep off CPU {cpus}");
                    let found = match rival.keeps_off {
                        Some(_) => Observation::bad(seen, should),
                        None => Observation::unknown(format!("{seen}; what it keeps off it tells root alone"), should),
                    };
                    return found.knob("irqbalance").boot(Remedy::AtBoot(None));
                }
                let found = if rival.running && rival.name == "irqbalance" {
                    Observation::bad(seen, "not while a CPU is dedicated")
                } else {
                    Observation::warn(seen, "not while settings matter")
                };
                found.now(rival.remedy.clone())
            };
            match look.facts.rivals.is_empty() {
                true => Observation::ok("no known program changes the same settings").only(),
                false => look.facts.rivals.iter().map(about).collect(),
            }
        },
    },
];

fn hypervisor(look: &CheckInput) -> Observation {
    let noise = &look.facts.noise;
    if noise.hypervisor.is_empty() {
        return Observation::ok("none");
    }
    let share = if noise.total_ns > 0 { noise.steal_ns as f64 / noise.total_ns as f64 } else { 0.0 };
    let named = if noise.hypervisor == "unknown" { "a hypervisor".into() } else { noise.hypervisor.clone() };
    let seen = format!("{named}, {:.2} % stolen since boot", share * 100.0);
    let should = "bare metal, or a vCPU pinned to a core of its own";
    // A thousandth of all time is already 1 ms a second.
    if share >= 0.001 {
        Observation::bad(seen, should).costs_elsewhere(5 * MS)
    } else {
        Observation::warn(seen, should).costs_elsewhere(5 * MS)
    }
}
