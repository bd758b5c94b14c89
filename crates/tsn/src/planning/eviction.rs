//! All times at which a stream could be on its links, and at each the streams that would have to make room.
//!
//! Another use of a link is in the way at an interval of times, again and again at the greatest common divisor of both
//! periods. Between the ends of such intervals nothing changes, so that looking at these ends is looking at every time.

use super::occupancy::{Occupancy, Use};
use super::periodic_intervals::gcd;
use super::random::Random;
use super::route::{Hop, Route};
use crate::network::{LinkId, StreamId};

/// Times that one use is in the way at most; one that is more often is always in the way.
const MOST_COPIES: u64 = 1 << 12;
/// Changes that are looked at, of all uses together: others are always in the way. Of 24 octets each.
const MOST_CHANGES: usize = 1 << 20;
/// Times on one link that are followed to the next one at most.
const MOST_TIMES: usize = 2_000;
/// What it costs where a stream is in the way that may not be moved.
const BARRED: u64 = 1 << 40;

/// What is looked for.
pub struct Eviction<'a> {
    /// Whose place.
    pub stream: StreamId,
    /// Along which links.
    pub route: &'a Route,
    /// Its period.
    pub period_ns: u64,
    /// The last start that is in time.
    pub latest_ns: u64,
    /// All times are multiples of it.
    pub slot_ns: u64,
    /// How dear each stream is.
    pub weight: &'a [u64],
    /// Streams that may not be moved.
    pub fixed: &'a [bool],
}

/// A stream comes into the way, or goes out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    slot: u64,
    comes: bool,
    stream: StreamId,
}

/// What a time costs from its slot on, until the next one's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Step {
    slot: u64,
    cost: u64,
}

/// A time on one link, and how it is come by.
#[derive(Debug, Clone, Copy)]
struct Label {
    slot: u64,
    cost: u64,
    /// The time on the link before, by its place.
    from: usize,
}

impl Eviction<'_> {
    /// The cheapest starts from which it runs through, up to `most`, the cheapest first; between equals chance decides.
    pub fn running(&self, queue: u8, most: usize, taken: &Occupancy, random: &mut Random) -> Vec<u64> {
        let on = |hop: &Hop| {
            // A time before the talker's is one of the message before.
            let shift_ns = hop.shift_ns + hop.lead_ns.next_multiple_of(self.period_ns);
            (hop.link, shift_ns - hop.lead_ns, shift_ns + hop.length_ns)
        };
        let own: Vec<(LinkId, u64, u64)> = self.route.hops.iter().map(on).collect();
        let steps = self.steps(&own, Some(queue), self.latest_ns, taken);
        let mut found: Vec<(u64, u64, u64)> = Vec::with_capacity(most + 1);
        for step in steps.iter().filter(|step| step.cost < BARRED) {
            if found.len() < most || found.last().is_some_and(|worst| step.cost <= worst.0) {
                found.push((step.cost, random.below(u64::MAX), step.slot * self.slot_ns));
                found.sort_unstable();
                found.truncate(most);
            }
        }
        found.into_iter().map(|(.., start)| start).collect()
    }

    /// When it begins on each link, if it waits where that is cheapest; nothing where its way branches. Queues are not
    /// looked at.
    pub fn waiting(&self, taken: &Occupancy, random: &mut Random) -> Option<Vec<u64>> {
        let hops = &self.route.hops;
        if hops.iter().enumerate().any(|(n, hop)| hop.before != n.checked_sub(1)) {
            return None;
        }
        let mut reached: Vec<Vec<Label>> = Vec::with_capacity(hops.len());
        for (n, hop) in hops.iter().enumerate() {
            let last_ns = hop.shift_ns + self.latest_ns;
            let steps = self.steps(&[(hop.link, 0, hop.length_ns)], None, last_ns, taken);
            let times = match n.checked_sub(1) {
                None => steps.iter().map(|step| Label { slot: step.slot, cost: step.cost, from: 0 }).collect(),
                Some(before) => {
                    let shift = (hop.shift_ns - hops[before].shift_ns) / self.slot_ns;
                    follow(&reached[before], shift, &steps, last_ns / self.slot_ns, random)
                }
            };
            if times.len() > MOST_TIMES {
                return None;
            }
            reached.push(times);
        }
        let last = reached.last()?.iter().filter(|time| time.cost < BARRED);
        let mut time = *last.min_by_key(|time| (time.cost, random.below(u64::MAX)))?;
        let mut begins = vec![time.slot * self.slot_ns];
        for times in reached.iter().rev().skip(1) {
            time = times[time.from];
            begins.push(time.slot * self.slot_ns);
        }
        begins.reverse();
        Some(begins)
    }

    /// What it costs to be on links, each from and until then, later by a time up to the last one. A queue says which
    /// other frames' waits count as well.
    fn steps(&self, own: &[(LinkId, u64, u64)], queue: Option<u8>, last_ns: u64, taken: &Occupancy) -> Vec<Step> {
        let last = last_ns / self.slot_ns;
        let mut changes = Vec::new();
        let mut count = Count { of: self, times: vec![0; self.weight.len()], cost: 0 };
        for &(link, from_ns, until_ns) in own {
            for other in taken.uses(link) {
                // In one queue frames may not even wait at the same time.
                let other_from_ns = if queue == Some(other.queue) { other.arrives_ns } else { other.from_ns };
                let common_ns = gcd(self.period_ns, other.period_ns);
                let length_ns = (until_ns - from_ns) + (other.end_ns - other_from_ns);
                if length_ns > common_ns || last_ns / common_ns > MOST_COPIES || changes.len() > MOST_CHANGES {
                    count.add(other.stream, true);
                    continue;
                }
                // In the way later than this and earlier than so much behind it, modulo the divisor.
                let first = i128::from(other_from_ns) - i128::from(until_ns);
                let between = (first, length_ns, common_ns);
                self.intervals(between, other, last, &mut changes);
            }
        }
        changes.sort_unstable();
        let mut steps = vec![Step { slot: 0, cost: 0 }];
        for change in &changes {
            let cost = count.cost;
            match steps.last_mut() {
                Some(step) if step.slot == change.slot => {}
                Some(step) => {
                    step.cost = cost;
                    steps.push(Step { slot: change.slot, cost });
                }
                None => {}
            }
            count.add(change.stream, change.comes);
        }
        if let Some(step) = steps.last_mut() {
            step.cost = count.cost;
        }
        steps.retain(|step| step.slot <= last);
        steps
    }

    fn intervals(&self, between: (i128, u64, u64), other: &Use, last: u64, changes: &mut Vec<Change>) {
        let (first, length_ns, common_ns) = between;
        let (common, slot_ns) = (i128::from(common_ns), i128::from(self.slot_ns));
        let mut begin = first.rem_euclid(common) - common;
        loop {
            let comes = (begin.div_euclid(slot_ns) + 1).max(0) as u64;
            let goes = (begin + i128::from(length_ns) + slot_ns - 1).div_euclid(slot_ns).max(0) as u64;
            if comes > last {
                return;
            }
            if comes < goes {
                let stream = other.stream;
                changes.extend([(comes, true), (goes, false)].map(|(slot, comes)| Change { slot, comes, stream }));
            }
            begin += common;
        }
    }
}

/// The cheapest times on a link behind those on the one before: as soon as the frame is there, or when it gets cheaper.
fn follow(before: &[Label], shift: u64, steps: &[Step], last: u64, random: &mut Random) -> Vec<Label> {
    let cheaper = steps.windows(2).filter(|pair| pair[1].cost < pair[0].cost).map(|pair| pair[1].slot);
    let mut slots: Vec<u64> = before.iter().map(|time| time.slot + shift).chain(cheaper).collect();
    slots.sort_unstable();
    slots.dedup();
    let mut best: Option<(u64, u64, usize)> = None;
    let (mut next, mut step) = (0, 0);
    let mut times = Vec::with_capacity(slots.len());
    for slot in slots.into_iter().take_while(|slot| *slot <= last) {
        while let Some(time) = before.get(next).filter(|time| time.slot + shift <= slot) {
            let this = (time.cost, random.below(u64::MAX), next);
            best = Some(best.map_or(this, |best| best.min(this)));
            next += 1;
        }
        while steps.get(step + 1).is_some_and(|next| next.slot <= slot) {
            step += 1;
        }
        if let Some((cost, _, from)) = best {
            times.push(Label { slot, cost: cost + steps[step].cost, from });
        }
    }
    times
}

/// How often each stream is in the way, and what all that are cost.
struct Count<'a> {
    of: &'a Eviction<'a>,
    times: Vec<u32>,
    cost: u64,
}

impl Count<'_> {
    fn add(&mut self, stream: StreamId, comes: bool) {
        let barred = self.of.fixed[stream] || stream == self.of.stream;
        let cost = if barred { BARRED } else { self.of.weight[stream] };
        match (comes, &mut self.times[stream]) {
            (true, times) => {
                *times += 1;
                self.cost += if *times == 1 { cost } else { 0 };
            }
            (false, times) => {
                *times -= 1;
                self.cost -= if *times == 0 { cost } else { 0 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Drawn {
        route: Route,
        taken: Occupancy,
        weight: Vec<u64>,
        fixed: Vec<bool>,
        period_ns: u64,
        latest_ns: u64,
        slot_ns: u64,
    }

    impl Drawn {
        /// Five streams on two links, and a sixth, the first by number, which looks for its place.
        fn new(random: &mut Random) -> Self {
            let mut taken = Occupancy::new(2);
            for (stream, link) in (1..6).flat_map(|stream| [(stream, 0), (stream, 1)]) {
                if random.below(3) > 0 {
                    let period_ns = [20, 40, 60][random.below(3) as usize];
                    let (arrives_ns, queue) = (random.below(period_ns), 6 + random.below(2) as u8);
                    let from_ns = arrives_ns + random.below(4);
                    let end_ns = from_ns + 1 + random.below(7);
                    taken.add(link, Use { stream, period_ns, queue, arrives_ns, from_ns, end_ns });
                }
            }
            let slot_ns = 1 + random.below(2);
            let mut slots = |least: u64, most: u64| slot_ns * (least + random.below(most + 1 - least));
            let hops = [(0, 0, 0, slots(1, 4)), (1, slots(0, 9), slots(0, 2), slots(1, 4))];
            Self {
                route: Route::chain(&hops),
                taken,
                weight: (0..6).map(|_| 1 + random.below(9)).collect(),
                fixed: (0..6).map(|_| random.below(5) == 0).collect(),
                period_ns: [40, 60][random.below(2) as usize],
                latest_ns: random.below(30),
                slot_ns,
            }
        }

        fn eviction(&self) -> Eviction<'_> {
            let Self { route, weight, fixed, period_ns, latest_ns, slot_ns, .. } = self;
            let (period_ns, latest_ns, slot_ns) = (*period_ns, *latest_ns, *slot_ns);
            Eviction { stream: 0, route, period_ns, latest_ns, slot_ns, weight, fixed }
        }

        /// Whom it would meet on a link from one time until another, instant by instant.
        fn met(&self, link: LinkId, from_ns: u64, until_ns: u64, queue: Option<u8>) -> Vec<StreamId> {
            let meets = |other: &&Use| {
                let other_from_ns = if queue == Some(other.queue) { other.arrives_ns } else { other.from_ns };
                let common_ns = gcd(self.period_ns, other.period_ns);
                let since = |at: u64| (at + common_ns - other_from_ns % common_ns) % common_ns;
                (from_ns..until_ns).any(|at| since(at) < other.end_ns - other_from_ns)
            };
            self.taken.uses(link).iter().filter(meets).map(|other| other.stream).collect()
        }

        /// Each of them once.
        fn cost(&self, mut met: Vec<StreamId>) -> u64 {
            met.sort_unstable();
            met.dedup();
            met.iter().map(|stream| if self.fixed[*stream] { BARRED } else { self.weight[*stream] }).sum()
        }
    }

    #[test]
    fn the_cheapest_starts_are_those_of_all_instants() {
        let mut random = Random::new(1);
        let (mut free, mut dear, mut barred) = (0, 0, 0);
        for _ in 0..400 {
            let drawn = Drawn::new(&mut random);
            let cost = |start: u64| {
                let on = |hop: &Hop| {
                    let begin_ns = start + hop.shift_ns + drawn.period_ns;
                    drawn.met(hop.link, begin_ns - hop.lead_ns, begin_ns + hop.length_ns, Some(7))
                };
                drawn.cost(drawn.route.hops.iter().flat_map(on).collect())
            };
            let least = (0..=drawn.latest_ns).step_by(drawn.slot_ns as usize).map(cost).min().unwrap();
            let all = drawn.eviction().running(7, 1_000, &drawn.taken, &mut random);
            assert!(all.iter().all(|start| start % drawn.slot_ns == 0 && *start <= drawn.latest_ns), "{all:?}");
            let costs: Vec<u64> = all.into_iter().map(cost).collect();
            assert!(costs.is_sorted() && costs.iter().all(|cost| *cost < BARRED), "{costs:?}");
            assert_eq!(costs.first().copied(), Some(least).filter(|least| *least < BARRED));
            let few = drawn.eviction().running(7, 3, &drawn.taken, &mut random);
            assert_eq!(few.into_iter().map(cost).collect::<Vec<_>>(), costs[..costs.len().min(3)]);
            *(if least == 0 {
                &mut free
            } else if least < BARRED {
                &mut dear
            } else {
                &mut barred
            }) += 1;
        }
        assert!(free >= 30 && dear >= 30 && barred >= 10, "{free} {dear} {barred}");
    }

    #[test]
    fn it_waits_where_that_is_cheapest_of_all() {
        let mut random = Random::new(2);
        let (mut waits, mut barred) = (0, 0);
        for _ in 0..400 {
            let drawn = Drawn::new(&mut random);
            let hops = &drawn.route.hops;
            let cost = |n: usize, at: u64| drawn.cost(drawn.met(hops[n].link, at, at + hops[n].length_ns, None));
            let times =
                |from: u64, n: usize| (from..=hops[n].shift_ns + drawn.latest_ns).step_by(drawn.slot_ns as usize);
            let pairs = times(0, 0).flat_map(|first| times(first + hops[1].shift_ns, 1).map(move |then| (first, then)));
            let least = pairs.map(|(first, then)| cost(0, first) + cost(1, then)).min().unwrap();
            let found = drawn.eviction().waiting(&drawn.taken, &mut random);
            assert_eq!(found.is_some(), least < BARRED);
            let Some(begins) = found else {
                barred += 1;
                continue;
            };
            assert!(begins[0] + hops[1].shift_ns <= begins[1] && begins[1] <= hops[1].shift_ns + drawn.latest_ns);
            assert_eq!(cost(0, begins[0]) + cost(1, begins[1]), least, "{begins:?}");
            waits += usize::from(begins[0] + hops[1].shift_ns < begins[1]);
        }
        assert!(waits >= 50 && barred >= 10, "{waits} {barred}");
    }

    /// On up to four links one behind the other, in slots of up to 4 ns.
    #[test]
    fn on_every_link_it_waits_where_all_together_is_cheapest() {
        let mut random = Random::new(3);
        let (mut waits, mut free, mut barred, mut far) = (0, 0, 0, 0);
        for _ in 0..600 {
            let links = 1 + random.below(4) as usize;
            let slot_ns = 1 + random.below(4);
            let mut taken = Occupancy::new(links);
            for (stream, link) in (1..5).flat_map(|stream| (0..links).map(move |link| (stream, link))) {
                if random.below(3) == 0 {
                    let (period_ns, arrives_ns) = ([24, 48, 72][random.below(3) as usize], random.below(48));
                    let from_ns = arrives_ns + random.below(4);
                    let end_ns = from_ns + 1 + random.below(9);
                    taken.add(link, Use { stream, period_ns, queue: 7, arrives_ns, from_ns, end_ns });
                }
            }
            let mut shift_ns = 0;
            let hops: Vec<(LinkId, u64, u64, u64)> = (0..links)
                .map(|link| {
                    shift_ns += if link == 0 { 0 } else { slot_ns * (1 + random.below(5)) };
                    (link, shift_ns, 0, slot_ns * (1 + random.below(3)))
                })
                .collect();
            let drawn = Drawn {
                route: Route::chain(&hops),
                taken,
                weight: (0..5).map(|_| 1 + random.below(9)).collect(),
                fixed: (0..5).map(|_| random.below(6) == 0).collect(),
                period_ns: 48,
                latest_ns: random.below(30),
                slot_ns,
            };
            let cost = |n: usize, at: u64| drawn.cost(drawn.met(hops[n].0, at, at + hops[n].3, None));
            // The least that it costs to be on this link then, with all links before; by time.
            let mut least: Vec<(u64, u64)> = Vec::new();
            for n in 0..links {
                let times = (0..=hops[n].1 + drawn.latest_ns).step_by(slot_ns as usize);
                let before = |at: u64| match n {
                    0 => Some(0),
                    _ => least.iter().filter(|(then, _)| then + hops[n].1 - hops[n - 1].1 <= at).map(|one| one.1).min(),
                };
                least = times.filter_map(|at| Some((at, before(at)? + cost(n, at)))).collect();
            }
            let least = least.into_iter().map(|(_, cost)| cost).min().unwrap();
            let found = drawn.eviction().waiting(&drawn.taken, &mut random);
            assert_eq!(found.is_some(), least < BARRED);
            let Some(begins) = found else {
                barred += 1;
                continue;
            };
            assert_eq!(begins.len(), links);
            assert!(begins.iter().all(|begin| begin % slot_ns == 0));
            let later = |n: usize| begins[n] - begins[n - 1] - (hops[n].1 - hops[n - 1].1);
            assert!(begins.iter().zip(&hops).all(|(begin, hop)| *begin <= hop.1 + drawn.latest_ns), "{begins:?}");
            waits += usize::from((1..links).any(|n| later(n) > 0));
            assert_eq!((0..links).map(|n| cost(n, begins[n])).sum::<u64>(), least, "{begins:?}");
            free += usize::from(least == 0);
            far += usize::from(links > 2 && least > 0);
        }
        assert!(waits >= 80 && free >= 80 && barred >= 20 && far >= 40, "{waits} {free} {barred} {far}");
    }

    #[test]
    fn nobody_waits_where_its_way_branches() {
        let mut drawn = Drawn::new(&mut Random::new(4));
        drawn.route.hops[1].before = None;
        assert_eq!(drawn.eviction().waiting(&drawn.taken, &mut Random::new(1)), None);
    }

    /// One link on which streams 1 and up all have every other nanosecond; the first stream needs one.
    fn every_other(others: usize, latest_ns: u64) -> Drawn {
        let mut taken = Occupancy::new(1);
        for stream in 1..=others {
            taken.add(0, Use { stream, period_ns: 2, queue: 7, arrives_ns: 0, from_ns: 0, end_ns: 1 });
        }
        let (weight, fixed) = (vec![1; others + 1], vec![false; others + 1]);
        let route = Route::chain(&[(0, 0, 0, 1)]);
        Drawn { route, taken, weight, fixed, period_ns: 2, latest_ns, slot_ns: 1 }
    }

    /// What it costs to begin where it is cheapest.
    fn cheapest(drawn: &Drawn) -> u64 {
        let own = [(0, 0, drawn.route.hops[0].length_ns)];
        let steps = drawn.eviction().steps(&own, Some(7), drawn.latest_ns, &drawn.taken);
        steps.into_iter().map(|step| step.cost).min().unwrap()
    }

    #[test]
    fn gaps_are_looked_for_as_often_as_memory_is_for_and_no_more() {
        // Two that fill their common divisor have one place beside each other.
        assert_eq!(cheapest(&every_other(1, 5)), 0);
        let mut longer = every_other(1, 5);
        longer.route = Route::chain(&[(0, 0, 0, 2)]);
        assert_eq!(cheapest(&longer), 1);
        // So many times one use is followed.
        let most_ns = 2 * MOST_COPIES;
        assert_eq!([1, most_ns, most_ns + 1, most_ns + 2].map(|ns| cheapest(&every_other(1, ns))), [0, 0, 0, 1]);
        // So many changes of all together: 4 096 times each comes and goes.
        let few = most_ns - 1;
        let changes = MOST_CHANGES / 2 / MOST_COPIES as usize;
        assert_eq!([changes, changes + 1].map(|others| cheapest(&every_other(others, few))), [0, 0]);
        assert_eq!(cheapest(&every_other(changes + 4, few)), 3);
    }

    #[test]
    fn waits_are_followed_through_so_many_times_of_a_link() {
        let most = MOST_TIMES as u64;
        let begins = |latest_ns| {
            let drawn = every_other(1, latest_ns);
            drawn.eviction().waiting(&drawn.taken, &mut Random::new(1)).map(|begins| begins[0] % 2)
        };
        assert_eq!([1, most - 1, most].map(begins), [Some(1), Some(1), None]);
    }
}
