//! Messages frame by frame: where they wait, when they are missing, and how many are followed.

use super::*;
use crate::egress::EgressTiming;
use crate::network::{Stream, samples};
use crate::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

/// Its frame waits for a window that is long enough, and there is none: to look at each of 10^15 windows has no end.
#[test]
fn a_frame_that_fits_into_no_window_is_missing_and_not_waited_for() {
    let mut network = samples::ring(3, 1);
    network.streams[0].period_ns = 60_000_000_000;
    network.streams[0].deadline_ns = 60_000_000_000;
    let outcome = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
    let Outcome::Planned(table) = outcome else { panic!("{outcome:?}") };
    let mut schedule = gate_control_list::schedule(&network, &table).unwrap();
    let link = schedule.windows[0].link;
    for window in schedule.windows.iter_mut().filter(|window| window.link == link) {
        (window.begin_ns, window.end_ns, window.cycle_ns) = (0, 600, 2_000);
    }
    let target = &TARGETS[0];
    let verdict = validate(&ValidationInput {
        network: &network,
        schedule: &schedule,
        target,
        guard_bands: false,
        most_messages: 100_000,
    });
    assert!(verdict.counts.contains_key("missing"), "{:?}", verdict.counts);
}

/// A frame that comes while another one is on the link is handed over no quicker than one that finds it free.
#[test]
fn a_frame_behind_another_is_handed_over_in_its_own_time() {
    let timing = EgressTiming { hand_over_ns: 3_000, ..EgressTiming::IDEAL };
    let network = crate::network::read(
        r#"
        switch = [{ name = "s" }]
        station = [{ name = "a" }, { name = "b" }]
        link = [{ between = ["a", "s"] }, { between = ["s", "b"] }]
        stream = [
            { name = "x", from = "a", to = "b", size = 100, period = "1ms" },
            { name = "y", from = "a", to = "b", size = 100, period = "1ms" },
        ]"#,
    );
    let network = network.unwrap().timed(timing);
    // All gates are open; y comes when x, at the latest, has 36 ns left on the link, of its 1 136 ns.
    let send = |stream, offset_ns| Send { stream, offset_ns, queues: vec![(0, 7), (2, 7)] };
    let schedule =
        Schedule { sends: vec![send(0, 0), send(1, 4_100)], routes: vec![vec![0, 2]; 2], ..Schedule::default() };
    let verdict = judged(&network, &schedule);
    let most = |stream: usize| verdict.delays.iter().find(|delay| delay.stream == stream).unwrap().most_ns;
    assert_eq!(most(0), 2 * (3_000 + 1_040));
    assert_eq!(most(1), 4_100 + 2 * (3_000 + 1_040));
}

#[test]
fn a_message_waits_in_the_queue_that_it_has_on_each_link() {
    let windows = || vec![window(0, 7, 0, 10_000), window(2, 3, 20_000, 30_000)];
    let (network, schedule) = two_links(&[(0, [7, 3])], windows());
    let verdict = judged(&network, &schedule);
    assert!(verdict.holds(), "{:?}", verdict.faults);
    // It waits for the second gate, and takes 1 040 ns.
    assert_eq!((verdict.delays[0].least_ns, verdict.delays[0].most_ns), (21_040, 21_040));
    for other in [[7, 7], [3, 3], [3, 7]] {
        let (network, schedule) = two_links(&[(0, other)], windows());
        assert!(judged(&network, &schedule).counts.contains_key("missing"), "{other:?}");
    }
}

/// Every other message is in a queue whose gate never opens.
#[test]
fn a_message_that_is_missing_is_named_by_when_it_was_sent() {
    let mut shut = window(0, 7, 0, 10_000);
    shut.cycle_ns = 2_000_000;
    let (network, schedule) = two_links(&[(5_000, [7, 7]), (7_000, [6, 7])], vec![shut]);
    let verdict = judged(&network, &schedule);
    let missing: Vec<&Fault> = verdict.faults.iter().filter(|fault| fault.kind() == "missing").collect();
    let at = |sent_ns| Fault::Missing(0, network.streams[0].listeners[0], sent_ns);
    assert_eq!(missing, [&at(1_007_000), &at(3_007_000)]);
    assert!(missing[0].in_words(&network).contains("sent at 1.007ms"), "{}", missing[0].in_words(&network));
}

/// Gates that stay shut keep all that comes; it is not kept without end, and not for nothing.
#[test]
fn frames_under_way_are_bounded() {
    let mut network = samples::ring(3, 1);
    network.streams[0] =
        Stream { size: 1_500_000, period_ns: 20_000_000, deadline_ns: 20_000_000, ..network.streams[0].clone() };
    let outcome = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
    let Outcome::Planned(table) = outcome else { panic!("{outcome:?}") };
    let mut schedule = gate_control_list::schedule(&network, &table).unwrap();
    // A second stream has so much in common with nothing that many messages are followed.
    network.streams.push(Stream {
        period_ns: 59_999_999_999,
        deadline_ns: 59_999_999_999,
        size: 1,
        ..network.streams[0].clone()
    });
    schedule.sends.push(Send { stream: 1, ..schedule.sends[0].clone() });
    schedule.routes.push(schedule.routes[0].clone());
    let link = schedule.windows[0].link;
    for window in schedule.windows.iter_mut().filter(|window| window.link == link) {
        (window.begin_ns, window.end_ns) = (0, 600);
    }
    let verdict = judged(&network, &schedule);
    assert_eq!(verdict.counts.get("frames under way"), Some(&1), "{:?}", verdict.counts);
    assert!(!verdict.complete && !verdict.counts.contains_key("missing"), "{:?}", verdict.counts);
    let said: String = verdict.faults.iter().map(|fault| fault.in_words(&network) + "\n").collect();
    assert!(said.contains("while 1048576 frames wait or are on their way"), "{said}");
    assert!(said.contains("open gates that stay shut"), "{said}");
}

/// Messages of a thousand frames are a thousand times the work.
#[test]
fn frames_are_counted_and_not_messages() {
    let mut network = samples::ring(3, 1);
    network.streams[0] =
        Stream { size: 150_000, period_ns: 10_000_000, deadline_ns: 10_000_000, ..network.streams[0].clone() };
    let outcome = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| true);
    let Outcome::Planned(table) = outcome else { panic!("{outcome:?}") };
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    let of = |most_messages| {
        validate(&ValidationInput {
            network: &network,
            schedule: &schedule,
            target: &TARGETS[0],
            guard_bands: false,
            most_messages,
        })
        .messages
    };
    // Three links, a hundred frames.
    assert_eq!([of(600), of(300), of(299)], [2, 1, 0]);
}
