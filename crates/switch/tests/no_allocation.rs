//! The core of the user data plane allocates nothing while it works, whatever comes in.

#[path = "../../rt/tests/counting/mod.rs"]
mod counting;
#[path = "testbed/model.rs"]
mod model;

use std::cell::Cell;
use std::rc::Rc;

use counting::allocations;
use ontick_rt::rtrb::RingBuffer;
use ontick_switch::user::core::{Channels, Command, Core, Discarded, Part, PortConfig, Streams};
use ontick_switch::user::counters::Counters;
use ontick_switch::user::gate::Gates;
use ontick_switch::user::port::{Port, Received, Sent};
use ontick_switch::user::shaper::Credits;
use ontick_switch::user::spread::Spread;
use ontick_switch::user::time::Time;
use ontick_tsn::model::{Base, Class, Elimination, Entry, Meter, Rule, Stream, StreamGate, StreamGateEntry};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::shaper::PortShaping;

/// Frames of three lengths and two classes, from and to addresses that are known or not, without end.
struct Endless(u64);

impl Port for Endless {
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        self.0 += 1;
        let n = self.0;
        let octets = [60, 1514, 13][(n % 3) as usize];
        slot[..18].copy_from_slice(&[2, 0, 0, 0, 0, n as u8, 2, 0, 0, 0, (n >> 8) as u8, n as u8, 0x81, 0, 0, 1, 8, 0]);
        slot[14] = [0, 5 << 5][(n % 2) as usize];
        Received::Frame(octets)
    }

    fn send(&mut self, _frame: &[u8]) -> Sent {
        [Sent::Done, Sent::Busy, Sent::Refused, Sent::Down][(self.0 % 4) as usize]
    }

    fn overflowed(&mut self) -> u64 {
        1
    }
}

struct Steps(u64);

impl Time for Steps {
    fn now_ns(&mut self) -> u64 {
        // Now and then it is held up.
        self.0 += if self.0 % 1_001 == 0 { 30_000 } else { 300 };
        self.0
    }
}

#[test]
fn several_cores_allocate_nothing() {
    let class = |queue: u8| Class { name: format!("class {queue}"), queue, rules: vec![], limit: 16 };
    let switch = model::switch(&["a", "b", "c"], Some(1_000_000_000), vec![class(0)]);
    let (counters, spread) = (Counters::of(&switch), Spread::over(3, &switch));
    let mut ends = Vec::new();
    let of_core = |(own, part): (usize, Part)| {
        let ((commanded, commands), (discarded, freed), (stalls, reported)) =
            (RingBuffer::new(8), RingBuffer::new(8), RingBuffer::new(8));
        ends.push((commanded, freed, reported));
        let port = |port: usize| (spread.core_of(port) == own).then_some(Endless(100 * port as u64));
        let attach = |n| PortConfig { port: port(n), rate: 1_000_000_000, schedule: None };
        let channels = Channels { commands, discarded, stalls };
        Core::of_part(&switch, part, (0..3).map(attach).collect(), Steps(0), &counters, channels, 3)
    };
    let mut cores: Vec<_> = Part::of_each(&switch, &spread, 3).into_iter().enumerate().map(of_core).collect();
    let before = allocations();
    (0..50_000).for_each(|_| cores.iter_mut().for_each(Core::turn));
    assert_eq!(allocations() - before, 0);
    let crossed = |at: usize| counters.ports[at].queues[0].sent.get() > 1_000;
    assert!((0..3).all(crossed));
}

#[test]
fn the_core_allocates_nothing() {
    let class = |queue: u8, rules| Class { name: format!("class {queue}"), queue, rules, limit: 16 };
    let red = vec![Rule { pcp: Some(5), ..Rule::default() }];
    let mut switch = model::switch(&["a", "b", "c"], Some(1_000_000_000), vec![class(0, vec![]), class(1, red)]);
    switch.ports[1].idle_slopes = vec![None, Some(50_000_000)];
    let stream = |last: u8, max_sdu, meter, gate| Stream {
        name: format!("to {last}"),
        handle: None,
        to: [2, 0, 0, 0, 0, last],
        vlan: None,
        from: None,
        ingress: None,
        max_sdu,
        meter,
        gate,
        eliminate: None,
        replicate: None,
    };
    let entries = [(true, 50_000), (false, 50_000)].map(|(open, for_ns)| StreamGateEntry { open, for_ns });
    let gate = StreamGate { base: Base::At(0), cycle_ns: 100_000, entries: entries.to_vec() };
    let meter = Meter { rate: 1_000_000, burst: 10_000 };
    switch.streams =
        vec![stream(7, Some(1_000), None, None), stream(8, None, Some(meter), None), stream(9, None, None, Some(gate))];
    switch.streams.extend([
        Stream { replicate: Some(vec![1, 2]), ..stream(10, None, None, None) },
        Stream { eliminate: Some(Elimination::default()), ..stream(11, None, None, None) },
    ]);
    let gates = Schedule::new(0, &[Entry { open: 1, for_ns: 80_000 }, Entry { open: 2, for_ns: 20_000 }]);
    let attach = |seed| PortConfig { port: Some(Endless(seed)), rate: 1_000_000_000, schedule: Some(gates.clone()) };
    let counters = Counters::of(&switch);
    let ((mut tell, commands), (discarded, mut freed), (stalls, _reported)) =
        (RingBuffer::new(8), RingBuffer::new(8), RingBuffer::new(8));
    let channels = Channels { commands, discarded, stalls };
    let attachments = vec![attach(0), attach(100), attach(200)];
    let mut core = Core::new(&switch, attachments, Steps(0), &counters, channels, 3);

    let before = allocations();
    (0..50_000).for_each(|_| core.turn());
    assert_eq!(allocations() - before, 0);

    // Nor where it gets other streams.
    let mut others = switch.streams.clone();
    others.remove(0);
    others.iter_mut().filter_map(|of| of.meter.as_mut()).for_each(|meter| meter.burst += 1);
    let streams = Streams::after(&switch.streams, &others, &others, &counters.streams.all()[1..], 7);
    assert!(tell.push(Command::Streams(streams)).is_ok());
    let before = allocations();
    core.housekeeping();
    (0..50_000).for_each(|_| core.turn());
    assert_eq!(allocations() - before, 0);
    assert!(matches!(freed.pop(), Ok(Discarded::Streams(_))));

    // Nor where another list of gates takes over; the one before is given back with the next.
    let list =
        |red_ns| Schedule::new(0, &[Entry { open: 1, for_ns: 100_000 - red_ns }, Entry { open: 2, for_ns: red_ns }]);
    assert!(tell.push(Command::Gates(0, Some(list(30_000)))).is_ok());
    let before = allocations();
    core.housekeeping();
    (0..50_000).for_each(|_| core.turn());
    assert_eq!(allocations() - before, 0);
    assert!(freed.pop().is_err());
    assert!(tell.push(Command::Gates(0, Some(list(10_000)))).is_ok());
    core.housekeeping();
    assert!(matches!(freed.pop(), Ok(Discarded::Schedules([Some(spent), None])) if spent == gates));

    // Nor where a port has other idle slopes.
    let credits = |slope| {
        switch.ports[1].idle_slopes = vec![None, Some(slope)];
        let shaping = PortShaping::of(&switch, &switch.ports[1]).unwrap();
        Command::IdleSlopes(1, Some(Box::new(Credits::new(shaping, 1_000_000_000, &Gates::new(None)))))
    };
    assert!([100_000_000, 10_000_000].map(credits).into_iter().all(|command| tell.push(command).is_ok()));
    let before = allocations();
    core.housekeeping();
    (0..50_000).for_each(|_| core.turn());
    assert_eq!(allocations() - before, 0);
    assert!((0..2).all(|_| matches!(freed.pop(), Ok(Discarded::Credits(_)))));

    // It had something to do of every kind.
    let sum = |count: fn(&ontick_switch::user::counters::QueueCounters) -> u64| {
        counters.ports.iter().flat_map(|port| &port.queues).map(count).sum::<u64>()
    };
    let kinds = [sum(|q| q.sent.get()), sum(|q| q.full.get()), sum(|q| q.refused.get()), counters.stalls.get()];
    assert!(kinds.iter().all(|count| *count > 0), "{kinds:?}");
    let of_streams: Vec<u64> =
        counters.streams.all().iter().flat_map(|of| of.drops()).map(|(_, frames)| frames).collect();
    // The causes of each stream in turn; the last is for frames without a number.
    assert!(of_streams.len() == 35 && [0, 9, 15, 34].iter().all(|cause| of_streams[*cause] > 0), "{of_streams:?}");
    assert!(counters.streams.all()[3].numbered.get() > 0);
    assert!(counters.addresses_without_place.get() > 0 && counters.ports[0].malformed.get() > 0);
}

/// Short frames without end from one station to the other, by ports that take some of those that are handed over together.
struct Short(u64, Rc<Cell<usize>>);

impl Port for Short {
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        slot[..60].fill(0);
        slot[..14].copy_from_slice(&[2, 0, 0, 0, 0, 3 - self.0 as u8, 2, 0, 0, 0, 0, self.0 as u8, 8, 0]);
        Received::Frame(60)
    }

    fn send(&mut self, _frame: &[u8]) -> Sent {
        Sent::Done
    }

    fn send_burst(&mut self, frames: &[&[u8]]) -> usize {
        self.1.set(self.1.get() + 1);
        if self.1.get() % 3 == 0 { frames.len() / 2 } else { frames.len() }
    }

    fn overflowed(&mut self) -> u64 {
        0
    }
}

#[test]
fn the_core_allocates_nothing_for_several_frames_in_one_call() {
    let class = Class { name: "all".into(), queue: 0, rules: vec![], limit: 16 };
    let switch = model::switch(&["a", "b"], Some(10_000_000_000), vec![class]);
    let bursts = Rc::new(Cell::new(0));
    let attach =
        |station| PortConfig { port: Some(Short(station, bursts.clone())), rate: 10_000_000_000, schedule: None };
    let counters = Counters::of(&switch);
    let ((_tell, commands), (discarded, _freed), (stalls, _reported)) =
        (RingBuffer::new(8), RingBuffer::new(8), RingBuffer::new(8));
    let channels = Channels { commands, discarded, stalls };
    let mut core = Core::new(&switch, vec![attach(1), attach(2)], Steps(0), &counters, channels, 3);
    let before = allocations();
    (0..50_000).for_each(|_| core.turn());
    assert_eq!(allocations() - before, 0);
    assert!(bursts.get() > 1_000, "{}", bursts.get());
}
