//! Whether a node's time is good now, and since when.

use std::time::Duration;

use super::configuration::Node;

/// So many Sync messages may stay away.
const SYNCS: f64 = 4.0;
/// On a machine with other work even frequent ones come late.
const LATE: Duration = Duration::from_secs(2);

/// Follows readings of the time. Unlike [`super::Holdover`] it takes each as it is.
#[derive(Debug)]
pub struct Standing {
    longest_ns: u64,
    is_good: bool,
    since_ns: u64,
    last_reading_ns: u64,
    /// Times that it was good and then was not, and for how long before now, in ns.
    losses: u64,
    lost_ns: u64,
}

impl Standing {
    /// Of a node, whose time is not good before it has a reading.
    pub fn new(node: &Node, now_ns: u64) -> Self {
        let syncs = Duration::from_secs_f64(SYNCS * 2f64.powi(node.time.log_sync_interval.into()));
        Self::with_longest(syncs.max(LATE).as_nanos() as u64, now_ns)
    }

    fn with_longest(longest_ns: u64, now_ns: u64) -> Self {
        Self { longest_ns, is_good: false, since_ns: now_ns, last_reading_ns: now_ns, losses: 0, lost_ns: 0 }
    }

    /// Whether the time is good.
    pub fn is_good(&self) -> bool {
        self.is_good
    }

    /// Since when that is so, in ns of the readings' clock.
    pub fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// How often it was good and then was not.
    pub fn losses(&self) -> u64 {
        self.losses
    }

    /// How long it was not since it was good first, in ns.
    pub fn lost_ns(&self, now_ns: u64) -> u64 {
        let is_lost = !self.is_good && self.losses > 0;
        self.lost_ns + if is_lost { now_ns.saturating_sub(self.since_ns) } else { 0 }
    }

    /// A good reading, a bad one, or none. That there are none for long is bad, too.
    pub fn update(&mut self, now_ns: u64, reading: Option<bool>) {
        let is_old = now_ns.saturating_sub(self.last_reading_ns) > self.longest_ns;
        if reading.is_some() {
            self.last_reading_ns = now_ns;
        }
        let is_good = reading.unwrap_or(self.is_good && !is_old);
        if is_good != self.is_good {
            self.lost_ns = self.lost_ns(now_ns);
            self.losses += u64::from(self.is_good);
            (self.is_good, self.since_ns) = (is_good, now_ns);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_changes_with_a_reading_and_when_there_are_none_for_long() {
        let mut standing = Standing::with_longest(100, 5);
        let mut update = |now_ns, reading| {
            standing.update(now_ns, reading);
            (standing.is_good(), standing.since_ns())
        };
        assert_eq!(update(10, None), (false, 5));
        assert_eq!(update(20, Some(true)), (true, 20));
        assert_eq!(update(90, Some(true)), (true, 20));
        assert_eq!(update(190, None), (true, 20), "not yet for long");
        assert_eq!(update(191, None), (false, 191));
        assert_eq!(update(200, None), (false, 191));
        assert_eq!(update(210, Some(true)), (true, 210));
        assert_eq!(update(220, Some(false)), (false, 220));
    }

    #[test]
    fn what_it_lost_counts_from_when_it_was_good_first() {
        let mut standing = Standing::with_longest(100, 0);
        let mut update = |now_ns, reading| {
            standing.update(now_ns, reading);
            (standing.losses(), standing.lost_ns(now_ns))
        };
        assert_eq!(update(50, Some(false)), (0, 0));
        assert_eq!(update(60, Some(true)), (0, 0));
        assert_eq!(update(161, None), (1, 0), "nobody answers");
        assert_eq!(update(200, None), (1, 39));
        assert_eq!(update(211, Some(true)), (1, 50));
        assert_eq!(update(300, Some(true)), (1, 50));
        assert_eq!(update(310, Some(false)), (2, 50));
        assert_eq!(update(330, None), (2, 70));
    }
}
