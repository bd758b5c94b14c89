//! What is impossible is proved, and nothing else.

use super::super::{Outcome, PlanOptions, Timetable, plan};
use super::*;
use crate::network::samples;

fn kinds(network: &Network) -> Vec<Certificate> {
    certificates(network)
}

#[test]
fn what_can_be_carried_has_no_proof_against_it() {
    assert_eq!(kinds(&samples::ring(6, 200)), []);
}

#[test]
fn a_deadline_below_the_way() {
    let mut network = samples::ring(4, 8);
    // Two stations at neighbouring switches: three links of 1 040 ns, two switches, 50 ns of cable each.
    network.streams[0].deadline_ns = 3 * 1_040 + 3 * 50 + 2 * 2_000;
    assert_eq!(kinds(&network), []);
    network.streams[0].deadline_ns -= 1;
    assert_eq!(kinds(&network), [Certificate::Deadline { stream: 0, quickest_ns: 7_270 }]);
}

/// Three hops at 100 Mbit/s, 2 us in a switch, 50 ns of cable: 35.35 us, and 38.23 us with the gaps.
#[test]
fn the_gap_behind_the_last_frame_is_no_delay() {
    let mut network = samples::ring(4, 1);
    network.links.iter_mut().for_each(|link| link.rate = 100_000_000);
    let outcome = |deadline_ns| {
        let mut network = network.clone();
        network.streams[0].deadline_ns = deadline_ns;
        plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true)
    };
    let least_ns = 35_350;
    let Outcome::Planned(table) = outcome(least_ns) else { panic!("{:?}", outcome(least_ns)) };
    assert_eq!(table.placed[0].as_ref().unwrap().latency_ns(), least_ns);
    let proof = Certificate::Deadline { stream: 0, quickest_ns: least_ns };
    assert_eq!(outcome(least_ns - 1), Outcome::Impossible(vec![proof]));
}

/// The last of the messages ends as its deadline ends; the gap behind it lies beyond.
#[test]
fn the_gap_behind_the_last_message_of_a_stretch_is_beyond_it() {
    let mut network = samples::ring(4, 2);
    for stream in &mut network.streams {
        *stream = crate::network::Stream { talker: 4, listeners: vec![5], size: 100, ..stream.clone() };
    }
    // The second frame waits for the first one and its gap, and nowhere else.
    let least_ns = 1_136 + 3 * (1_040 + 50) + 2 * 2_000;
    network.streams.iter_mut().for_each(|stream| stream.deadline_ns = least_ns);
    let plan = |network: &Network| plan(network, &PlanOptions::default(), &Timetable::default(), &|| true);
    assert!(matches!(plan(&network), Outcome::Planned(_)));
    assert_eq!(kinds(&network), []);
    network.streams.iter_mut().for_each(|stream| stream.deadline_ns -= 1);
    assert!(matches!(kinds(&network)[..], [Certificate::Crowded { .. }, ..]), "{:?}", kinds(&network));
}

/// On a link of 10 Gbit/s a frame lasts 67.2 ns: that 68 are reckoned with in plans fills no link.
#[test]
fn what_is_rounded_up_fills_no_link() {
    let mut network = samples::ring(3, 1);
    network.links.iter_mut().for_each(|link| link.rate = 10_000_000_000);
    let one = crate::network::Stream { size: 10, period_ns: 1_000_000, ..network.streams[0].clone() };
    // 14 880 frames of 67.2 ns are 999 936 ns, of 68 ns more than there are.
    network.streams = vec![crate::network::Stream { deadline_ns: 1_000_000, ..one }; 14_880];
    network.streams.iter_mut().for_each(|stream| stream.deadline_ns = 1_000_000);
    assert!(kinds(&network).iter().all(|one| !matches!(one, Certificate::Overloaded { .. })));
    network.streams.push(network.streams[0].clone());
    network.streams.push(network.streams[0].clone());
    assert!(kinds(&network).iter().any(|one| matches!(one, Certificate::Overloaded { .. })));
}

/// 84 octets each 20 us fill no link, but each of them takes the data plane 11 us.
#[test]
fn frames_that_come_faster_than_they_are_handed_over() {
    let mut network = samples::ring(3, 2);
    network.streams.iter_mut().for_each(|stream| {
        (stream.talker, stream.listeners, stream.size) = (3, vec![4], 60);
        (stream.period_ns, stream.deadline_ns) = (20_000, 20_000);
    });
    let spaced = |spacing_ns| network.clone().timed(crate::egress::EgressTiming { spacing_ns, ..network.timing });
    let planned = |network: &Network| plan(network, &PlanOptions::default(), &Timetable::default(), &|| true);
    assert_eq!(kinds(&spaced(10_000)), []);
    assert!(matches!(planned(&spaced(10_000)), Outcome::Planned(_)));
    let found = kinds(&spaced(11_000));
    assert!(matches!(found[0], Certificate::Overloaded { streams: 2, .. }), "{found:?}");
    assert!(
        found[0]
            .in_words(&network.clone().timed(spaced(11_000).timing))
            .ends_with("2 streams, which need 110.0 % of its time (the data plane begins a frame every 11us at most)")
    );
    assert!(matches!(planned(&spaced(11_000)), Outcome::Impossible(_)));
}

#[test]
fn a_talker_with_more_than_its_cable_carries() {
    let mut network = samples::ring(4, 40);
    network.streams.iter_mut().for_each(|stream| stream.size = 50_000);
    let found = kinds(&network);
    assert!(
        found.iter().any(|one| matches!(one, Certificate::Overloaded { utilisation, .. } if *utilisation > 1.0)),
        "{found:?}"
    );
    assert!(found.iter().all(|one| !one.in_words(&network).is_empty()));
}

#[test]
fn periods_that_meet_too_often() {
    let mut network = samples::ring(4, 0);
    let stream = |name: &str, period_ns| crate::network::Stream {
        name: name.into(),
        talker: 4,
        listeners: vec![5],
        size: 1_400,
        period_ns,
        deadline_ns: period_ns,
        jitter_ns: 0,
        queue: None,
        address: None,
        vlan: None,
    };
    // Two frames of a message can be apart, a whole number of divisors from each other.
    let mut apart = [stream("a", 60_000), stream("b", 90_000)];
    apart[0].size = 2_400;
    network.streams = apart.to_vec();
    assert_eq!(kinds(&network), []);
    (apart[0].size, apart[0].period_ns, apart[0].deadline_ns) = (9_000, 120_000, 120_000);
    network.streams = apart.to_vec();
    assert!(kinds(&network).iter().any(|one| matches!(one, Certificate::Exclusive { needed_ns: 30_040, .. })));
    network.streams = vec![stream("a", 1_000_000), stream("b", 1_001_000)];
    let found = kinds(&network);
    assert_eq!(found.len(), 2, "the talker's cable and the listener's; between them there are two ways: {found:?}");
    assert!(found[0].in_words(&network).contains("exclude each other on link"), "{found:?}");
    // Two frames of 11 536 ns fill a divisor of 23 072 ns exactly.
    for (common_ns, links) in [(23_072, 0), (23_071, 2)] {
        network.streams = vec![stream("a", 2 * common_ns), stream("b", 3 * common_ns)];
        assert_eq!(kinds(&network).len(), links, "{:?}", kinds(&network));
    }
}

#[test]
fn a_data_plane_is_named_if_it_takes_time_to_send_or_to_forward() {
    let timed = |timing| plane(&samples::ring(3, 0).timed(timing));
    let ideal = crate::egress::EgressTiming::IDEAL;
    assert_eq!(timed(ideal), "");
    let forwards = timed(crate::egress::EgressTiming { forwarding_ns: 7, ..ideal });
    assert_eq!(forwards, " (the data plane takes up to 0s to send and 7ns to forward)");
}

#[test]
fn too_much_due_at_once() {
    let mut network = samples::ring(4, 0);
    let stream = |n: usize| crate::network::Stream {
        name: format!("f{n}"),
        talker: 4,
        listeners: vec![5],
        size: 1_400,
        period_ns: 1_000_000,
        deadline_ns: 100_000,
        jitter_ns: 0,
        queue: None,
        address: None,
        vlan: None,
    };
    // Of 11 536 ns each, less than the 77 us that are left for the talker's cable: six fit, eight do not.
    network.streams = (0..6).map(stream).collect();
    assert_eq!(kinds(&network), []);
    network.streams = (0..8).map(stream).collect();
    let found = kinds(&network);
    assert!(matches!(found[0], Certificate::Crowded { messages: 7, .. }), "{found:?}");
}

/// Two messages that may not wait at all, from one talker.
#[test]
fn who_has_no_time_to_lose_counts_on_its_links() {
    let mut network = samples::ring(4, 2);
    network.streams[1] = network.streams[0].clone();
    network.streams.iter_mut().for_each(|stream| stream.deadline_ns = 7_270);
    let found = kinds(&network);
    assert!(matches!(found[0], Certificate::Crowded { messages: 2, .. }), "{found:?}");
}

fn demand(stream: StreamId, period_ns: u64, needs_ns: u64, frame_ns: u64) -> Demand {
    Demand { stream, period_ns, needs_ns, frame_ns, earliest_ns: 0, latest_ns: period_ns }
}

/// One of two messages alone fills its time exactly, which is no proof: the proof is about both.
#[test]
fn a_stretch_that_is_exactly_full_is_not_too_full() {
    let until_100 =
        |earliest_ns, needs_ns| Demand { earliest_ns, latest_ns: 100, ..demand(0, 1_000, needs_ns, needs_ns) };
    assert_eq!(crowded(3, &[until_100(0, 50), until_100(50, 50)]), None);
    let both = Certificate::Crowded { link: 3, from_ns: 0, to_ns: 100, needed_ns: 110, messages: 2 };
    assert_eq!(crowded(3, &[until_100(0, 60), until_100(50, 50)]), Some(both));
}

/// Of one period, a long frame and a message of many short ones: either can be what leaves too little to another period.
#[test]
fn the_longest_frame_or_the_longest_message_excludes() {
    let (frame, message, other) = (demand(0, 1_200, 100, 100), demand(1, 1_200, 900, 50), demand(2, 800, 150, 150));
    let of_message = Certificate::Exclusive { link: 3, streams: [2, 1], needed_ns: 450, common_ns: 400 };
    assert_eq!(exclusive(3, &[frame, message, other]), [of_message]);
    let frame = demand(0, 1_200, 310, 310);
    let of_frame = Certificate::Exclusive { link: 3, streams: [2, 0], needed_ns: 460, common_ns: 400 };
    assert_eq!(exclusive(3, &[frame, message, other]), [of_frame]);
}

#[test]
fn messages_are_looked_at_until_all_begin_together_again_or_for_eight_periods() {
    let with = |other_ns| jobs(&[demand(0, 3_000, 1, 1), demand(1, other_ns, 1, 1)]).unwrap().len();
    assert_eq!(with(2_000), 2 + 3);
    // Together again after 2 999 of the longer one.
    assert_eq!(with(2_999), 8 + 9);
}
