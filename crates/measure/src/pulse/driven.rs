//! Which of the pulses that were made one that was seen is.

/// Pulses that are remembered: a watcher further behind finds none.
const REMEMBERED: usize = 256;
/// The clocks of who makes and who sees a pulse may be apart by this, in ns.
const SKEW_NS: u64 = 2_000;

/// When the last pulses were made; they are numbered from 1.
pub struct DrivenPulses {
    newest: u64,
    /// The last that was seen.
    seen: u64,
    /// The last of which it is known whether it was: it was seen, or is no longer waited for.
    settled: u64,
    rose_ns: [u64; REMEMBERED],
}

impl DrivenPulses {
    pub fn new() -> Self {
        Self { newest: 0, seen: 0, settled: 0, rose_ns: [0; REMEMBERED] }
    }

    /// Another one was made.
    #[inline]
    pub fn add(&mut self, rose_ns: u64) {
        self.newest += 1;
        self.rose_ns[self.newest as usize % REMEMBERED] = rose_ns;
    }

    /// A pulse was seen that rose then: how many before it were not, beside those that were given up; `None` if it is none of
    /// those that are waited for.
    #[inline]
    pub fn saw(&mut self, rose_ns: u64) -> Option<u64> {
        let oldest = (self.settled + 1).max((self.newest + 1).saturating_sub(REMEMBERED as u64));
        let number = (oldest..=self.newest)
            .rev()
            .find(|number| self.rose_ns[*number as usize % REMEMBERED] <= rose_ns.saturating_add(SKEW_NS))?;
        let unseen = number - self.settled - 1;
        (self.seen, self.settled) = (number, number);
        Some(unseen)
    }

    /// Waits no longer for those that rose before `before_ns`: how many these are.
    #[inline]
    pub fn give_up(&mut self, before_ns: u64) -> u64 {
        let before = self.settled;
        while self.settled < self.newest {
            let next = self.settled + 1;
            // Those that are forgotten were before all that are not.
            let is_known = self.newest - next < REMEMBERED as u64;
            if is_known && self.rose_ns[next as usize % REMEMBERED] >= before_ns {
                break;
            }
            self.settled = next;
        }
        self.settled - before
    }

    /// Whether any is waited for.
    pub fn is_waited_for(&self) -> bool {
        self.settled < self.newest
    }

    /// How many were made since the last that was seen.
    #[inline]
    pub fn unseen(&self) -> u64 {
        self.newest - self.seen
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_pulse_from_elsewhere_is_not_counted() {
        let mut made = DrivenPulses::new();
        assert_eq!(made.saw(1_000_000), None);
        made.add(1_000_000);
        assert_eq!(made.saw(1_000_100), Some(0));
        assert_eq!(made.saw(1_000_900), None, "that one was seen");
        made.add(2_000_000);
        assert_eq!(made.saw(1_500_000), None, "before it was made");
        assert_eq!(made.unseen(), 1);
    }

    #[test]
    fn a_pulse_that_was_given_up_is_not_seen_any_more() {
        let mut made = DrivenPulses::new();
        [1_000_000, 2_000_000, 3_000_000].into_iter().for_each(|rose_ns| made.add(rose_ns));
        assert_eq!((made.give_up(2_500_000), made.give_up(2_500_000), made.unseen()), (2, 0, 3));
        assert_eq!(made.saw(2_000_100), None);
        assert!(made.is_waited_for());
        assert_eq!((made.saw(3_000_100), made.unseen(), made.is_waited_for()), (Some(0), 0, false));
        (0..1_000).for_each(|n| made.add(4_000_000 + n));
        assert_eq!(made.give_up(4_000_900), 900);
    }

    proptest! {
        #[test]
        fn every_pulse_is_either_seen_or_counted(
            sights in prop::collection::vec((any::<bool>(), 0u64..40_000), 1..600),
            patience_ns in 100_000u64..100_000_000,
        ) {
            let (mut made, mut now_ns, mut missed, mut saw) = (DrivenPulses::new(), 0u64, 0, 0);
            for (is_seen, late_ns) in &sights {
                missed += made.give_up(now_ns.saturating_sub(patience_ns));
                now_ns += 50_000;
                made.add(now_ns);
                if *is_seen {
                    missed += made.saw(now_ns + late_ns).unwrap();
                    saw += 1;
                }
            }
            prop_assert_eq!(missed + saw + made.give_up(u64::MAX), sights.len() as u64);
            prop_assert!(!made.is_waited_for());
        }
    }
}
