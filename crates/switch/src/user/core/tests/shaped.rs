//! Shaped classes: how much they send, and when.

use super::*;
use crate::user::gate::Gates;
use crate::user::shaper::Credits;
use ontick_tsn::shaper::{PortShaping, Slopes, shaped};

/// Frames of both classes without end, for so long; those of class 7, as when they were handed over and their bits.
fn overloaded(switch: &Switch, list: Option<&Schedule>, length_ns: u64) -> (Vec<(u64, u64)>, usize) {
    let mut bench = Bench::new(2);
    bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = 500);
    let mut core = core!(bench, switch, list);
    while bench.clock.0.get() < length_ns {
        overload(&bench.far, &bench.clock, &mut core);
    }
    gone_of_each(&bench.far[1])
}

/// A turn of the core for which frames of both classes wait.
fn overload(far: &[Far], clock: &Clock, core: &mut Core<'_, Near, Clock>) {
    let mut from = far[0].0.borrow_mut();
    while from.coming.len() < 2 {
        from.coming.extend([frame(1, 2, 7, 0, 1000), frame(1, 2, 0, 0, 1000)]);
    }
    drop(from);
    core.turn();
    clock.pass(100);
}

fn gone_of_each(far: &Far) -> (Vec<(u64, u64)>, usize) {
    let far = far.0.borrow();
    let (ours, others): (Vec<_>, Vec<_>) = far.gone.iter().partition(|(_, frame)| pcp(frame) == 7);
    (ours.iter().map(|(at_ns, frame)| (*at_ns, wire::frame_bits(frame.len() as u32))).collect(), others.len())
}

fn limited(slope: u64) -> (Switch, Slopes) {
    let mut switch = switch(2, 8);
    switch.ports[1].idle_slopes = vec![None, None, Some(slope)];
    let slopes = shaped(&switch, &switch.ports[1], GIGABIT)[0].1;
    (switch, slopes)
}

/// Between any two frames no more than the idle slope, hiCredit and the frame itself; hand-overs are a little apart from
/// when the frames are on the link.
fn keeps(sent: &[(u64, u64)], slopes: &Slopes, idle: u64) {
    for (first, (from_ns, _)) in sent.iter().enumerate() {
        let mut bits = 0;
        for (at_ns, of) in &sent[first..] {
            bits += of;
            let passed_ns = at_ns - from_ns + 5_000;
            let most = slopes.hi_credit + of + idle * passed_ns / 1_000_000_000;
            assert!(bits <= most, "{bits} of {most} bits from {from_ns} to {at_ns}");
        }
    }
}

#[test]
fn a_shaped_class_has_its_idle_slope_and_others_the_rest() {
    const LENGTH_NS: u64 = 20_000_000;
    let slope = 100_000_000;
    let (switch, slopes) = limited(slope);
    let (sent, others) = overloaded(&switch, None, LENGTH_NS);
    keeps(&sent, &slopes, slope);
    let (first, last) = (sent[0], sent[sent.len() - 1]);
    let bits: u64 = sent[..sent.len() - 1].iter().map(|(_, bits)| bits).sum();
    let due = slope * (last.0 - first.0) / 1_000_000_000;
    assert!(bits.abs_diff(due) * 200 <= due, "{bits} of {due}");
    // 8.2 us each: nine tenths of the time are theirs.
    assert!(others as u64 > LENGTH_NS / 8_192 * 8 / 10, "{others}");
}

#[test]
fn a_shaped_class_behind_gates_has_its_idle_slope_over_cycles() {
    const CYCLE_NS: u64 = 500_000;
    let slope = 100_000_000;
    let (switch, _) = limited(slope);
    let entries = [Entry { open: 129, for_ns: CYCLE_NS / 2 }, Entry { open: 1, for_ns: CYCLE_NS / 2 }];
    let list = Schedule::new(0, &entries);
    let slopes = PortShaping::of(&switch, &switch.ports[1]).unwrap();
    let slopes = slopes.slopes(7, GIGABIT, Some(&list.shares()));
    assert_eq!(slopes.idle, 2 * slope);
    let (sent, _) = overloaded(&switch, Some(&list), 20_000_000);
    keeps(&sent, &slopes, slopes.idle);
    assert!(sent.iter().all(|(at_ns, _)| at_ns % CYCLE_NS < CYCLE_NS / 2));
    // Whole cycles, but for what is saved and a frame; at both ends of a window it may have to wait for longer than hiCredit.
    let (bits, due) = (sent.iter().map(|(_, bits)| bits).sum::<u64>(), slope / 50);
    assert!((due - due / 20..=due + slopes.hi_credit + 8_192).contains(&bits), "{bits} of {due}");
}

/// What the core is sent for other slopes.
fn idle_slopes(switch: &Switch) -> Command<Near> {
    let credits = |shaping| Box::new(Credits::new(shaping, GIGABIT, &Gates::new(None)));
    Command::IdleSlopes(1, PortShaping::of(switch, &switch.ports[1]).map(credits))
}

#[test]
fn another_idle_slope_holds_from_then_on_and_a_debt_stays() {
    let (fast, of_fast) = limited(100_000_000);
    let (slow, of_slow) = limited(20_000_000);
    let mut bench = Bench::new(2);
    bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = 500);
    let mut core = core!(bench, &fast, None);
    let sent = |bench: &Bench| gone_of_each(&bench.far[1]).0;
    while bench.clock.0.get() < 10_000_000 {
        overload(&bench.far, &bench.clock, &mut core);
    }
    // Just after a frame, which is owed for.
    let of_before = sent(&bench).len() + 1;
    while sent(&bench).len() < of_before {
        overload(&bench.far, &bench.clock, &mut core);
    }
    assert!(bench.send.push(idle_slopes(&slow)).is_ok());
    core.housekeeping();
    assert!(matches!(bench._discarded.pop(), Ok(Discarded::Credits(_))));
    let changed_ns = bench.clock.0.get();
    while bench.clock.0.get() < changed_ns + 20_000_000 {
        overload(&bench.far, &bench.clock, &mut core);
    }
    let all = sent(&bench);
    keeps(&all[..of_before], &of_fast, 100_000_000);
    // The frame on the link counted by the slope with which it began.
    let gained = 8_192 * 100_000_000 / GIGABIT;
    keeps(&all[of_before - 1..], &Slopes { hi_credit: of_slow.hi_credit + gained, ..of_slow }, 20_000_000);
    // 400 000 bits, but for what is saved and a frame.
    let bits: u64 = all[of_before..].iter().map(|(_, bits)| bits).sum();
    assert!((380_000..=410_000).contains(&bits), "{bits}");

    // Without a slope the class goes before the other whenever it has a frame.
    let unlimited = Switch { ports: switch(2, 8).ports, ..slow };
    assert!(bench.send.push(idle_slopes(&unlimited)).is_ok());
    core.housekeeping();
    let (before, others) = gone_of_each(&bench.far[1]);
    let changed_ns = bench.clock.0.get();
    while bench.clock.0.get() < changed_ns + 1_000_000 {
        overload(&bench.far, &bench.clock, &mut core);
    }
    let (after, of_others) = gone_of_each(&bench.far[1]);
    assert!(after.len() - before.len() >= 100, "{} of 120", after.len() - before.len());
    assert!(of_others - others <= 20, "{}", of_others - others);
}

#[test]
fn a_debt_keeps_no_core_from_its_rest_and_a_rest_no_class_from_its_rate() {
    let (switch, _) = limited(20_000_000);
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch, None);
    bench.far[0].0.borrow_mut().coming.extend((0..3).map(|number| frame(1, 2, 7, number, 1000)));
    (0..10).for_each(|_| core.turn());
    assert_eq!(bench.far[1].0.borrow().gone.len(), 1, "the others wait for credit");
    // The frame is through.
    let link_is_free = 10_000;
    bench.clock.pass(link_is_free);
    core.turn();
    assert!(core.due_ns() < NEVER);
    assert_eq!(core.quiet_until_ns(), NEVER, "no gate moves");
    // The debt is paid early in the rest, which then gains 1 380 bits, five times hiCredit: the debt after the next frame is
    // paid sooner by as much. 8 192 bits take 410 us, 10 of which have passed, and 388 us if no more than hiCredit were kept.
    bench.clock.pass(core.due_ns() - core.seen_ns() - 1_000);
    core.turn();
    bench.clock.pass(REST_NS);
    core.slept(REST_NS);
    (0..10).for_each(|_| core.turn());
    assert_eq!(bench.far[1].0.borrow().gone.len(), 2);
    bench.clock.pass(link_is_free);
    core.turn();
    let owed_ns = core.due_ns() - core.seen_ns();
    assert!((310_000..350_000).contains(&owed_ns), "{owed_ns}");
}
