//! Interrupts, the tick, and the kernel's own work on the wanted CPUs.

use super::{Check, CheckInput, Observation, Remedy, US};
use crate::facts::interrupts::Interrupt;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "interrupts",
        why: "a device interrupt takes the CPU whatever the priority of the program",
        source: "measured on another machine: 171 of the gaps of a spinning core in 15 s were virtio-blk; source 000: an isolated core still gets interrupts",
        look: |look| steered(look, interrupts),
    },
    Check {
        id: "new-interrupts",
        why: "devices that come later (USB, network up) put their interrupts where the default points",
        source: "kernel: core-api/irq/irq-affinity",
        look: |look| {
            steered(look, |look| {
                let cpus = &look.target.cpus;
                match &look.facts.interrupts.default_affinity {
                    Some(default) if default.meets(cpus) => {
                        let seen = format!("new interrupts may go to CPU {default}");
                        let fix = Remedy::at_boot(format!("irqaffinity={}", look.target.others));
                        Some(
                            Observation::warn(seen, format!("CPU {}", look.target.others))
                                .knob("irq-default-affinity")
                                .boot(fix),
                        )
                    }
                    Some(default) => Some(Observation::ok(format!("new interrupts go to CPU {default}"))),
                    None => None,
                }
            })
        },
    },
    Check {
        id: "tick",
        why: "the timer tick interrupts the CPU at a fixed rate, and its work is done there",
        source: "measured on another machine: 3361 of the gaps of a spinning core in 15 s, p50 15 µs; phase against the tick decides: 74 % under 3 µs at 0 µs, 99.7 % at 500 µs",
        look: |look| steered(look, tick),
    },
    Check {
        id: "tick-phase",
        why: "where all CPUs tick at the same moment they wait for the same locks",
        source: "kernel: admin-guide/kernel-parameters (skew_tick)",
        look: |look| match (look.facts.clock.skewed, look.facts.cpus.online.len()) {
            (_, 0 | 1) => Vec::new(),
            (true, _) => Observation::ok("each CPU ticks at its own moment").only(),
            (false, _) => Observation::warn("all CPUs tick at the same moment", "skew_tick=1")
                .boot(Remedy::at_boot("skew_tick=1"))
                .only(),
        },
    },
    Check {
        id: "rcu-callbacks",
        why: "RCU frees the kernel's memory in softirqs of the CPU that gave it up, unless configured otherwise",
        source: "kernel: admin-guide/kernel-per-CPU-kthreads, admin-guide/kernel-parameters (rcu_nocbs)",
        look: |look| {
            steered(look, |look| {
                let cpus = &look.target.cpus;
                Some(match (cpus.within(&look.facts.cpus.rcu_nocbs), look.facts.config.has("RCU_NOCB_CPU")) {
                    (true, _) => Observation::ok(format!("run elsewhere for CPU {cpus}")),
                    (false, Some(false)) => {
                        Observation::warn("this kernel cannot move them (no RCU_NOCB_CPU)", "elsewhere")
                            .boot(Remedy::Kernel("RCU_NOCB_CPU"))
                    }
                    (false, _) => Observation::warn(format!("run on CPU {cpus} itself"), "elsewhere")
                        .boot(Remedy::at_boot(format!("rcu_nocbs={cpus}"))),
                })
            })
        },
    },
    Check {
        id: "workqueues",
        why: "unbound kernel work (writeback, device probing) runs wherever its mask lets it",
        source: "kernel: core-api/workqueue",
        look: |look| {
            steered(look, |look| {
                let mask = look.facts.interrupts.workqueues.as_ref()?;
                let own = look.facts.interrupts.own_workqueues.iter();
                let ours: Vec<&str> =
                    own.filter(|(_, cpus)| cpus.meets(&look.target.cpus)).map(|(name, _)| name.as_str()).collect();
                let should = format!("CPU {}", look.target.others);
                Some(match (mask.meets(&look.target.cpus), ours.is_empty()) {
                    (true, _) => Observation::warn(format!("unbound work may run on CPU {mask}"), should)
                        .knob("workqueues")
                        .boot(Remedy::AtBoot(None)),
                    // The general mask is the outer bound: what a queue's own mask allows beyond it does not count.
                    (false, false) => Observation::ok(format!(
                        "unbound work runs on CPU {mask}, that of {} too, although their own masks allow more",
                        ours.join(", ")
                    )),
                    (false, true) => Observation::ok(format!("unbound work runs on CPU {mask}")),
                })
            })
        },
    },
    Check {
        id: "packet-steering",
        why: "steering lets packets of other CPUs be handled on the wanted one",
        source: "kernel: networking/scaling (RPS, XPS)",
        look: |look| {
            steered(look, |look| {
                let all = &look.facts.interrupts.packet_steering;
                let ours: Vec<&str> = all
                    .iter()
                    .filter(|(_, cpus)| cpus.meets(&look.target.cpus))
                    .map(|(path, _)| path.as_str())
                    .collect();
                Some(match ours.first() {
                    None => Observation::ok("no network queue is steered there"),
                    Some(path) => {
                        let device = path.split('/').nth(4).unwrap_or_default();
                        let knob = if path.ends_with("rps_cpus") { "receive-steering" } else { "transmit-steering" };
                        Observation::warn(
                            format!("{} network queues are steered there ({device}, …)", ours.len()),
                            "none",
                        )
                        .knob(knob)
                        .boot(Remedy::AtBoot(None))
                    }
                })
            })
        },
    },
];

/// Where there is no other CPU nothing can be steered away, and `isolation` says so once.
fn steered(look: &CheckInput, see: fn(&CheckInput) -> Option<Observation>) -> Vec<Observation> {
    if look.target.can_dedicate() { see(look).into_iter().collect() } else { Vec::new() }
}

fn interrupts(look: &CheckInput) -> Option<Observation> {
    let cpus = &look.target.cpus;
    // The kernel moves an interrupt when it is delivered next: those that may not stay do so once more.
    let stays = |i: &&Interrupt| i.affinity.as_ref().is_none_or(|may| may.meets(cpus));
    let (staying, leaving): (Vec<_>, Vec<_>) = look.facts.interrupts.reaching(cpus).partition(stays);
    if staying.is_empty() {
        return Some(match (look.facts.interrupts.list.is_empty(), leaving.is_empty()) {
            (true, _) => Observation::unknown("/proc/irq cannot be read", "no device interrupt"),
            (_, true) => Observation::ok(format!("no device interrupt goes to CPU {cpus}")),
            _ => Observation::ok(format!(
                "no device interrupt stays on CPU {cpus}; may be delivered once more: {}",
                few(&leaving)
            )),
        });
    }
    let seen = format!("{} may be delivered to CPU {cpus}: {}", staying.len(), few(&staying));
    let boot = Remedy::at_boot(format!("irqaffinity={}", look.target.others));
    Some(
        Observation::bad(seen, format!("all on CPU {}", look.target.others))
            .costs_elsewhere(50 * US)
            .knob("irq-affinity")
            .boot(boot),
    )
}

fn few(interrupts: &[&Interrupt]) -> String {
    let names: Vec<String> = interrupts.iter().take(4).map(|i| format!("{} {}", i.number, i.device())).collect();
    let more = interrupts.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

fn tick(look: &CheckInput) -> Option<Observation> {
    let (cpus, clock) = (&look.target.cpus, &look.facts.clock);
    let rate = clock.tick_hz.map_or("at an unknown rate".into(), |hz| format!("{hz} times a second"));
    Some(match (cpus.within(&look.facts.cpus.nohz_full), look.facts.config.has("NO_HZ_FULL")) {
        (true, _) => Observation::ok(format!("CPU {cpus} does not tick while one task runs there (else {rate})")),
        (false, Some(false)) => Observation::warn(
            format!("ticks {rate}; this kernel cannot stop it (no NO_HZ_FULL)"),
            "none while one task runs, or a phase beside it",
        )
        .costs_elsewhere(15 * US)
        .now("ontick chooses a phase beside the tick by itself (phase auto)")
        .boot(Remedy::Kernel("NO_HZ_FULL")),
        (false, _) => Observation::warn(format!("ticks {rate}"), "none while one task runs, or a phase beside it")
            .costs_elsewhere(15 * US)
            .now("ontick chooses a phase beside the tick by itself (phase auto)")
            .boot(Remedy::at_boot(format!("nohz_full={cpus}"))),
    })
}
