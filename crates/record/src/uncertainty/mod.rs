//! Measurement uncertainty as metrologists state it: a budget of components, combined and expanded (JCGM 100:2008, Guide
//! to the expression of uncertainty in measurement), and beside it how well so many samples tell a quantile.

mod component;
mod sampling;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;
use crate::quantile_bounds::fewest;
pub use component::{Component, Distribution, Evaluation, Source};
pub use sampling::{median_deviation, upper_bound};

/// The coverage factor of expanded uncertainties: about 95 % where the combined one is near normal (6.3.3).
pub const COVERAGE_FACTOR: f64 = 2.0;

/// The quantiles whose uncertainty is stated, where there are samples enough.
pub const QUANTILES: [f64; 4] = [0.5, 0.99, 0.999, 0.9999];

/// How well the figures of a series are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Uncertainty {
    /// What every figure of the series has, whichever it is.
    pub components: Vec<Component>,
    /// The budget at each quantile.
    pub quantiles: Vec<AtQuantile>,
}

/// How well a quantile is known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct AtQuantile {
    /// The share of the samples that does not exceed it, 0 to 1.
    pub q: f64,
    /// The quantile as it is shown, in ns.
    pub value_ns: u64,
    /// Its bucket; absent where that is one value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<Component>,
    /// All components, combined as the root of the sum of their squares, in ns (5.1.2).
    pub combined_ns: f64,
    /// By how much the value is too large on the average, in ns, which it is not corrected for.
    pub offset_ns: f64,
    /// Twice the combined uncertainty, and the offset, in ns (6.2.1, F.2.4.5).
    pub expanded_ns: f64,
    /// What the samples were drawn from has this quantile at most here, with 95 % confidence, in ns: by ranks alone,
    /// whatever the distribution. Absent where the samples are too few.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_upper_ns: Option<u64>,
}

impl Uncertainty {
    /// With these components, and no quantile yet.
    pub fn of(components: Vec<Component>) -> Self {
        Self { components, quantiles: Vec::new() }
    }

    /// The same for these samples: what the record states is of the samples that it holds.
    pub fn at(self, latency: &Histogram) -> Self {
        let quantiles = QUANTILES.into_iter().filter(|q| latency.count() >= fewest(*q));
        let quantiles = quantiles.filter_map(|q| AtQuantile::of(&self.components, latency, q)).collect();
        Self { quantiles, ..self }
    }

    /// The budget at a quantile, where it is stated.
    pub fn quantile(&self, q: f64) -> Option<&AtQuantile> {
        self.quantiles.iter().find(|at| at.q == q)
    }

    /// Of both, as of one series whose samples are those of both: each component as large as the larger.
    pub fn joined(mut self, other: &Self) -> Self {
        for component in &other.components {
            match self.components.iter_mut().find(|mine| mine.source == component.source) {
                Some(mine) if mine.standard_ns < component.standard_ns => *mine = *component,
                Some(_) => {}
                None => self.components.push(*component),
            }
        }
        self.quantiles.clear();
        self
    }
}

impl AtQuantile {
    /// The budget of a quantile of these samples; none where they do not tell it.
    pub fn of(components: &[Component], latency: &Histogram, q: f64) -> Option<Self> {
        let value_ns = latency.quantile(q)?;
        let bucket = latency.bucket_of_quantile(q).and_then(|(low_ns, high_ns)| {
            let half_ns = high_ns.checked_sub(low_ns)? as f64 / 2.0;
            // The upper edge is what is shown.
            (half_ns > 0.0).then(|| Component::rectangular(Source::Bucket, half_ns).offset_by(half_ns))
        });
        let all = || components.iter().chain(&bucket);
        let combined_ns = combined(all());
        let offset_ns = all().map(|component| component.offset_ns).sum::<f64>();
        let expanded_ns = COVERAGE_FACTOR * combined_ns + offset_ns.abs();
        Some(Self {
            q,
            value_ns,
            bucket,
            combined_ns,
            offset_ns,
            expanded_ns,
            sampling_upper_ns: upper_bound(latency, q),
        })
    }
}

/// The root of the sum of the squares: components are independent, and each acts on the figure as it is (5.1.2 with
/// sensitivities of 1).
fn combined<'a>(components: impl Iterator<Item = &'a Component>) -> f64 {
    components.map(|component| component.standard_ns.powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The length of an end gauge, JCGM 100:2008, H.1.4: 25 nm, 9.7 nm, 2.9 nm and 16.6 nm combine to 32 nm.
    #[test]
    fn the_end_gauge_of_the_guide() {
        let all = [25.0, 9.7, 2.9, 16.6].map(|nm| Component::observed(Source::ClockReadingSpread, nm));
        assert_eq!(format!("{:.0}", combined(all.iter())), "32");
        assert!((combined(all.iter()).powi(2) - 1_003.06).abs() < 1e-9);
    }

    /// Steps of 52 ns, readings of 30 ns, a bucket from 1 984 to 1 999: by hand.
    #[test]
    fn a_budget_by_hand() {
        let mut latency = Histogram::default();
        latency.add(1_000, 1, 50);
        latency.add(1_984, 16, 349);
        latency.add(9_000, 64, 1);
        let components = vec![
            Component::rectangular(Source::ClockResolution, 26.0).offset_by(-26.0),
            Component::rectangular(Source::ClockReading, 15.0).offset_by(15.0),
        ];
        let all = Uncertainty::of(components).at(&latency);
        let at = all.quantile(0.99).unwrap();
        // √(26² / 3 + 15² / 3 + 7.5² / 3) = √319.083…
        assert!((at.combined_ns - 957.25f64.sqrt() / 3f64.sqrt()).abs() < 1e-9, "{at:?}");
        assert!((at.offset_ns - (-26.0 + 15.0 + 7.5)).abs() < 1e-9, "{at:?}");
        assert!((at.expanded_ns - (2.0 * at.combined_ns + 3.5)).abs() < 1e-9, "{at:?}");
        assert_eq!((at.value_ns, at.bucket.map(|b| b.value_ns)), (1_999, Some(7.5)));
        // 0.99 to the power of 400 is 1.8 %: the largest sample bounds it, and no smaller one does.
        assert_eq!(at.sampling_upper_ns, Some(9_063));
        assert_eq!(all.quantile(0.999), None, "no sample is beyond it");
    }

    #[test]
    fn a_quantile_has_a_budget_from_one_sample_above_it_on() {
        let stated = |count: u64| {
            let mut latency = Histogram::default();
            latency.add(1_000, 16, count);
            QUANTILES.map(|q| Uncertainty::default().at(&latency).quantile(q).is_some())
        };
        assert_eq!([1, 2, 99, 100].map(|count| stated(count)[..2] == [count > 1, count > 99]), [true; 4]);
        assert_eq!((stated(999), stated(1_000)), ([true, true, false, false], [true, true, true, false]));
        assert_eq!((stated(9_999)[3], stated(10_000)[3]), (false, true));
    }

    #[test]
    fn of_two_series_the_larger_component_counts() {
        let of = |resolution, spread| {
            Uncertainty::of(vec![
                Component::rectangular(Source::ClockResolution, resolution),
                Component::observed(Source::ClockReadingSpread, spread),
            ])
        };
        let both = of(1.0, 9.0).joined(&of(2.0, 3.0));
        assert_eq!(both, of(2.0, 9.0));
        assert_eq!(Uncertainty::default().joined(&of(1.0, 2.0)), of(1.0, 2.0));
    }

    #[test]
    fn what_no_bucket_holds_has_no_budget() {
        let mut summary = Histogram::default();
        (summary.overflow, summary.max_ns) = (10, Some(7));
        assert_eq!(Uncertainty::default().at(&summary).quantiles, []);
    }
}
