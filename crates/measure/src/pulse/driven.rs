//! Which of the pulses that were made one that was seen is.

/// Pulses that are remembered: a watcher further behind finds none.
const REMEMBERED: usize = 256;
/// The clocks of who makes and who sees a pulse may be apart by this, in ns.
const SKEW_NS: u64 = 2_000;

/// When the last pulses were made; they are numbered from 1.
pub struct DrivenPulses {
    newest: u64,
    seen: u64,
    rose_ns: [u64; REMEMBERED],
}

impl DrivenPulses {
    pub fn new() -> Self {
        Self { newest: 0, seen: 0, rose_ns: [0; REMEMBERED] }
    }

    /// Another one was made.
    #[inline]
    pub fn add(&mut self, rose_ns: u64) {
        self.newest += 1;
        self.rose_ns[self.newest as usize % REMEMBERED] = rose_ns;
    }

    /// A pulse was seen that rose then: how many before it were not; `None` if it is none of those made.
    #[inline]
    pub fn saw(&mut self, rose_ns: u64) -> Option<u64> {
        let oldest = (self.seen + 1).max((self.newest + 1).saturating_sub(REMEMBERED as u64));
        let number = (oldest..=self.newest)
            .rev()
            .find(|number| self.rose_ns[*number as usize % REMEMBERED] <= rose_ns.saturating_add(SKEW_NS))?;
        let unseen = number - self.seen - 1;
        self.seen = number;
        Some(unseen)
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

    proptest! {
        #[test]
        fn every_pulse_is_either_seen_or_counted(sights in prop::collection::vec((any::<bool>(), 0u64..40_000), 1..600)) {
            let (mut made, mut now_ns, mut missed, mut saw) = (DrivenPulses::new(), 0, 0, 0);
            for (is_seen, late_ns) in &sights {
                now_ns += 50_000;
                made.add(now_ns);
                if *is_seen {
                    missed += made.saw(now_ns + late_ns).unwrap();
                    saw += 1;
                }
            }
            prop_assert_eq!(missed + saw + made.unseen(), sights.len() as u64);
        }
    }
}
