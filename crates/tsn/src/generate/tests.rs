use super::*;
use crate::network::{Graph, read};
use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};
use crate::validate::{MOST_MESSAGES, TARGETS, ValidationInput, validate};

const SHAPES: [Shape; 5] = [Shape::Line, Shape::Ring, Shape::Tree, Shape::Star, Shape::Mesh];

/// The fullest link, on the paths that the streams were drawn with, as a share of its time.
fn fullest(network: &Network) -> f64 {
    let graph = Graph::new(network);
    let mut loads = vec![0.0; network.links.len()];
    for (n, stream) in network.streams.iter().enumerate() {
        let path = |to: &usize| graph.path(stream.talker, *to, |_| 1, |_, _| false).unwrap();
        let mut links: Vec<usize> = stream.listeners.iter().flat_map(path).collect();
        links.sort_unstable();
        links.dedup();
        links.into_iter().for_each(|link| loads[link] += network.utilisation(link, [n].into_iter()));
    }
    loads.into_iter().fold(0.0, f64::max)
}

/// On every machine and in every version.
#[test]
fn the_same_seed_gives_the_same_file() {
    let wanted = Wanted {
        shape: Shape::Mesh,
        switches: 5,
        stations: Some(3),
        streams: 4,
        listeners: 1..=2,
        deadlines: 50..=100,
        seed: 7,
        ..Wanted::default()
    };
    let network = generate(&wanted).unwrap();
    assert_eq!(text(&network), FILE);
    assert_ne!(text(&generate(&Wanted { seed: 8, ..wanted }).unwrap()), FILE);
}

const FILE: &str = r#"network = { rate = "1Gbit", propagation = "50ns", processing = "2us" }
switch = [
  { name = "s1" },
  { name = "s2" },
  { name = "s3" },
  { name = "s4" },
  { name = "s5" },
]
station = [
  { name = "h1" },
  { name = "h2" },
  { name = "h3" },
]
link = [
  { between = ["s1", "s2"] },
  { between = ["s1", "s3"] },
  { between = ["s1", "s5"] },
  { between = ["s2", "s3"] },
  { between = ["s2", "s4"] },
  { between = ["s3", "s4"] },
  { between = ["s3", "s5"] },
  { between = ["s4", "s5"] },
  { between = ["s1", "h1"] },
  { between = ["s2", "h2"] },
  { between = ["s3", "h3"] },
]
stream = [
  { name = "f1", from = "h2", to = "h1", size = 231, period = "500us", deadline = "355us" },
  { name = "f2", from = "h1", to = ["h3", "h2"], size = 446, period = "2ms", deadline = "1.88ms" },
  { name = "f3", from = "h1", to = ["h3", "h2"], size = 142, period = "1ms", deadline = "710us" },
  { name = "f4", from = "h3", to = ["h1", "h2"], size = 461, period = "1ms", deadline = "990us" },
]
"#;

#[test]
fn plans_of_drawn_networks_hold() {
    for shape in SHAPES {
        for seed in 1..=10 {
            let (streams, listeners, deadlines) = (30, 1..=3, 60..=100);
            let wanted =
                Wanted { shape, switches: 6, streams, listeners, deadlines, load: 40, seed, ..Wanted::default() };
            let network = generate(&wanted).unwrap();
            assert_eq!(read(&text(&network)).unwrap(), network);
            assert!(fullest(&network) <= 0.4);
            let planned = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
            let Outcome::Planned(table) = planned else { panic!("{shape:?} {seed}: {planned:?}") };
            let schedule = gate_control_list::schedule(&network, &table).unwrap();
            let (target, guard_bands, most_messages) = (&TARGETS[0], false, MOST_MESSAGES);
            let input = ValidationInput { network: &network, schedule: &schedule, target, guard_bands, most_messages };
            let verdict = validate(&input);
            assert!(verdict.holds() && verdict.complete, "{shape:?} {seed}: {:?}", verdict.faults);
        }
    }
}

/// A message of ten frames is on two links at the same time, and its listener does not send it on.
#[test]
fn a_long_message_is_drawn_where_it_can_keep_its_deadline_frame_by_frame() {
    let drawn = |deadline| {
        let (deadlines, sizes, periods_ns) = (deadline..=deadline, 15_000..=15_000, vec![1_000_000]);
        let of = Wanted { shape: Shape::Line, switches: 1, stations: Some(2), streams: 1, ..Wanted::default() };
        generate(&Wanted { deadlines, sizes, periods_ns, ..of })
    };
    let network = drawn(14).unwrap();
    let planned = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
    assert!(matches!(planned, Outcome::Planned(_)), "{planned:?}");
    // 10 frames at 1 Gbit/s take 124 us, the last one another 12 on the second link.
    assert!(matches!(drawn(13), Err(GenerateError::NoRoom { .. })));
}

#[test]
fn every_node_can_be_reached_in_every_shape() {
    for shape in SHAPES {
        for switches in [1, 2, 3, 4, 17].into_iter().filter(|n| shape != Shape::Ring || *n > 2) {
            let network = generate(&Wanted { shape, switches, stations: Some(9), ..Wanted::default() }).unwrap();
            let reached = Graph::new(&network).reach(0);
            assert!(reached.iter().all(|reached| *reached), "{shape:?} of {switches}");
            let cables = network.links.len() / 2 - 9;
            match shape {
                Shape::Ring => assert_eq!(cables, switches),
                Shape::Mesh => assert!((switches - 1..=2 * switches).contains(&cables), "{cables}"),
                _ => assert_eq!(cables, switches - 1),
            }
        }
    }
    let star = generate(&Wanted { shape: Shape::Star, ..Wanted::default() }).unwrap();
    assert_eq!(star.nodes.len(), 4 + 3, "the one in the middle has no station");
}

/// Of many draws each is about as often as it should be, and all are within what is asked for.
#[test]
fn streams_are_distributed_as_is_promised() {
    let wanted = Wanted {
        stations: Some(5),
        streams: 2_000,
        listeners: 1..=4,
        sizes: 60..=69,
        deadlines: 91..=100,
        rate: 100_000_000_000,
        ..Wanted::default()
    };
    let network = generate(&wanted).unwrap();
    let about = |share: f64, is: &dyn Fn(&crate::network::Stream) -> bool| {
        let found = network.streams.iter().filter(|stream| is(stream)).count() as f64 / 2_000.0;
        assert!((found - share).abs() < 0.04, "{found} {share}");
    };
    (0..5).for_each(|n| about(0.2, &|stream| stream.talker == 4 + n));
    (1..=4).for_each(|n| about(0.25, &|stream| stream.listeners.len() == n));
    (60..=69).for_each(|size| about(0.1, &|stream| stream.size == size));
    wanted.periods_ns.iter().for_each(|ns| about(0.25, &|stream| stream.period_ns == *ns));
    (91..=100).for_each(|percent| about(0.1, &|stream| stream.deadline_ns == stream.period_ns * percent / 100));
    // 2.5 of the 4 others, on average.
    (0..5).for_each(|n| about(0.5, &|stream| stream.listeners.contains(&(4 + n))));
    for stream in &network.streams {
        let mut listeners = stream.listeners.clone();
        listeners.sort_unstable();
        listeners.dedup();
        assert!(listeners.len() == stream.listeners.len() && !listeners.contains(&stream.talker), "{stream:?}");
    }
}

#[test]
fn links_are_as_full_as_they_may_be_and_no_fuller() {
    let wanted = Wanted { streams: 60, load: 10, ..Wanted::default() };
    let drawn = |streams| generate(&Wanted { streams, ..wanted.clone() });
    let found = (1..).find(|streams| drawn(*streams).is_err()).unwrap() - 1;
    let fullest = fullest(&drawn(found).unwrap());
    assert!(fullest > 0.09 && fullest <= 0.1, "{fullest} with {found}");
    let said = drawn(10_000).unwrap_err().to_string();
    assert!(said.starts_with(&format!("only {found} of 10000 streams were drawn")), "{said}");
    // On a line of 200, the ends are too far from each other for such a deadline: only near ones talk.
    let line = Wanted { shape: Shape::Line, switches: 200, periods_ns: vec![100_000], ..Wanted::default() };
    for stream in generate(&line).unwrap().streams {
        assert!(stream.talker.abs_diff(stream.listeners[0]) < 40, "{stream:?}");
    }
}

#[test]
fn what_makes_no_network_is_said() {
    let said = |wanted: Wanted| generate(&wanted).unwrap_err().to_string();
    let usual = Wanted::default;
    assert_eq!(said(Wanted { switches: 2, ..usual() }), "a ring has 3 switches at least, not 2");
    let one = Wanted { shape: Shape::Line, switches: 1, ..usual() };
    assert_eq!(said(one), "a stream needs two stations, and there is 1");
    let many = "a stream cannot have 4 listeners where there are 4 stations, one of which talks";
    assert_eq!(said(Wanted { listeners: 1..=4, ..usual() }), many);
}
