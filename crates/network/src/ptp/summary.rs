//! What a run came to.

use crate::Distribution;

/// What a run came to, so far.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// How far the clock was from its master's, at each Sync that was looked at.
    pub offsets: Spread,
    /// Delays of the way to the master.
    pub path_delays: Spread,
    /// Offsets beyond the file's bound.
    pub beyond_bound: u64,
    /// Changes of the node's role, and of the grandmaster that it follows.
    pub role_changes: u64,
    /// Time from the start until there was a master, or it was one, in ns; absent: never.
    pub first_time_ns: Option<u64>,
    /// Time without either since then, in ns.
    pub without_master_ns: u64,
    /// Times that a master was lost.
    pub losses: u64,
}

/// Signed values, in ns.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    extremes: Option<(i64, i64)>,
    magnitudes: Distribution,
}

impl Spread {
    /// Counts one.
    pub fn add(&mut self, ns: i64) {
        let (min, max) = self.extremes.unwrap_or((ns, ns));
        self.extremes = Some((min.min(ns), max.max(ns)));
        self.magnitudes.add(ns.unsigned_abs());
    }

    /// The smallest and the largest.
    pub fn extremes(&self) -> Option<(i64, i64)> {
        self.extremes
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.magnitudes.histogram().count()
    }

    /// What this share of all is not beyond, without the sign; within the resolution of records' buckets.
    pub fn quantile(&self, share: f64) -> Option<u64> {
        self.magnitudes.histogram().quantile(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_have_a_sign_and_shares_have_none() {
        let mut spread = Spread::default();
        assert_eq!((spread.extremes(), spread.quantile(0.5)), (None, None));
        (-3..=1).for_each(|ns| spread.add(ns * 10));
        assert_eq!((spread.extremes(), spread.count()), (Some((-30, 10)), 5));
        assert_eq!((spread.quantile(0.5), spread.quantile(1.0)), (Some(10), Some(30)));
    }
}
