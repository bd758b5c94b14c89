//! Prometheus' own format, the only one that carries native histograms to all its versions: `io.prometheus.client`
//! messages, each behind its length (<https://github.com/prometheus/client_model>). Its field numbers are those below.
//!
//! The client library writes it, too, but needs `protoc` to be built.

use ontick_record::openmetrics::{Distribution, Exposition, Family, Kind, Labels, Value};
use prost::Message;

use super::exponential::{Exponential, SCHEMA};

/// The name of the format.
pub const CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
/// The width of the bucket of 0: what Prometheus' own libraries take.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;

/// Whether the head `Accept` names it before text: Prometheus does where it wants native histograms.
pub fn is_accepted(accepted: &str) -> bool {
    let is = |kind: &str| kind.trim_start().starts_with("application/vnd.google.protobuf");
    let first = accepted.split(',').next().unwrap_or_default();
    is(first) && first.contains("io.prometheus.client.MetricFamily") && first.contains("delimited")
}

/// All families.
pub fn encode(exposition: &Exposition) -> Vec<u8> {
    let mut out = Vec::new();
    for one in exposition.families().iter().filter(|family| !family.samples.is_empty()) {
        out.extend_from_slice(&family(one).encode_length_delimited_to_vec());
    }
    out
}

fn family(family: &Family) -> MetricFamily {
    let kind = match family.kind {
        Kind::Counter => MetricType::Counter,
        Kind::Gauge | Kind::Info => MetricType::Gauge,
        Kind::Histogram => MetricType::Histogram,
    };
    MetricFamily {
        name: format!("{}{}", family.name, family.kind.suffix()),
        help: family.help.clone(),
        kind: kind.into(),
        metric: family.samples.iter().map(|(labels, value)| metric(kind, labels, value)).collect(),
    }
}

fn metric(kind: MetricType, labels: &Labels, value: &Value) -> Metric {
    let label = labels.pairs().iter().map(|(name, value)| LabelPair { name: name.clone(), value: value.clone() });
    let mut metric = Metric { label: label.collect(), ..Metric::default() };
    match value {
        Value::Number(text) => {
            let value = Some(Number { value: text.parse().unwrap_or(f64::NAN) });
            match kind {
                MetricType::Counter => metric.counter = value,
                _ => metric.gauge = value,
            }
        }
        Value::Distribution(distribution) => metric.histogram = Some(histogram(distribution)),
    }
    metric
}

fn histogram(distribution: &Distribution) -> Histogram {
    let native = Exponential::of(&distribution.buckets);
    let spans = native.spans();
    // Each count but the first as its distance from the one before.
    let counts = spans.iter().flat_map(|(_, counts)| counts).map(|count| i64::try_from(*count).unwrap_or(i64::MAX));
    let positive_delta = counts.scan(0, |before, count| Some(count - std::mem::replace(before, count))).collect();
    let below = distribution.below.iter();
    Histogram {
        sample_count: distribution.count,
        sample_sum: distribution.sum_ns.map_or(f64::NAN, |ns| ns / 1e9),
        bucket: below.map(|(ns, count)| Bucket { cumulative_count: *count, upper_bound: *ns as f64 / 1e9 }).collect(),
        schema: Some(SCHEMA),
        zero_threshold: Some(ZERO_THRESHOLD),
        zero_count: Some(native.zero),
        positive_span: spans
            .iter()
            .map(|(offset, counts)| BucketSpan { offset: *offset, length: counts.len() as u32 })
            .collect(),
        positive_delta,
    }
}

#[derive(Clone, PartialEq, Message)]
struct MetricFamily {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(string, required, tag = "2")]
    help: String,
    #[prost(enumeration = "MetricType", required, tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metric: Vec<Metric>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, prost::Enumeration)]
#[repr(i32)]
enum MetricType {
    Counter = 0,
    Gauge = 1,
    Histogram = 4,
}

#[derive(Clone, PartialEq, Message)]
struct Metric {
    #[prost(message, repeated, tag = "1")]
    label: Vec<LabelPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<Number>,
    #[prost(message, optional, tag = "3")]
    counter: Option<Number>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<Histogram>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, required, tag = "1")]
    name: String,
    #[prost(string, required, tag = "2")]
    value: String,
}

/// `Gauge` and `Counter` look alike.
#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(double, required, tag = "1")]
    value: f64,
}

#[derive(Clone, PartialEq, Message)]
struct Histogram {
    #[prost(uint64, required, tag = "1")]
    sample_count: u64,
    #[prost(double, required, tag = "2")]
    sample_sum: f64,
    #[prost(message, repeated, tag = "3")]
    bucket: Vec<Bucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, optional, tag = "6")]
    zero_threshold: Option<f64>,
    #[prost(uint64, optional, tag = "7")]
    zero_count: Option<u64>,
    #[prost(message, repeated, tag = "12")]
    positive_span: Vec<BucketSpan>,
    #[prost(sint64, repeated, tag = "13")]
    positive_delta: Vec<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Bucket {
    #[prost(uint64, required, tag = "1")]
    cumulative_count: u64,
    #[prost(double, required, tag = "2")]
    upper_bound: f64,
}

#[derive(Clone, PartialEq, Message)]
struct BucketSpan {
    #[prost(sint32, required, tag = "1")]
    offset: i32,
    #[prost(uint32, required, tag = "2")]
    length: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_asks_for_it_first_gets_it() {
        let asked = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,\
                     application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1";
        assert!(is_accepted(asked));
        let later = "application/openmetrics-text;version=1.0.0,application/vnd.google.protobuf;\
                     proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.1";
        assert!(!is_accepted(later) && !is_accepted("") && !is_accepted("application/vnd.google.protobuf"));
    }

    #[test]
    fn counts_are_written_as_differences() {
        let distribution =
            Distribution { buckets: vec![(1_000_000_000, 5), (1_020_000_000, 2)], count: 7, ..Default::default() };
        let histogram = histogram(&distribution);
        assert_eq!(histogram.positive_delta, [5, -3]);
        assert_eq!(histogram.positive_span, [BucketSpan { offset: 0, length: 2 }]);
        assert!(histogram.sample_sum.is_nan() && histogram.sample_count == 7);
    }
}
