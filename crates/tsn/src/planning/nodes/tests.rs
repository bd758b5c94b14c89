use super::*;
use crate::network::samples;
use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

fn planned(streams: usize) -> (Network, Schedule) {
    let network = samples::ring(4, streams);
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!()
    };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    (network, schedule)
}

const FORM: Form =
    Form { base: Base::NextSecond, guard_bands: false, most_entries: MOST_ENTRIES, shortest_ns: 1, plane: None };

#[test]
fn each_switch_can_be_read_as_a_file() {
    let (network, schedule) = planned(30);
    let (switches, unnamed) = switches(&network, &schedule, FORM).unwrap();
    assert_eq!(switches.len(), 8, "four switches and four stations");
    assert_eq!(unnamed[0], "to-s1 of s0");
    for (node, switch) in switches.iter().enumerate() {
        let ports: Vec<&String> = switch.ports.iter().map(|port| &port.name).collect();
        assert_eq!((name(&network, node), interfaces(&network, node).iter().collect()), (switch.name.clone(), ports));
    }
    for switch in &switches {
        let text = config::write(switch);
        let read = config::read(&text).map(|parsed| parsed.switch).map_err(|errors| errors.to_string());
        assert!(read.as_ref() == Ok(switch), "{text}\n{:?}", read.err());
    }
}

#[test]
fn nodes_that_would_be_called_alike_are_refused() {
    let (mut network, schedule) = planned(30);
    network.nodes[1].name = "production-line-1".into();
    network.nodes[3].name = "production-line-2".into();
    assert_eq!(
        switches(&network, &schedule, FORM).unwrap_err().to_string(),
        "nodes production-line-1 and production-line-2 are both called production-line where they are set up \
         (15 characters); give one a shorter name"
    );
    // A switch that nothing leaves, too; a station is set up only where it sends.
    let nothing = Schedule { routes: vec![Vec::new(); 30], ..Schedule::default() };
    assert!(matches!(switches(&network, &nothing, FORM), Err(NodesError::OneName { .. })));
    network.nodes[3].name = "s3".into();
    network.nodes[5].name = "production-line-2".into();
    assert!(switches(&network, &nothing, FORM).is_ok() && switches(&network, &schedule, FORM).is_err());
}

#[test]
fn a_port_with_one_queue_keeps_nothing_free() {
    let (mut network, schedule) = planned(1);
    let way = schedule.routes[0].clone();
    network.links.iter_mut().enumerate().filter(|(id, _)| !way.contains(id)).for_each(|(_, link)| link.queues = 1);
    assert_eq!(every_way_has_queues(&network), Ok(()));
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!()
    };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    assert!(switches(&network, &schedule, FORM).is_ok());
    network.links[way[0]].queues = 1;
    let said = every_way_has_queues(&network).unwrap_err();
    assert_eq!(
        said.to_string(),
        "link h0>s0: the port has one queue, which is everybody else's; no gate can keep it free"
    );
    let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
        panic!()
    };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    assert_eq!(switches(&network, &schedule, FORM), Err(said));
    network.links[way[0]].queues = 8;
    assert!(matches!(switches(&network, &schedule, FORM), Err(NodesError::BestEffort { .. })));
}

/// A plan may come from anybody.
#[test]
fn windows_that_no_list_has_are_refused() {
    let (network, schedule) = planned(30);
    let first = schedule.windows[0];
    assert!(first.begin_ns >= 10 && first.end_ns + 20 < first.cycle_ns, "{first:?}");
    let said = |windows: &[Window]| {
        let mut schedule = schedule.clone();
        schedule.windows.retain(|window| window.link != first.link);
        schedule.windows.extend(windows);
        switches(&network, &schedule, FORM).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(said(&[Window { end_ns: first.cycle_ns, ..first }]), Ok(()));
    let behind = Window { begin_ns: first.end_ns, end_ns: first.end_ns + 1, ..first };
    assert_eq!(said(&[behind, first]), Ok(()));
    let name = network.link_name(first.link);
    let why = format!("the windows of link {name} overlap, or end beyond the cycle; validate the plan to see where");
    let within = Window { begin_ns: first.begin_ns + 1, end_ns: first.end_ns - 1, ..first };
    let before = Window { begin_ns: first.begin_ns - 1, end_ns: first.begin_ns + 1, ..first };
    let other_cycle = Window { cycle_ns: 2 * first.cycle_ns, ..behind };
    for windows in [vec![first, within], vec![first, before], vec![first, other_cycle]] {
        assert_eq!(said(&windows), Err(why.clone()), "{windows:?}");
    }
    for wrong in [
        Window { end_ns: first.cycle_ns + 1, ..first },
        Window { end_ns: first.begin_ns, ..first },
        Window { queue: 8, ..first },
        Window { queue: 20, ..first },
    ] {
        assert_eq!(said(&[wrong]), Err(why.clone()), "{wrong:?}");
    }
}

#[test]
fn scheduled_gates_are_open_in_their_windows_alone() {
    let (network, schedule) = planned(60);
    for guard_bands in [false, true] {
        let (switches, _) = switches(&network, &schedule, Form { guard_bands, ..FORM }).unwrap();
        let gates = switches[0].ports[0].gates.as_ref().unwrap();
        let link = (0..network.links.len()).find(|link| network.links[*link].from == 0).unwrap();
        let open = |at: u64| {
            let mut sum = 0;
            gates
                .entries
                .iter()
                .find(|entry| {
                    sum += entry.for_ns;
                    at < sum
                })
                .unwrap()
                .open
        };
        for at in (0..gates.cycle_ns).step_by(97) {
            let window = schedule.windows.iter().find(|w| w.link == link && w.begin_ns <= at && at < w.end_ns);
            match window {
                Some(window) => assert_eq!(open(at), 1 << window.queue),
                None => assert!(open(at) == 1 || (guard_bands && open(at) == 0)),
            }
            // With guard bands best effort is over in time.
            let soon = schedule
                .windows
                .iter()
                .any(|w| w.link == link && (w.begin_ns + gates.cycle_ns - at) % gates.cycle_ns < 12_336);
            assert!(!guard_bands || !soon || open(at) != 1, "{at}");
        }
    }
}

#[test]
fn neither_a_guard_band_nor_what_it_leaves_is_too_short_for_an_entry() {
    let closed = |gap_ns, guard_ns| closed_of(gap_ns, guard_ns, 672);
    assert_eq!((closed(1_000, 0), closed(5_000, 12_336), closed(20_000, 12_336)), (0, 5_000, 12_336));
    assert_eq!((closed(13_007, 12_336), closed(13_008, 12_336)), (13_007, 12_336), "what it leaves");
    assert_eq!((closed(5_000, 36), closed(1_343, 36), closed(1_344, 36)), (672, 1_343, 672), "the band itself");
}

#[test]
fn ports_are_for_the_data_plane_that_was_planned_for() {
    let (network, schedule) = planned(8);
    for (wanted, own, offload) in [
        (None, Plane::Auto, Offload::None),
        (Some(DataPlane::User), Plane::User, Offload::None),
        (Some(DataPlane::Kernel), Plane::Kernel, Offload::None),
        (Some(DataPlane::Hardware), Plane::Kernel, Offload::Full),
    ] {
        let (switches, _) = switches(&network, &schedule, Form { plane: wanted, ..FORM }).unwrap();
        assert!(switches.iter().all(|switch| switch.plane == own), "{wanted:?}");
        assert!(switches.iter().flat_map(|switch| &switch.ports).all(|port| port.offload == offload), "{wanted:?}");
    }
}

#[test]
fn best_effort_has_the_longest_of_its_own_times() {
    let entries = [(1, 300), (1 << 7, 900), (1, 500), (0, 700)].map(|(open, for_ns)| Entry { open, for_ns });
    let gates = Gates { base: FORM.base, cycle_ns: 2_400, guard: Guard::None, entries: entries.to_vec() };
    assert_eq!(longest_gap(&gates), 500);
}

#[test]
fn a_list_that_is_too_long_is_reported() {
    let (network, schedule) = planned(60);
    let wrong = switches(&network, &schedule, Form { most_entries: 3, ..FORM }).unwrap_err();
    assert!(wrong.to_string().contains("entries, and a list has 3 at most"), "{wrong}");
}

/// Windows by hand: next to each other, over the end of the cycle, and with room for a guard band or none.
#[test]
fn entries_are_windows_and_what_is_between_them() {
    let network = samples::ring(3, 1);
    let entries = |windows: &[(u8, u64, u64)], cycle_ns, form| {
        let window = |&(queue, begin_ns, end_ns)| Window { link: 0, queue, begin_ns, end_ns, cycle_ns };
        let gates = gates(&network, 0, &windows.iter().map(window).collect::<Vec<_>>(), form)?;
        Ok::<_, TooMany>(gates.map(|gates| {
            assert_eq!(gates.entries.iter().map(|entry| entry.for_ns).sum::<u64>(), gates.cycle_ns);
            gates.entries.iter().map(|entry| (entry.open, entry.for_ns)).collect::<Vec<_>>()
        }))
    };
    assert_eq!(entries(&[], 1_000, FORM), Ok(None));
    let windows = [(7, 200, 300), (7, 300, 450), (6, 450, 500), (7, 900, 1_000)];
    let all = vec![(1, 200), (1 << 7, 250), (1 << 6, 50), (1, 400), (1 << 7, 100)];
    assert_eq!(entries(&windows, 1_000, FORM), Ok(Some(all.clone())));
    assert_eq!(entries(&windows, 1_000, Form { most_entries: 5, ..FORM }), Ok(Some(all)));
    let too_many = entries(&windows, 1_000, Form { most_entries: 4, ..FORM }).unwrap_err();
    assert_eq!((too_many.entries, too_many.most), (5, 4));
    // A guard band of 12 336 ns.
    let guarded = Form { guard_bands: true, ..FORM };
    let windows = [(7, 20_000, 21_000), (6, 30_000, 31_000)];
    let all = vec![(1, 7_664), (0, 12_336), (1 << 7, 1_000), (0, 9_000), (1 << 6, 1_000), (1, 69_000)];
    assert_eq!(entries(&windows, 100_000, guarded), Ok(Some(all)));
    // What does not fit before the first window lies at the end of the cycle.
    let all = vec![(0, 10_000), (1 << 7, 1_000), (1, 86_664), (0, 2_336)];
    assert_eq!(entries(&[(7, 10_000, 11_000)], 100_000, guarded), Ok(Some(all)));
    let all = vec![(0, 5_000), (1 << 7, 1_000), (0, 4_000)];
    assert_eq!(entries(&[(7, 5_000, 6_000)], 10_000, guarded), Ok(Some(all)));
}

#[test]
fn a_class_is_limited_to_what_its_windows_are_made_for() {
    let (mut network, _) = planned(1);
    let limits = |network: &Network, schedule: &Schedule, link, gap_ns: Option<u64>| {
        let entry = |for_ns| Entry { open: 1, for_ns };
        let gates = gap_ns.map(|for_ns| Gates {
            base: FORM.base,
            cycle_ns: for_ns,
            guard: Guard::None,
            entries: vec![entry(for_ns)],
        });
        [0, 7].map(|queue| {
            let class = classes(&[7]).into_iter().find(|class| class.queue == queue).unwrap();
            Scheduled::new(network, schedule).largest_sdu(network, link, &class, gates.as_ref())
        })
    };
    for (size, expected) in
        [(10, Some(42)), (42, Some(42)), (43, Some(43)), (1_499, Some(1_499)), (1_500, None), (4_000, None)]
    {
        network.streams[0].size = size;
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true) else {
            panic!()
        };
        let schedule = gate_control_list::schedule(&network, &table).unwrap();
        let link = schedule.routes[0][0];
        assert_eq!(limits(&network, &schedule, link, None), [None, expected], "{size}");
        assert_eq!(limits(&network, &schedule, network.reverse(link).unwrap(), None), [None, None]);
        // 100 octets take 1 136 ns.
        let best = |gap_ns| limits(&network, &schedule, link, Some(gap_ns))[0];
        assert_eq!([1_135, 1_136, 12_335, 12_336].map(best), [Some(99), Some(100), Some(1_499), None]);
    }
}
