//! Sends numbered flows, as many frames per second as was asked for, and counts what the kernel took.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ontick_rt::clock::ClockId;

use super::flow::Flow;
use crate::user::counters::Counter;
use crate::user::port::{Port, Sent};

/// A sender that is further ahead than this sleeps, in ns; otherwise it looks at the clock again and again.
const SLEEP_FROM_NS: u64 = 200_000;
/// And it gets up so much before its time.
const AWAKE_BEFORE_NS: u64 = 100_000;
/// What it is later than this is left out: it was kept from its work, and a flood would follow.
const FORGET_AFTER_NS: u64 = 20_000_000;
/// A link that is down is asked again after this.
const WHILE_DOWN: Duration = Duration::from_millis(5);

/// How many frames of a flow are sent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rate {
    /// As many as go.
    Saturating,
    /// So many per second, evenly.
    PerSecond(u64),
}

/// A flow that is to be sent.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Its frames.
    pub flow: Flow,
    /// How many of them.
    pub rate: Rate,
}

/// What was sent of each flow, counted while it goes on.
#[derive(Debug, Default)]
pub struct Count {
    /// Frames that the kernel took; their numbers are 0 to this.
    pub sent: Counter,
    /// Frames that it did not take, whose numbers the next ones had.
    pub refused: Counter,
    /// Frames left out because the sender had not run.
    pub left_out: Counter,
}

/// Sends from `from_ns` until `until_ns` on `clock`, or until it is to stop. Counts are in the order of the offers.
pub fn send(
    port: &mut impl Port,
    offers: &[Offer],
    clock: ClockId,
    from_ns: u64,
    until_ns: u64,
    counts: &[Count],
    stop: &AtomicBool,
) {
    let mut lanes: Vec<Lane> =
        offers.iter().zip(counts).map(|(offer, count)| Lane::new(offer, count, from_ns)).collect();
    let wait_ns = from_ns.saturating_sub(clock.now_ns());
    std::thread::sleep(Duration::from_nanos(wait_ns));
    let mut turn = 0;
    while !stop.load(Relaxed) {
        let now_ns = clock.now_ns();
        if now_ns >= until_ns {
            return;
        }
        turn = next(&lanes, turn);
        let Some(lane) = lanes.get_mut(turn) else { return };
        if lane.due_ns > now_ns {
            wait(clock, now_ns, lane.due_ns.min(until_ns));
            continue;
        }
        lane.catch_up(now_ns);
        if lane.send(port, clock) == Sent::Down {
            std::thread::sleep(WHILE_DOWN);
        }
    }
}

/// One flow on its way.
struct Lane<'a> {
    flow: &'a Flow,
    frame: Vec<u8>,
    count: &'a Count,
    number: u64,
    /// 0 where it sends as much as goes.
    interval_ns: u64,
    /// When the next frame is to be sent; for ever 0 where as many as go are sent.
    due_ns: u64,
}

impl<'a> Lane<'a> {
    fn new(offer: &'a Offer, count: &'a Count, from_ns: u64) -> Self {
        let (interval_ns, due_ns) = match offer.rate {
            Rate::Saturating => (0, 0),
            Rate::PerSecond(frames) => (1_000_000_000 / frames.max(1), from_ns),
        };
        Self { flow: &offer.flow, frame: offer.flow.frame(), count, number: 0, interval_ns, due_ns }
    }

    /// Leaves out what is far too late.
    fn catch_up(&mut self, now_ns: u64) {
        if self.interval_ns > 0 && now_ns - self.due_ns > FORGET_AFTER_NS {
            let left_out = (now_ns - self.due_ns) / self.interval_ns;
            self.due_ns += left_out * self.interval_ns;
            self.count.left_out.add(left_out);
        }
    }

    fn send(&mut self, port: &mut impl Port, clock: ClockId) -> Sent {
        self.flow.stamp(&mut self.frame, self.number, clock.now_ns());
        let sent = port.send(&self.frame);
        if sent == Sent::Done {
            self.number += 1;
            self.count.sent.add(1);
        } else {
            self.count.refused.add(1);
        }
        self.due_ns += self.interval_ns;
        sent
    }
}

/// The lane whose time comes first; those that are always due take turns.
fn next(lanes: &[Lane], after: usize) -> usize {
    let turns = (1..=lanes.len()).map(|ahead| (after + ahead) % lanes.len());
    turns.min_by_key(|lane| lanes[*lane].due_ns).unwrap_or(0)
}

fn wait(clock: ClockId, now_ns: u64, due_ns: u64) {
    if due_ns - now_ns > SLEEP_FROM_NS {
        // Not for longer than somebody waits who wants it to stop.
        clock.sleep_until((due_ns - AWAKE_BEFORE_NS).min(now_ns + 50_000_000));
    } else {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::port::Received;
    use crate::verify::flow::{Nonce, Reading};
    use crate::verify::source_004_test;
    use ontick_tsn::model::Guard;

    /// Takes frames, every so many of them not.
    struct Taken {
        frames: Vec<Vec<u8>>,
        refuse_every: usize,
        asked: usize,
    }

    impl Port for Taken {
        fn receive(&mut self, _: &mut [u8]) -> Received {
            Received::Nothing
        }

        fn send(&mut self, frame: &[u8]) -> Sent {
            self.asked += 1;
            if self.asked % self.refuse_every == 0 {
                return Sent::Busy;
            }
            self.frames.push(frame.to_vec());
            Sent::Done
        }

        fn overflowed(&mut self) -> u64 {
            0
        }
    }

    fn offers(rates: [Rate; 2]) -> Vec<Offer> {
        let switch = source_004_test::switch(1_000_000, Guard::None);
        (0..2)
            .map(|class| Offer { flow: Flow::new(&switch, class, 64, Nonce([1, 2, 3])).unwrap(), rate: rates[class] })
            .collect()
    }

    fn sent(rates: [Rate; 2], refuse_every: usize, for_ns: u64) -> (Vec<Offer>, Taken, [Count; 2]) {
        let (offers, mut port) = (offers(rates), Taken { frames: Vec::new(), refuse_every, asked: 0 });
        let (counts, now_ns) = ([Count::default(), Count::default()], ClockId::Monotonic.now_ns());
        send(&mut port, &offers, ClockId::Monotonic, now_ns, now_ns + for_ns, &counts, &AtomicBool::new(false));
        (offers, port, counts)
    }

    /// The numbers that each flow sent, in order.
    fn numbers(offers: &[Offer], port: &Taken) -> [Vec<u64>; 2] {
        let of = |offer: &Offer| {
            let marks = port.frames.iter().map(|frame| offer.flow.read(frame, frame.len(), u64::MAX >> 2));
            marks.filter_map(|read| if let Reading::Frame(mark) = read { Some(mark.number) } else { None }).collect()
        };
        [of(&offers[0]), of(&offers[1])]
    }

    #[test]
    fn numbers_are_those_that_were_taken() {
        let (offers, port, counts) = sent([Rate::Saturating, Rate::Saturating], 3, 20_000_000);
        let numbers = numbers(&offers, &port);
        assert_eq!(port.frames.len(), numbers[0].len() + numbers[1].len());
        for (numbers, count) in numbers.iter().zip(&counts) {
            assert_eq!(*numbers, (0..count.sent.get()).collect::<Vec<_>>());
            assert!(count.refused.get() > 0);
        }
        assert!(counts[0].sent.get().abs_diff(counts[1].sent.get()) <= 1 + counts[0].refused.get());
    }

    #[test]
    fn a_rate_is_kept_in_the_long_run() {
        let (offers, port, counts) = sent([Rate::PerSecond(20_000), Rate::PerSecond(1_000)], usize::MAX, 100_000_000);
        let numbers = numbers(&offers, &port);
        for (i, asked) in [2_000, 100].into_iter().enumerate() {
            // Whoever is kept from sending leaves frames out, or has no time for the last ones; nobody sends more.
            assert!(numbers[i].len() as u64 + counts[i].left_out.get() <= asked);
            assert!(!numbers[i].is_empty());
        }
    }
}
