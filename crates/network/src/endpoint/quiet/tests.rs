//! Base times for made-up ticks and hold-ups.

use ontick_rt::gaps::Gap;
use ontick_rt::thread::Policy;
use proptest::prelude::*;

use super::*;

const MS: u64 = 1_000_000;

fn stream(offset_ns: u64, period_ns: u64) -> Outgoing {
    Outgoing {
        stream: 0,
        name: "f".into(),
        to: [2, 0, 0, 0, 0, 1],
        pcp: 5,
        vlan: 0,
        offset_ns,
        period_ns,
        size: 64,
        parts: 1,
        ports: vec![0],
    }
}

/// 225 us at the end of each millisecond are free.
fn dense() -> Messages {
    let streams: Vec<_> = (0..156).map(|n| stream(n * 5_000, MS * [1, 2, 4][n as usize % 3])).collect();
    Messages::of(&streams).unwrap()
}

fn ticking(offset_ns: u64) -> Scan {
    let gaps = (0..125).map(|n| Gap { at_ns: n * 4 * MS + offset_ns, length_ns: 15_000 }).collect();
    Scan { gaps, watched_ns: 500 * MS }
}

proptest! {
    #[test]
    fn ticks_fall_into_the_gap_wherever_they_are(offset_ns in 0..4 * MS) {
        let (messages, scan) = (dense(), ticking(offset_ns));
        let shift_ns = messages.quietest(&scan);
        let within_ns = (offset_ns + 4 * MS - shift_ns) % MS;
        prop_assert!((830_000..940_000).contains(&within_ns), "{within_ns}");
        prop_assert_eq!(messages.held_up(&scan, shift_ns), 0.0);
    }
}

#[test]
fn what_is_held_up_is_counted() {
    let (messages, scan) = (Messages::of(&[stream(0, MS), stream(500_000, MS)]).unwrap(), ticking(3_490_000));
    // A tick in 4 ms, which 8 messages are due in, and one of them meets.
    assert_eq!(messages.held_up(&scan, 0), 1.0 / 8.0);
    assert_eq!(messages.held_up(&scan, 50_000), 0.0);
    assert_eq!(messages.held_up(&scan, 990_000), 1.0 / 8.0, "the tick meets the other one");
    // Longer than a cycle: all that were due in it.
    let long = Scan { gaps: vec![Gap { at_ns: 250_000, length_ns: 5 * MS }], watched_ns: 10 * MS };
    assert_eq!(messages.held_up(&long, 0), 0.5);
    assert_eq!(messages.held_up(&Scan::default(), 0), 0.0);
}

#[test]
fn by_chance_as_many_messages_are_held_up_as_the_cpu_is() {
    let (messages, scan) = (dense(), ticking(1_234_567));
    assert_eq!(time_held_up(&scan), 15.0 / 4_000.0);
    let mean = (0..4_000).map(|us| messages.held_up(&scan, us * 1_000)).sum::<f64>() / 4_000.0;
    assert!((mean - time_held_up(&scan)).abs() < 1e-4, "{mean}");
}

/// A tick every 4 ms keeps its place, and what comes by chance keeps none.
#[test]
fn a_base_time_is_better_where_hold_ups_keep_their_place() {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut number = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let is_better = |messages: &Messages, scan: &Scan| {
        let (chosen_in, judged_in) = halves(scan);
        let shift_ns = messages.quietest(&chosen_in);
        let (held_up, held_up_by_chance) = (messages.held_up(&judged_in, shift_ns), time_held_up(&judged_in));
        let as_good = messages.as_good(&judged_in, shift_ns);
        let (base_ns, hold_ups, watched_ns, refused) = Default::default();
        QuietBase { base_ns, hold_ups, watched_ns, held_up, held_up_by_chance, as_good, refused }.is_better()
    };
    let sparse = Messages::of(&[stream(0, MS), stream(300_000, MS)]).unwrap();
    let mut by_chance = 0;
    for n in 0..100u64 {
        for messages in [&dense(), &sparse] {
            let mut at_ns: Vec<u64> = (0..20 + 4 * n).map(|_| number(500 * MS)).collect();
            at_ns.sort_unstable();
            let gaps = at_ns.into_iter().map(|at_ns| Gap { at_ns, length_ns: 5_000 + at_ns % 20_000 }).collect();
            by_chance += u32::from(is_better(messages, &Scan { gaps, watched_ns: 500 * MS }));
        }
        assert!(is_better(&dense(), &ticking(number(4 * MS))), "{n}");
    }
    // Of 200, a tenth at most is expected to be taken for better.
    assert!(by_chance <= 30, "{by_chance}");
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    let place = CorePlacement { cpu: Some(1_023), policy: Policy::Other, never_rest: false };
    let refused = quiet_base(&[stream(0, MS)], place, 0).unwrap_err().to_string();
    assert!(refused.starts_with("CPU 1023 is not online"), "{refused}");
}

#[test]
fn a_cpu_that_nothing_holds_up_needs_no_choice() {
    assert_eq!(dense().quietest(&Scan { gaps: Vec::new(), watched_ns: 500 * MS }), 0);
}

#[test]
fn a_base_time_is_the_next_that_fits() {
    let first = |from_ns| dense().first_from(from_ns, 300_000);
    assert_eq!([0, 300_000, 300_001, 4_300_000].map(first), [300_000, 300_000, 4_300_000, 4_300_000]);
    assert_eq!(first(u64::MAX), u64::MAX);
}

#[test]
fn messages_are_near_across_the_end_of_a_cycle() {
    let near = Messages::of(&[stream(0, MS)]).unwrap().near(200);
    let (first, last, middle) = (near[0], near[199], near[100]);
    assert!(first > 0.99 && (last - near[1]).abs() < 1e-6 && last > 0.9 && middle < 1e-3, "{first} {last} {middle}");
}

#[test]
fn cycles_that_half_a_second_does_not_hold_are_refused() {
    let refused = |periods: [u64; 2]| Messages::of(&periods.map(|ns| stream(0, ns))).err().unwrap().to_string();
    let long = refused([7 * MS, 100 * MS]);
    assert!(long.starts_with("the periods of the streams begin together only every 700ms: at most 100ms"), "{long}");
    assert!(refused([999_983_000_000, 1_000_003_000_000]).contains("only every few minutes"));
}
