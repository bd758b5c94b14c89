//! Frames that are handed over in one call.

use super::*;
use crate::user::port::MAX_BURST;
use ontick_tsn::model::{Base, Elimination, Meter, Stream, StreamGate, StreamGateEntry};
use ontick_tsn::wire::wire_time_ns;

/// A port that notes its calls.
struct Noted {
    near: Near,
    port: usize,
    calls: Calls,
}

/// What was taken of one call: the port, when it was, and the lengths of the frames.
struct Call {
    port: usize,
    begun_ns: u64,
    done_ns: u64,
    octets: Vec<usize>,
}

type Calls = Rc<RefCell<Vec<Call>>>;

impl Noted {
    fn note(&self, begun_ns: u64, taken: &[&[u8]]) {
        let octets: Vec<usize> = taken.iter().map(|frame| frame.len()).collect();
        if !octets.is_empty() {
            self.calls.borrow_mut().push(Call { port: self.port, begun_ns, done_ns: self.near.1.0.get(), octets });
        }
    }
}

impl Port for Noted {
    fn receive(&mut self, slot: &mut [u8]) -> Received {
        self.near.receive(slot)
    }

    fn send(&mut self, frame: &[u8]) -> Sent {
        let begun_ns = self.near.1.0.get();
        let sent = self.near.send(frame);
        if sent == Sent::Done {
            self.note(begun_ns, &[frame]);
        }
        sent
    }

    fn send_burst(&mut self, frames: &[&[u8]]) -> usize {
        let begun_ns = self.near.1.0.get();
        let taken = self.near.send_burst(frames);
        self.note(begun_ns, &frames[..taken]);
        taken
    }

    fn overflowed(&mut self) -> u64 {
        0
    }
}

/// A core, its calls, and what commands it.
struct Under<'c> {
    core: Core<'c, Noted, Clock>,
    calls: Calls,
    commands: Producer<Command<Noted>>,
    _stalls: Consumer<Stall>,
    discarded: Consumer<Discarded<Noted>>,
}

impl<'c> Under<'c> {
    fn new(bench: &'c Bench, switch: &Switch, rate: u64, list_of_last: Option<&Schedule>) -> Self {
        let calls = Calls::default();
        let (commands, to_core) = RingBuffer::new(8);
        let (discarded, freed) = RingBuffer::new(8);
        let (stalls, reported) = RingBuffer::new(8);
        let ports = bench.far.iter().enumerate().map(|(port, far)| PortConfig {
            port: Some(Noted { near: Near(far.clone(), bench.clock.clone()), port, calls: calls.clone() }),
            rate,
            schedule: list_of_last.filter(|_| port + 1 == bench.far.len()).cloned(),
        });
        let channels = Channels { commands: to_core, discarded, stalls };
        let core = Core::new(switch, ports.collect(), bench.clock.clone(), &bench.counters, channels, 3);
        Self { core, calls, commands, _stalls: reported, discarded: freed }
    }

    fn command(&mut self, command: Command<Noted>) {
        assert!(self.commands.push(command).is_ok());
        self.core.housekeeping();
        while self.discarded.pop().is_ok() {}
    }

    fn turns(&mut self, count: usize) {
        (0..count).for_each(|_| self.core.turn());
    }

    /// How many frames each call so far handed over; afterwards none is known.
    fn taken(&self) -> Vec<usize> {
        self.calls.borrow_mut().drain(..).map(|call| call.octets.len()).collect()
    }
}

fn come(bench: &Bench, frames: impl IntoIterator<Item = Vec<u8>>) {
    bench.far[0].0.borrow_mut().coming.extend(frames);
}

fn numbers(far: &Far) -> Vec<u32> {
    gone(far).iter().map(|frame| number(frame)).collect()
}

/// Frames of 60 octets of the lowest class, from station 1 to station 2.
fn short(numbers: std::ops::Range<u32>) -> impl Iterator<Item = Vec<u8>> {
    numbers.map(|n| frame(1, 2, 0, n, 60))
}

#[test]
fn what_waits_leaves_together_in_its_order_and_is_counted() {
    let bench = Bench::new(2);
    let mut under = Under::new(&bench, &switch(2, 64), 10 * GIGABIT, None);
    let free = under.core.pool.free();
    come(&bench, (0..600).map(|n| frame(1, 2, [0, 5, 7][n as usize % 3], n, 60)));
    under.turns(2_000);
    let left = gone(&bench.far[1]);
    for class in [0, 5, 7] {
        let of_class: Vec<u32> = left.iter().filter(|frame| pcp(frame) == class).map(|frame| number(frame)).collect();
        assert_eq!((of_class.len(), of_class.is_sorted()), (200, true));
    }
    let calls = under.taken();
    assert_eq!(calls.iter().max(), Some(&MAX_BURST), "{calls:?}");
    assert!(calls.len() < 600 / 6, "{calls:?}");
    for queue in [0, 5, 7].map(|queue| &bench.counters.ports[1].queues[queue]) {
        assert_eq!((queue.queued.get(), queue.sent.get(), queue.octets.get()), (200, 200, 200 * 60));
        assert_eq!((queue.waiting.get(), queue.late.get(), queue.overdue.get()), (0, 0, 0));
    }
    assert_eq!((under.core.pool.free(), bench.counters.stalls.get()), (free, 0));
}

/// How many frames the calls of a core hand over at most, with as many frames as it likes.
fn most(switch: &Switch, list_of_last: Option<&Schedule>) -> usize {
    let mut bench = Bench::new(switch.ports.len());
    bench.counters = Counters::of(switch);
    let mut under = Under::new(&bench, switch, 10 * GIGABIT, list_of_last);
    // Where the station is.
    bench.far[1].0.borrow_mut().coming.push_back(frame(2, 1, 0, 0, 60));
    under.turns(20);
    come(&bench, short(0..200));
    under.turns(20_000);
    assert!(numbers(&bench.far[1]).len() > 100);
    under.taken().into_iter().max().unwrap()
}

#[test]
fn frames_go_one_by_one_where_something_counts_on_the_time() {
    let stream = Stream {
        name: "axis".into(),
        handle: None,
        to: [2, 0, 0, 0, 0, 9],
        vlan: None,
        from: None,
        ingress: None,
        max_sdu: Some(100),
        meter: None,
        gate: None,
        eliminate: None,
        replicate: None,
    };
    let entries = vec![StreamGateEntry { open: true, for_ns: 1_000 }, StreamGateEntry { open: false, for_ns: 1_000 }];
    let gate = StreamGate { base: Base::At(0), cycle_ns: 2_000, entries };
    let with = |stream: Stream| Switch { streams: vec![stream], ..switch(3, 200) };
    let plain = switch(3, 200);
    assert_eq!(most(&plain, None), MAX_BURST);
    assert_eq!(most(&with(stream.clone()), None), MAX_BURST, "what this stream may be is no matter of time");

    let open = Schedule::new(0, &[Entry { open: 255, for_ns: 1_000_000 }]);
    assert_eq!(most(&plain, Some(&open)), 1, "also at ports that have no list");
    let mut shaped = plain.clone();
    shaped.ports[2].idle_slopes = vec![None, Some(GIGABIT / 10), None];
    assert_eq!(most(&shaped, None), 1);
    assert_eq!(most(&Switch { transparent_clock: true, ..plain.clone() }, None), 1);
    assert_eq!(most(&with(Stream { gate: Some(gate), ..stream.clone() }), None), 1);
    assert_eq!(most(&with(Stream { meter: Some(Meter { rate: 1_000, burst: 2_000 }), ..stream.clone() }), None), 1);
    assert_eq!(most(&with(Stream { eliminate: Some(Elimination::default()), ..stream }), None), 1);
}

#[test]
fn a_list_that_comes_or_goes_counts_at_once() {
    let bench = Bench::new(2);
    let mut under = Under::new(&bench, &switch(2, 200), 10 * GIGABIT, None);
    let most = |under: &mut Under<'_>| {
        come(&bench, short(0..100));
        under.turns(2_000);
        under.taken().into_iter().max()
    };
    assert_eq!(most(&mut under), Some(MAX_BURST));
    // It is in force much later.
    let list = Schedule::new(1 << 60, &[Entry { open: 1, for_ns: 1_000 }]);
    under.command(Command::Gates(0, Some(list)));
    assert_eq!(most(&mut under), Some(1));
    under.command(Command::Gates(0, None));
    assert_eq!(most(&mut under), Some(MAX_BURST));
}

#[test]
fn of_several_switches_on_one_cpu_none_keeps_the_others_waiting() {
    let (one, other) = (Bench::new(2), Bench::new(2));
    let switch = switch(2, 200);
    let [one_, other_] = [&one, &other].map(|bench| Under::new(bench, &switch, 10 * GIGABIT, None));
    [&one, &other].into_iter().for_each(|bench| come(bench, short(0..200)));
    let (stop, mut turns) = (AtomicBool::new(false), 0);
    let mut cores = [one_.core, other_.core];
    Core::run(&mut cores, &stop, |_| {
        turns += 1;
        stop.store(turns == 5_000, Relaxed);
    });
    for (bench, calls) in [(&one, one_.calls), (&other, other_.calls)] {
        assert_eq!(numbers(&bench.far[1]), (0..200).collect::<Vec<_>>());
        assert!(calls.borrow().iter().all(|call| call.octets.len() == 1));
    }
}

#[test]
fn those_behind_one_that_is_not_taken_follow_when_it_is() {
    let bench = Bench::new(2);
    let mut under = Under::new(&bench, &switch(2, 600), 10 * GIGABIT, None);
    let free = under.core.pool.free();
    bench.far[1].0.borrow_mut().full_from = 1_000;
    come(&bench, (0..100).map(|n| frame(1, 2, 0, n, if n == 43 { 1_200 } else { 60 })));
    under.turns(2_000);
    let queue = &bench.counters.ports[1].queues[0];
    assert_eq!(numbers(&bench.far[1]), (0..43).collect::<Vec<_>>());
    assert_eq!((queue.sent.get(), queue.octets.get(), queue.waiting.get()), (43, 43 * 60, 57));
    assert_eq!((under.core.pool.free(), queue.dropped()), (free - 57, 0));
    assert!(under.taken().iter().any(|frames| (2..MAX_BURST).contains(frames)), "one was taken in part");
    bench.far[1].0.borrow_mut().full_from = 0;
    under.turns(2_000);
    assert_eq!(numbers(&bench.far[1]), (0..100).collect::<Vec<_>>());
    assert_eq!((queue.sent.get(), queue.waiting.get(), queue.dropped()), (100, 0, 0));
    assert_eq!(under.taken().last(), Some(&MAX_BURST), "and together again");
}

#[test]
fn one_that_is_never_taken_is_refused_alone() {
    let bench = Bench::new(2);
    let mut under = Under::new(&bench, &switch(2, 600), 10 * GIGABIT, None);
    bench.far[1].0.borrow_mut().full_from = 1_000;
    come(&bench, (0..100).map(|n| frame(1, 2, 0, n, if n == 43 { 1_200 } else { 60 })));
    while bench.clock.0.get() < 60_000_000 {
        bench.clock.pass(400);
        under.turns(1);
    }
    assert_eq!(numbers(&bench.far[1]), (0..100).filter(|n| *n != 43).collect::<Vec<_>>());
    let port = &bench.counters.ports[1];
    assert_eq!((port.queues[0].sent.get(), port.queues[0].refused.get(), port.refused_octets.get()), (99, 1, 1_200));
    // A link that is down takes none of them.
    bench.far[1].0.borrow_mut().down = true;
    come(&bench, short(100..120));
    under.turns(2_000);
    assert_eq!((port.queues[0].down.get(), port.queues[0].sent.get(), port.queues[0].waiting.get()), (20, 99, 0));
}

#[test]
fn the_work_of_a_call_is_no_stall_and_being_held_up_in_it_is() {
    let bench = Bench::new(2);
    let mut under = Under::new(&bench, &switch(2, 64), 10 * GIGABIT, None);
    bench.far[1].0.borrow_mut().costs_ns = 1_900;
    come(&bench, short(0..100));
    under.turns(2_000);
    let longest_ns = under.calls.borrow().iter().map(|call| call.done_ns - call.begun_ns).max().unwrap();
    assert!(longest_ns > STALL_NS, "{longest_ns}");
    assert_eq!(bench.counters.stalls.get(), 0);
    bench.far[1].0.borrow_mut().next_costs_ns.extend([[1_900; 20].as_slice(), &[31_900]].concat());
    come(&bench, short(100..200));
    under.turns(2_000);
    let (stalls, longest_ns) = (bench.counters.stalls.get(), bench.counters.longest_stall_ns.get());
    assert_eq!(stalls, 1);
    assert!((30_000..34_000).contains(&longest_ns), "{longest_ns}");
}

/// Those that cannot leave at once stay in the ring, which has more room than a queue.
#[test]
fn no_more_is_taken_in_than_leaves() {
    let bench = Bench::new(2);
    let mut under = Under::new(&bench, &switch(2, MAX_BURST as u32 + 1), 10 * GIGABIT, None);
    bench.far[1].0.borrow_mut().costs_ns = 5_000;
    come(&bench, short(0..300));
    under.turns(1_000);
    assert_eq!(numbers(&bench.far[1]), (0..300).collect::<Vec<_>>());
    assert_eq!(bench.counters.ports[1].queues[0].full.get(), 0);
    assert!(under.taken()[10..100].iter().all(|frames| *frames == 2), "two take 10 us, and three 15 and more");
}

#[test]
fn long_frames_go_alone_where_the_link_is_slower_than_the_core() {
    let bench = Bench::new(2);
    let mut under = Under::new(&bench, &switch(2, 600), GIGABIT, None);
    come(&bench, (0..100).map(|n| frame(1, 2, 0, n, 1_514)));
    under.turns(200_000);
    assert_eq!(under.taken(), [1; 100]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The link is busy while they come.
    #[test]
    fn the_highest_queue_goes_first_in_a_call_too(classes in prop::collection::vec(0usize..3, 2..60)) {
        let bench = Bench::new(2);
        let mut under = Under::new(&bench, &switch(2, 64), GIGABIT / 10, None);
        come(&bench, [frame(1, 2, 0, 1_000, 1_514)]);
        under.turns(20);
        under.command(Command::Rate(1, 10 * GIGABIT));
        come(&bench, classes.iter().enumerate().map(|(n, class)| frame(1, 2, [0, 5, 7][*class], n as u32, 60)));
        while bench.clock.0.get() < 300_000 {
            under.turns(100);
        }
        let left = gone(&bench.far[1]);
        let order: Vec<(u8, u32)> = left[1..].iter().map(|frame| (7 - pcp(frame), number(frame))).collect();
        prop_assert_eq!(order.len(), classes.len());
        prop_assert!(order.is_sorted(), "{:?}", order);
        prop_assert!(under.taken()[1] == classes.len().min(MAX_BURST));
    }

    /// With any lengths, costs and rates, to any ports, some of which do not take all frames for a while.
    #[test]
    fn every_frame_leaves_in_order_or_is_counted_and_no_turn_lasts_long(
        frames in prop::collection::vec((2u8..5, 0usize..3, 60usize..1_500, 0u64..1_500), 1..250),
        megabits in prop_oneof![Just(100u64), Just(1_000), Just(10_000)],
        cost_ns in 200u64..4_400,
        full_from in prop_oneof![Just(0usize), 60usize..1_500],
        limit in 4u32..40,
    ) {
        let bench = Bench::new(4);
        let mut under = Under::new(&bench, &switch(4, limit), megabits * 1_000_000, None);
        let free = under.core.pool.free();
        bench.far.iter().for_each(|far| far.0.borrow_mut().costs_ns = cost_ns);
        // Where the stations are.
        for station in 2..5u8 {
            bench.far[usize::from(station) - 1].0.borrow_mut().coming.push_back(frame(station, 1, 0, 0, 60));
        }
        under.turns(2_000);
        bench.far[1].0.borrow_mut().full_from = full_from;
        under.taken();
        let before: Vec<usize> = bench.far.iter().map(|far| gone(far).len()).collect();
        let counted = |n: usize| bench.counters.ports[1..].iter().flat_map(|port| &port.queues).map(|queue| match n {
            0 => queue.sent.get(),
            1 => queue.dropped(),
            _ => queue.waiting.get(),
        }).sum::<u64>();
        let (sent, dropped) = (counted(0), counted(1));
        let count = frames.len() as u64;
        let turn = |under: &mut Under<'_>| {
            under.turns(1);
            let calls = std::mem::take(&mut *under.calls.borrow_mut());
            let all: usize = calls.iter().map(|call| call.octets.len()).sum();
            let busy = calls.len() as u64;
            for call in calls.iter().filter(|call| call.octets.len() > 1) {
                let wire_ns = call.octets.iter().map(|octets| wire_time_ns(*octets as u32, megabits * 1_000_000));
                // A look at the clock and its reading are part of what a frame costs.
                let wait_ns = call.done_ns - call.begun_ns + wire_ns.sum::<u64>();
                assert!(wait_ns <= 15_000, "{wait_ns} for {:?}", call.octets);
                assert!(all <= MAX_BURST && call.octets.len() as u64 * busy <= MAX_BURST as u64 , "{all}");
                assert!(call.port > 0);
            }
        };
        for (n, (to, class, octets, pause_ns)) in frames.into_iter().enumerate() {
            come(&bench, [frame(1, to, [0, 5, 7][class], n as u32, octets)]);
            if pause_ns > 1_000 {
                bench.clock.pass(pause_ns);
                turn(&mut under);
            }
        }
        (0..600).for_each(|_| turn(&mut under));
        bench.far[1].0.borrow_mut().full_from = 0;
        while !under.core.is_idle() || !bench.far[0].0.borrow().coming.is_empty() {
            turn(&mut under);
            // Where nothing happens time passes faster.
            let due_ns = under.core.due_ns();
            if due_ns != NEVER {
                bench.clock.pass(due_ns.saturating_sub(bench.clock.0.get()));
            }
        }
        let left: usize = bench.far.iter().zip(&before).skip(1).map(|(far, before)| gone(far).len() - before).sum();
        prop_assert_eq!(left as u64, counted(0) - sent);
        prop_assert_eq!(left as u64 + counted(1) - dropped, count);
        prop_assert_eq!((counted(2), under.core.pool.free()), (0, free));
        for far in &bench.far[1..] {
            for class in [0, 5, 7] {
                let of_class = gone(far);
                let of_class = of_class.iter().filter(|frame| pcp(frame) == class).map(|frame| number(frame));
                prop_assert!(of_class.is_sorted());
            }
        }
    }
}
