//! Starts at which a stream's windows touch others: gates then stay open instead of closing and opening again.

use super::occupancy::Occupancy;
use super::route::{Hop, Route};

/// Starts that are weighed at most.
const MOST: usize = 512;

/// A route whose start is sought.
pub struct Candidates<'a> {
    /// The way.
    pub route: &'a Route,
    /// Of the stream.
    pub period_ns: u64,
    /// The last start that is in time.
    pub latest_ns: u64,
}

impl Candidates<'_> {
    /// The start with the most edges shared with others, or `first` where none has more.
    pub fn most_adjacent(&self, first: u64, taken: &mut Occupancy) -> u64 {
        let mut starts = vec![first];
        for hop in &self.route.hops {
            for &(begin, end) in taken.wire(hop.link, self.period_ns).busy() {
                // Right behind it, or right before it.
                let behind = (end + self.period_ns - hop.shift_ns % self.period_ns) % self.period_ns;
                let before =
                    (begin + 2 * self.period_ns - (hop.shift_ns + hop.length_ns) % self.period_ns) % self.period_ns;
                starts.extend([behind, before].into_iter().filter(|start| *start <= self.latest_ns));
                if starts.len() >= MOST {
                    break;
                }
            }
        }
        starts.sort_unstable();
        starts.dedup();
        // Between equals the earliest.
        let mut best = (0, first);
        for start in starts {
            match self.shared_edges(start, taken) {
                Some(edges) if edges > best.0 => best = (edges, start),
                _ => {}
            }
        }
        best.1
    }

    /// Edges of its windows that are edges of others; nothing where some link is not free.
    fn shared_edges(&self, start: u64, taken: &mut Occupancy) -> Option<u32> {
        let edges = |hop: &Hop, taken: &mut Occupancy| {
            let intervals = taken.wire(hop.link, self.period_ns);
            let begin = (start + hop.shift_ns) % self.period_ns;
            let end = (begin + hop.length_ns) % self.period_ns;
            intervals
                .is_free(
                    begin + hop.lead_ns.next_multiple_of(self.period_ns) - hop.lead_ns,
                    hop.lead_ns + hop.length_ns,
                )
                .then(|| {
                    let before = intervals.busy().iter().any(|busy| busy.1 % self.period_ns == begin);
                    let behind = intervals.busy().iter().any(|busy| busy.0 == end);
                    u32::from(before) + u32::from(behind)
                })
        };
        self.route.hops.iter().map(|hop| edges(hop, taken)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::super::occupancy::Use;
    use super::super::random::Random;
    use super::*;

    const PERIOD_NS: u64 = 40;

    /// Instants of a period at which a link is taken.
    fn marked(uses: &[Use]) -> Vec<bool> {
        let mut taken = vec![false; PERIOD_NS as usize];
        for one in uses {
            for begin in (one.from_ns..one.from_ns + PERIOD_NS).step_by(one.period_ns as usize) {
                (begin..begin + one.end_ns - one.from_ns).for_each(|at| taken[(at % PERIOD_NS) as usize] = true);
            }
        }
        taken
    }

    /// Windows that have no time between them and others', looked for instant by instant.
    #[test]
    fn the_start_with_most_neighbours_is_the_earliest_of_all_that_have_so_many() {
        let mut random = Random::new(1);
        let mut with_neighbours = 0;
        for _ in 0..400 {
            let mut taken = Occupancy::new(2);
            for stream in 0..random.below(5) as usize {
                let from_ns = random.below(PERIOD_NS);
                let (period_ns, end_ns) = (PERIOD_NS / (1 + random.below(2)), from_ns + 1 + random.below(6));
                let one = Use { stream, period_ns, queue: 7, arrives_ns: from_ns, from_ns, end_ns };
                taken.add(stream % 2, one);
            }
            let (shift_ns, lead_ns) = (random.below(70), random.below(3) * random.below(2));
            let route = Route::chain(&[(0, 0, 0, 1 + random.below(6)), (1, shift_ns, lead_ns, 1 + random.below(6))]);
            let latest_ns = random.below(PERIOD_NS);
            let marks = [0, 1].map(|link| marked(taken.uses(link)));
            let neighbours = |start: u64| {
                let of = |hop: &Hop| {
                    let at = |ns: u64| marks[hop.link][((start + hop.shift_ns + PERIOD_NS + ns) % PERIOD_NS) as usize];
                    let free = (0..hop.lead_ns + hop.length_ns).all(|ns| !at(ns + PERIOD_NS - hop.lead_ns));
                    free.then(|| u32::from(at(PERIOD_NS - 1)) + u32::from(at(hop.length_ns)))
                };
                route.hops.iter().map(of).sum::<Option<u32>>()
            };
            let Some(first) = (0..=latest_ns).find(|start| neighbours(*start).is_some()) else { continue };
            let most = (0..=latest_ns).filter_map(neighbours).max().unwrap();
            let best = match most {
                0 => first,
                _ => (0..=latest_ns).find(|start| neighbours(*start) == Some(most)).unwrap(),
            };
            let candidates = Candidates { route: &route, period_ns: PERIOD_NS, latest_ns };
            assert_eq!(candidates.most_adjacent(first, &mut taken), best, "{route:?} {taken:?}");
            with_neighbours += usize::from(most > 0 && best != first);
        }
        assert!(with_neighbours >= 50, "{with_neighbours}");
    }

    /// All neighbours are on one link, which is somewhere on the way: whatever the shift, all starts beside them are weighed.
    #[test]
    fn a_start_beside_another_window_is_found_wherever_on_the_way_that_is() {
        let mut random = Random::new(2);
        let mut found = 0;
        for _ in 0..600 {
            let mut taken = Occupancy::new(3);
            for stream in 0..1 + random.below(2) as usize {
                let from_ns = random.below(PERIOD_NS);
                let end_ns = from_ns + 1 + random.below(6);
                let one = Use { stream, period_ns: PERIOD_NS, queue: 7, arrives_ns: from_ns, from_ns, end_ns };
                taken.add(1, one);
            }
            let (shift_ns, length_ns) = (random.below(100), 1 + random.below(6));
            let lead_ns = random.below(3);
            let route = Route::chain(&[(0, 0, 0, 2), (1, shift_ns, lead_ns, length_ns), (2, shift_ns + 9, 0, 2)]);
            let latest_ns = random.below(PERIOD_NS);
            let marks = marked(taken.uses(1));
            let at = |ns: u64| marks[(ns % PERIOD_NS) as usize];
            let neighbours = |start: u64| {
                let begin = start + shift_ns + PERIOD_NS;
                let free = (begin - lead_ns..begin + length_ns).all(|ns| !at(ns));
                free.then(|| u32::from(at(begin - 1)) + u32::from(at(begin + length_ns)))
            };
            let most = (0..=latest_ns).filter_map(neighbours).max().unwrap_or(0);
            let first = (0..=latest_ns).find(|start| neighbours(*start) == Some(most)).unwrap_or(0);
            let candidates = Candidates { route: &route, period_ns: PERIOD_NS, latest_ns };
            let best = candidates.most_adjacent(0, &mut taken);
            assert_eq!(best, if most == 0 { 0 } else { first }, "{route:?} {taken:?}");
            found += usize::from(most > 0);
        }
        assert!(found >= 200, "{found}");
    }
}
