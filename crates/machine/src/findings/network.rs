//! The network interfaces of a target: what of their cards and of the kernel's way from them holds frames up.

use super::{Check, CheckInput, Observation, US};
use crate::facts::interrupts::Interrupt;
use crate::facts::network::Interface;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "interrupt-coalescing",
        why: "the card waits for more frames before it interrupts, and the first one waits with it",
        source: "kernel: linux/ethtool.h (struct ethtool_coalesce), ethtool(8) -C",
        look: |look| each(look, coalescing),
    },
    Check {
        id: "energy-efficient-ethernet",
        why: "a link that rests between frames has to wake before each one",
        source: "IEEE 802.3 clause 78: 16.5 µs at 1000BASE-T, 30 µs at 100BASE-TX; ethtool(8)",
        look: |look| {
            each(look, |_, interface| {
                let name = &interface.name;
                Some(match interface.energy_efficient? {
                    false => Observation::ok(format!("{name} does not rest between frames")),
                    true => Observation::warn(format!("{name} may rest between frames (EEE)"), "off")
                        .costs_elsewhere(17 * US)
                        .knob("energy-efficient-ethernet"),
                })
            })
        },
    },
    Check {
        id: "joined-frames",
        why: "frames that are joined leave as one piece, which a timed frame waits for, and frames that come are held until others can join them",
        source: "kernel: networking/segmentation-offloads; 64 KiB take 0.5 ms at 1 Gbit/s",
        look: |look| {
            each(look, |_, interface| {
                let Interface { name, joining, .. } = interface;
                Some(match joining.is_empty() {
                    true => Observation::ok(format!("{name} neither joins frames nor cuts them")),
                    false => {
                        Observation::warn(format!("{name} has {} on", joining.join(", ")), "off").knob("joined-frames")
                    }
                })
            })
        },
    },
    Check {
        id: "receive-ring",
        why: "frames that find the card's ring full are lost, as beside a thread that holds up the kernel's network code",
        source: "ethtool(8) -G; kernel: networking/scaling",
        look: |look| {
            each(look, |_, Interface { name, receive_ring, .. }| {
                let (now, most) = (*receive_ring)?;
                // A cyclic job has few frames: a short ring is no fault, and the change stops the interface.
                Some(Observation::ok(format!("{name} holds {now} frames that came, and could {most}")))
            })
        },
    },
    Check {
        id: "threaded-napi",
        why: "frames are taken from the card in softirqs, which wait behind all ordinary programs once there are many of them",
        source: "kernel: networking/napi (threaded), ABI/testing/sysfs-class-net",
        look: |look| each(look, threaded),
    },
    Check {
        id: "card-interrupts",
        why: "the interrupt of the card takes the CPU of a timed program, and its frames are handled there",
        source: "kernel: core-api/irq/irq-affinity, networking/scaling (RSS)",
        look: |look| if look.target.can_dedicate() { each(look, interrupts) } else { Vec::new() },
    },
    Check {
        id: "virtual-interface",
        why: "what a card, its driver and a wire take is not on a way that software makes",
        source: "kernel: networking/netdevices",
        look: |look| {
            each(look, |_, Interface { name, is_device, .. }| {
                (!is_device).then(|| Observation::ok(format!("{name} is made by software: no card, no wire")))
            })
        },
    },
];

type Look = fn(&CheckInput, &Interface) -> Option<Observation>;

fn each(look: &CheckInput, see: Look) -> Vec<Observation> {
    look.facts.interfaces.iter().filter_map(|interface| see(look, interface)).collect()
}

fn coalescing(_: &CheckInput, Interface { name, coalescing, .. }: &Interface) -> Option<Observation> {
    let now = (*coalescing)?;
    let adaptive = if now.is_adaptive { ", or as it chooses itself" } else { "" };
    if now.receive_us == 0 && now.receive_frames <= 1 && !now.is_adaptive {
        return Some(Observation::ok(format!("{name} interrupts for each frame")));
    }
    let frames = match now.receive_frames {
        0 => String::new(),
        frames => format!(" or with {frames} frames"),
    };
    let observed = format!("{name} interrupts {} µs after a frame{frames}{adaptive}", now.receive_us);
    Some(
        Observation::warn(observed, "at each frame (rx-usecs 0)")
            .costs(u64::from(now.receive_us) * US)
            .knob("interrupt-coalescing"),
    )
}

fn threaded(_: &CheckInput, interface: &Interface) -> Option<Observation> {
    let name = &interface.name;
    Some(match (interface.threaded?, interface.napi_threads.is_empty(), interface.has_priority()) {
        (false, ..) => Observation::warn(format!("{name} has its frames taken in softirqs"), "threads with a priority")
            .knob("threaded-napi"),
        (true, true, _) => Observation::ok(format!("{name} has its frames taken by threads")),
        (true, _, true) => {
            Observation::ok(format!("{name} has its frames taken by threads ({})", interface.napi_threads.join(", ")))
        }
        (true, _, false) => Observation::warn(
            format!("{name} has its frames taken by threads ({})", interface.napi_threads.join(", ")),
            "a real-time priority below that of timed programs",
        )
        .knob("napi-threads"),
    })
}

fn interrupts(look: &CheckInput, interface: &Interface) -> Option<Observation> {
    let (name, cpus) = (&interface.name, &look.target.cpus);
    if interface.interrupts.is_empty() {
        return None;
    }
    let is_own = |i: &&Interrupt| interface.interrupts.contains(&i.number);
    let there: Vec<String> =
        look.facts.interrupts.reaching(cpus).filter(is_own).map(|i| format!("{} {}", i.number, i.device())).collect();
    Some(match there.is_empty() {
        true => Observation::ok(format!("{name} interrupts other CPUs than CPU {cpus}")),
        false => Observation::bad(
            format!("{name} may interrupt CPU {cpus}: {}", there.join(", ")),
            format!("on CPU {}", look.target.others),
        )
        .costs_elsewhere(50 * US)
        .knob("irq-affinity"),
    })
}
