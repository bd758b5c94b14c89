//! How much the delays of a stream's messages may differ.

use super::*;
use crate::egress::EgressTiming;
use crate::network::samples;
use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

/// One stream, whose messages begin in turn at the planned time and so much later; its gates are open all the time.
fn sent_in_turn(later_ns: u64, jitter_ns: u64, sync_error_ns: u64) -> Verdict {
    let mut network = samples::ring(3, 1);
    let outcome = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
    let Outcome::Planned(table) = outcome else { panic!("{outcome:?}") };
    let mut schedule = gate_control_list::schedule(&network, &table).unwrap();
    let open = |window: &Window| Window { begin_ns: 0, end_ns: window.cycle_ns, ..*window };
    schedule.windows = schedule.windows.iter().map(open).collect();
    let send = schedule.sends[0].clone();
    schedule.sends.push(Send { offset_ns: send.offset_ns + later_ns, ..send });
    network.streams[0].jitter_ns = jitter_ns;
    network.sync_error_ns = sync_error_ns;
    judged(&network, &schedule)
}

#[test]
fn delays_that_differ_by_more_than_the_jitter_allows() {
    assert!(sent_in_turn(10_000, 10_000, 0).holds());
    let verdict = sent_in_turn(10_000, 9_999, 0);
    assert_eq!(verdict.counts.get("jitter"), Some(&1), "{:?}", verdict.counts);
    assert!(matches!(verdict.faults[..], [Fault::Jitter(0, _, 10_000)]), "{:?}", verdict.faults);
}

/// Clocks may show a delay of twice their difference more: so much is no fault, and more is one.
#[test]
fn jitter_is_judged_beside_what_clocks_differ_by() {
    assert!(sent_in_turn(0, 0, 500).holds());
    let delay = sent_in_turn(0, 0, 500).delays[0];
    assert!(delay.most_ns > delay.least_ns, "clocks that differ are tried: {delay:?}");
    assert!(sent_in_turn(10_000, 0, 500).counts.contains_key("jitter"));
    assert!(!sent_in_turn(10_000, 10_000, 500).counts.contains_key("jitter"));
}

/// What a data plane may take at one time and not at another, only on the way to this listener, each link of which may take
/// 2 us; the whole tree takes 10 us.
#[test]
fn jitter_of_a_listener_is_judged_by_the_links_to_it() {
    let mut network = samples::ring(3, 1);
    network.streams[0].listeners = vec![4, 5];
    let network = network.timed(EgressTiming { forwarding_ns: 1_000, ..EgressTiming::IDEAL });
    let route = [(3, 0), (0, 1), (1, 4), (0, 2), (2, 5)];
    let link = |(from, to)| network.links.iter().position(|link| (link.from, link.to) == (from, to)).unwrap();
    let route: Vec<LinkId> = route.into_iter().map(link).collect();
    let cycle_ns = network.streams[0].period_ns;
    let open = |link: &LinkId| Window { link: *link, queue: 7, begin_ns: 0, end_ns: cycle_ns, cycle_ns };
    let send = |offset_ns| Send { stream: 0, offset_ns, queues: route.iter().map(|link| (*link, 7)).collect() };
    let jitter = |later_ns| {
        let schedule = Schedule {
            windows: route.iter().map(open).collect(),
            sends: vec![send(0), send(later_ns)],
            routes: vec![route.clone()],
        };
        judged(&network, &schedule).counts.get("jitter").copied()
    };
    assert_eq!((jitter(0), jitter(4_000)), (None, Some(2)));
}

/// tsnkit's tables have such numbers.
#[test]
fn any_jitter_may_be_allowed() {
    assert!(sent_in_turn(10_000, u64::MAX, 500).holds());
}
