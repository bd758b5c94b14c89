//! How much rest a loop owes to others.

use std::sync::Arc;

use super::Demand;

/// Who comes to want the CPU has it for so long, soon.
const FIRST_NS: i64 = 20_000;
/// Also where nobody is seen to want it, there is a rest each so often: whoever was not counted runs then.
const LONGEST_AWAKE_NS: u64 = 100_000_000;
/// Of the time between two waits no more counts than this: in a longer one the thread was hardly running.
const MOST_PASSED_NS: u64 = 10_000_000;
/// No sleep, however long, counts for more rest than this.
const MOST_RESTED_NS: i64 = 100_000;

/// Rest that is still to be had; less than 0 where there was more.
#[derive(Debug, Clone)]
pub struct Owed {
    /// Of all the time, or of that in which somebody waits.
    share: f64,
    ns: i64,
    /// Up to when it was reckoned.
    reckoned_ns: Option<u64>,
    rested_ns: u64,
    demand: Option<Arc<dyn Demand>>,
    came: u64,
}

impl Owed {
    /// A share of all the time, 0 to 1.
    pub fn share(share: f64) -> Self {
        Self { share, ns: 0, reckoned_ns: None, rested_ns: 0, demand: None, came: 0 }
    }

    /// The share counts while somebody waits, and who comes has a rest soon.
    pub fn to(self, demand: Arc<dyn Demand>) -> Self {
        Self { came: demand.came(), demand: Some(demand), ..self }
    }

    /// In ns, at this time.
    #[inline]
    pub fn reckon(&mut self, now_ns: u64) -> i64 {
        let passed_ns = now_ns.saturating_sub(self.reckoned_ns.replace(now_ns).unwrap_or(now_ns)).min(MOST_PASSED_NS);
        let due_ns = (passed_ns as f64 * self.share) as i64;
        match &self.demand {
            None => self.ns = self.ns.saturating_add(due_ns),
            Some(demand) => {
                let came = demand.came();
                if came != self.came {
                    self.came = came;
                    self.ns = self.ns.max(FIRST_NS);
                } else if demand.is_waiting() {
                    self.ns = self.ns.saturating_add(due_ns);
                } else {
                    self.ns = self.ns.min(0);
                }
                if now_ns.saturating_sub(self.rested_ns) >= LONGEST_AWAKE_NS {
                    self.ns = self.ns.max(1);
                }
            }
        }
        self.ns
    }

    /// There was a rest of so many ns.
    pub fn rested(&mut self, ns: u64) {
        self.rested_ns = self.reckoned_ns.unwrap_or(0);
        self.ns = (self.ns - ns as i64).max(-MOST_RESTED_NS);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

    use super::*;

    const TENTH: f64 = 0.1;

    /// As a test wants it.
    #[derive(Debug, Default)]
    struct Wanted {
        came: AtomicU64,
        waiting: AtomicBool,
    }

    impl Demand for Wanted {
        fn came(&self) -> u64 {
            self.came.load(Relaxed)
        }

        fn is_waiting(&self) -> bool {
            self.waiting.load(Relaxed)
        }
    }

    fn on_demand() -> (Owed, Arc<Wanted>) {
        let wanted = Arc::new(Wanted::default());
        (Owed::share(TENTH).to(wanted.clone()), wanted)
    }

    #[test]
    fn while_nobody_waits_nothing_is_owed_but_a_rest_now_and_then() {
        let (mut owed, _) = on_demand();
        owed.reckon(0);
        owed.rested(0);
        let due = (1..=10_000_000).map(|n| n * 10_000).find(|now_ns| owed.reckon(*now_ns) > 0);
        assert_eq!(due, Some(LONGEST_AWAKE_NS));
        owed.rested(10_000);
        assert!(owed.reckon(LONGEST_AWAKE_NS + 10_000) <= 0);
        assert!(owed.reckon(2 * LONGEST_AWAKE_NS) > 0);
    }

    #[test]
    fn who_comes_has_a_rest_at_once_and_who_goes_on_waiting_has_a_share() {
        let (mut owed, wanted) = on_demand();
        owed.reckon(1_000);
        owed.rested(0);
        wanted.came.fetch_add(3, Relaxed);
        wanted.waiting.store(true, Relaxed);
        assert_eq!(owed.reckon(11_000), FIRST_NS);
        owed.rested(FIRST_NS as u64);
        assert_eq!(owed.reckon(21_000), 1_000);
        assert_eq!(owed.reckon(1_021_000), 101_000);
        // Seen to have gone, it is owed nothing.
        wanted.waiting.store(false, Relaxed);
        assert_eq!(owed.reckon(1_031_000), 0);
    }

    #[test]
    fn whoever_came_before_is_not_taken_for_one_who_comes() {
        let wanted = Arc::new(Wanted::default());
        wanted.came.store(7, Relaxed);
        assert_eq!(Owed::share(TENTH).to(wanted).reckon(1_000), 0);
    }
}
