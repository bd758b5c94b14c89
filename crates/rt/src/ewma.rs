//! The usual length of something that is done again and again: an exponentially weighted moving average.

/// Follows the usual length of something, in ns. A new length counts one part in `WEIGHT`; a single long one hardly moves
/// the average.
///
/// ```
/// use ontick_rt::ewma::Ewma;
///
/// let mut usual = Ewma::<64>::from(1_000);
/// for _ in 0..500 {
///     usual.follow(200);
/// }
/// assert!((190..=200).contains(&usual.ns()));
/// assert!(usual.beyond(5_000) > 4_700);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Ewma<const WEIGHT: u64> {
    /// In `WEIGHT`ths of a nanosecond.
    scaled: u64,
    /// How far from it single ones are, in the same.
    deviation: u64,
    /// How many were followed, up to `WEIGHT`.
    followed: u64,
}

impl<const WEIGHT: u64> From<u64> for Ewma<WEIGHT> {
    /// Until something is known, this long, in ns, and as far from it.
    fn from(ns: u64) -> Self {
        Self { scaled: WEIGHT * ns, deviation: WEIGHT * ns, followed: 0 }
    }
}

impl<const WEIGHT: u64> Ewma<WEIGHT> {
    /// The usual length, in ns.
    #[inline]
    pub fn ns(self) -> u64 {
        self.scaled / WEIGHT
    }

    /// Takes the next length, in ns.
    #[inline]
    pub fn follow(&mut self, ns: u64) {
        // Believed at most at its double, so that a stop teaches nothing.
        let believed = ns.min(2 * self.ns() + 512);
        self.followed = WEIGHT.min(self.followed + 1);
        // The first ones count more, as there are no others.
        let part = WEIGHT / self.followed;
        let deviation = self.deviation + part * believed.abs_diff(self.ns());
        self.deviation = deviation.saturating_sub(part * self.deviation_ns());
        self.scaled = (self.scaled + part * believed).saturating_sub(part * self.ns());
    }

    /// Takes the next length, in ns; by how much it exceeds what was usual before.
    #[inline]
    pub fn beyond(&mut self, ns: u64) -> u64 {
        let usual_ns = self.ns();
        self.follow(ns);
        ns.saturating_sub(usual_ns)
    }

    /// How far from the usual single ones are, on the average, in ns.
    #[inline]
    pub fn deviation_ns(self) -> u64 {
        self.deviation / WEIGHT
    }

    /// Lowers it a little: where it was too long for anything to be tried, nothing new would ever be learned.
    #[cold]
    pub fn doubt(&mut self) {
        self.scaled -= self.scaled.div_ceil(64);
        self.deviation -= self.deviation.div_ceil(64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_is_learned_and_a_stop_is_not() {
        let mut usual = Ewma::<256>::from(100);
        (0..10_000).for_each(|_| usual.follow(1_300));
        assert!((1_290..=1_300).contains(&usual.ns()), "{}", usual.ns());
        usual.follow(5_000_000);
        assert!(usual.ns() < 1_320, "{}", usual.ns());
    }

    #[test]
    fn so_is_how_far_single_ones_are_from_it() {
        let mut usual = Ewma::<256>::from(1_000);
        (0..10_000).for_each(|n| usual.follow(if n % 2 == 0 { 900 } else { 1_100 }));
        assert!((90..=110).contains(&usual.deviation_ns()), "{}", usual.deviation_ns());
    }

    #[test]
    fn what_is_doubted_for_long_is_forgotten() {
        let mut usual = Ewma::<256>::from(9_000);
        usual.follow(1_000);
        (0..2_000).for_each(|_| usual.doubt());
        assert_eq!((usual.ns(), usual.deviation_ns()), (0, 0));
    }

    #[test]
    fn until_something_is_known_the_first_guess_counts() {
        let mut usual = Ewma::<256>::from(2_000);
        assert_eq!((usual.ns(), usual.deviation_ns()), (2_000, 2_000));
        usual.follow(1_000);
        assert_eq!(usual.ns(), 1_000, "the first that is known counts wholly");
    }

    #[test]
    fn what_exceeds_the_usual_is_found_from_the_start() {
        let mut usual = Ewma::<64>::from(0);
        (0..2_000).for_each(|_| {
            usual.beyond(90);
        });
        assert!(usual.beyond(90) <= 2);
        assert!(usual.beyond(15_000) > 14_900);
        assert!(usual.beyond(90) <= 2, "one stop teaches nothing");
    }
}
