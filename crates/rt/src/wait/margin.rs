//! How long before a deadline to end sleeping: learned from the wake latencies that a thread sees.

/// Buckets per octave of the learner's histogram.
const SUB: u32 = 4;
const BUCKETS: usize = 40 * SUB as usize;
/// After this many wake-ups the past counts half, so that the margin follows a changing machine.
const HALF_LIFE: u32 = 8192;
/// What one wake-up counts, so that a rare one still counts for something after it was halved a few times.
const ONE: u32 = 64;
/// Until this many wake-ups were seen, the longest allowed margin is kept.
const LEARNING: u32 = 64;

/// Learns the margin that covers the share `quantile` of the wake latencies, and rarer ones where that is cheap
/// ([`also_covering`](Self::also_covering)). Latencies of more than twice the longest margin are passed over: no margin
/// helps against them.
#[derive(Debug, Clone)]
pub struct Margin {
    counts: [u32; BUCKETS],
    total: u32,
    seen: u32,
    quantile: f64,
    min_ns: u64,
    max_ns: u64,
    margin_ns: u64,
    rarer_quantile: f64,
    rarer_up_to_ns: u64,
}

impl Margin {
    /// A margin between `min_ns` and `max_ns`, which it starts with.
    pub fn new(quantile: f64, min_ns: u64, max_ns: u64) -> Self {
        let min_ns = min_ns.min(max_ns);
        Self {
            counts: [0; BUCKETS],
            total: 0,
            seen: 0,
            quantile,
            min_ns,
            max_ns,
            margin_ns: max_ns,
            rarer_quantile: quantile,
            rarer_up_to_ns: 0,
        }
    }

    /// Covers the larger share `quantile`, too, as long as a margin of `up_to_ns` does.
    pub fn also_covering(mut self, quantile: f64, up_to_ns: u64) -> Self {
        (self.rarer_quantile, self.rarer_up_to_ns) = (quantile, up_to_ns.min(self.max_ns));
        self
    }

    /// The margin now, in ns.
    pub fn ns(&self) -> u64 {
        self.margin_ns
    }

    /// Takes in that a wake-up came `latency_ns` late.
    pub fn saw(&mut self, latency_ns: u64) {
        self.seen = self.seen.saturating_add(1);
        if latency_ns <= self.max_ns.saturating_mul(2) {
            self.counts[bucket(latency_ns)] += ONE;
            self.total += ONE;
        }
        if self.total >= HALF_LIFE * ONE {
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().sum();
        }
        // Looking through the histogram takes longer than counting: often at first, then now and then,
        // and at once when a wake-up came later than the margin allowed for.
        if self.seen >= LEARNING && (latency_ns > self.margin_ns || self.seen % 64 == 0) {
            let rarer_ns = self.covering(self.rarer_quantile).min(self.rarer_up_to_ns);
            self.margin_ns = self.covering(self.quantile).max(rarer_ns).clamp(self.min_ns, self.max_ns);
        }
    }

    /// Upper edge of the bucket at the quantile, and a quarter on top for the clock reads after waking.
    fn covering(&self, quantile: f64) -> u64 {
        let mut left = (f64::from(self.total) * (1.0 - quantile)) as u32;
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
    fn the_last_bucket_takes_whatever_is_beyond() {
        assert_eq!([1 << 40, u64::MAX].map(bucket), [BUCKETS - 1; 2]);
    }

    #[test]
    fn it_forgets_a_storm() {
        let mut margin = Margin::new(0.99, 1_000, 900_000);
        (0..5_000).for_each(|_| margin.saw(400_000));
        assert!(margin.ns() >= 400_000);
        (0..200_000).for_each(|_| margin.saw(15_000));
        assert!(margin.ns() < 40_000, "{}", margin.ns());
    }

    /// As the hybrid wait has it at 1 kHz.
    fn at_1_khz() -> Margin {
        Margin::new(0.9995, 10_000, 900_000).also_covering(0.9999, 450_000)
    }

    /// Numbers below 1, the same in each run (xorshift).
    fn numbers() -> impl FnMut() -> f64 {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        }
    }

    /// Shares of 400 000 wake-ups that came later than the margin, and of a 1 ms period that were spun, where the share
    /// `tail(i)` of the wake-ups is from 40 us to `longest_ns` late and the others 12 to 24 us.
    fn lost_and_spun(margin: &mut Margin, tail: impl Fn(u32) -> f64, longest_ns: f64) -> (f64, f64) {
        const WAKES: u32 = 400_000;
        let (mut number, mut lost, mut spun_ns) = (numbers(), 0u32, 0u64);
        for i in 0..WAKES {
            let late = number() < tail(i);
            let latency_ns = match late {
                true => 40e3 * (longest_ns / 40e3).powf(number()),
                false => 12e3 + 12e3 * number(),
            } as u64;
            lost += u32::from(latency_ns > margin.ns());
            spun_ns += margin.ns().saturating_sub(latency_ns);
            margin.saw(latency_ns);
        }
        (f64::from(lost) / f64::from(WAKES), spun_ns as f64 / f64::from(WAKES) / 1e6)
    }

    /// The margin must be there when the next burst comes, not only after its first late wake-ups.
    #[test]
    fn bursts_are_covered_from_their_beginning() {
        let bursts = |i| if i % 10_000 >= 9_800 { 0.1 } else { 0.0002 };
        let (lost, spun) = lost_and_spun(&mut at_1_khz(), bursts, 450e3);
        assert!(lost < 0.0002 && spun < 0.45, "lost {lost}, spun {spun}");
        let (without, _) = lost_and_spun(&mut Margin::new(0.9995, 10_000, 900_000), bursts, 450e3);
        assert!(without > 2.0 * lost, "{without} against {lost}");
    }

    #[test]
    fn a_quiet_machine_costs_little() {
        let (lost, spun) = lost_and_spun(&mut at_1_khz(), |_| 0.0005, 120e3);
        assert!(lost < 0.0002 && spun < 0.12, "lost {lost}, spun {spun}");
        let (_, spun) = lost_and_spun(&mut at_1_khz(), |_| 0.0, 120e3);
        assert!(spun < 0.025, "{spun}");
    }

    #[test]
    fn one_late_wake_up_is_remembered_for_seconds_and_then_forgotten() {
        let mut margin = at_1_khz();
        (0..20_000).for_each(|_| margin.saw(15_000));
        margin.saw(300_000);
        assert!(margin.ns() >= 300_000);
        (0..1_000).for_each(|_| margin.saw(15_000));
        assert!(margin.ns() >= 300_000);
        (0..40_000).for_each(|_| margin.saw(15_000));
        assert!(margin.ns() < 40_000, "{}", margin.ns());
    }

    #[test]
    fn what_is_rare_and_dear_is_covered_as_far_as_it_is_cheap() {
        let mut margin = at_1_khz();
        (1..40_000u32).for_each(|i| margin.saw(if i % 5_000 == 0 { 700_000 } else { 15_000 }));
        margin.saw(700_000);
        assert_eq!(margin.ns(), 450_000);
        // Often enough, it is worth the duty.
        (1..40_000u32).for_each(|i| margin.saw(if i % 500 == 0 { 700_000 } else { 15_000 }));
        assert!(margin.ns() >= 700_000);
    }

    /// A hypervisor that takes the CPU for milliseconds is no reason to spin.
    #[test]
    fn what_no_margin_reaches_does_not_raise_it() {
        let mut margin = at_1_khz();
        (1..40_000u32).for_each(|i| margin.saw(if i % 50 == 0 { 5_000_000 } else { 15_000 }));
        assert!(margin.ns() < 40_000, "{}", margin.ns());
    }

    proptest! {
        #[test]
        fn it_stays_within_its_limits(latencies in prop::collection::vec(0u64..u64::MAX, 0..300)) {
            let mut margin = Margin::new(0.999, 5_000, 800_000).also_covering(0.9999, u64::MAX);
            for latency in latencies {
                margin.saw(latency);
                prop_assert!((5_000..=800_000).contains(&margin.ns()));
            }
        }

        #[test]
        fn a_latency_lies_below_its_buckets_edge(ns in 0u64..1 << 39) {
            prop_assert!(ns < upper_edge(bucket(ns)));
            prop_assert!(ns < 8 || upper_edge(bucket(ns)) <= ns + ns / u64::from(SUB) + 1);
        }
    }
}
