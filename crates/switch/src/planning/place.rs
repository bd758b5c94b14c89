//! A place in time for one stream among those that have theirs.

use super::course::{Course, Hop};
use super::occupancy::Occupancy;
use super::timetable::{Placed, PlacedHop};
use crate::network::{Network, StreamId};

/// Starts that are tried for a stream that waits in queues, each right behind what was in the way of the one before.
const MOST_STARTS: usize = 256;

/// Where a stream may be placed.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Whose streams.
    pub network: &'a Network,
    /// The one to be placed.
    pub stream: StreamId,
    /// Its queue.
    pub queue: u8,
    /// The talker does not begin before.
    pub from_ns: u64,
    /// What times are multiples of.
    pub slot_ns: u64,
}

impl Search<'_> {
    fn period_ns(&self) -> u64 {
        self.network.streams[self.stream].period_ns
    }

    fn deadline_ns(&self) -> u64 {
        self.network.streams[self.stream].deadline_ns
    }

    /// The first start from which the message runs through without waiting anywhere.
    ///
    /// Each hop moves the start to where it would be free next, until none of them moves it any more: free times are
    /// searched, never instants.
    pub fn without_waiting(&self, course: &Course, taken: &mut Occupancy) -> Option<Placed> {
        let latest = self.deadline_ns().checked_sub(course.delay_ns)?;
        let mut start = self.from_ns;
        loop {
            let before = start;
            for hop in &course.hops {
                start += self.wait_at(hop, start, taken)?;
                if start > latest {
                    return None;
                }
            }
            if start == before {
                return Some(self.at(course, start));
            }
        }
    }

    /// How much later the start must be for this hop.
    fn wait_at(&self, hop: &Hop, start: u64, taken: &mut Occupancy) -> Option<u64> {
        let (at, length) = (start + hop.shift_ns - hop.lead_ns, hop.lead_ns + hop.length_ns);
        let wait = taken.wire(hop.link, self.period_ns()).wait(at, length)?;
        if wait > 0 || !taken.lingers(hop.link, self.queue) {
            return Some(wait);
        }
        taken.queue(hop.link, self.queue, self.period_ns()).wait(at, length)
    }

    /// The place that begins then and runs through.
    pub fn at(&self, course: &Course, start: u64) -> Placed {
        let error_ns = self.network.sync_error_ns;
        let hop = |hop: &Hop| {
            let begin_ns = start + hop.shift_ns;
            let end_ns = begin_ns + hop.length_ns;
            PlacedHop {
                link: hop.link,
                before: hop.before,
                arrives_ns: begin_ns - hop.lead_ns,
                begin_ns,
                end_ns,
                delivered_ns: hop.delivers.then_some(end_ns - hop.tail_ns + hop.propagation_ns + error_ns),
            }
        };
        Placed { stream: self.stream, queue: self.queue, waits: false, hops: course.hops.iter().map(hop).collect() }
    }

    /// The place that begins then on each link, and waits there until then.
    pub fn at_each(&self, course: &Course, begins: &[u64]) -> Placed {
        let running = self.at(course, begins[0]);
        let later = |(hop, begin_ns): (&PlacedHop, &u64)| {
            let by = |time_ns: u64| time_ns + begin_ns - hop.begin_ns;
            PlacedHop { begin_ns: *begin_ns, end_ns: by(hop.end_ns), delivered_ns: hop.delivered_ns.map(by), ..*hop }
        };
        let mut hops: Vec<PlacedHop> = running.hops.iter().zip(begins).map(later).collect();
        for n in 1..hops.len() {
            let [before, of] = [n - 1, n].map(|n| &course.hops[n]);
            hops[n].arrives_ns = hops[n - 1].begin_ns + (of.shift_ns - before.shift_ns) - of.lead_ns;
        }
        let waits = running.hops.iter().zip(begins).any(|(hop, begin_ns)| hop.begin_ns < *begin_ns);
        Placed { waits, hops, ..running }
    }

    /// The first start from which the message arrives in time if it may wait in queues: at each hop it takes the first
    /// free time. While it is in a queue no other frame is in that queue, so that what leaves when a gate opens is
    /// never in doubt (frame isolation: Craciunas et al., Scheduling Real-Time Communication in IEEE 802.1Qbv Time
    /// Sensitive Networks, RTNS 2016).
    pub fn waiting(&self, course: &Course, taken: &mut Occupancy) -> Option<Placed> {
        let latest = self.deadline_ns().checked_sub(course.delay_ns)?;
        let mut start = self.from_ns;
        for _ in 0..MOST_STARTS {
            let first = &course.hops[0];
            start += self.wait_at(first, start, taken)?;
            if start > latest {
                return None;
            }
            match self.hop_by_hop(course, start, taken) {
                Ok(placed) => return Some(placed),
                // Later it can only come later; up to there the same time is free or not.
                Err(step) => start += step.max(self.slot_ns),
            }
        }
        None
    }

    /// Or by how much later a start could be of use: where a wait was too long, starting later by as much makes it none.
    fn hop_by_hop(&self, course: &Course, start: u64, taken: &mut Occupancy) -> Result<Placed, u64> {
        let (network, period_ns) = (self.network, self.period_ns());
        let mut hops: Vec<PlacedHop> = Vec::with_capacity(course.hops.len());
        for hop in &course.hops {
            let arrives = match hop.before {
                None => start,
                // All frames are reckoned from the earlier hop's delay.
                Some(before) => hops[before].begin_ns + (hop.shift_ns - course.hops[before].shift_ns),
            };
            let (stays_from, lead) = (arrives - hop.lead_ns, hop.lead_ns);
            let wait = taken.wire(hop.link, period_ns).wait(arrives, hop.length_ns).ok_or(period_ns)?;
            let begin_ns = arrives + wait;
            let end_ns = begin_ns + hop.length_ns;
            let stay = end_ns - stays_from;
            if stay > period_ns {
                return Err(wait);
            }
            if lead + wait > 0 || taken.lingers(hop.link, self.queue) {
                match taken.queue(hop.link, self.queue, period_ns).wait(stays_from, stay) {
                    Some(0) => {}
                    Some(step) => return Err(step),
                    None => return Err(wait),
                }
            }
            let delivered_ns =
                hop.delivers.then_some(end_ns - hop.tail_ns + hop.propagation_ns + network.sync_error_ns);
            if delivered_ns.is_some_and(|at| at > self.deadline_ns()) {
                return Err(wait);
            }
            hops.push(PlacedHop {
                link: hop.link,
                before: hop.before,
                arrives_ns: stays_from,
                begin_ns,
                end_ns,
                delivered_ns,
            });
        }
        Ok(Placed { stream: self.stream, queue: self.queue, waits: true, hops })
    }
}

#[cfg(test)]
mod tests {
    use super::super::occupancy::Use;
    use super::*;
    use crate::network::samples;

    /// Nobody is in its queue while it waits there, not even who runs through.
    #[test]
    fn who_waits_is_alone_in_its_queue() {
        let network = samples::ring(3, 1);
        let mut taken = Occupancy::new(network.links.len());
        let other = Use { stream: 1, period_ns: 500_000, queue: 7, arrives_ns: 40, from_ns: 40, end_ns: 60 };
        taken.add(1, other);
        let course = Course::chain(&[(0, 0, 0, 10), (1, 30, 0, 10)]);
        let mut hops = |queue| {
            let search = Search { network: &network, stream: 0, queue, from_ns: 15, slot_ns: 1 };
            let placed = search.waiting(&course, &mut taken).unwrap();
            placed.hops.iter().map(|hop| (hop.arrives_ns, hop.begin_ns)).collect::<Vec<_>>()
        };
        assert_eq!(hops(6), [(15, 15), (45, 60)]);
        assert_eq!(hops(7), [(30, 30), (60, 60)]);
    }

    #[test]
    fn nobody_runs_through_a_queue_in_which_another_waits() {
        let network = samples::ring(3, 1);
        let mut taken = Occupancy::new(network.links.len());
        taken.add(0, Use { stream: 1, period_ns: 500_000, queue: 7, arrives_ns: 40, from_ns: 80, end_ns: 90 });
        let course = Course::chain(&[(0, 0, 0, 10)]);
        let mut begins = |queue| {
            let search = Search { network: &network, stream: 0, queue, from_ns: 35, slot_ns: 1 };
            search.without_waiting(&course, &mut taken).unwrap().offset_ns()
        };
        assert_eq!((begins(6), begins(7)), (35, 90));
    }

    #[test]
    fn who_waits_is_there_when_it_would_have_run_through() {
        let network = samples::ring(3, 1);
        let search = Search { network: &network, stream: 0, queue: 7, from_ns: 0, slot_ns: 1 };
        let course = Course::chain(&[(0, 0, 0, 10), (1, 30, 5, 12), (2, 70, 3, 14)]);
        let placed = search.at_each(&course, &[100, 150, 190]);
        let times: Vec<_> = placed.hops.iter().map(|hop| (hop.arrives_ns, hop.begin_ns, hop.end_ns)).collect();
        assert_eq!(times, [(100, 100, 110), (125, 150, 162), (187, 190, 204)]);
        assert!(placed.waits && !search.at_each(&course, &[100, 130, 170]).waits);
    }
}
