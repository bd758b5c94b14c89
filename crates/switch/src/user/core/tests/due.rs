//! When a core that is driven by events should have its next turn.

use super::*;
use ontick_tsn::schedule::NEVER;

/// Turns until this time, as often as the clock allows; how many frames went out by port 1.
fn until(bench: &Bench, core: &mut Core<Near, Clock>, at_ns: u64) -> usize {
    while bench.clock.0.get() < at_ns {
        core.turn();
    }
    gone(&bench.far[1]).len()
}

#[test]
fn nothing_leaves_before_it_is_due_and_something_does_then() {
    let gates = [Entry { open: 1, for_ns: 80_000 }, Entry { open: 128, for_ns: 20_000 }];
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), Some(&Schedule::new(0, &gates)));
    core.turn();
    assert_eq!(core.due_ns(), NEVER, "nothing waits");
    // Its gate opens at 80 us.
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 7, 1, 60));
    assert_eq!(until(&bench, &mut core, 5_000), 0);
    assert_eq!(core.due_ns(), 80_000);
    assert_eq!(until(&bench, &mut core, 79_980), 0);
    assert_eq!(until(&bench, &mut core, 82_000), 1);
    assert_eq!(core.due_ns(), NEVER);
}

#[test]
fn a_link_that_is_busy_is_waited_for() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), None);
    (1..=2).for_each(|number| bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, number, 1_500)));
    while gone(&bench.far[1]).is_empty() || !bench.far[0].0.borrow().coming.is_empty() {
        core.turn();
    }
    // 1 500 octets take 12 192 ns.
    let (now_ns, due_ns) = (bench.clock.0.get(), core.due_ns());
    assert!((now_ns + 5_000..now_ns + 12_192).contains(&due_ns), "{now_ns} {due_ns}");
    assert_eq!(until(&bench, &mut core, due_ns - 40), 1);
    assert_eq!(until(&bench, &mut core, due_ns + 500), 2);
}
