//! What a switch has counted, stage by stage of the way of its frames.

use ontick_report::datapath::{DataPath, PathClass, PathPort, Stage};
use ontick_switch::kernel::status::{LinkState, PortStatus, Status};
use ontick_switch::user::counters::{PortCounters, QueueCounters};
use ontick_switch::user::serve::{PortReport, Report};
use ontick_tsn::model::{Class, Port, Switch};
use ontick_units::count;

/// Of a user data plane, which counts every frame itself.
pub fn of_user(switch: &Switch, report: Option<&Report>) -> DataPath {
    let port = |((port, seen), counters): ((&Port, &PortReport), &PortCounters)| PathPort {
        name: port.name.clone(),
        link: match (seen.open, seen.closed, seen.link) {
            (false, ..) => "gone",
            (_, true, _) => "closed, as it made a loop",
            (.., true) => "up",
            (.., false) => "no link",
        }
        .into(),
        cycle_ns: cycle_ns(port),
        ingress: ingress(counters),
        classes: switch.classes.iter().map(|class| of_queue(class, port, counters)).collect(),
        remarks: Vec::new(),
    };
    let ports = report.map_or_else(Vec::new, |report| {
        switch.ports.iter().zip(&report.ports).zip(&report.counters.ports).map(port).collect()
    });
    DataPath {
        title: format!("{} · user data plane", switch.name),
        about: "frames since it was set up, counted by its core".into(),
        ports,
    }
}

fn ingress(counters: &PortCounters) -> Stage {
    let dropped = counters.not_forwarded();
    let before = ["found the ring full", "too long"];
    // What was not received at all is not among those received.
    let counted = dropped.iter().filter(|(why, _)| !before.contains(why)).map(|(_, frames)| frames).sum::<u64>();
    let probes = counters.looped.get();
    Stage::before(counters.received.get().saturating_sub(counted).saturating_sub(probes), 0, &dropped)
}

/// From the last stage on, so that each stage's figures fit those of the next though frames move meanwhile.
fn of_queue(class: &Class, port: &Port, counters: &PortCounters) -> PathClass {
    let QueueCounters {
        sent, full, over_sdu, no_window, down, refused, no_window_waited, down_waited, waiting, ..
    } = &counters.queues[usize::from(class.queue)];
    let early = |all: u64, waited: u64| all.saturating_sub(waited);
    let egress =
        Stage::before(sent.get(), 0, &[("refused by the interface", refused.get()), ("link down", down_waited.get())]);
    let gate = Stage::before(egress.into, 0, &[("no window long enough", no_window_waited.get())]);
    let queue = Stage::before(gate.into, waiting.get(), &[("too many waited", full.get())]);
    let classifier = Stage::before(
        queue.into,
        0,
        &[
            ("larger than allowed", over_sdu.get()),
            ("no window long enough", early(no_window.get(), no_window_waited.get())),
            ("link down", early(down.get(), down_waited.get())),
        ],
    );
    PathClass {
        name: class.name.clone(),
        windows: windows(class, port),
        classifier,
        queue,
        gate,
        egress,
        limit: class.limit.into(),
    }
}

/// Of the kernel's data plane: `tc -s qdisc` counts each class's queue, `ip -s link` each port.
pub fn of_kernel(switch: &Switch, status: &Status) -> DataPath {
    let port = |(port, seen): (&Port, &PortStatus)| {
        let class = |class: &Class| {
            let count = seen.classes.iter().find(|count| count.class == class.name);
            let [sent, drops, waiting] = count.map_or([0; 3], |count| [count.packets, count.drops, count.waiting]);
            let gone = if port.gates.is_some() { "too many waited, or too late" } else { "too many waited" };
            let queue = Stage::before(sent, waiting, &[(gone, drops)]);
            PathClass {
                name: class.name.clone(),
                windows: windows(class, port),
                classifier: Stage::before(queue.into, 0, &[]),
                queue,
                gate: Stage::before(sent, 0, &[]),
                egress: Stage::before(sent, 0, &[]),
                limit: class.limit.into(),
            }
        };
        let counts = &seen.interface;
        let mut remarks = vec![format!(
            "the interface sent {} frames in all, and could not send {}",
            count(counts.sent),
            count(counts.not_sent)
        )];
        if seen.refused > 0 {
            remarks.push(format!(
                "{} frames were dropped before any queue (root queueing discipline)",
                count(seen.refused)
            ));
        }
        remarks.extend(seen.driver.iter().map(|(name, count)| format!("the driver counts {name}: {count}")));
        PathPort {
            name: port.name.clone(),
            link: match seen.link {
                LinkState::Gone => "gone",
                LinkState::Off => "switched off",
                LinkState::NoLink => "no link",
                LinkState::Up => "up",
            }
            .into(),
            cycle_ns: cycle_ns(port),
            ingress: Stage::before(counts.received, 0, &[("dropped by the interface", counts.not_received)]),
            classes: switch.classes.iter().map(class).collect(),
            remarks,
        }
    };
    DataPath {
        title: format!("{} · kernel data plane", switch.name),
        about: "counted by tc and the interfaces; the kernel does not count classifier and gate by themselves".into(),
        ports: switch.ports.iter().zip(&status.ports).map(port).collect(),
    }
}

fn cycle_ns(port: &Port) -> u64 {
    port.gates.as_ref().map_or(0, |gates| gates.cycle_ns)
}

/// When the class's gate is open.
fn windows(class: &Class, port: &Port) -> Vec<(u64, u64)> {
    let mut at_ns = 0;
    let mut windows = Vec::new();
    for entry in port.gates.iter().flat_map(|gates| &gates.entries) {
        if entry.open & (1 << class.queue) != 0 {
            windows.push((at_ns, entry.for_ns));
        }
        at_ns += entry.for_ns;
    }
    windows
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_switch::verify::source_004_test;
    use ontick_tsn::model::Guard;

    /// Every kind of drop is at the stage where it happens, and no frame is lost between stages.
    #[test]
    fn what_the_core_counts_is_at_the_stage_where_it_happened() {
        let switch = source_004_test::switch(1_000_000, Guard::None);
        let counters = PortCounters::default();
        let blue = &counters.queues[0];
        for (counter, frames) in [
            (&blue.sent, 1_000),
            (&blue.waiting, 5),
            (&blue.full, 7),
            (&blue.over_sdu, 11),
            (&blue.no_window, 13),
            (&blue.no_window_waited, 3),
            (&blue.down, 17),
            (&blue.down_waited, 4),
            (&blue.refused, 19),
            (&counters.received, 500),
            (&counters.malformed, 2),
            (&counters.overflowed, 30),
        ] {
            counter.set(frames);
        }
        let class = of_queue(&switch.classes[0], &switch.ports[1], &counters);
        assert_eq!(class.windows, [(0, 800_000)]);
        let stages = class.stages().map(|(_, stage)| (stage.into, stage.out, stage.gone()));
        assert_eq!(stages, [(1_072, 1_038, 34), (1_038, 1_026, 7), (1_026, 1_023, 3), (1_023, 1_000, 23)]);
        let dropped: u64 = class.stages().iter().map(|(_, stage)| stage.gone()).sum();
        assert_eq!(dropped, blue.dropped());
        let came = ingress(&counters);
        assert_eq!((came.into, came.out, came.gone()), (530, 498, 32));
    }

    #[test]
    fn what_the_kernel_counts_is_at_its_queues_and_its_ports() {
        let switch = source_004_test::switch(1_000_000, Guard::None);
        let of_class = |class: &Class| ontick_switch::kernel::status::ClassCount {
            class: class.name.clone(),
            queue: class.queue,
            packets: 100,
            bytes: 64_000,
            drops: 9,
            waiting: 2,
        };
        let interface =
            ontick_switch::kernel::status::InterfaceCount { received: 70, not_received: 4, sent: 300, not_sent: 1 };
        let port = |port: &Port| PortStatus {
            name: port.name.clone(),
            link: LinkState::Up,
            spanning_tree: None,
            spanning_tree_role: None,
            queueing: "taprio".into(),
            admin: None,
            oper: None,
            classes: switch.classes.iter().map(of_class).collect(),
            interface: interface.clone(),
            refused: 3,
            preemption: None,
            driver: vec![("tx_window_drops".into(), 5)],
        };
        let ports = switch.ports.iter().map(port).collect();
        let path =
            of_kernel(&switch, &Status { name: "demo".into(), ports, streams: Vec::new(), differences: Vec::new() });
        let [_, out] = path.ports.as_slice() else { panic!("{path:?}") };
        let stages = out.classes[0].stages().map(|(_, stage)| (stage.into, stage.out, stage.waiting, stage.gone()));
        assert_eq!(stages, [(111, 111, 0, 0), (111, 100, 2, 9), (100, 100, 0, 0), (100, 100, 0, 0)]);
        assert_eq!((out.ingress.into, out.ingress.out), (74, 70));
        let remarks = out.remarks.join("; ");
        for part in ["sent 300 frames", "could not send 1", "3 frames were dropped before", "tx_window_drops: 5"] {
            assert!(remarks.contains(part), "{part}: {remarks}");
        }
    }
}
