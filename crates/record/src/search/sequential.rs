//! A test of paired differences that may be looked at after each of them, and the interval that it leaves.
//!
//! Each difference is that of a trial and its base in blocks whose order was thrown by a fair coin. If the trial's setting
//! changes nothing, the sign of each difference is that coin: whoever bets on it wins nothing on average, however the
//! magnitudes are distributed, and has 1/p times the stake at any time with a chance of p at most (Ville 1939). So the
//! capital is evidence that needs no fixed number of pairs, no normal distribution and no correction for looking
//! (Howard and Ramdas 2022; Waudby-Smith and Ramdas 2024).

/// A way to bet: how much of the capital is staked on the sign of a difference.
#[derive(Clone, Copy)]
enum Bet {
    /// This part, whatever the magnitude: best where all differences have one sign.
    Sign(f64),
    /// More on larger ones, up to all; the number is how steep, in magnitudes that are usual.
    Size(f64),
}

/// The bets, and the part of the capital that each begins with. A mixture of them loses at most the logarithm of the
/// part of the best.
const BETS: [(Bet, f64); 6] = [
    (Bet::Sign(0.99), 0.3),
    (Bet::Sign(0.7), 0.1),
    (Bet::Size(0.3), 0.1),
    (Bet::Size(0.7), 0.2),
    (Bet::Size(1.4), 0.2),
    (Bet::Size(3.0), 0.1),
];

/// More is as good, and could not be written as a number some time.
const ENOUGH: f64 = 1e200;
/// So many differences must be there before it is known what magnitude is usual.
const FEWEST: usize = 3;

/// Differences in the order in which they came, gains positive.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Differences {
    values: Vec<f64>,
    /// How far those before each lay from their median, in the middle; 0 where that is not known.
    usual: Vec<f64>,
}

impl Differences {
    /// Adds one. What is no number is none.
    pub fn push(&mut self, difference: f64) {
        if difference.is_finite() {
            self.usual.push(if self.values.len() < FEWEST { 0.0 } else { deviation(&self.values) });
            self.values.push(difference);
        }
    }

    /// All of them, in order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The logarithm of the evidence that the differences lie above `shift` (`Toward::Above`) or below it: the most that
    /// the capital ever was. It exceeds `ln(1/p)` with a chance of `p` at most if they lie symmetrically around `shift`.
    pub fn evidence(&self, toward: Toward, shift: f64) -> f64 {
        self.capital(toward, |value| value - shift)
    }

    /// The most evidence that so many differences can give, if all have one sign.
    pub fn most_evidence(&self) -> f64 {
        self.capital(Toward::Above, |_| f64::INFINITY)
    }

    fn capital(&self, toward: Toward, apart: impl Fn(f64) -> f64) -> f64 {
        let mut bets = BETS.map(|(_, part)| part);
        let mut most = 0.0f64;
        for (value, usual) in self.values.iter().zip(&self.usual) {
            let apart = match toward {
                Toward::Above => apart(*value),
                Toward::Below => -apart(*value),
            };
            for (capital, (bet, _)) in bets.iter_mut().zip(BETS) {
                *capital = (*capital * (1.0 + bet.stake(apart, *usual))).min(ENOUGH);
            }
            most = most.max(bets.iter().sum());
        }
        most.ln()
    }

    /// The least value that is not refuted as centre by differences above it, with an error of `p` at most; `None` where
    /// they are too few.
    pub fn low(&self, p: f64) -> Option<f64> {
        self.bound(Toward::Above, p)
    }

    /// The largest value that is not refuted as centre by differences below it.
    pub fn high(&self, p: f64) -> Option<f64> {
        self.bound(Toward::Below, p)
    }

    /// By halving: the evidence against a centre falls the nearer it comes to the differences.
    fn bound(&self, toward: Toward, p: f64) -> Option<f64> {
        let wanted = (1.0 / p).ln();
        if self.most_evidence() < wanted {
            return None;
        }
        let (least, most) =
            self.values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), v| (l.min(*v), m.max(*v)));
        let (mut refuted, mut kept, outward) = match toward {
            Toward::Above => (least, most, -1.0),
            Toward::Below => (most, least, 1.0),
        };
        // Far enough out every bet has its whole stake on the side of the differences.
        let mut step = (most - least).max(least.abs().max(most.abs()) * 1e-3).max(f64::MIN_POSITIVE);
        while self.evidence(toward, refuted) < wanted {
            refuted += outward * step;
            step *= 2.0;
            if !refuted.is_finite() {
                return None;
            }
        }
        for _ in 0..40 {
            let middle = 0.5 * (refuted + kept);
            if self.evidence(toward, middle) >= wanted {
                refuted = middle;
            } else {
                kept = middle;
            }
        }
        Some(refuted)
    }
}

/// On which side of a value differences are looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// Gains.
    Above,
    /// Losses.
    Below,
}

impl Bet {
    /// The part of the capital that is won, or lost where it is negative.
    fn stake(self, apart: f64, usual: f64) -> f64 {
        let sign = if apart > 0.0 {
            1.0
        } else if apart < 0.0 {
            -1.0
        } else {
            0.0
        };
        match self {
            Self::Sign(part) => part * sign,
            // Nothing is known of magnitudes: as if it were an ordinary one.
            Self::Size(steep) if usual <= 0.0 => steep.tanh() * sign,
            // All but a trace of the capital: a bet that lost all could never come back.
            Self::Size(steep) => (steep * apart / usual).tanh().clamp(-0.999, 0.999),
        }
    }
}

/// The median distance from the median, as times the standard deviation of a normal distribution would have it.
fn deviation(values: &[f64]) -> f64 {
    let median = |mut values: Vec<f64>| {
        let middle = values.len() / 2;
        *values.select_nth_unstable_by(middle, f64::total_cmp).1
    };
    let centre = median(values.to_vec());
    1.4826 * median(values.iter().map(|value| (value - centre).abs()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tail::simulation::Random;

    fn of(values: impl IntoIterator<Item = f64>) -> Differences {
        let mut all = Differences::default();
        values.into_iter().for_each(|value| all.push(value));
        all
    }

    /// Coin tosses of any magnitude: the capital exceeds 1/p in at most that part of the runs, at whatever time.
    #[test]
    fn coins_refute_nothing_more_often_than_promised() {
        let mut random = Random(7);
        let (runs, p): (u32, f64) = (2_000, 0.05);
        let wanted = (1.0 / p).ln();
        let mut refuted = 0;
        for run in 0..runs {
            let mut all = Differences::default();
            for _ in 0..60 {
                // Every third run has bursts, with a scale that drifts.
                let size = random.exponential() * if run % 3 == 0 { random.uniform().powi(-2) } else { 1.0 };
                all.push(if random.uniform() < 0.5 { size } else { -size });
            }
            refuted += u32::from(all.evidence(Toward::Above, 0.0) >= wanted);
        }
        assert!(f64::from(refuted) <= p * f64::from(runs), "{refuted} of {runs}");
        assert!(refuted > 0, "the test has no power at all");
    }

    /// The interval holds the centre in at least the promised part of the runs, and narrows.
    #[test]
    fn intervals_hold_the_centre() {
        let mut random = Random(11);
        let (runs, p) = (200, 0.05);
        let (mut missed, mut widths) = (0, [0.0, 0.0]);
        for _ in 0..runs {
            let mut all = Differences::default();
            for (turn, width) in [20, 80].into_iter().zip(&mut widths) {
                while all.len() < turn {
                    // Two exponentials back to back around 3.
                    all.push(3.0 + random.exponential() - random.exponential());
                }
                *width += all.high(p / 2.0).unwrap() - all.low(p / 2.0).unwrap();
            }
            let (low, high) = (all.low(p / 2.0).unwrap(), all.high(p / 2.0).unwrap());
            assert!(low < high, "{low} {high}");
            missed += i32::from(!(low..=high).contains(&3.0));
        }
        assert!(f64::from(missed) <= p * f64::from(runs), "{missed} of {runs}");
        assert!(widths[1] < 0.7 * widths[0], "{widths:?}");
    }

    #[test]
    fn what_always_gains_is_found_soon_and_few_differences_bound_nothing() {
        let gains = of((0..13).map(|n| 1.0 + 0.01 * f64::from(n)));
        assert!(gains.evidence(Toward::Above, 0.0) > 6.5 && gains.evidence(Toward::Below, 0.0) < 0.0);
        assert!(gains.low(0.0015).is_some_and(|low| low > 0.9));
        assert_eq!((of([1.0, 1.0]).low(0.01), of([]).high(0.01)), (None, None));
    }

    /// Where nothing ever differs, nothing is found, and zero is within any interval.
    #[test]
    fn zeros_are_evidence_of_nothing() {
        let zeros = of([0.0; 200]);
        assert!(zeros.evidence(Toward::Above, 0.0).abs() < 1e-9);
        let (low, high) = (zeros.low(0.01).unwrap(), zeros.high(0.01).unwrap());
        assert!(low <= 0.0 && high >= 0.0 && high - low < 1e-9, "{low} {high}");
    }

    /// A centre that is farther away is refuted at least as well.
    #[test]
    fn evidence_falls_toward_the_differences() {
        let mut random = Random(3);
        let all = of((0..40).map(|_| random.exponential() - random.exponential()));
        let at: Vec<f64> = (-40..40).map(|n| all.evidence(Toward::Above, f64::from(n) / 10.0)).collect();
        assert!(at.windows(2).all(|w| w[0] >= w[1] - 1e-9), "{at:?}");
    }
}
