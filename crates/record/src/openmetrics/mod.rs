//! Figures for Prometheus and its kin: families of samples with labels, and how OpenMetrics 1.0 writes them as text.

mod text;

use std::fmt::Display;

pub use text::seconds;

/// Metrics, family by family.
#[derive(Debug, Default)]
pub struct Exposition {
    prefix: &'static str,
    families: Vec<Family>,
}

/// What the figures of a family are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only ever rises.
    Counter,
    /// Rises and falls.
    Gauge,
    /// Counts of samples by size.
    Histogram,
    /// Text, in labels.
    Info,
}

/// A family of an [`Exposition`], to which samples are added.
#[derive(Debug)]
pub struct Family {
    /// Without the suffix of its kind.
    pub name: String,
    /// What its figures are.
    pub kind: Kind,
    /// In words.
    pub help: String,
    /// Its samples, in the order in which they came.
    pub samples: Vec<(Labels, Value)>,
}

/// One sample.
#[derive(Debug)]
pub enum Value {
    /// A number, as it is written.
    Number(String),
    /// Of a histogram.
    Distribution(Distribution),
}

/// How many samples there are of which size.
#[derive(Debug, Default)]
pub struct Distribution {
    /// How many are at most as long as each of these edges, in ns.
    pub below: Vec<(u64, u64)>,
    /// The finest buckets there are: largest value in ns, how many samples; in ascending order.
    pub buckets: Vec<(u64, u64)>,
    /// All of them.
    pub count: u64,
    /// Their sum; it may be unknown.
    pub sum_ns: Option<f64>,
}

/// The labels of a sample: names with their values.
#[derive(Debug, Clone, Default)]
pub struct Labels(Vec<(String, String)>);

impl Exposition {
    /// Metrics of which the name of every family begins with this.
    pub fn with_prefix(prefix: &'static str) -> Self {
        Self { prefix, families: Vec::new() }
    }

    /// Begins a family; a name that ends in `_seconds` has that unit.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) -> &mut Family {
        let name = format!("{}{name}", self.prefix);
        self.families.push(Family { name, kind, help: help.into(), samples: Vec::new() });
        self.families.last_mut().expect("one was added")
    }

    /// Takes over the families of another.
    pub fn append(&mut self, other: Self) {
        self.families.extend(other.families);
    }

    /// All of them.
    pub fn families(&self) -> &[Family] {
        &self.families
    }

    /// The text with the line that closes it.
    pub fn finish(self) -> String {
        text::text(&self)
    }

    /// The text in Prometheus' own format, 0.0.4, for what knows no OpenMetrics.
    pub fn finish_plain(self) -> String {
        text::plain(&self)
    }
}

impl Kind {
    /// The format's word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
            Self::Info => "info",
        }
    }

    /// What the name of a sample ends with, beside the family's.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Counter => "_total",
            Self::Info => "_info",
            Self::Gauge | Self::Histogram => "",
        }
    }
}

impl Family {
    /// Adds one figure of a counter, a gauge or an info.
    pub fn sample(&mut self, labels: &Labels, value: impl Display) {
        self.samples.push((labels.clone(), Value::Number(value.to_string())));
    }

    /// Adds a histogram. A sum that is no number is one that is not known.
    pub fn histogram(&mut self, labels: &Labels, mut distribution: Distribution) {
        distribution.sum_ns = distribution.sum_ns.filter(|sum| sum.is_finite());
        self.samples.push((labels.clone(), Value::Distribution(distribution)));
    }
}

impl Labels {
    /// Names with their values.
    pub fn new(pairs: &[(&str, &str)]) -> Self {
        Self(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect())
    }

    /// These and one more.
    #[must_use]
    pub fn and(&self, name: &str, value: &str) -> Self {
        let mut pairs = self.0.clone();
        pairs.push((name.into(), value.into()));
        Self(pairs)
    }

    /// Names with their values.
    pub fn pairs(&self) -> &[(String, String)] {
        &self.0
    }
}
