//! What is known of one comparison.

use ontick_record::compare;
use ontick_record::search::{Differences, Effect, Judge, Toward, Verdict};

use super::quartet::{Comparison, Paired};

/// A candidate is given up with this chance, at most, although it gains something that is worth it. Nothing is claimed by
/// that, so it does not count toward the error of the search.
const GIVEN_UP: f64 = 0.05;

/// By which errors and sizes a comparison is settled.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The chance that an effect is claimed that is none, toward one side.
    pub error: f64,
    /// A difference smaller than this is worth nothing.
    pub smallest: f64,
    pub judge: Judge,
}

/// A comparison, and how often it was measured.
#[derive(Debug, Clone)]
pub struct Track {
    pub comparison: Comparison,
    /// Of those that count.
    differences: Differences,
    /// Of all.
    all: Vec<f64>,
    pub spent: u64,
    /// What it is settled by, once it is.
    pub settled: Option<Verdict>,
}

impl Track {
    pub fn new(comparison: Comparison) -> Self {
        Self { comparison, differences: Differences::default(), all: Vec::new(), spent: 0, settled: None }
    }

    /// How often it was measured, what was set aside included.
    pub fn quartets(&self) -> usize {
        self.all.len()
    }

    pub fn add(&mut self, paired: &Paired, rule: &Rule) {
        self.all.push(paired.difference);
        self.spent += paired.cost;
        if !paired.disturbed {
            self.differences.push(paired.difference);
            self.settled = self.settled.or_else(|| self.settle(rule));
        }
    }

    fn settle(&self, rule: &Rule) -> Option<Verdict> {
        let shown = |toward, shift, error: f64| self.differences.evidence(toward, shift) >= (1.0 / error).ln();
        if shown(Toward::Above, 0.0, rule.error) {
            return Some(Verdict::Helps);
        }
        if shown(Toward::Below, 0.0, rule.error) {
            return Some(Verdict::Hurts);
        }
        // What seems to lose much goes on until that is shown.
        let useless = || shown(Toward::Below, rule.smallest, rule.error) && self.middle() > -rule.smallest;
        let within = || shown(Toward::Below, rule.smallest, GIVEN_UP) && shown(Toward::Above, -rule.smallest, GIVEN_UP);
        (useless() || within()).then_some(Verdict::NoEffect)
    }

    /// The middle difference; none where there is no quartet that counts.
    pub fn middle(&self) -> f64 {
        compare::paired(self.differences.values().iter().copied()).map_or(0.0, |all| all.median)
    }

    /// What it comes to.
    pub fn effect(&self, name: String, rule: &Rule) -> Effect {
        let judge = rule.judge;
        let median = |values: &[f64]| compare::paired(values.iter().copied()).map(|all| judge.gain(all.median));
        Effect {
            name,
            verdict: self.settled.unwrap_or(Verdict::Unsettled),
            gain: median(self.differences.values()),
            low: self.differences.low(rule.error).map(|low| judge.gain(low)),
            high: self.differences.high(rule.error).map(|high| judge.gain(high)),
            gain_of_all: median(&self.all),
            quartets: self.differences.len() as u64,
            set_aside: (self.all.len() - self.differences.len()) as u64,
            wants_ns: None,
        }
    }

    /// About how many more quartets would settle it, if they are as those that came; `None` where no number would.
    pub fn wants(&self, rule: &Rule) -> Option<u64> {
        if self.settled.is_some() {
            return None;
        }
        let count = self.differences.len();
        let fewest = fewest(rule.error);
        let least = fewest.saturating_sub(count).max(1) as u64;
        let Some(spread) = compare::paired(self.differences.values().iter().copied()).filter(|all| all.pairs > 3)
        else {
            return Some(least);
        };
        // The middle half of a normal distribution is 1.35 standard deviations wide.
        let deviation = (spread.upper_quartile - spread.lower_quartile) / 1.35;
        // A lead of so many deviations wins a bet about this much each time, and never more than doubles it.
        let growth = |lead: f64| 2f64.ln() * -(-0.6 * (lead / deviation).powi(2)).exp_m1();
        let lead = spread.median.abs().max(rule.smallest - spread.median);
        let total = ((1.0 / rule.error).ln() + 2.0) / growth(lead);
        match total - count as f64 {
            // With an effect of just that size no number would.
            more if more > 1e6 || more.is_nan() => None,
            more => Some((more.ceil() as u64).max(least)),
        }
    }
}

/// The fewest measurements that can settle anything.
pub fn fewest(error: f64) -> usize {
    let mut all = Differences::default();
    while all.most_evidence() < (1.0 / error).ln() {
        // Any that differ from one another, so that it is known what magnitude is usual.
        all.push(all.len() as f64);
    }
    all.len()
}
