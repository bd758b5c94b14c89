//! Both ends against each other, on a paper clock.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::roundtrip::message::{OCTETS, Residence};
use crate::roundtrip::responder::Responder;
use crate::roundtrip::stretch::measure_stretch;

const MS: u64 = 1_000_000;
/// What a reading of the clock takes, and how much later than it should a sleep ends.
const READING_NS: u64 = 50;
const WAKE_NS: u64 = 20_000;

/// Two ends, the cable between them, and the time that both have.
#[derive(Default)]
struct World {
    now_ns: u64,
    /// To each end: when a message comes.
    to: [VecDeque<(u64, Arrival<u8>)>; 2],
    left_ns: [Option<u64>; 2],
    /// The kernel takes nothing.
    is_down: bool,
    /// How much later every twentieth sleep ends, in ns, and sleeps so far.
    rarely_ns: u64,
    sleeps: u64,
    /// What becomes of each answer: copies, each so many ns later; none is lost.
    fate: VecDeque<Vec<u64>>,
}

type Shared = Rc<RefCell<World>>;

/// An end, 0 or 1; frames take 3 us.
struct End(Shared, usize);

impl Port for End {
    type Peer = u8;

    fn send(&mut self, to: u8, octets: &[u8; OCTETS], size: usize) -> Sent {
        let world = &mut *self.0.borrow_mut();
        if world.is_down {
            return Sent::Down;
        }
        world.now_ns += 1_000;
        world.left_ns[self.1] = Some(world.now_ns);
        let message = Message::read(octets).unwrap();
        let measured_answer = self.1 == 1 && !message.request.practice;
        let fate = if measured_answer { world.fate.pop_front() } else { None };
        for more_ns in fate.unwrap_or(vec![0]) {
            let at_ns = world.now_ns + 3_000 + more_ns;
            world.to[usize::from(to)]
                .push_back((at_ns, Arrival { message, peer: self.1 as u8, stamp_ns: Some(at_ns), size }));
        }
        world.to[usize::from(to)].make_contiguous().sort_by_key(|(at_ns, _)| *at_ns);
        Sent::Done
    }

    fn take_sent_stamp(&mut self) -> Option<u64> {
        self.0.borrow_mut().left_ns[self.1].take()
    }

    fn next(&mut self) -> Option<Arrival<u8>> {
        let world = &mut *self.0.borrow_mut();
        let there = world.to[self.1].front().is_some_and(|(at_ns, _)| *at_ns <= world.now_ns);
        there.then(|| world.to[self.1].pop_front().unwrap().1)
    }

    fn wait(&mut self, at_most: Duration) -> io::Result<bool> {
        let world = &mut *self.0.borrow_mut();
        let until_ns = world.now_ns + at_most.as_nanos() as u64;
        let comes_ns = world.to[self.1].front().map(|(at_ns, _)| *at_ns).filter(|at_ns| *at_ns < until_ns);
        world.now_ns = comes_ns.unwrap_or(until_ns).max(world.now_ns) + WAKE_NS;
        world.sleeps += 1;
        if world.sleeps % 20 == 0 {
            world.now_ns += world.rarely_ns;
        }
        Ok(comes_ns.is_some())
    }
}

struct Paper {
    world: Shared,
    /// Deadlines are reached so late, in turn.
    late_ns: VecDeque<u64>,
    answers: Option<Box<Responder<End, Paper>>>,
}

impl Paper {
    fn new(world: &Shared) -> Self {
        Self { world: world.clone(), late_ns: VecDeque::new(), answers: None }
    }
}

impl Timebase for Paper {
    /// Whoever reads the clock lets the other end take what is on its way.
    fn now_ns(&mut self) -> u64 {
        self.world.borrow_mut().now_ns += READING_NS;
        let waits = !self.world.borrow().to[1].is_empty();
        if let Some(responder) = self.answers.as_mut().filter(|_| waits) {
            let before_ns = self.world.borrow().now_ns;
            responder.turn();
            // The other CPU works meanwhile.
            self.world.borrow_mut().now_ns = before_ns;
        }
        self.world.borrow().now_ns
    }

    fn until(&mut self, deadline_ns: u64) -> u64 {
        let late_ns = self.late_ns.pop_front().unwrap_or(0);
        let now_ns = self.world.borrow().now_ns.max(deadline_ns) + late_ns;
        self.world.borrow_mut().now_ns = now_ns;
        now_ns
    }

    fn margin_ns(&self) -> u64 {
        30_000
    }

    fn rest(&mut self, ns: u64) {
        self.world.borrow_mut().now_ns += ns;
    }

    fn awake_ns(&mut self) -> u64 {
        self.now_ns()
    }

    fn of_stamp_ns(&mut self, stamp_ns: u64) -> u64 {
        stamp_ns
    }
}

fn job(waiting: Waiting, count: u64) -> Job {
    Job { period_ns: MS, deadline_ns: MS / 2, count, size: 100, run: 77, waiting }
}

/// A requester whose requests are answered, after its practice.
fn begun(job: Job) -> (Requester<End, Paper>, Shared) {
    let world = Shared::default();
    let responder = Responder::new(End(world.clone(), 1), Paper::new(&world), Waiting::Block);
    let time = Paper { answers: Some(Box::new(responder)), ..Paper::new(&world) };
    let mut requester = Requester::new(End(world.clone(), 0), 1, time, job);
    requester.begin(1_000 * MS).unwrap();
    (requester, world)
}

/// All periods: their round trips.
fn trips(requester: &mut Requester<End, Paper>) -> Vec<(u64, Option<u64>)> {
    let mut all = Vec::new();
    loop {
        match requester.turn() {
            Turn::Over(period) => all.push((period.skipped, period.trip.map(|trip| trip.ns()))),
            Turn::Rested(_) => {}
            Turn::Ended => return all,
        }
    }
}

#[test]
fn every_request_is_answered_and_its_parts_are_the_whole() {
    for waiting in Waiting::ALL {
        let (mut requester, _) = begun(job(waiting, 50));
        let mut planned_ns = None;
        for _ in 0..50 {
            let Turn::Over(Period { planned_ns: now_ns, skipped: 0, trip: Some(trip) }) = requester.turn() else {
                panic!("an answer")
            };
            assert_eq!(planned_ns.replace(now_ns).unwrap_or(now_ns - MS), now_ns - MS);
            let parts = trip.parts.unwrap();
            assert!(parts.responder_ns < 30_000 && parts.out_ns >= 1_000, "{parts:?}");
            assert!((8_000..100_000).contains(&trip.ns()), "{waiting}: {trip:?}");
        }
        assert_eq!(requester.turn(), Turn::Ended);
        assert_eq!(requester.tally(), Tally { sent: 50, answered: 50, ..Tally::default() });
    }
}

#[test]
fn what_is_lost_late_overdue_or_doubled_is_told_apart() {
    let (mut requester, world) = begun(job(Waiting::Hybrid, 9));
    let on_time = || vec![0];
    world.borrow_mut().fate = VecDeque::from([
        on_time(),
        // Lost.
        vec![],
        // Beyond the deadline of half a period, and before the next request.
        vec![600_000],
        // After the next request, and after that one's answer.
        vec![MS + 100_000],
        on_time(),
        // Twice.
        vec![0, 5_000],
        // Twice, once after the next answer.
        vec![0, MS + 100_000],
        on_time(),
        on_time(),
    ]);
    let trips = trips(&mut requester);
    let missed: Vec<usize> = (0..9).filter(|n| trips[*n].1.is_none()).collect();
    assert_eq!(missed, [1, 3]);
    assert!(trips[2].1.unwrap() > 600_000 && trips[0].1.unwrap() < 100_000, "{trips:?}");
    let tally = requester.tally();
    let counted =
        Tally { sent: 9, answered: 7, late: 1, overdue: 1, duplicates: 2, out_of_order: 1, ..Tally::default() };
    assert_eq!(tally, counted);
}

#[test]
fn periods_that_the_requester_was_held_up_for_are_skipped_and_the_sum_is_whole() {
    let (mut requester, _) = begun(job(Waiting::Hybrid, 20));
    requester.time.late_ns = VecDeque::from([0, 0, 4 * MS + 300_000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50 * MS]);
    let trips = trips(&mut requester);
    let skipped: u64 = trips.iter().map(|(skipped, _)| skipped).sum();
    assert_eq!((trips.len() as u64 + skipped, requester.tally().sent), (20, trips.len() as u64));
    assert_eq!((trips[3].0, requester.tally().skipped), (3, skipped), "{trips:?}");
    // A request that is sent when the next is due cannot be answered before that.
    assert!(trips[2].1.is_none() && trips[3].1.is_some() && requester.tally().overdue > 0, "{trips:?}");
}

#[test]
fn what_passes_between_the_beginning_and_the_first_turn_skips_no_period() {
    let (mut requester, world) = begun(job(Waiting::Hybrid, 5));
    world.borrow_mut().now_ns += 4 * MS + 300_000;
    requester.begin_now();
    let trips = trips(&mut requester);
    assert!(trips.iter().all(|(skipped, trip)| *skipped == 0 && trip.is_some()), "{trips:?}");
    assert_eq!(requester.tally(), Tally { sent: 5, answered: 5, ..Tally::default() });
}

/// A late end of a sleep counts most where the request was there before it.
#[test]
fn a_responder_learns_from_the_sleeps_that_ended_behind_a_request() {
    let world = Shared::default();
    let mut responder = Responder::new(End(world.clone(), 1), Paper::new(&world), Waiting::Hybrid);
    let mut largest_ns = [0; 2];
    for number in 1..=1_000 {
        // The margin is short by then.
        world.borrow_mut().rarely_ns = if number > 300 { 300_000 } else { 0 };
        let message = Message { request: Request { practice: false, run: 1, number, period_ns: MS }, residence: None };
        let at_ns = number * MS;
        world.borrow_mut().to[1].push_back((at_ns, Arrival { message, peer: 0, stamp_ns: Some(at_ns), size: 100 }));
        while responder.turn() == 0 {}
        let (_, answer) = world.borrow_mut().to[0].pop_front().unwrap();
        let half = usize::from(number > 500);
        largest_ns[half] = answer.message.residence.unwrap().ns().max(largest_ns[half]);
    }
    assert!(largest_ns[0] > 200_000 && largest_ns[1] < 1_000, "{largest_ns:?}");
}

#[test]
fn a_kernel_that_takes_no_frames_misses_every_period_at_its_time() {
    let (mut requester, world) = begun(job(Waiting::Block, 5));
    world.borrow_mut().is_down = true;
    assert_eq!(trips(&mut requester), [(0, None); 5]);
    assert_eq!(requester.tally(), Tally { refused: 5, ..Tally::default() });
}

#[test]
fn stretches_by_one_port_each_count_what_they_brought() {
    let world = Shared::default();
    let mut port = End(world.clone(), 0);
    for (run, lost) in [(1, false), (2, true), (3, false)] {
        let fate = vec![vec![0], if lost { vec![] } else { vec![0] }, vec![0]];
        world.borrow_mut().fate = fate.into();
        let responder = Responder::new(End(world.clone(), 1), Paper::new(&world), Waiting::Block);
        let time = Paper { answers: Some(Box::new(responder)), ..Paper::new(&world) };
        let began_ns = world.borrow().now_ns;
        let mut requester = Requester::new(port, 1, time, Job { run, ..job(Waiting::Block, 20) });
        let stretch = measure_stretch(&mut requester, 1_000 * MS).unwrap();
        // Ten of practice at most, and one that was asked first.
        let periods = (world.borrow().now_ns - began_ns) / MS;
        assert!((20..40).contains(&periods), "{periods}");
        let missed = u64::from(lost);
        assert_eq!((stretch.missed, stretch.round_trips.count()), (missed, 20 - missed));
        assert_eq!(stretch.tally, Tally { sent: 20, answered: 20 - missed, ..Tally::default() });
        assert!(stretch.round_trips.max_ns.unwrap() < 100_000, "{stretch:?}");
        let counts = stretch.tally.record("eth1".into(), "a".into(), MS);
        assert_eq!((counts.lost(), counts.sent, counts.answered), (missed, 20, 20 - missed));
        port = requester.into_port();
    }
    world.borrow_mut().is_down = true;
    let mut requester = Requester::new(port, 1, Paper::new(&world), job(Waiting::Block, 20));
    assert_eq!(measure_stretch(&mut requester, 100 * MS).unwrap_err().to_string(), "nobody answered within 100ms");
}

#[test]
fn nobody_is_waited_for_longer_than_is_said() {
    let world = Shared::default();
    let mut requester = Requester::new(End(world.clone(), 0), 1, Paper::new(&world), job(Waiting::Hybrid, 5));
    let error = requester.begin(1_000 * MS).unwrap_err().to_string();
    assert_eq!(error, "nobody answered within 1s");
    assert!((1_000 * MS..1_200 * MS).contains(&world.borrow().now_ns));
}

#[test]
fn a_long_period_is_slept_through_in_naps() {
    let (mut requester, _) = begun(Job { period_ns: 1_000 * MS, ..job(Waiting::Hybrid, 2) });
    let (mut naps, mut over) = (0, 0);
    loop {
        match requester.turn() {
            Turn::Over(period) => over += u32::from(period.trip.is_some()),
            Turn::Rested(_) => naps += 1,
            Turn::Ended => break,
        }
    }
    assert!(naps > 80 && over == 2, "{naps} {over}");
}

#[test]
fn messages_of_others_are_counted_and_change_nothing() {
    let (mut requester, world) = begun(job(Waiting::Hybrid, 3));
    let request = Request { practice: false, run: 76, number: 0, period_ns: MS };
    let others = [
        Message { request, residence: None },
        Message { request, residence: Some(Residence::default()) },
        // Never sent.
        Message { request: Request { run: 77, number: 9, ..request }, residence: Some(Residence::default()) },
    ];
    for message in others {
        // Shorter than what was sent.
        world.borrow_mut().to[0].push_back((0, Arrival { message, peer: 1, stamp_ns: None, size: 99 }));
    }
    assert!(trips(&mut requester).iter().all(|(_, trip)| trip.is_some()));
    assert_eq!(requester.tally(), Tally { sent: 3, answered: 3, strays: 3, changed: 1, ..Tally::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn every_period_is_answered_missed_or_skipped(
        fate in prop::collection::vec(prop::collection::vec(0..3 * MS, 0..3), 0..30),
        late_ns in prop::collection::vec(prop_oneof![9 => 0..100_000u64, 1 => 0..5 * MS], 0..30), way in 0usize..3,
    ) {
        let (mut requester, world) = begun(job(Waiting::ALL[way], 30));
        world.borrow_mut().fate = fate.into();
        requester.time.late_ns = late_ns.into();
        let trips = trips(&mut requester);
        let tally = requester.tally();
        let answered = trips.iter().filter(|(_, trip)| trip.is_some()).count() as u64;
        prop_assert_eq!((tally.answered, tally.sent), (answered, trips.len() as u64));
        prop_assert_eq!(tally.sent + tally.skipped, 30);
        prop_assert!(tally.late <= tally.answered && tally.strays == 0, "{:?}", tally);
    }

    #[test]
    fn any_arrivals_are_answered_without_panic(
        came in prop::collection::vec((any::<[u8; 32]>(), any::<Option<u64>>(), any::<bool>()), 0..50), way in 0usize..3,
    ) {
        let world = Shared::default();
        let mut responder = Responder::new(End(world.clone(), 1), Paper::new(&world), Waiting::ALL[way]);
        let mut requests = 0;
        for (octets, stamp_ns, is_near) in came {
            let mut data = [0; OCTETS];
            data[..4].copy_from_slice(b"OTR1");
            data[4] = octets[4] % 4;
            data[8..32].copy_from_slice(&octets[8..]);
            let mut message = Message::read(&data).unwrap();
            if is_near {
                message.request.period_ns %= 3 * MS;
            }
            requests += u64::from(message.residence.is_none());
            let now_ns = world.borrow().now_ns;
            world.borrow_mut().to[1].push_back((now_ns, Arrival { message, peer: 0, stamp_ns, size: 100 }));
            responder.turn();
        }
        for _ in 0..3 {
            responder.turn();
        }
        prop_assert_eq!(responder.stats().answers, requests);
    }
}
