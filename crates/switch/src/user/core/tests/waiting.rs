//! Frames that wait for a gate, and what others may do meanwhile.

use super::*;

const CYCLE_NS: u64 = 1_000_000;

/// Queue 0 has its gate open at the beginning of each cycle.
fn list(open_ns: u64) -> Schedule {
    Schedule::new(0, &[Entry { open: 1, for_ns: open_ns }, Entry { open: 0, for_ns: CYCLE_NS - open_ns }])
}

fn until(core: &mut Core<Near, Clock>, clock: &Clock, ns: u64) {
    while clock.0.get() < ns {
        core.turn();
    }
}

#[test]
fn a_clock_that_goes_on_was_not_set() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), None);
    (0..10).for_each(|_| core.housekeeping());
    assert_eq!(bench.counters.clock_steps.get(), 0);
}

/// The frame is handed over as its gate opens and takes so long to hand over; when that began, whether it was late, and
/// what was reported of it.
fn sent_in_window(open_ns: u64, costs_ns: u64) -> (u64, u64, Option<Stall>) {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), Some(&list(open_ns)));
    bench.clock.pass(CYCLE_NS / 2);
    bench.far[1].0.borrow_mut().costs_ns = costs_ns;
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 1, 200));
    until(&mut core, &bench.clock, CYCLE_NS + 100_000);
    let begun_ns = bench.far[1].0.borrow().gone[0].0;
    // The first is the time that passes before.
    let mut reported = std::iter::from_fn(|| bench.stalls.pop().ok()).skip(1);
    (begun_ns, bench.counters.ports[1].queues[0].late.get(), reported.next())
}

#[test]
fn a_frame_is_late_that_ends_a_nanosecond_after_its_gate_closed() {
    const OPEN_NS: u64 = 8_000;
    let (begun_ns, ..) = sent_in_window(OPEN_NS, 1_000);
    let pace = ontick_tsn::wire::Pace::new(GIGABIT);
    // Its last octet, not the gap behind it; looking at the clock takes 20 ns.
    let on_the_link_ns = pace.time_ns(200) - pace.gap_ns();
    let costs_ns = CYCLE_NS + OPEN_NS - on_the_link_ns - begun_ns - 20;
    assert_eq!(sent_in_window(OPEN_NS, costs_ns), (begun_ns, 0, None));
    // Whoever reads the core's reports knows why.
    let slow = Stall { from_ns: begun_ns, until_ns: begun_ns + costs_ns + 1 + 20 };
    assert_eq!(sent_in_window(OPEN_NS, costs_ns + 1), (begun_ns, 1, Some(slow)));
}

/// Their talker would talk down what the frames of all others are reckoned with.
#[test]
fn frames_for_which_no_window_is_long_enough_are_a_reason_to_doubt_seldom() {
    let mut bench = Bench::new(2);
    // Long enough for 60 octets, and for 200 if they were handed over in no time.
    let open_ns = super::super::egress_port::LOOK_NS + HANDING_OVER_NS + 1_000;
    assert!(ontick_tsn::wire::Pace::new(GIGABIT).time_ns(200) < open_ns);
    let mut core = core!(bench, &switch(2, 8), Some(&list(open_ns)));
    let before_ns = core.handing_over.ns();
    bench.far[0].0.borrow_mut().coming.extend((0..50).map(|n| frame(1, 2, 0, n, 200)));
    (0..400).for_each(|_| core.turn());
    assert_eq!(bench.counters.ports[1].queues[0].no_window.get(), 50);
    let once_ns = core.handing_over.ns();
    assert!(once_ns < before_ns && once_ns >= before_ns - before_ns / 32, "{once_ns} of {before_ns}");

    // Not at all while frames of others are handed over.
    bench.far[1].0.borrow_mut().costs_ns = once_ns;
    bench.clock.pass(CYCLE_NS - bench.clock.0.get() % CYCLE_NS);
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 50, 60));
    (0..100).for_each(|_| core.turn());
    assert_eq!(gone(&bench.far[1]).len(), 1);
    let seen_ns = core.handing_over.ns();
    bench.clock.pass(2_000_000);
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 51, 200));
    (0..100).for_each(|_| core.turn());
    assert_eq!((bench.counters.ports[1].queues[0].no_window.get(), core.handing_over.ns()), (51, seen_ns));
}

/// Handing over takes a microsecond: one that was begun right before the opening would keep the frame behind the gate.
#[test]
fn nothing_is_begun_just_before_a_gate_opens_for_a_frame_of_another_port() {
    let mut bench = Bench::new(3);
    let mut core = core!(bench, &switch(3, 8), Some(&list(100_000)));
    assert!(bench.send.push(Command::Gates(2, None)).is_ok());
    core.housekeeping();
    // Where stations 2 and 3 are.
    bench.far[1].0.borrow_mut().coming.push_back(frame(2, 9, 7, 0, 60));
    bench.far[2].0.borrow_mut().coming.push_back(frame(3, 9, 7, 0, 60));
    until(&mut core, &bench.clock, CYCLE_NS / 2);
    let before = [gone(&bench.far[1]).len(), gone(&bench.far[2]).len()];
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 1, 200));
    until(&mut core, &bench.clock, CYCLE_NS - 900);
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 3, 0, 2, 200));
    until(&mut core, &bench.clock, CYCLE_NS + 50_000);
    let begun = |port: usize| bench.far[port].0.borrow().gone[before[port - 1]].clone();
    let ((first_ns, first), (second_ns, second)) = (begun(1), begun(2));
    assert_eq!((number(&first), number(&second)), (1, 2));
    assert!((CYCLE_NS..CYCLE_NS + 300).contains(&first_ns), "at its opening: {first_ns}");
    assert!(second_ns > first_ns, "{second_ns} {first_ns}");

    // Where nobody waits behind the gate it is no reason to wait.
    bench.far[0].0.borrow_mut().coming.clear();
    until(&mut core, &bench.clock, 2 * CYCLE_NS - 900);
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 3, 0, 3, 200));
    until(&mut core, &bench.clock, 2 * CYCLE_NS + 50_000);
    let (third_ns, third) = bench.far[2].0.borrow().gone.last().cloned().unwrap();
    assert!(number(&third) == 3 && third_ns < 2 * CYCLE_NS, "{third_ns}");
}

#[test]
fn gates_are_forced_open_and_closed_on_all_ports_and_come_back_to_their_lists() {
    let mut bench = Bench::new(2);
    // The second port's gate opens with each cycle, for a tenth of it.
    let mut core = core!(bench, &switch(2, 8), Some(&list(100_000)));
    let first = bench.far[0].clone();
    let send = |core: &mut Core<Near, Clock>, number: u32| {
        first.0.borrow_mut().coming.push_back(frame(1, 2, 0, number, 200));
        (0..40).for_each(|_| core.turn());
    };
    bench.clock.pass(CYCLE_NS / 2);
    send(&mut core, 1);
    assert!(gone(&bench.far[1]).is_empty(), "its gate is closed");
    assert!(bench.send.push(Command::Force(Some(GateOverride::Open))).is_ok());
    core.housekeeping();
    send(&mut core, 2);
    assert_eq!(gone(&bench.far[1]).iter().map(|frame| number(frame)).collect::<Vec<_>>(), [1, 2]);
    assert!(bench.send.push(Command::Force(Some(GateOverride::Closed))).is_ok());
    core.housekeeping();
    until(&mut core, &bench.clock, CYCLE_NS);
    send(&mut core, 3);
    core.housekeeping();
    let queue = &bench.counters.ports[1].queues[0];
    assert_eq!((gone(&bench.far[1]).len(), queue.no_window.get(), queue.waiting.get()), (2, 1, 0), "nothing waits");
    assert!(bench.send.push(Command::Force(None)).is_ok());
    core.housekeeping();
    until(&mut core, &bench.clock, CYCLE_NS + CYCLE_NS / 2);
    send(&mut core, 4);
    assert_eq!(gone(&bench.far[1]).len(), 2, "its gate is closed");
    until(&mut core, &bench.clock, 2 * CYCLE_NS + 50_000);
    assert_eq!(number(gone(&bench.far[1]).last().unwrap()), 4);
}

/// A gate that was to open never will: what waits for it has its places back and is counted, the rest goes on.
#[test]
fn frames_whose_gate_will_never_open_do_not_wait_for_ever() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), Some(&list(100_000)));
    bench.clock.pass(CYCLE_NS / 2);
    let coming = [frame(1, 2, 0, 1, 200), frame(1, 2, 0, 2, 200), frame(1, 2, 0, 3, 60)];
    bench.far[0].0.borrow_mut().coming.extend(coming);
    (0..20).for_each(|_| core.turn());
    core.housekeeping();
    let waiting = || bench.counters.ports[1].queues[0].waiting.get();
    assert!(waiting() == 3 && !core.is_idle(), "their gate opens in the next cycle");
    // Room for the smallest frame, and for no other.
    let narrow = Schedule::new(0, &[Entry { open: 1, for_ns: 3_600 }, Entry { open: 0, for_ns: CYCLE_NS - 3_600 }]);
    assert!(bench.send.push(Command::Gates(1, Some(narrow))).is_ok());
    core.housekeeping();
    (0..20).for_each(|_| core.turn());
    core.housekeeping();
    assert_eq!((waiting(), bench.counters.ports[1].queues[0].no_window.get()), (1, 2));
    until(&mut core, &bench.clock, CYCLE_NS + 50_000);
    assert_eq!(gone(&bench.far[1]).iter().map(|frame| number(frame)).collect::<Vec<_>>(), [3]);
    assert!(core.is_idle());
}

#[test]
fn a_smaller_frame_size_is_for_frames_that_come_from_then_on() {
    let mut bench = Bench::new(2);
    let closed_first = [Entry { open: 0, for_ns: 100_000 }, Entry { open: 1 << 5, for_ns: 900_000 }];
    let mut core = core!(bench, &switch(2, 8), Some(&Schedule::new(0, &closed_first)));
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 5, 1, 300));
    (0..20).for_each(|_| core.turn());
    let queue = &bench.counters.ports[1].queues[5];
    assert_eq!((queue.queued.get(), bench.clock.0.get() < 100_000), (1, true));
    let mut sizes = [u32::MAX; CLASSES];
    sizes[5] = 200;
    assert!(bench.send.push(Command::Sizes(1, sizes)).is_ok());
    core.housekeeping();
    bench.far[0].0.borrow_mut().coming.extend([frame(1, 2, 5, 2, 300), frame(1, 2, 5, 3, 150)]);
    (0..60_000).for_each(|_| core.turn());
    assert_eq!(gone(&bench.far[1]).iter().map(|frame| number(frame)).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(queue.over_sdu.get(), 1);
}
