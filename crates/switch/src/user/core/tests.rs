//! The core on ports and a clock that are made up, so that every moment is known.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use ontick_rt::clock::ClockId;
use ontick_rt::rtrb::{Consumer, Producer, RingBuffer};
use proptest::prelude::*;

use super::*;
use crate::user::loop_guard::{Action, LoopGuard};
use crate::user::port::{Received, Sent};
use crate::user::rest::{LATE_NS, REST_NS};
use ontick_tsn::model::{Class, Classifier, Entry, Forwarding, GateOverride, Offload, Plane, Role, Rule};
use ontick_tsn::schedule::Schedule;

const GIGABIT: u64 = 1_000_000_000;

/// A clock that goes on whenever somebody looks, or does something.
#[derive(Clone, Default)]
struct Clock(Rc<Cell<u64>>);

impl Clock {
    fn pass(&self, ns: u64) {
        self.0.set(self.0.get() + ns);
    }
}

impl Time for Clock {
    fn now_ns(&mut self) -> u64 {
        self.pass(20);
        self.0.get()
    }
}

/// A port whose far end is a list.
#[derive(Clone, Default)]
struct Far(Rc<RefCell<Lists>>);

#[derive(Default)]
struct Lists {
    coming: VecDeque<Vec<u8>>,
    /// When the core had begun to hand it over, and the frame.
    gone: Vec<(u64, Vec<u8>)>,
    /// When it was on the link: at the end of handing it over, if nothing else is said.
    left_ns: Vec<u64>,
    /// What it takes to hand a frame over, in ns.
    costs_ns: u64,
    /// How long before it was taken in each frame came.
    age_ns: u64,
    /// What it takes for the next ones.
    next_costs_ns: VecDeque<u64>,
    /// How far into that each of them is on the link.
    next_leave_ns: VecDeque<u64>,
    down: bool,
    /// Frames of so many octets and more find no room, for ever; none where it is 0.
    full_from: usize,
}

struct Near(Far, Clock);

impl Port for Near {
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        let Some(frame) = self.0.0.borrow_mut().coming.pop_front() else { return Received::Nothing };
        self.1.pass(100);
        match slot.get_mut(..frame.len()) {
            Some(place) => place.copy_from_slice(&frame),
            None => return Received::Oversized,
        }
        Received::Frame(frame.len())
    }

    fn age_ns(&self) -> u64 {
        self.0.0.borrow().age_ns
    }

    fn send(&mut self, frame: &[u8]) -> Sent {
        let mut far = self.0.0.borrow_mut();
        if far.down {
            return Sent::Down;
        }
        if far.full_from > 0 && frame.len() >= far.full_from {
            self.1.pass(far.costs_ns);
            return Sent::Busy;
        }
        far.gone.push((self.1.0.get(), frame.to_vec()));
        let usual_ns = far.costs_ns;
        let costs_ns = far.next_costs_ns.pop_front().unwrap_or(usual_ns);
        let left_ns = self.1.0.get() + far.next_leave_ns.pop_front().unwrap_or(costs_ns);
        far.left_ns.push(left_ns);
        self.1.pass(costs_ns);
        Sent::Done
    }

    fn overflowed(&mut self) -> u64 {
        0
    }
}

/// Classes by PCP: 7 is queue 7, 5 is queue 5, all others queue 0.
fn switch(ports: usize, limit: u32) -> Switch {
    let class = |queue: u8, rules| Class { name: format!("class {queue}"), queue, rules, limit };
    let pcp = |pcp| vec![Rule { pcp: Some(pcp), ..Rule::default() }];
    let port = |n| ontick_tsn::model::Port {
        name: format!("port {n}"),
        rate: Some(GIGABIT),
        offload: Offload::None,
        transmit_queues: Vec::new(),
        idle_slopes: Vec::new(),
        preemption: None,
        max_sdu: vec![None, Some(400), None],
        gates: None,
    };
    Switch {
        name: "test".into(),
        role: Role::Bridge,
        plane: Plane::User,
        classifier: Classifier::Auto,
        socket: ontick_tsn::model::Socket::Packet,
        cpus: Vec::new(),
        clock: ontick_tsn::model::Clock::Tai,
        ageing_ns: 300_000_000_000,
        addresses: 64,
        stp: Default::default(),
        bridge: ontick_tsn::model::Bridge::Linux,
        forward_reserved: Default::default(),
        transparent_clock: false,
        streams: Vec::new(),
        forwarding: Forwarding::default(),
        classes: vec![class(0, vec![]), class(5, pcp(5)), class(7, pcp(7))],
        ports: (0..ports).map(port).collect(),
    }
}

/// A tagged frame: from and to the stations of these numbers, of a PCP, with a number.
fn frame(from: u8, to: u8, pcp: u8, number: u32, octets: usize) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, to, 2, 0, 0, 0, 0, from, 0x81, 0, pcp << 5, 1, 0x88, 0xb5];
    frame.extend(number.to_be_bytes());
    frame.resize(octets.max(60), 0);
    frame
}

fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(*frame[18..].first_chunk().unwrap())
}

fn pcp(frame: &[u8]) -> u8 {
    frame[14] >> 5
}

struct Bench {
    far: Vec<Far>,
    clock: Clock,
    counters: Counters,
    send: Producer<Command<Near>>,
    channels: Option<Channels<Near>>,
    stalls: Consumer<Stall>,
    _discarded: Consumer<Discarded<Near>>,
}

impl Bench {
    fn new(ports: usize) -> Self {
        let (send, commands) = RingBuffer::new(8);
        let (discarded, _discarded) = RingBuffer::new(8);
        let (push, stalls) = RingBuffer::new(8);
        let far: Vec<Far> = (0..ports).map(|_| Far::default()).collect();
        far.iter().for_each(|far| far.0.borrow_mut().costs_ns = 1_000);
        let channels = Some(Channels { commands, discarded, stalls: push });
        Self { far, clock: Clock::default(), counters: Counters::new(ports), send, channels, stalls, _discarded }
    }

    /// A core whose ports all have this list of gates.
    fn core<'c>(
        counters: &'c Counters,
        far: &[Far],
        clock: &Clock,
        channels: Channels<Near>,
        switch: &Switch,
        list: Option<&Schedule>,
    ) -> Core<'c, Near, Clock> {
        let at = |far: &Far| PortConfig {
            port: Some(Near(far.clone(), clock.clone())),
            rate: GIGABIT,
            schedule: list.cloned(),
        };
        Core::new(switch, far.iter().map(at).collect(), clock.clone(), counters, channels, 3)
    }
}

macro_rules! core {
    ($bench:expr, $switch:expr, $list:expr) => {
        Bench::core(&$bench.counters, &$bench.far, &$bench.clock, $bench.channels.take().unwrap(), $switch, $list)
    };
}

mod bursts;
mod changed_streams;
mod cores;
mod due;
mod ends;
mod forwarding;
mod live;
mod loops;
mod overdue;
mod planned;
mod shaped;
mod streams;
mod transparent;
mod waiting;

fn gone(far: &Far) -> Vec<Vec<u8>> {
    far.0.borrow().gone.iter().map(|(_, frame)| frame.clone()).collect()
}

#[test]
fn unknown_addresses_go_everywhere_and_known_ones_to_their_port() {
    let mut bench = Bench::new(3);
    let mut core = core!(bench, &switch(3, 8), None);
    let (first, answer) = (frame(1, 2, 0, 1, 60), frame(2, 1, 0, 2, 60));
    bench.far[0].0.borrow_mut().coming.push_back(first.clone());
    (0..20).for_each(|_| core.turn());
    assert_eq!([gone(&bench.far[1]), gone(&bench.far[2])], [vec![first.clone()], vec![first]]);
    bench.far[1].0.borrow_mut().coming.push_back(answer.clone());
    (0..20).for_each(|_| core.turn());
    assert_eq!(gone(&bench.far[0]), [answer]);
    assert_eq!(gone(&bench.far[2]).len(), 1);
    // To a neighbour on the same port it need not go anywhere.
    bench.far[0].0.borrow_mut().coming.push_back(frame(9, 1, 0, 3, 60));
    (0..20).for_each(|_| core.turn());
    assert_eq!((gone(&bench.far[1]).len(), gone(&bench.far[2]).len()), (1, 1));
    let seen = &bench.counters.ports[0];
    assert_eq!((seen.received.get(), seen.flooded.get(), seen.filtered.get()), (2, 1, 1));
}

#[test]
fn what_is_not_forwarded_is_counted() {
    let mut bench = Bench::new(2);
    let mut core = core!(
        bench,
        &switch(2, 2),
        Some(&Schedule::new(0, &[Entry { open: 1, for_ns: 5_000 }, Entry { open: 0, for_ns: 995_000 },]))
    );
    bench.clock.pass(10_000);
    let mut reserved = frame(1, 2, 0, 0, 60);
    reserved[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, 0]);
    let mut from_group = frame(1, 2, 0, 0, 60);
    from_group[6] |= 1;
    let coming = [
        reserved,
        from_group,
        vec![0; 13],
        vec![0; 3000],
        frame(1, 2, 5, 0, 500), // larger than class 5 may be
        frame(1, 2, 7, 0, 60),  // its gate never opens
        frame(1, 2, 0, 0, 700), // longer than its gate is ever open
        frame(1, 2, 0, 1, 60),
        frame(1, 2, 0, 2, 60),
        frame(1, 2, 0, 3, 60), // two may wait
    ];
    bench.far[0].0.borrow_mut().coming.extend(coming);
    (0..200).for_each(|_| core.turn());
    let (seen, queues) = (&bench.counters.ports[0], &bench.counters.ports[1].queues);
    assert_eq!((seen.reserved.get(), seen.malformed.get(), seen.oversized.get()), (1, 2, 1));
    assert_eq!((queues[5].over_sdu.get(), queues[7].no_window.get(), queues[0].no_window.get()), (1, 1, 1));
    assert_eq!((queues[0].queued.get(), queues[0].full.get(), queues[0].peak.get()), (2, 1, 2));
    // Those two leave when the gate opens.
    (0..60_000).for_each(|_| core.turn());
    assert_eq!(gone(&bench.far[1]).iter().map(|frame| number(frame)).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_link_that_is_down_keeps_nothing() {
    let mut bench = Bench::new(2);
    let mut core = core!(
        bench,
        &switch(2, 8),
        Some(&Schedule::new(0, &[Entry { open: 0, for_ns: 900_000 }, Entry { open: 255, for_ns: 100_000 },]))
    );
    bench.far[0].0.borrow_mut().coming.extend([frame(1, 2, 0, 1, 60), frame(1, 2, 0, 2, 60)]);
    (0..20).for_each(|_| core.turn());
    assert!(bench.send.push(Command::Link(1, false)).is_ok());
    core.housekeeping();
    assert!(core.is_idle());
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 3, 60));
    (0..20).for_each(|_| core.turn());
    assert!(bench.send.push(Command::Link(1, true)).is_ok());
    core.housekeeping();
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 4, 60));
    (0..60_000).for_each(|_| core.turn());
    assert_eq!(gone(&bench.far[1]).iter().map(|frame| number(frame)).collect::<Vec<_>>(), [4]);
    assert_eq!(bench.counters.ports[1].queues[0].down.get(), 3);
    // The interface says so itself.
    bench.far[1].0.borrow_mut().down = true;
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 5, 60));
    (0..60_000).for_each(|_| core.turn());
    assert_eq!(bench.counters.ports[1].queues[0].down.get(), 4);
}

#[test]
fn a_frame_that_is_never_taken_is_given_up_and_the_port_goes_on() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), None);
    bench.far[1].0.borrow_mut().full_from = 1000;
    // One of class 0 that the far end cannot take, one of its class behind it, and one of another class.
    let coming = [frame(1, 2, 0, 1, 1518), frame(1, 2, 0, 2, 60), frame(1, 2, 7, 3, 60)];
    bench.far[0].0.borrow_mut().coming.extend(coming);
    let numbers = |far: &Far| gone(far).iter().map(|frame| number(frame)).collect::<Vec<_>>();
    let begun_ns = bench.clock.0.get();
    while bench.clock.0.get() < begun_ns + 1_000_000 {
        core.turn();
    }
    assert_eq!(numbers(&bench.far[1]), [3], "other classes do not wait for it");
    let refused = || bench.counters.ports[1].queues[0].refused.get();
    assert_eq!(refused(), 0, "a driver's queue may have room a little later");
    while bench.clock.0.get() < begun_ns + 60_000_000 {
        core.turn();
    }
    assert_eq!((numbers(&bench.far[1]), refused()), (vec![3, 2], 1));
    assert_eq!(bench.counters.ports[1].refused_octets.get(), 1518);
    // Nobody waits for others as long, and shorter ones have the same patience as before.
    bench.far[0].0.borrow_mut().coming.extend([frame(1, 2, 0, 4, 1518), frame(1, 2, 0, 5, 60)]);
    (0..200).for_each(|_| core.turn());
    assert_eq!((numbers(&bench.far[1]), refused()), (vec![3, 2, 5], 2));
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 6, 1100));
    (0..200).for_each(|_| core.turn());
    assert_eq!(refused(), 2);
    // Room for all: what waits is taken, and being full is nothing but that again.
    bench.far[1].0.borrow_mut().full_from = 0;
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 7, 1518));
    (0..2_000).for_each(|_| core.turn());
    bench.far[1].0.borrow_mut().full_from = 1000;
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 8, 1518));
    (0..2_000).for_each(|_| core.turn());
    bench.far[1].0.borrow_mut().full_from = 0;
    (0..2_000).for_each(|_| core.turn());
    assert_eq!((numbers(&bench.far[1]), refused()), (vec![3, 2, 5, 6, 7, 8], 2));
    assert_eq!(bench.counters.ports[1].queues[0].waiting.get(), 0);
}

#[test]
fn nobody_s_address_is_malformed_and_never_learned() {
    let mut bench = Bench::new(3);
    let mut core = core!(bench, &switch(3, 8), None);
    let mut from_nobody = frame(1, 2, 0, 1, 60);
    from_nobody[6..12].fill(0);
    let mut to_nobody = frame(3, 2, 0, 2, 60);
    to_nobody[..6].fill(0);
    bench.far[0].0.borrow_mut().coming.push_back(from_nobody);
    (0..20).for_each(|_| core.turn());
    assert_eq!((bench.counters.ports[0].malformed.get(), gone(&bench.far[1]).len()), (1, 0));
    bench.far[1].0.borrow_mut().coming.push_back(to_nobody);
    (0..20).for_each(|_| core.turn());
    assert_eq!((gone(&bench.far[0]).len(), gone(&bench.far[2]).len()), (1, 1), "nobody knows where that is");
}

#[test]
fn reserved_addresses_are_forwarded_where_that_is_asked_for() {
    let named = |name: &str| Reserved::GROUPS.into_iter().find(|(group, _)| *group == name).unwrap().1;
    for (forwarded, expected) in [
        (Reserved::default(), vec![]),
        (named("bpdu"), vec![0]),
        (named("lldp").with(named("slow")), vec![2, 14]),
        (Reserved::GROUPS.iter().fold(Reserved::default(), |all, (_, group)| all.with(*group)), {
            // Flow control never.
            (0..16).filter(|digit| *digit != 1).collect()
        }),
    ] {
        let mut bench = Bench::new(2);
        let switch = Switch { forward_reserved: forwarded, ..switch(2, 64) };
        let mut core = core!(bench, &switch, None);
        for digit in 0..16u8 {
            let mut frame = frame(1, 2, 0, digit.into(), 60);
            frame[..6].copy_from_slice(&[1, 0x80, 0xc2, 0, 0, digit]);
            bench.far[0].0.borrow_mut().coming.push_back(frame);
        }
        (0..100).for_each(|_| core.turn());
        let numbers: Vec<u32> = gone(&bench.far[1]).iter().map(|frame| number(frame)).collect();
        assert_eq!(numbers, expected);
        assert_eq!(bench.counters.ports[0].reserved.get(), 16 - expected.len() as u64);
    }
}

#[test]
fn an_interface_is_replaced_and_the_old_one_handed_back() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), None);
    let new = Far::default();
    assert!(bench.send.push(Command::Replace(1, None, GIGABIT)).is_ok());
    core.housekeeping();
    assert!(matches!(bench._discarded.pop(), Ok(Discarded::Port(_))));
    assert!(bench.send.push(Command::Replace(1, Some(Near(new.clone(), bench.clock.clone())), GIGABIT)).is_ok());
    core.housekeeping();
    bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, 1, 60));
    (0..20).for_each(|_| core.turn());
    assert_eq!((gone(&new).len(), gone(&bench.far[1]).len()), (1, 0));
}

#[test]
fn being_held_up_is_noticed() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), None);
    (0..10).for_each(|_| core.turn());
    assert_eq!(bench.counters.stalls.get(), 0);
    bench.clock.pass(5_200_000);
    core.turn();
    let stall = bench.stalls.pop().unwrap();
    assert!((5_200_000..5_200_100).contains(&(stall.until_ns - stall.from_ns)));
    assert_eq!(
        (bench.counters.stalls.get(), bench.counters.longest_stall_ns.get()),
        (1, stall.until_ns - stall.from_ns)
    );
}

/// What was meant to be a sleep of 70 us, and what the kernel made of it.
#[test]
fn oversleeping_in_a_rest_is_a_stall_like_any_other() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 8), None);
    core.turn();
    let (began_ns, asked_ns) = (core.seen_ns(), REST_NS);
    bench.clock.pass(asked_ns + LATE_NS - 1_000);
    let now_ns = core.rested(asked_ns);
    core.turn();
    assert_eq!((bench.counters.stalls.get(), bench.counters.rests.get()), (0, 1));
    assert_eq!(bench.counters.rested_ns.get(), now_ns - began_ns, "a little late out of it is part of the rest");

    let began_ns = core.seen_ns();
    bench.clock.pass(asked_ns + 50_000_000);
    let now_ns = core.rested(asked_ns);
    core.turn();
    let stall = bench.stalls.pop().unwrap();
    assert_eq!(stall, Stall { from_ns: began_ns + asked_ns, until_ns: now_ns });
    assert!(bench.counters.longest_stall_ns.get() >= 50_000_000);
    assert_eq!((bench.counters.stalls.get(), bench.counters.rests.get()), (1, 2));
}

#[test]
fn what_waits_for_a_gate_leaves_as_it_opens() {
    let mut bench = Bench::new(2);
    let list = Schedule::new(0, &[Entry { open: 0, for_ns: 400_000 }, Entry { open: 255, for_ns: 600_000 }]);
    let mut core = core!(bench, &switch(2, 60), Some(&list));
    let mut opened_at = |core: &mut Core<Near, Clock>, ahead_ns, cycle: u64| {
        assert!(bench.send.push(Command::Ahead(1, ahead_ns)).is_ok());
        core.housekeeping();
        bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, 0, cycle as u32, 60));
        while bench.clock.0.get() < (cycle + 1) * 1_000_000 {
            core.turn();
        }
        bench.far[1].0.borrow().gone.last().unwrap().0 - cycle * 1_000_000
    };
    // The clock goes on by 20 ns whenever the core looks at it.
    assert!((400_000..400_100).contains(&opened_at(&mut core, 0, 0)));
    assert!((399_200..399_300).contains(&opened_at(&mut core, 800, 1)));
}

#[test]
fn a_link_that_has_become_slower_is_not_overrun() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 60), None);
    assert!(bench.send.push(Command::Rate(1, GIGABIT / 10)).is_ok());
    core.housekeeping();
    bench.far[0].0.borrow_mut().coming.extend((0..50).map(|n| frame(1, 2, 0, n, 1514)));
    (0..400_000).for_each(|_| core.turn());
    let far = bench.far[1].0.borrow();
    let took_ns = far.gone.last().unwrap().0 - far.gone.first().unwrap().0;
    assert_eq!(far.gone.len(), 50);
    assert!(took_ns >= 49 * wire::wire_time_ns(1514, GIGABIT / 10) - 2_000, "{took_ns}");
}

#[test]
fn the_link_is_kept_full_and_not_overfull() {
    let mut bench = Bench::new(2);
    let mut core = core!(bench, &switch(2, 600), None);
    bench.far[0].0.borrow_mut().coming.extend((0..500).map(|n| frame(1, 2, 0, n, 1514)));
    (0..600_000).for_each(|_| core.turn());
    let far = bench.far[1].0.borrow();
    let (first, last) = (far.gone.first().unwrap().0, far.gone.last().unwrap().0);
    let each_ns = wire::wire_time_ns(1514, GIGABIT);
    assert_eq!(far.gone.len(), 500);
    assert!((last - first).abs_diff(499 * each_ns) < 2_000, "{} for {}", last - first, 499 * each_ns);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_frame_leaves_in_order_within_its_window_or_is_counted(
        list in prop::collection::vec((any::<u16>(), 1_000u64..60_000), 1..6),
        frames in prop::collection::vec((0usize..3, 0usize..1500, 0u64..3_000), 1..150),
        limit in 1u32..40,
        cost_ns in 200u64..2_000,
        ahead_ns in 0u64..1_500,
    ) {
        let entries: Vec<Entry> = list.into_iter().map(|(open, for_ns)| Entry { open, for_ns }).collect();
        let schedule = Schedule::new(0, &entries);
        let mut bench = Bench::new(2);
        bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = cost_ns);
        let mut core = core!(bench, &switch(2, limit), Some(&schedule));
        prop_assert!(bench.send.push(Command::Ahead(1, ahead_ns)).is_ok());
        core.housekeeping();
        let count = frames.len() as u64;
        for (n, (class, octets, pause_ns)) in frames.into_iter().enumerate() {
            bench.far[0].0.borrow_mut().coming.push_back(frame(1, 2, [0, 5, 7][class], n as u32, octets));
            bench.clock.pass(pause_ns);
            core.turn();
        }
        while bench.clock.0.get() < 5_000_000 {
            let before_ns = bench.clock.0.get();
            core.turn();
            // Where nothing happens time may pass faster.
            let quiet_ns = core.quiet_until_ns().saturating_sub(before_ns);
            if quiet_ns > 20_000 && bench.far[1].0.borrow().gone.last().is_none_or(|last| last.0 < before_ns) {
                bench.clock.pass(quiet_ns.min(30_000) - 15_000);
            }
        }
        let far = bench.far[1].0.borrow();
        let mut last = [None; 8];
        let mut free_ns = 0;
        // They leave later than they were handed over.
        for (at_ns, frame) in far.gone.iter().map(|(at_ns, frame)| (at_ns + ahead_ns, frame)) {
            let queue = match pcp(frame) { 5 => 5, 7 => 7, _ => 0 };
            let view = schedule.at(at_ns);
            prop_assert!(view.open & (1 << queue) != 0, "gate {} closed at {}", queue, at_ns);
            // On the link after those before it, and through before the gate closes.
            free_ns = free_ns.max(at_ns) + wire::wire_time_ns(frame.len() as u32, GIGABIT);
            prop_assert!(view.closes_ns[queue] == NEVER || free_ns <= view.closes_ns[queue] + 2, "{} late", free_ns);
            prop_assert!(last[queue].is_none_or(|before| before < number(frame)), "out of order");
            last[queue] = Some(number(frame));
        }
        let dropped: u64 = bench.counters.ports[1].queues.iter().map(|queue| queue.dropped()).sum();
        let waiting = core.outlets[1].queues.iter().map(|queue| queue.len() as u64).sum::<u64>();
        prop_assert_eq!(far.gone.len() as u64 + dropped + waiting, count);
        prop_assert_eq!(bench.counters.ports[1].queues.iter().map(|queue| queue.waiting.get()).sum::<u64>(), waiting);
        prop_assert_eq!(bench.counters.ports[1].queues.iter().map(|queue| queue.late.get()).sum::<u64>(), 0);
        prop_assert_eq!(core.pool.free() as u64, u64::from(3 * limit + CLASSES as u32 - 3) * 2 + 2 - 1 - waiting);
    }

    #[test]
    fn the_highest_open_queue_goes_first(classes in prop::collection::vec(0usize..3, 1..30)) {
        let mut bench = Bench::new(2);
        // All gates are closed while the frames come in.
        let list = Schedule::new(0, &[Entry { open: 0, for_ns: 400_000 }, Entry { open: 255, for_ns: 600_000 }]);
        let mut core = core!(bench, &switch(2, 64), Some(&list));
        let frames = classes.iter().enumerate().map(|(n, class)| frame(1, 2, [0, 5, 7][*class], n as u32, 60));
        bench.far[0].0.borrow_mut().coming.extend(frames);
        while bench.clock.0.get() < 1_000_000 {
            core.turn();
        }
        let order: Vec<(u8, u32)> = gone(&bench.far[1]).iter().map(|frame| (7 - pcp(frame), number(frame))).collect();
        prop_assert_eq!(order.len(), classes.len());
        prop_assert!(order.is_sorted());
    }
    /// Each class has a VLAN of its own, as the tag's priority has eight values only.
    #[test]
    fn sixteen_classes_have_a_queue_and_a_gate_each(classes in prop::collection::vec(0u8..16, 1..40), first in 0u8..16) {
        let mut bench = Bench::new(2);
        let mut switch = switch(2, 64);
        let vlan = |queue: u8| vec![Rule { vlan: Some(u16::from(queue)), ..Rule::default() }];
        switch.classes = (0..16u8)
            .map(|queue| Class {
                name: format!("class {queue}"),
                queue,
                rules: if queue == 0 { vec![] } else { vlan(queue) },
                limit: 64,
            })
            .collect();
        switch.ports.iter_mut().for_each(|port| port.max_sdu = vec![None; 16]);
        // One gate is open before all others, which are closed while the frames come in.
        let entry = |open, for_ns| Entry { open, for_ns };
        let list = [entry(0, 400_000), entry(1 << first, 300_000), entry(!(1 << first), 300_000)];
        let list = Schedule::new(0, &list);
        let mut core = core!(bench, &switch, Some(&list));
        let frames = classes.iter().enumerate().map(|(n, class)| {
            let mut frame = frame(1, 2, 0, n as u32, 60);
            frame[15] = *class;
            frame
        });
        bench.far[0].0.borrow_mut().coming.extend(frames);
        while bench.clock.0.get() < 1_000_000 {
            core.turn();
        }
        let place = |frame: &Vec<u8>| (frame[15] != first, 15 - frame[15], number(frame));
        let order: Vec<(bool, u8, u32)> = gone(&bench.far[1]).iter().map(place).collect();
        prop_assert_eq!(order.len(), classes.len());
        prop_assert!(order.is_sorted(), "{:?}", order);
    }
}
