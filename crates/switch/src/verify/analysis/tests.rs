use proptest::prelude::*;

use super::*;
use ontick_tsn::model::Entry;

const US: u64 = 1_000;
const BASE_NS: u64 = 1_000_000_000;
const CYCLE_NS: u64 = 1_000 * US;

fn terms() -> Terms {
    let list = [Entry { open: 1, for_ns: 800 * US }, Entry { open: 2, for_ns: 200 * US }];
    let schedule = Schedule::new(BASE_NS, &list);
    Terms { schedule, guard_ns: US, link: Link::Unknown, bins: 100, kept_from_ns: BASE_NS + 1, kept_cycles: 2 }
}

/// Blue and red frames as source 004's switch sends them on: `each` in every window, `late_ns` after its opening and
/// `gap_ns` apart, all sent a cycle before.
fn ideal(cycles: u64, each: u64, late_ns: u64, gap_ns: u64) -> Vec<Arrival> {
    let frame = |cycle: u64, flow: usize, nth: u64| {
        let opened_ns = BASE_NS + cycle * CYCLE_NS + [0, 800 * US][flow];
        Arrival {
            flow,
            number: cycle * each + nth,
            sent_ns: opened_ns - CYCLE_NS + nth,
            at_ns: opened_ns + late_ns + nth * gap_ns,
        }
    };
    let windows = (0..cycles).flat_map(|cycle| [(cycle, 0), (cycle, 1)]);
    windows.flat_map(|(cycle, flow)| (0..each).map(move |nth| frame(cycle, flow, nth))).collect()
}

/// Frames of the largest size.
fn take(analysis: &mut Analysis, arrivals: &[Arrival]) {
    for arrival in arrivals {
        let on_link_ns = analysis.on_link(arrival.at_ns, 1_514);
        analysis.take(*arrival, on_link_ns);
    }
}

fn analysed(arrivals: &[Arrival]) -> Analysis {
    let mut analysis = Analysis::new(terms(), &[0, 1]);
    take(&mut analysis, arrivals);
    analysis
}

#[test]
fn a_switch_on_time() {
    let analysis = analysed(&ideal(5, 10, 700, 12 * US));
    for (flow, found) in analysis.flows().iter().enumerate() {
        assert_eq!((found.order.received, found.judged, found.outside), (50, 50, 0));
        assert_eq!((found.order.duplicates, found.order.out_of_order), (0, 0));
        let first = found.first_histogram();
        // The first window is left out: what was before it is not known.
        assert_eq!((first.count(), first.min_ns, first.max_ns, found.unqueued), (4, Some(700), Some(700), 0));
        assert_eq!(found.kept.len(), 20);
        assert!(found.kept.iter().all(|at_ns| (1..3).contains(&((at_ns - BASE_NS) / CYCLE_NS))));
        let bins: Vec<usize> = (0..100).filter(|bin| found.folded[*bin] > 0).collect();
        assert_eq!(bins.len(), 10);
        assert!(bins.iter().all(|bin| (*bin >= 80) == (flow == 1)));
    }
    assert!(analysis.violations().is_empty());
}

#[test]
fn a_stall_carries_frames_out_of_their_window() {
    let mut arrivals = ideal(4, 10, 700, 12 * US);
    // The switch stops while three blue frames are on their way out: they come 50, 51 and 52 us after the closing.
    let blue: Vec<usize> = (0..arrivals.len()).filter(|i| arrivals[*i].flow == 0).collect();
    for (nth, i) in blue[27..30].iter().enumerate() {
        arrivals[*i].at_ns = BASE_NS + 2 * CYCLE_NS + 850 * US + nth as u64 * US;
    }
    arrivals.sort_by_key(|arrival| arrival.at_ns);
    let analysis = analysed(&arrivals);
    assert_eq!([0, 1].map(|flow| analysis.flows()[flow].outside), [3, 0]);
    let [violation] = analysis.violations() else { panic!("{:?}", analysis.violations()) };
    assert_eq!(
        (violation.flow, violation.frames, violation.late, violation.by_ns, violation.ends),
        (0, 3, true, 52 * US, false)
    );
    assert_eq!(violation.until_ns - violation.at_ns, 2 * US);
}

#[test]
fn a_frame_that_ends_behind_the_closing_is_outside() {
    // On a link of 1 Gbit/s a frame of 1 514 octets takes 12 208 ns, and 96 ns behind it belong to nobody.
    let judged = |link, late_ns: &[u64]| {
        let mut analysis = Analysis::new(Terms { link, ..terms() }, &[0, 1]);
        let closing_ns = BASE_NS + 800 * US;
        let begin = |n: &u64| Arrival { flow: 0, number: *n, sent_ns: BASE_NS, at_ns: closing_ns - 12_208 + n };
        take(&mut analysis, &late_ns.iter().map(begin).collect::<Vec<_>>());
        let flow = &analysis.flows()[0];
        let by_ns = analysis.violations().iter().map(|violation| (violation.by_ns, violation.ends)).collect::<Vec<_>>();
        (flow.judged, flow.outside, flow.ends_outside, by_ns)
    };
    let modelled = Link::Modelled(1_000_000_000);
    assert_eq!(judged(modelled, &[0]), (1, 0, 0, vec![]));
    assert_eq!(judged(modelled, &[1_000]), (1, 0, 0, vec![]), "within the tolerance");
    assert_eq!(judged(modelled, &[1_001]), (1, 1, 1, vec![(1_001, true)]));
    // Another one is on the link first.
    assert_eq!(judged(modelled, &[0, 1]), (2, 1, 0, vec![(96, false)]));
    // Stamped behind the preamble of 64 ns.
    assert_eq!(judged(Link::Stamped(1_000_000_000), &[1_064]), (1, 0, 0, vec![]));
    assert_eq!(judged(Link::Stamped(1_000_000_000), &[1_065]), (1, 1, 1, vec![(1_001, true)]));
    assert_eq!(judged(Link::Unknown, &[5_000]), (1, 0, 0, vec![]));
}

#[test]
fn a_first_frame_that_did_not_wait_says_nothing_about_the_gate() {
    let mut arrivals = ideal(4, 1, 300 * US, 0);
    arrivals.iter_mut().for_each(|arrival| arrival.sent_ns = arrival.at_ns - 5 * US);
    arrivals.retain(|arrival| arrival.flow == 0);
    let analysis = analysed(&arrivals);
    let found = &analysis.flows()[0];
    assert_eq!((found.first.histogram().count(), found.unqueued), (0, 3));
    assert_eq!(found.delay.histogram().max_ns, Some(5 * US));
}

#[test]
fn a_picture_shows_every_flow() {
    let mut arrivals = ideal(8, 3, 700, US);
    // In the second cycle, where the picture would begin, red frames are missing.
    arrivals.retain(|arrival| arrival.flow == 0 || (arrival.at_ns - BASE_NS) / CYCLE_NS != 1);
    let analysis = analysed(&arrivals);
    assert!((analysis.kept_from_ns() - BASE_NS) / CYCLE_NS >= 3);
    assert!(analysis.flows().iter().all(|flow| flow.kept.len() == 6));
}

#[test]
fn memory_is_bounded() {
    let arrivals: Vec<Arrival> = (0..50_000)
        .map(|number| Arrival {
            flow: 0,
            number,
            sent_ns: BASE_NS,
            at_ns: BASE_NS + CYCLE_NS + number * 40 % 1_900_000,
        })
        .collect();
    let mut many: Vec<Arrival> = arrivals;
    many.extend((0..5_000).map(|cycle| Arrival {
        flow: 0,
        number: 50_000 + cycle,
        sent_ns: BASE_NS,
        at_ns: BASE_NS + (cycle + 10) * CYCLE_NS + 400 * US,
    }));
    let mut analysis = Analysis::new(terms(), &[1]);
    take(&mut analysis, &many);
    assert_eq!(analysis.flows()[0].kept.len(), KEPT);
    assert_eq!(analysis.violations().len(), VIOLATIONS);
    let kept: u64 = analysis.violations().iter().map(|violation| violation.frames).sum();
    assert_eq!(kept + analysis.more_violations(), analysis.flows()[0].outside);
}

proptest! {
    /// Whatever is lost, doubled or moved is found, and nothing else.
    #[test]
    fn what_was_done_to_the_flow_is_found(
        harm in prop::collection::vec(prop_oneof![6 => Just(0u8), 1 => Just(1), 1 => Just(2), 1 => Just(3)], 200),
        gap_ns in 1u64..8_000,
    ) {
        let clean = ideal(5, 20, 900, gap_ns);
        let (mut arrivals, mut lost, mut doubled, mut moved) = (Vec::new(), [0; 2], [0; 2], [0; 2]);
        for (arrival, harm) in clean.iter().zip(&harm) {
            let flow = arrival.flow;
            match harm {
                0 => arrivals.push(*arrival),
                1 => lost[flow] += 1,
                2 => {
                    doubled[flow] += 1;
                    arrivals.extend([*arrival; 2]);
                }
                _ => {
                    // Into the middle of the other class's window of the same cycle.
                    moved[flow] += 1;
                    let into_ns = [900, 400][flow] * US;
                    let cycle = (arrival.at_ns - BASE_NS) / CYCLE_NS;
                    arrivals.push(Arrival { at_ns: BASE_NS + cycle * CYCLE_NS + into_ns + arrival.number, ..*arrival });
                }
            }
        }
        arrivals.sort_by_key(|arrival| arrival.at_ns);
        let analysis = analysed(&arrivals);
        for flow in 0..2 {
            let found = &analysis.flows()[flow];
            prop_assert_eq!(found.order.received, 100 - lost[flow]);
            prop_assert_eq!(found.order.duplicates, doubled[flow]);
            prop_assert_eq!(found.outside, moved[flow]);
            prop_assert_eq!(found.folded.iter().sum::<u64>(), found.order.received + doubled[flow]);
            prop_assert_eq!(found.delay.histogram().count(), found.judged);
        }
        let kept: u64 = analysis.violations().iter().map(|violation| violation.frames).sum();
        prop_assert_eq!(kept, moved[0] + moved[1]);
    }
}
