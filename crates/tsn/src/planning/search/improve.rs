//! Places at the cost of others: who finds none that is free takes one, and those that are in its way look for theirs
//! anew.

use std::collections::VecDeque;

use super::super::eviction::Eviction;
use super::super::occupancy::Use;
use super::super::periodic_intervals::gcd;
use super::super::timetable::Placed;
use super::Planner;
use super::free_place::WAITING_QUEUES;
use crate::network::StreamId;

/// Places with streams in their way that are tried, the cheapest.
pub(super) const CHOICES: usize = 6;

/// A place, and who would have to go.
pub(super) struct Choice {
    pub(super) cost: u64,
    /// Decides between equals.
    pub(super) chance: u64,
    pub(super) blockers: Vec<StreamId>,
    pub(super) placed: Placed,
}

impl Planner<'_> {
    /// Finds places for those that are left over by moving others, until all have one or `go_on` says no. The best
    /// table so far is kept.
    pub fn improve(&mut self, mut left: VecDeque<StreamId>, mut patience: usize, go_on: &dyn Fn() -> bool) {
        let mut best = (left.len(), self.table.clone());
        while let Some(stream) = left.pop_front() {
            if !go_on() || patience == 0 {
                break;
            }
            patience -= 1;
            if !self.place(stream) {
                self.weight[stream] += 1;
                left.extend(self.displace(stream));
            }
            if left.len() < best.0 {
                best = (left.len(), self.table.clone());
            }
        }
        self.table = best.1;
    }

    /// Steps of [`Self::improve`] in which one start is improved, before another one is better.
    pub fn patience(streams: usize) -> usize {
        20 * streams + 1_000
    }

    /// Puts the stream where those that are in its way find other places; where no such place is found, where they count
    /// least. Who has none then is left over.
    pub(super) fn displace(&mut self, stream: StreamId) -> Vec<StreamId> {
        let choices = self.choices(stream);
        for choice in &choices {
            if self.exchange(choice) {
                return Vec::new();
            }
        }
        let Some(choice) = choices.into_iter().next() else { return vec![stream] };
        choice.blockers.iter().for_each(|blocker| self.take_away(*blocker));
        self.put(choice.placed);
        choice.blockers
    }

    /// The cheapest places for a stream, with those that are in its way.
    pub(super) fn choices(&mut self, stream: StreamId) -> Vec<Choice> {
        let mut choices = Vec::new();
        for n in 0..=self.routes.most() {
            let Some(route) = self.route(stream, n) else { break };
            let of = &self.network.streams[stream];
            let Some(latest_ns) = of.deadline_ns.checked_sub(route.delay_ns) else { continue };
            let Some(queue) = self.queues(stream, &route).next() else { continue };
            let eviction = Eviction {
                stream,
                route: &route,
                period_ns: of.period_ns,
                latest_ns,
                slot_ns: self.options.slot_ns.max(1),
                weight: &self.weight,
                fixed: &self.fixed,
            };
            let running = eviction.running(queue, CHOICES, &self.taken, &mut self.random);
            let waiting = if self.options.wait { eviction.waiting(&self.taken, &mut self.random) } else { None };
            let running = running.into_iter().map(|start| self.search(stream, queue, start).at(&route, start));
            let mut places: Vec<Placed> = running.collect();
            for queue in waiting.iter().flat_map(|_| self.queues(stream, &route).take(WAITING_QUEUES)) {
                places.extend(waiting.iter().map(|begins| self.search(stream, queue, 0).at_each(&route, begins)));
            }
            choices.extend(places.into_iter().filter_map(|placed| self.choice(placed)));
        }
        choices.sort_unstable_by_key(|choice| (choice.cost, choice.chance));
        choices.truncate(CHOICES);
        choices
    }

    /// A place that others can be moved out of.
    fn choice(&mut self, placed: Placed) -> Option<Choice> {
        let blockers = self.blockers(&placed);
        let free = |blocker: &StreamId| !self.fixed[*blocker] && *blocker != placed.stream;
        let cost = blockers.iter().map(|blocker| self.weight[*blocker]).sum();
        blockers.iter().all(free).then(|| Choice { cost, chance: self.random.below(u64::MAX), blockers, placed })
    }

    /// Takes a place if all that are in its way find another one; else everything is as before.
    fn exchange(&mut self, choice: &Choice) -> bool {
        let before: Vec<Placed> =
            choice.blockers.iter().filter_map(|blocker| self.table.placed[*blocker].clone()).collect();
        choice.blockers.iter().for_each(|blocker| self.take_away(*blocker));
        self.put(choice.placed.clone());
        if choice.blockers.iter().all(|blocker| self.place(*blocker)) {
            self.effort.moved += choice.blockers.len() as u64;
            return true;
        }
        self.take_away(choice.placed.stream);
        choice.blockers.iter().for_each(|blocker| self.take_away(*blocker));
        before.into_iter().for_each(|placed| self.put(placed));
        false
    }

    /// Who is in the way of a place.
    pub(super) fn blockers(&self, placed: &Placed) -> Vec<StreamId> {
        let mut blockers = Vec::new();
        for (link, one) in placed.uses(self.network) {
            blockers.extend(self.taken.uses(link).iter().filter(|other| meet(&one, other)).map(|other| other.stream));
            // More than its period is in its own way.
            if one.end_ns - one.arrives_ns > one.period_ns {
                blockers.push(placed.stream);
            }
        }
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }
}

/// Whether two uses of a link ever meet, or the frames' times in the same queue.
pub(super) fn meet(a: &Use, b: &Use) -> bool {
    let common = gcd(a.period_ns, b.period_ns);
    let from = |one: &Use| if a.queue == b.queue { one.arrives_ns } else { one.from_ns };
    let (length_a, length_b) = (a.end_ns - from(a), b.end_ns - from(b));
    let distance = (from(b) % common + common - from(a) % common) % common;
    distance < length_a || common - distance < length_b
}
