//! One component of an uncertainty budget.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a component comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The step of the clock.
    #[default]
    ClockResolution,
    /// The time that one reading of the clock takes: the reading is of a moment within it.
    ClockReading,
    /// How much that time varies.
    ClockReadingSpread,
    /// The processor's counter is converted to the kernel's clock.
    ClockConversion,
    /// The time between two looks of the thread that observes.
    ObserverLatency,
    /// What a calibration left.
    CalibrationResidual,
    /// The sample period of the instrument.
    InstrumentSample,
    /// The width of the histogram's bucket at the quantile.
    Bucket,
}

impl Source {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::ClockResolution => "clock resolution",
            Self::ClockReading => "reading the clock",
            Self::ClockReadingSpread => "spread of the readings",
            Self::ClockConversion => "counter to kernel clock",
            Self::ObserverLatency => "observer's own latency",
            Self::CalibrationResidual => "calibration residual",
            Self::InstrumentSample => "instrument's sample period",
            Self::Bucket => "histogram bucket",
        }
    }
}

/// How a component was evaluated (JCGM 100:2008, 4.2 and 4.3).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Evaluation {
    /// By the statistics of repeated observations.
    A,
    /// By other means: limits that are known.
    #[default]
    B,
}

impl Evaluation {
    /// Its letter.
    pub fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
        }
    }
}

/// The distribution that is assumed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Distribution {
    /// Normal: the value is a standard deviation.
    Normal,
    /// Equally probable between limits: the value is half of their distance (JCGM 100:2008, 4.3.7).
    #[default]
    Rectangular,
}

impl Distribution {
    /// In words, for tables.
    pub fn words(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Rectangular => "rectangular",
        }
    }

    /// What the value is divided by to give a standard uncertainty.
    pub fn divisor(self) -> f64 {
        match self {
            Self::Normal => 1.0,
            Self::Rectangular => 3f64.sqrt(),
        }
    }
}

/// One component of a budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Component {
    /// Where it comes from.
    pub source: Source,
    /// How it was evaluated.
    pub evaluation: Evaluation,
    /// The distribution that is assumed.
    pub distribution: Distribution,
    /// Half of the distance of the limits, or the standard deviation, in ns.
    pub value_ns: f64,
    /// What the value is divided by.
    pub divisor: f64,
    /// How often it enters, each time independently of the others: a time between two readings has two of each.
    pub times: u32,
    /// The standard uncertainty, in ns: value / divisor · √times.
    pub standard_ns: f64,
    /// By how much the figure is too large by this on the average, in ns, where it is not corrected for that; negative
    /// where it is too small.
    pub offset_ns: f64,
}

impl Component {
    /// Something that lies anywhere within ± `half_width_ns`.
    pub fn rectangular(source: Source, half_width_ns: f64) -> Self {
        Self::of(source, Evaluation::B, Distribution::Rectangular, half_width_ns)
    }

    /// Something whose standard deviation was observed.
    pub fn observed(source: Source, deviation_ns: f64) -> Self {
        Self::of(source, Evaluation::A, Distribution::Normal, deviation_ns)
    }

    fn of(source: Source, evaluation: Evaluation, distribution: Distribution, value_ns: f64) -> Self {
        let value_ns = if value_ns.is_finite() { value_ns.abs() } else { 0.0 };
        let divisor = distribution.divisor();
        let standard_ns = value_ns / divisor;
        Self { source, evaluation, distribution, value_ns, divisor, times: 1, standard_ns, offset_ns: 0.0 }
    }

    /// The same, which makes the figure too large by so much on the average.
    pub fn offset_by(self, offset_ns: f64) -> Self {
        Self { offset_ns, ..self }
    }

    /// The same so many times, each independent of the others.
    pub fn times(self, times: u32) -> Self {
        let standard_ns = self.value_ns / self.divisor * f64::from(times).sqrt();
        Self { times, standard_ns, offset_ns: self.offset_ns * f64::from(times), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    /// JCGM 100:2008, 4.4.5: limits of 96 °C and 104 °C give 4 / √3 = 2.3; F.2.2.1: a step of 1 gives 0.29.
    #[test]
    fn limits_give_what_the_guide_reckons() {
        let temperature = Component::rectangular(Source::Bucket, 4.0);
        assert!(near(temperature.standard_ns, 4.0 / 3f64.sqrt()) && format!("{:.1}", temperature.standard_ns) == "2.3");
        let indication = Component::rectangular(Source::ClockResolution, 0.5);
        assert_eq!(format!("{:.2}", indication.standard_ns), "0.29");
        assert_eq!((indication.evaluation, indication.times, indication.offset_ns), (Evaluation::B, 1, 0.0));
    }

    #[test]
    fn a_deviation_is_not_divided() {
        let observed = Component::observed(Source::ClockReadingSpread, 7.0);
        assert_eq!((observed.evaluation, observed.divisor, observed.standard_ns), (Evaluation::A, 1.0, 7.0));
        assert_eq!(
            Component::observed(Source::ClockReadingSpread, f64::NAN).standard_ns,
            0.0,
            "a record is of numbers"
        );
    }

    #[test]
    fn two_ends_add_as_squares_and_their_offsets_as_they_are() {
        let two = Component::rectangular(Source::ClockReading, 3.0).offset_by(1.5).times(2);
        assert!(near(two.standard_ns, 6f64.sqrt()) && near(two.offset_ns, 3.0), "{two:?}");
    }
}
