//! A place in time for one stream among those that have theirs.

use super::occupancy::Occupancy;
use super::route::{Hop, Route};
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
    pub fn without_waiting(&self, route: &Route, taken: &mut Occupancy) -> Option<Placed> {
        let latest = self.deadline_ns().checked_sub(route.delay_ns)?;
        let mut start = self.from_ns;
        let mut near = vec![0; route.hops.len()];
        // Hops in turn that have left the start where it is: when all have, it stays there.
        let mut unmoved = 0;
        for n in (0..route.hops.len()).cycle() {
            let wait = self.wait_at(&route.hops[n], start, taken, &mut near[n])?;
            start += wait;
            if start > latest {
                return None;
            }
            unmoved = if wait > 0 { 0 } else { unmoved + 1 };
            if unmoved == route.hops.len() {
                break;
            }
        }
        Some(self.at(route, start))
    }

    /// How much later the start must be for this hop. `near` is as [`PeriodicIntervals::wait_near`] takes it.
    ///
    /// [`PeriodicIntervals::wait_near`]: super::periodic_intervals::PeriodicIntervals::wait_near
    fn wait_at(&self, hop: &Hop, start: u64, taken: &mut Occupancy, near: &mut usize) -> Option<u64> {
        let (at, length) = (self.earliest_at(hop, start + hop.shift_ns), hop.lead_ns + hop.length_ns);
        let wait = taken.wire(hop.link, self.period_ns()).wait_near(at, length, near)?;
        if wait > 0 || !taken.lingers(hop.link, self.queue) {
            return Some(wait);
        }
        taken.queue(hop.link, self.queue, self.period_ns()).wait(at, length)
    }

    /// When a frame may be at a hop that it is reckoned to reach then, or whole periods later: never before time 0.
    fn earliest_at(&self, hop: &Hop, arrives_ns: u64) -> u64 {
        arrives_ns + hop.lead_ns.next_multiple_of(self.period_ns()) - hop.lead_ns
    }

    /// The place that begins then and runs through.
    pub fn at(&self, route: &Route, start: u64) -> Placed {
        let error_ns = self.network.sync_error_ns;
        let hop = |hop: &Hop| {
            let begin_ns = start + hop.shift_ns;
            let end_ns = begin_ns + hop.length_ns;
            PlacedHop {
                link: hop.link,
                before: hop.before,
                arrives_ns: before(begin_ns, hop.lead_ns),
                begin_ns,
                end_ns,
                delivered_ns: hop.delivers.then_some(end_ns - hop.tail_ns + hop.propagation_ns + error_ns),
            }
        };
        Placed { stream: self.stream, queue: self.queue, waits: false, hops: route.hops.iter().map(hop).collect() }
    }

    /// The place that begins then on each link, and waits there until then.
    pub fn at_each(&self, route: &Route, begins: &[u64]) -> Placed {
        let running = self.at(route, begins[0]);
        let later = |(hop, begin_ns): (&PlacedHop, &u64)| {
            let by = |time_ns: u64| time_ns + begin_ns - hop.begin_ns;
            PlacedHop { begin_ns: *begin_ns, end_ns: by(hop.end_ns), delivered_ns: hop.delivered_ns.map(by), ..*hop }
        };
        let mut hops: Vec<PlacedHop> = running.hops.iter().zip(begins).map(later).collect();
        for n in 1..hops.len() {
            let [earlier, of] = [n - 1, n].map(|n| &route.hops[n]);
            let reaches_ns = hops[n - 1].begin_ns + (of.shift_ns - earlier.shift_ns);
            hops[n].arrives_ns = before(reaches_ns, of.lead_ns);
        }
        let waits = running.hops.iter().zip(begins).any(|(hop, begin_ns)| hop.begin_ns < *begin_ns);
        Placed { waits, hops, ..running }
    }

    /// The first start from which the message arrives in time if it may wait in queues: at each hop it takes the first
    /// free time. While it is in a queue no other frame is in that queue, so that what leaves when a gate opens is
    /// never in doubt (frame isolation: Craciunas et al., Scheduling Real-Time Communication in IEEE 802.1Qbv Time
    /// Sensitive Networks, RTNS 2016).
    pub fn waiting(&self, route: &Route, taken: &mut Occupancy) -> Option<Placed> {
        let latest = self.deadline_ns().checked_sub(route.delay_ns)?;
        let (mut start, mut near) = (self.from_ns, 0);
        for _ in 0..MOST_STARTS {
            let first = &route.hops[0];
            start += self.wait_at(first, start, taken, &mut near)?;
            if start > latest {
                return None;
            }
            match self.hop_by_hop(route, start, taken) {
                Ok(placed) => return Some(placed),
                // Later it can only come later; up to there the same time is free or not.
                Err(step) => start += step.max(self.slot_ns),
            }
        }
        None
    }

    /// Or by how much later a start could be of use: where a wait was too long, starting later by as much makes it none.
    fn hop_by_hop(&self, route: &Route, start: u64, taken: &mut Occupancy) -> Result<Placed, u64> {
        let (network, period_ns) = (self.network, self.period_ns());
        let mut hops: Vec<PlacedHop> = Vec::with_capacity(route.hops.len());
        for hop in &route.hops {
            let arrives = match hop.before {
                None => start,
                // All frames are reckoned from the earlier hop's delay.
                Some(before) => hops[before].begin_ns + (hop.shift_ns - route.hops[before].shift_ns),
            };
            let wait = taken.wire(hop.link, period_ns).wait(arrives, hop.length_ns).ok_or(period_ns)?;
            let begin_ns = arrives + wait;
            let end_ns = begin_ns + hop.length_ns;
            let stay = hop.lead_ns + wait + hop.length_ns;
            if stay > period_ns {
                return Err(wait);
            }
            if hop.lead_ns + wait > 0 || taken.lingers(hop.link, self.queue) {
                let stays_from = self.earliest_at(hop, arrives);
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
                arrives_ns: before(arrives, hop.lead_ns),
                begin_ns,
                end_ns,
                delivered_ns,
            });
        }
        Ok(Placed { stream: self.stream, queue: self.queue, waits: true, hops })
    }
}

/// So long before a time of a plan.
fn before(at_ns: u64, lead_ns: u64) -> i64 {
    at_ns as i64 - lead_ns as i64
}

#[cfg(test)]
mod tests {
    use super::super::occupancy::Use;
    use super::super::periodic_intervals::gcd;
    use super::super::random::Random;
    use super::super::routes::Routes;
    use super::*;
    use crate::network::samples;

    /// Nobody is in its queue while it waits there, not even who runs through.
    #[test]
    fn who_waits_is_alone_in_its_queue() {
        let network = samples::ring(3, 1);
        let mut taken = Occupancy::new(network.links.len());
        let other = Use { stream: 1, period_ns: 500_000, queue: 7, arrives_ns: 40, from_ns: 40, end_ns: 60 };
        taken.add(1, other);
        let route = Route::chain(&[(0, 0, 0, 10), (1, 30, 0, 10)]);
        let mut hops = |queue| {
            let search = Search { network: &network, stream: 0, queue, from_ns: 15, slot_ns: 1 };
            let placed = search.waiting(&route, &mut taken).unwrap();
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
        let route = Route::chain(&[(0, 0, 0, 10)]);
        let mut begins = |queue| {
            let search = Search { network: &network, stream: 0, queue, from_ns: 35, slot_ns: 1 };
            search.without_waiting(&route, &mut taken).unwrap().offset_ns()
        };
        assert_eq!((begins(6), begins(7)), (35, 90));
    }

    #[test]
    fn who_waits_is_there_when_it_would_have_run_through() {
        let network = samples::ring(3, 1);
        let search = Search { network: &network, stream: 0, queue: 7, from_ns: 0, slot_ns: 1 };
        let route = Route::chain(&[(0, 0, 0, 10), (1, 30, 5, 12), (2, 70, 3, 14)]);
        let placed = search.at_each(&route, &[100, 150, 190]);
        let times: Vec<_> = placed.hops.iter().map(|hop| (hop.arrives_ns, hop.begin_ns, hop.end_ns)).collect();
        assert_eq!(times, [(100, 100, 110), (125, 150, 162), (187, 190, 204)]);
        assert!(placed.waits && !search.at_each(&route, &[100, 130, 170]).waits);
    }

    /// On its own way to several listeners: each time moves as its link does.
    #[test]
    fn who_waits_is_delivered_as_much_later_as_its_last_gate_opens() {
        let mut network = samples::ring(5, 1);
        network.streams[0].talker = 5;
        network.streams[0].listeners = vec![6, 7];
        network.sync_error_ns = 30;
        let route = Routes::new(&network, 1, 1).nth(0, 0).unwrap();
        let search = Search { network: &network, stream: 0, queue: 5, from_ns: 0, slot_ns: 1 };
        let running = search.at(&route, 700);
        let error_ns = network.sync_error_ns;
        for (hop, way) in running.hops.iter().zip(&route.hops) {
            let [begin_ns, end_ns] = [700 + way.shift_ns, 700 + way.shift_ns + way.length_ns];
            assert_eq!((hop.begin_ns, hop.end_ns, hop.arrives_ns), (begin_ns, end_ns, before(begin_ns, way.lead_ns)));
            assert_eq!((hop.link, hop.before), (way.link, way.before));
            let delivered_ns = end_ns - way.tail_ns + way.propagation_ns + error_ns;
            assert_eq!(hop.delivered_ns, way.delivers.then_some(delivered_ns));
        }
        assert_eq!(running.hops.iter().filter(|hop| hop.delivered_ns.is_some()).count(), 2);
        let later = [0, 40, 90, 200, 1_000];
        let begins: Vec<u64> = running.hops.iter().zip(later).map(|(hop, later)| hop.begin_ns + later).collect();
        let placed = search.at_each(&route, &begins);
        assert!(placed.waits && (placed.stream, placed.queue) == (0, 5));
        for ((hop, was), later) in placed.hops.iter().zip(&running.hops).zip(later) {
            assert_eq!((hop.begin_ns, hop.end_ns), (was.begin_ns + later, was.end_ns + later));
            assert_eq!(hop.delivered_ns, was.delivered_ns.map(|at| at + later));
        }
        assert_eq!(placed.latency_ns(), placed.hops.iter().filter_map(|hop| hop.delivered_ns).max().unwrap());
    }

    /// Small numbers in place of a real network.
    struct Drawn {
        network: Network,
        taken: Occupancy,
        route: Route,
        from_ns: u64,
        queue: u8,
        slot_ns: u64,
    }

    impl Drawn {
        fn new(random: &mut Random) -> Self {
            let mut network = samples::ring(3, 1);
            network.sync_error_ns = random.below(3);
            let slot_ns = 1 + random.below(3);
            let period_ns = slot_ns * [20, 30, 60][random.below(3) as usize];
            let mut taken = Occupancy::new(network.links.len());
            for stream in 1..1 + random.below(9) as usize {
                let period_ns = slot_ns * [20, 30, 60][random.below(3) as usize];
                let arrives_ns = slot_ns * random.below(60);
                let from_ns = arrives_ns + slot_ns * random.below(4) * random.below(2);
                let end_ns = from_ns + slot_ns * (1 + random.below(6));
                let queue = 6 + random.below(2) as u8;
                taken.add(stream % 3, Use { stream, period_ns, queue, arrives_ns, from_ns, end_ns });
            }
            let (mut hops, mut shift_ns) = (Vec::new(), 0);
            for link in 0..1 + random.below(3) as usize {
                let lead_ns = if link == 0 { 0 } else { slot_ns * random.below(3) };
                shift_ns += if link == 0 { 0 } else { slot_ns * random.below(12) };
                hops.push((link, shift_ns, lead_ns, slot_ns * (1 + random.below(5))));
            }
            let mut route = Route::chain(&hops);
            let last = route.hops.len() - 1;
            let hop = &mut route.hops[last];
            (hop.delivers, hop.tail_ns, hop.propagation_ns) = (true, random.below(hop.length_ns), random.below(4));
            route.delay_ns = hop.shift_ns + hop.length_ns - hop.tail_ns + hop.propagation_ns + network.sync_error_ns;
            let deadline_ns = (route.delay_ns + random.below(50)).saturating_sub(random.below(4));
            (network.streams[0].period_ns, network.streams[0].deadline_ns) = (period_ns, deadline_ns);
            let from_ns = slot_ns * random.below(8);
            Self { network, taken, route, from_ns, queue: 6 + random.below(2) as u8, slot_ns }
        }

        fn search(&self) -> Search<'_> {
            let Self { network, from_ns, queue, slot_ns, .. } = self;
            Search { network, stream: 0, queue: *queue, from_ns: *from_ns, slot_ns: *slot_ns }
        }

        /// Whether nobody has the link from then until then, instant by instant; of a queue: whether nobody is in it.
        fn is_free(&self, link: usize, from_ns: u64, until_ns: u64, queue: Option<u8>) -> bool {
            let period_ns = self.network.streams[0].period_ns;
            let others = self.taken.uses(link).iter().filter(|one| queue.is_none_or(|queue| queue == one.queue));
            let of = |one: &Use| if queue.is_some() { one.arrives_ns } else { one.from_ns };
            let is_apart = |one: &Use| {
                let common_ns = gcd(period_ns, one.period_ns);
                let since = |at: u64| (at + common_ns - of(one) % common_ns) % common_ns;
                (from_ns..until_ns).all(|at| since(at) >= one.end_ns - of(one))
            };
            // It meets its own next message, too.
            until_ns - from_ns <= period_ns && { others }.all(is_apart)
        }

        /// Whether some use of the link stays longer in this queue than it is sent.
        fn lingers(&self, link: usize) -> bool {
            self.taken.uses(link).iter().any(|one| one.queue == self.queue && one.arrives_ns < one.from_ns)
        }

        fn runs_on(&self, hop: &Hop, start: u64) -> bool {
            // In the second period, as it may be there in the one before.
            let begin_ns = start + hop.shift_ns + self.network.streams[0].period_ns;
            let (from_ns, until_ns) = (begin_ns - hop.lead_ns, begin_ns + hop.length_ns);
            self.is_free(hop.link, from_ns, until_ns, None)
                && (!self.lingers(hop.link) || self.is_free(hop.link, from_ns, until_ns, Some(self.queue)))
        }

        fn starts(&self) -> impl Iterator<Item = u64> {
            let deadline_ns = self.network.streams[0].deadline_ns;
            let last = deadline_ns.checked_sub(self.route.delay_ns);
            let (from_ns, slot_ns) = (self.from_ns, self.slot_ns);
            last.into_iter().flat_map(move |last| (from_ns..=last).step_by(slot_ns as usize))
        }

        /// When it begins on each link if it takes the first free time at each; nothing where that is too late, or where
        /// it is not alone in its queue meanwhile.
        fn one_after_the_other(&self, start: u64) -> Option<Vec<(i64, u64)>> {
            let period_ns = self.network.streams[0].period_ns;
            let mut times: Vec<(i64, u64)> = Vec::new();
            for (n, hop) in self.route.hops.iter().enumerate() {
                let comes_ns = match n {
                    0 => start,
                    _ => times[n - 1].1 + hop.shift_ns - self.route.hops[n - 1].shift_ns,
                };
                let later = (comes_ns..comes_ns + 60 * self.slot_ns).step_by(self.slot_ns as usize);
                let begins_ns = { later }.find(|at| self.is_free(hop.link, *at, at + hop.length_ns, None))?;
                let (stays_ns, ends_ns) = (before(comes_ns, hop.lead_ns), begins_ns + hop.length_ns);
                if ends_ns + hop.lead_ns - comes_ns > period_ns {
                    return None;
                }
                let stays_from_ns = comes_ns + period_ns - hop.lead_ns;
                let alone = self.is_free(hop.link, stays_from_ns, ends_ns + period_ns, Some(self.queue));
                if (stays_ns < begins_ns as i64 || self.lingers(hop.link)) && !alone {
                    return None;
                }
                let delivered_ns = ends_ns - hop.tail_ns + hop.propagation_ns + self.network.sync_error_ns;
                if hop.delivers && delivered_ns > self.network.streams[0].deadline_ns {
                    return None;
                }
                times.push((stays_ns, begins_ns));
            }
            Some(times)
        }
    }

    #[test]
    fn the_first_start_of_all_is_found_from_which_it_runs_through() {
        let (mut random, mut later, mut none, mut before_all) = (Random::new(11), 0, 0, 0);
        for _ in 0..3_000 {
            let mut drawn = Drawn::new(&mut random);
            let runs = |start: &u64| drawn.route.hops.iter().all(|hop| drawn.runs_on(hop, *start));
            let first = drawn.starts().find(runs);
            let mut taken = std::mem::replace(&mut drawn.taken, Occupancy::new(3));
            let found = drawn.search().without_waiting(&drawn.route, &mut taken);
            assert_eq!(found.as_ref().map(Placed::offset_ns), first, "{:?} {taken:?}", drawn.route);
            assert_eq!(found, first.map(|first| drawn.search().at(&drawn.route, first)));
            later += usize::from(first.is_some_and(|first| first > drawn.from_ns));
            none += usize::from(first.is_none());
            before_all += usize::from(found.iter().flat_map(|placed| &placed.hops).any(|hop| hop.arrives_ns < 0));
        }
        assert!(later >= 300 && none >= 300 && before_all >= 5, "{later} {none} {before_all}");
    }

    /// What it skips could be of use now and then, when a wait on an earlier link would have moved the frame as far.
    #[test]
    fn a_start_is_found_from_which_it_waits_in_time_and_seldom_a_later_one_than_the_first() {
        let (mut random, mut waits, mut none, mut first_of_all, mut later, mut overlooked) =
            (Random::new(12), 0, 0, 0, 0, 0);
        for _ in 0..3_000 {
            let mut drawn = Drawn::new(&mut random);
            let first = drawn.starts().filter(|start| drawn.runs_on(&drawn.route.hops[0], *start));
            let first = { first }.find_map(|start| drawn.one_after_the_other(start));
            let mut taken = std::mem::replace(&mut drawn.taken, Occupancy::new(3));
            let found = drawn.search().waiting(&drawn.route, &mut taken);
            let times = found.map(|placed| {
                assert!(placed.waits);
                for (hop, way) in placed.hops.iter().zip(&drawn.route.hops) {
                    let ends_ns = hop.begin_ns + way.length_ns;
                    let delivered_ns = ends_ns - way.tail_ns + way.propagation_ns + drawn.network.sync_error_ns;
                    assert_eq!((hop.end_ns, hop.link, hop.before), (ends_ns, way.link, way.before));
                    assert_eq!(hop.delivered_ns, way.delivers.then_some(delivered_ns));
                }
                placed.hops.iter().map(|hop| (hop.arrives_ns, hop.begin_ns)).collect::<Vec<_>>()
            });
            match (&times, &first) {
                (Some(times), Some(_)) if Some(times) == first.as_ref() => first_of_all += 1,
                (Some(times), Some(first)) if times[0] > first[0] => {
                    drawn.taken = taken;
                    assert!(drawn.runs_on(&drawn.route.hops[0], times[0].1));
                    assert_eq!(drawn.one_after_the_other(times[0].1).as_ref(), Some(times));
                    later += 1;
                }
                (None, Some(_)) => overlooked += 1,
                (None, None) => none += 1,
                other => panic!("{other:?}"),
            }
            let lead = |n: usize| drawn.route.hops[n].lead_ns as i64;
            waits += usize::from(first.iter().flatten().enumerate().any(|(n, time)| time.0 + lead(n) < time.1 as i64));
        }
        assert!(waits >= 200 && none >= 300 && first_of_all >= 300, "{waits} {none} {first_of_all}");
        assert!(later < first_of_all / 50 && overlooked < first_of_all / 100, "{later} {overlooked}");
    }
}
