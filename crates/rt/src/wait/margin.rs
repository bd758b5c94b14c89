//! How long before a deadline to end sleeping: learned from the wake latencies that a thread sees.

/// Buckets per octave of the learner's histogram.
const SUB: u32 = 4;
const BUCKETS: usize = 40 * SUB as usize;
/// After this many wake-ups the past counts half, so that the margin follows a changing machine.
const HALF_LIFE: u32 = 8192;
/// Until this many wake-ups were seen, the longest allowed margin is kept.
const LEARNING: u32 = 64;

/// Learns the margin that covers the share `quantile` of the wake latencies.
#[derive(Debug, Clone)]
pub struct Margin {
    counts: [u32; BUCKETS],
    total: u32,
    seen: u32,
    quantile: f64,
    min_ns: u64,
    max_ns: u64,
    margin_ns: u64,
}

impl Margin {
    /// A margin between `min_ns` and `max_ns`, which it starts with.
    pub fn new(quantile: f64, min_ns: u64, max_ns: u64) -> Self {
        let min_ns = min_ns.min(max_ns);
        Self { counts: [0; BUCKETS], total: 0, seen: 0, quantile, min_ns, max_ns, margin_ns: max_ns }
    }

    /// The margin now, in ns.
    pub fn ns(&self) -> u64 {
        self.margin_ns
    }

    /// Takes in that a wake-up came `latency_ns` late.
    pub fn saw(&mut self, latency_ns: u64) {
        self.counts[bucket(latency_ns)] += 1;
        self.total += 1;
        self.seen = self.seen.saturating_add(1);
        if self.total >= HALF_LIFE {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
        // Looking through the histogram takes longer than counting: often at first, then now and then,
        // and at once when a wake-up came later than the margin allowed for.
        if self.seen >= LEARNING && (latency_ns > self.margin_ns || self.seen % 64 == 0) {
            self.margin_ns = self.covering().clamp(self.min_ns, self.max_ns);
        }
    }

    /// Upper edge of the bucket at the quantile, and a quarter on top for the clock reads after waking.
    fn covering(&self) -> u64 {
        let mut left = (f64::from(self.total) * (1.0 - self.quantile)) as u32;
        for bucket in (0..BUCKETS).rev() {
            match left.checked_sub(self.counts[bucket]) {
                Some(rest) => left = rest,
                None => return upper_edge(bucket) + upper_edge(bucket) / 4,
            }
        }
        self.min_ns
    }
}

fn bucket(ns: u64) -> usize {
    let ns = ns.max(u64::from(SUB));
    let octave = 63 - ns.leading_zeros();
    let sub = (ns >> (octave - SUB.ilog2())) as usize & (SUB as usize - 1);
    (octave as usize * SUB as usize + sub).min(BUCKETS - 1)
}

fn upper_edge(bucket: usize) -> u64 {
    let (octave, sub) = (bucket as u32 / SUB, bucket as u64 % u64::from(SUB));
    let octave = octave.max(SUB.ilog2());
    (u64::from(SUB) + sub + 1) << (octave - SUB.ilog2())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn it_covers_the_share_asked_for() {
        let mut margin = Margin::new(0.99, 1_000, 900_000);
        assert_eq!(margin.ns(), 900_000);
        for i in 0..20_000u64 {
            margin.saw(if i % 50 == 0 { 100_000 } else { 15_000 });
        }
        assert!((100_000..200_000).contains(&margin.ns()), "{}", margin.ns());
    }

    #[test]
    fn it_forgets_a_storm() {
        let mut margin = Margin::new(0.99, 1_000, 900_000);
        (0..5_000).for_each(|_| margin.saw(400_000));
        assert!(margin.ns() >= 400_000);
        (0..200_000).for_each(|_| margin.saw(15_000));
        assert!(margin.ns() < 40_000, "{}", margin.ns());
    }

    proptest! {
        #[test]
        fn it_stays_within_its_limits(latencies in prop::collection::vec(0u64..u64::MAX, 0..300)) {
            let mut margin = Margin::new(0.999, 5_000, 800_000);
            for latency in latencies {
                margin.saw(latency);
                prop_assert!((5_000..=800_000).contains(&margin.ns()));
            }
        }

        #[test]
        fn a_latency_lies_below_its_buckets_edge(ns in 0u64..1 << 39) {
            prop_assert!(ns < upper_edge(bucket(ns)));
            prop_assert!(ns < 8 || upper_edge(bucket(ns)) <= ns + ns / 2);
        }
    }
}
