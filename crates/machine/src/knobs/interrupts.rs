//! Interrupts and the kernel's own work, steered to the other CPUs.

use super::{EVERY, Knob, Want, steered};
use ontick_rt::thread::Policy;

use crate::root::{IRQBALANCE, Root, irqbalance};
use crate::target::Target;
use crate::value_format::ValueFormat;
use ontick_units::CpuList;

pub(super) const KNOBS: &[Knob] = &[
    Knob {
        name: "irq-affinity",
        paths: &["/proc/irq/*/smp_affinity_list"],
        form: ValueFormat::List,
        profiles: EVERY,
        isolates: false,
        want: |target, file| {
            let number = file.path.split('/').nth(3).and_then(|n| n.parse::<u32>().ok());
            let known = file.facts.interrupts.list.iter().find(|i| Some(i.number) == number && !i.about.is_empty());
            match file.shown.parse::<CpuList>() {
                _ if known.is_none() => Want::leave("no device uses it"),
                _ if known.is_some_and(|i| i.fixed_timer()) => {
                    Want::leave("a timer of the kernel, which it keeps in place")
                }
                Ok(now) => steered(target, || without(now, target)),
                Err(e) => Want::leave(e.to_string()),
            }
        },
        why: "a device interrupt takes the CPU for some 2–50 µs, whatever the priority of the program",
        source: "measured on another machine: 171 virtio-blk interrupts in the gaps of 15 s; kernel: core-api/irq/irq-affinity",
    },
    Knob {
        name: "irq-default-affinity",
        paths: &["/proc/irq/default_smp_affinity"],
        form: ValueFormat::Mask,
        profiles: EVERY,
        isolates: false,
        want: mask_without,
        why: "devices that come later (USB, network up) would put their interrupts on the wanted CPU",
        source: "kernel: core-api/irq/irq-affinity",
    },
    Knob {
        name: BALANCER,
        paths: &[IRQBALANCE],
        form: ValueFormat::List,
        profiles: EVERY,
        isolates: false,
        want: |target, file| match irqbalance::cpus(file.shown) {
            Some(now) => steered(target, || Want::set(irqbalance::value_of(&now.with(&target.to_leave())))),
            None => Want::leave("it names no CPUs"),
        },
        why: "irqbalance chooses the CPUs of interrupts anew every 10 seconds, the wanted one too unless it is told to keep off",
        source: "irqbalance(1), API (settings cpus); tuned's irqbalance plug-in (banned_cpus)",
    },
    Knob {
        name: "workqueues",
        paths: &["/sys/devices/virtual/workqueue/cpumask"],
        form: ValueFormat::Mask,
        profiles: EVERY,
        isolates: false,
        want: mask_without,
        why: "unbound kernel work (writeback, device probing) would run on the wanted CPU",
        source: "kernel: core-api/workqueue, admin-guide/kernel-per-CPU-kthreads",
    },
    Knob {
        name: "workqueue-affinity",
        paths: &["/sys/devices/virtual/workqueue/*/cpumask"],
        form: ValueFormat::Mask,
        profiles: EVERY,
        isolates: false,
        want: mask_without,
        why: "a workqueue with a mask of its own (writeback) may run where that and the general one both allow",
        source: "kernel: core-api/workqueue, admin-guide/kernel-per-CPU-kthreads",
    },
    Knob {
        name: "receive-steering",
        paths: &["/sys/class/net/*/queues/rx-*/rps_cpus"],
        form: ValueFormat::Mask,
        profiles: EVERY,
        isolates: false,
        want: steering_without,
        why: "receive packet steering lets other CPUs' packets be handled on the wanted CPU",
        source: "kernel: networking/scaling (RPS)",
    },
    Knob {
        name: "transmit-steering",
        paths: &["/sys/class/net/*/queues/tx-*/xps_cpus"],
        form: ValueFormat::Mask,
        profiles: EVERY,
        isolates: false,
        want: steering_without,
        why: "transmit completions of a queue that is mapped to the wanted CPU are handled there",
        source: "kernel: networking/scaling (XPS)",
    },
    Knob {
        name: THREADS,
        paths: &["thread:irq/*"],
        form: ValueFormat::Plain,
        profiles: &[],
        isolates: false,
        want: thread_policy,
        why: "the thread of an interrupt waits for a timed thread above its priority, and a timed thread for one that is above",
        source: "source 001 (interrupts at FIFO 50, threads at RR 55 and FIFO 99); kernel: core-api/genericirq (threaded)",
    },
];

/// The knob of the program that moves interrupts. After those of interrupts, so that it comes back before them: what they go
/// back to is then not chosen anew.
pub(crate) const BALANCER: &str = "irqbalance";

/// The knob of the threads that handle interrupts: used where a target names priorities for them.
pub(crate) const THREADS: &str = "irq-threads";

fn thread_policy(target: &Target, file: &super::KnobFile) -> Want {
    let name = file.path.split_once("irq/").map_or("", |(_, name)| name);
    let now: Option<Policy> = file.shown.parse().ok();
    // The last that fits counts.
    let wanted = target.irq_threads.iter().rev().find(|wanted| wanted.concerns(name));
    match (wanted, now) {
        (None, _) => Want::leave("no priority is asked for"),
        (Some(wanted), Some(Policy::Fifo(_) | Policy::RoundRobin(_))) => Want::set(wanted.policy),
        (Some(_), _) => Want::leave("somebody gave it a policy that is not real-time"),
    }
}

/// The CPU that an interrupt still goes to although it may not any more: the kernel moves it when it is delivered next.
pub(crate) fn lags(root: &Root, path: &str) -> Option<CpuList> {
    let folder = path.strip_suffix("/smp_affinity_list")?;
    let list = |file: &str| root.value(&format!("{folder}/{file}"))?.parse::<CpuList>().ok();
    let (may, does) = (list("smp_affinity_list")?, list("effective_affinity_list")?);
    (!does.is_empty() && !does.within(&may)).then_some(does)
}

/// What is left of a set of CPUs; all others where nothing would be left.
pub(super) fn without(now: CpuList, target: &Target) -> Want {
    let to_leave = target.to_leave();
    let rest = now.without(&to_leave);
    match rest.is_empty() {
        _ if !now.meets(&to_leave) => Want::leave("goes elsewhere already"),
        true => Want::set(&target.others),
        false => Want::set(rest),
    }
}

fn mask_without(target: &Target, file: &super::KnobFile) -> Want {
    match CpuList::from_mask(file.shown) {
        Ok(now) => steered(target, || match without(now, target) {
            Want::Set(list) => Want::set(list.parse::<CpuList>().expect("a list just written").mask()),
            leave => leave,
        }),
        Err(e) => Want::leave(e.to_string()),
    }
}

/// Steering that is off (no CPU) stays off.
fn steering_without(target: &Target, file: &super::KnobFile) -> Want {
    match CpuList::from_mask(file.shown) {
        Ok(now) if now.is_empty() => Want::leave("off"),
        Ok(now) => steered(target, || match now.meets(&target.to_leave()) {
            true => Want::set(now.without(&target.to_leave()).mask()),
            false => Want::leave("goes elsewhere already"),
        }),
        Err(e) => Want::leave(e.to_string()),
    }
}
