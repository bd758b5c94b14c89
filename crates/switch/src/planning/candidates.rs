//! Starts at which a stream's windows touch others: gates then stay open instead of closing and opening again.

use super::course::{Course, Hop};
use super::occupancy::Occupancy;

/// Starts that are weighed at most.
const MOST: usize = 512;

/// A course whose start is sought.
pub struct Candidates<'a> {
    /// The way.
    pub course: &'a Course,
    /// Of the stream.
    pub period_ns: u64,
    /// The last start that is in time.
    pub latest_ns: u64,
}

impl Candidates<'_> {
    /// The start with the most edges shared with others, or `first` where none has more.
    pub fn most_adjacent(&self, first: u64, taken: &mut Occupancy) -> u64 {
        let mut starts = vec![first];
        for hop in &self.course.hops {
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
            let folded = taken.wire(hop.link, self.period_ns);
            let begin = (start + hop.shift_ns) % self.period_ns;
            let end = (begin + hop.length_ns) % self.period_ns;
            folded.is_free((begin + self.period_ns - hop.lead_ns) % self.period_ns, hop.lead_ns + hop.length_ns).then(
                || {
                    let before = folded.busy().iter().any(|busy| busy.1 % self.period_ns == begin);
                    let behind = folded.busy().iter().any(|busy| busy.0 == end);
                    u32::from(before) + u32::from(behind)
                },
            )
        };
        self.course.hops.iter().map(|hop| edges(hop, taken)).sum()
    }
}
