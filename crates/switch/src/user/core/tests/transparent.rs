//! A transparent clock: event messages say how long they were in the switch.

use super::*;

const CYCLE: [Entry; 2] = [Entry { open: 0, for_ns: 900_000 }, Entry { open: 255, for_ns: 100_000 }];

/// A Sync to the group of all PTP clocks, or a message of another type.
fn message(kind: u8) -> Vec<u8> {
    let mut frame = vec![1, 0x1b, 0x19, 0, 0, 0, 2, 0, 0, 0, 0, 1, 0x88, 0xf7, kind, 2, 0, 44];
    frame.resize(60, 0);
    frame
}

/// The correction of what left by a port, and how long after `came_ns` it was on the link, in ns.
fn corrections(far: &Far, came_ns: u64) -> Vec<(i64, i64)> {
    let far = far.0.borrow();
    let correction = |frame: &[u8]| i64::from_be_bytes(*frame[22..].first_chunk().unwrap()) >> 16;
    let all = far.gone.iter().zip(&far.left_ns);
    all.map(|((_, frame), left_ns)| (correction(frame), (left_ns - came_ns) as i64)).collect()
}

fn bench(transparent_clock: bool, kind: u8, list: Option<&Schedule>) -> (Bench, u64) {
    let mut bench = Bench::new(3);
    let switch = Switch { transparent_clock, ..switch(3, 8) };
    bench.clock.pass(10_000);
    let mut core = core!(bench, &switch, list);
    {
        let mut first = bench.far[0].0.borrow_mut();
        first.coming.push_back(message(kind));
        first.age_ns = 3_000;
    }
    // Its way out is longer by one of the two ports.
    bench.far[2].0.borrow_mut().next_costs_ns.push_back(1_300);
    let came_ns = bench.clock.0.get() - 3_000;
    (0..60_000).for_each(|_| core.turn());
    drop(core);
    (bench, came_ns)
}

#[test]
fn an_event_message_is_corrected_by_the_time_until_it_left_each_port() {
    let list = Schedule::new(0, &CYCLE);
    let (bench, came_ns) = bench(true, 0, Some(&list));
    for far in &bench.far[1..] {
        let [(correction, in_ns)] = corrections(far, came_ns)[..] else { panic!("one frame") };
        assert!(in_ns > 800_000, "it waited for its gate: {in_ns}");
        // What handing over will take is not known before.
        assert!((correction - in_ns).abs() < 1_500, "{correction} of {in_ns}");
    }
}

#[test]
fn others_and_without_being_asked_all_stay_as_they_were() {
    for (transparent_clock, kind) in [(true, 8), (true, 11), (false, 0)] {
        let (bench, _) = bench(transparent_clock, kind, None);
        assert_eq!([gone(&bench.far[1]), gone(&bench.far[2])], [[message(kind)], [message(kind)]]);
    }
}

#[test]
fn one_that_finds_no_room_is_corrected_once() {
    let mut bench = Bench::new(2);
    let switch = Switch { transparent_clock: true, ..switch(2, 8) };
    let mut core = core!(bench, &switch, None);
    let came_ns = bench.clock.0.get();
    bench.far[0].0.borrow_mut().coming.push_back(message(1));
    bench.far[1].0.borrow_mut().full_from = 1;
    (0..3).for_each(|_| core.turn());
    assert!(!core.is_idle(), "it waits for room");
    bench.far[1].0.borrow_mut().full_from = 0;
    (0..60_000).for_each(|_| core.turn());
    let [(correction, in_ns)] = corrections(&bench.far[1], came_ns)[..] else { panic!("one frame") };
    assert!((correction - in_ns).abs() < 2_500, "{correction} of {in_ns}");
}
