//! Probes, and ports that are closed for a loop.

use super::*;

#[test]
fn probes_find_a_loop_and_go_no_further() {
    let mut bench = Bench::new(3);
    let mut core = core!(bench, &switch(3, 8), None);
    assert!(bench.send.push(Command::Probe).is_ok());
    core.housekeeping();
    let probes: Vec<Vec<u8>> = bench.far.iter().map(|far| far.0.borrow_mut().gone.remove(0).1).collect();
    // The first port's probe comes in at the third, and the second's is reflected.
    bench.far[2].0.borrow_mut().coming.push_back(probes[0].clone());
    bench.far[1].0.borrow_mut().coming.push_back(probes[1].clone());
    (0..20).for_each(|_| core.turn());
    assert_eq!(bench.counters.ports.iter().map(|port| port.looped.get()).collect::<Vec<_>>(), [0, 0, 1]);
    assert!(bench.far.iter().all(|far| gone(far).is_empty()));
}

#[test]
fn a_probe_of_another_port_cannot_be_made_of_ones_own() {
    let mut bench = Bench::new(3);
    let mut core = core!(bench, &switch(3, 8), None);
    assert!(bench.send.push(Command::Probe).is_ok());
    core.housekeeping();
    let mut forged = bench.far[0].0.borrow_mut().gone.remove(0).1;
    forged[34..36].copy_from_slice(&2u16.to_be_bytes());
    bench.far[0].0.borrow_mut().coming.push_back(forged);
    (0..20).for_each(|_| core.turn());
    assert!(bench.counters.ports.iter().all(|port| port.looped.get() == 0));
}

#[test]
fn a_probe_waits_until_the_gate_of_its_class_is_open() {
    const CLOSED_NS: u64 = 400_000;
    let mut bench = Bench::new(2);
    let list = [Entry { open: 0, for_ns: CLOSED_NS }, Entry { open: 1, for_ns: 600_000 }];
    let mut core = core!(bench, &switch(2, 8), Some(&Schedule::new(0, &list)));
    assert!(bench.send.push(Command::Probe).is_ok());
    while bench.clock.0.get() < 2 * CLOSED_NS {
        core.turn();
        core.housekeeping();
    }
    for far in &bench.far {
        let gone = &far.0.borrow().gone;
        assert!(gone.len() == 1 && (CLOSED_NS..CLOSED_NS + 5_000).contains(&gone[0].0), "{:?}", gone.first());
    }
}

/// The far ends of ports 0 and 2 are plugged together; every tenth of a second somebody looks, by a clock that goes ten times
/// as fast as the core's: the storm of a tenth of the time is storm enough.
#[test]
fn a_loop_is_broken_at_one_port_and_the_other_goes_on() {
    let mut bench = Bench::new(3);
    let mut core = core!(bench, &switch(3, 8), None);
    let mut guard = LoopGuard::new(3, Duration::ZERO, 7);
    let mut looks_ns = 0;
    let mut closed_ns = None;
    // What both hosts behind port 1 and the loop have.
    let broadcast = |number| {
        let mut frame = frame(9, 0, 0, number, 60);
        frame[..6].fill(0xff);
        frame
    };
    bench.far[1].0.borrow_mut().coming.push_back(broadcast(1));
    let (mut round, mut last_round) = (0u64, 0);
    while bench.clock.0.get() < 100_000_000 {
        core.turn();
        for (one, other) in [(0, 2), (2, 0)] {
            let gone: Vec<_> = bench.far[one].0.borrow_mut().gone.drain(..).collect();
            round += gone.len() as u64;
            bench.far[other].0.borrow_mut().coming.extend(gone.into_iter().map(|(_, frame)| frame));
        }
        let now_ns = bench.clock.0.get();
        if now_ns < looks_ns {
            continue;
        }
        looks_ns = now_ns + 10_000_000;
        let looped: Vec<u64> = bench.counters.ports.iter().map(|port| port.looped.get()).collect();
        for action in guard.poll(Duration::from_nanos(10 * now_ns), &looped, bench.counters.addresses_moved.get()) {
            let command = match action {
                Action::Probe => Command::Probe,
                Action::Close(port) => {
                    assert_eq!(port, 2);
                    closed_ns.get_or_insert(now_ns);
                    Command::Close(port, true)
                }
                Action::Reopen(port) => panic!("port {port} still makes a loop"),
            };
            assert!(bench.send.push(command).is_ok());
            core.housekeeping();
        }
        last_round = std::mem::take(&mut round);
    }
    let closed_ns = closed_ns.expect("the loop is found");
    assert!(closed_ns < 70_000_000, "after {closed_ns} ns of a storm");
    assert!(last_round <= 1, "{last_round} frames went round since the last look but one");
    assert!(bench.counters.ports[2].closed.get() > 0);
    // Port 0 takes frames out and in.
    bench.far[1].0.borrow_mut().coming.push_back(broadcast(2));
    bench.far[1].0.borrow_mut().gone.clear();
    (0..50).for_each(|_| core.turn());
    bench.far[0].0.borrow_mut().coming.push_back(frame(5, 9, 0, 3, 60));
    (0..50).for_each(|_| core.turn());
    assert_eq!(gone(&bench.far[0]).iter().map(|frame| number(frame)).collect::<Vec<_>>(), [2]);
    assert_eq!(gone(&bench.far[1]).iter().map(|frame| number(frame)).collect::<Vec<_>>(), [3]);
    assert!(gone(&bench.far[2]).is_empty());
}
