//! The largest latency of each second, for as long as a run lasts, in bounded memory.

use ontick_record::run::Maxima;

/// Stretches that are held before two become one: 9 hours of seconds, 18 hours of pairs, ….
const LONGEST: usize = 32_768;
const SECOND_NS: u64 = 1_000_000_000;

/// Maxima over time, whose stretches double when the run outgrows them.
#[derive(Debug)]
pub struct Track {
    maxima: Maxima,
    /// Seconds that the last stretch covers so far.
    filled: u64,
}

impl Default for Track {
    fn default() -> Self {
        Self { maxima: Maxima { step_ns: SECOND_NS, ..Maxima::default() }, filled: 0 }
    }
}

impl Track {
    /// Adds the next second.
    pub fn push(&mut self, max_ns: u64) {
        if self.filled == self.maxima.step_ns / SECOND_NS || self.maxima.max_ns.is_empty() {
            if self.maxima.max_ns.len() == LONGEST {
                self.fold();
            }
            self.maxima.max_ns.push(0);
            self.filled = 0;
        }
        if let Some(last) = self.maxima.max_ns.last_mut() {
            *last = max_ns.max(*last);
        }
        self.filled += 1;
    }

    fn fold(&mut self) {
        let pairs = self.maxima.max_ns.chunks(2).map(|pair| pair.iter().copied().max().unwrap_or(0));
        self.maxima.max_ns = pairs.collect();
        self.maxima.step_ns *= 2;
    }

    /// The maxima so far.
    pub fn maxima(&self) -> &Maxima {
        &self.maxima
    }

    /// The maxima.
    pub fn into_maxima(self) -> Maxima {
        self.maxima
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_week_keeps_every_maximum_in_bounded_memory() {
        let mut track = Track::default();
        let week = 7 * 86_400u64;
        (0..week).for_each(|second| track.push(second));
        let maxima = track.into_maxima();
        let step = maxima.step_ns / SECOND_NS;
        assert!(maxima.max_ns.len() <= LONGEST && step.is_power_of_two());
        for (i, max_ns) in maxima.max_ns.iter().enumerate() {
            assert_eq!(*max_ns, ((i as u64 + 1) * step).min(week) - 1);
        }
    }
}
