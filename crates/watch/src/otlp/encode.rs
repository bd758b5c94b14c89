//! The figures of `/metrics` as a request of OTLP. Names and units are such that Prometheus, which writes dots as
//! underlines and a unit as a suffix, comes to the names that it scrapes: `ontick.latency` in `s` is
//! `ontick_latency_seconds`.

use ontick_record::openmetrics::{Distribution, Exposition, Family, Kind, Labels, Value};

use super::message::{
    AggregationTemporality, Buckets, Data, ExponentialHistogram, ExponentialHistogramDataPoint,
    ExportMetricsServiceRequest, Gauge, InstrumentationScope, KeyValue, Metric, NumberDataPoint, Resource,
    ResourceMetrics, ScopeMetrics, Sum,
};
use crate::serve::metrics::exponential::{Exponential, SCHEMA};

/// What the figures are of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The machine's name on its network, which Prometheus takes for `instance`.
    pub host: String,
    /// Since when counters count, in ns since 1970; 0 where that is not known.
    pub counting_since: u64,
    /// Now, in ns since 1970.
    pub now: u64,
}

/// A request with all families.
pub fn request(exposition: &Exposition, source: &Source) -> ExportMetricsServiceRequest {
    let version = env!("CARGO_PKG_VERSION");
    let resource: [(&str, &str); 5] = [
        ("service.name", "ontick"),
        ("service.version", version),
        ("service.instance.id", &source.host),
        ("host.name", &source.host),
        ("os.type", "linux"),
    ];
    let families = exposition.families().iter().filter(|family| !family.samples.is_empty());
    let scope = InstrumentationScope { name: "ontick.watch".into(), version: version.into() };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(Resource {
                attributes: resource.iter().map(|(key, value)| KeyValue::text(key, value)).collect(),
            }),
            scope_metrics: vec![ScopeMetrics {
                scope: Some(scope),
                metrics: families.map(|family| metric(family, source)).collect(),
            }],
        }],
    }
}

fn metric(family: &Family, source: &Source) -> Metric {
    let (name, unit) = named(&family.name, family.kind);
    let temporality = AggregationTemporality::Cumulative.into();
    let numbers = |since| {
        let points = family.samples.iter();
        points.filter_map(move |(labels, value)| number(labels, value, since, source.now))
    };
    // Switches count by themselves, since a time that nobody knows here.
    let since = if family.name.starts_with("ontick_switch_") { 0 } else { source.counting_since };
    let data = match family.kind {
        Kind::Counter => Data::Sum(Sum {
            data_points: numbers(since).collect(),
            aggregation_temporality: temporality,
            is_monotonic: true,
        }),
        Kind::Gauge | Kind::Info => Data::Gauge(Gauge { data_points: numbers(0).collect() }),
        Kind::Histogram => Data::ExponentialHistogram(ExponentialHistogram {
            data_points: family
                .samples
                .iter()
                .filter_map(|(labels, value)| match value {
                    Value::Distribution(distribution) => Some(histogram(labels, distribution, source)),
                    Value::Number(_) => None,
                })
                .collect(),
            aggregation_temporality: temporality,
        }),
    };
    Metric { name, description: family.help.clone(), unit: unit.into(), data: Some(data) }
}

/// The name without its unit, and that.
fn named(name: &str, kind: Kind) -> (String, &'static str) {
    let units = [("_seconds", "s"), ("_ratio", "1")];
    let found = units.into_iter().find_map(|(suffix, unit)| Some((name.strip_suffix(suffix)?, unit)));
    let (name, unit) = found.unwrap_or((name, ""));
    let parts = ["ontick_watch_", "ontick_"].into_iter().find_map(|prefix| Some((prefix, name.strip_prefix(prefix)?)));
    let (prefix, rest) = parts.unwrap_or(("", name));
    let suffix = if kind == Kind::Info { ".info" } else { "" };
    (format!("{}{rest}{suffix}", prefix.replace('_', ".")), unit)
}

fn attributes(labels: &Labels) -> Vec<KeyValue> {
    labels.pairs().iter().map(|(name, value)| KeyValue::text(name, value)).collect()
}

fn number(labels: &Labels, value: &Value, since: u64, now: u64) -> Option<NumberDataPoint> {
    let Value::Number(text) = value else { return None };
    Some(NumberDataPoint {
        start_time_unix_nano: since,
        time_unix_nano: now,
        as_double: Some(text.parse().ok()?),
        attributes: attributes(labels),
    })
}

fn histogram(labels: &Labels, distribution: &Distribution, source: &Source) -> ExponentialHistogramDataPoint {
    let all = Exponential::of(&distribution.buckets);
    ExponentialHistogramDataPoint {
        attributes: attributes(labels),
        start_time_unix_nano: source.counting_since,
        time_unix_nano: source.now,
        count: distribution.count,
        sum: distribution.sum_ns.map(|ns| ns / 1e9),
        scale: SCHEMA,
        zero_count: all.zero,
        positive: buckets(&all.buckets),
    }
}

/// All from the first to the last, empty ones too. OTLP numbers a bucket by its lower edge, Prometheus by its upper one.
fn buckets(by_number: &[(i32, u64)]) -> Option<Buckets> {
    let (first, last) = (by_number.first()?.0, by_number.last()?.0);
    let mut bucket_counts = vec![0; (last - first) as usize + 1];
    for (number, count) in by_number {
        bucket_counts[(number - first) as usize] = *count;
    }
    Some(Buckets { offset: first - 1, bucket_counts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_when_prometheus_translates_them() {
        let of = |name, kind| named(name, kind);
        assert_eq!(of("ontick_latency_seconds", Kind::Histogram), ("ontick.latency".into(), "s"));
        assert_eq!(of("ontick_watch_duty_ratio", Kind::Gauge), ("ontick.watch.duty".into(), "1"));
        assert_eq!(of("ontick_missed_cycles", Kind::Counter), ("ontick.missed_cycles".into(), ""));
        assert_eq!(of("ontick_environment", Kind::Info), ("ontick.environment.info".into(), ""));
    }

    #[test]
    fn buckets_lie_between_their_edges() {
        // 1 s is the upper edge of the bucket (2^(-1/32), 1], which OTLP numbers -1; 2 s of the one that it numbers 31.
        let distribution = Distribution {
            buckets: vec![(0, 3), (1_000_000_000, 2), (2_000_000_000, 1)],
            count: 6,
            sum_ns: Some(4e9),
            ..Distribution::default()
        };
        let source = Source { host: "a".into(), counting_since: 5, now: 9 };
        let point = histogram(&Labels::new(&[("series", "CPU 0")]), &distribution, &source);
        let positive = point.positive.unwrap();
        assert_eq!((positive.offset, positive.bucket_counts.len()), (-1, 33));
        assert_eq!((positive.bucket_counts[0], positive.bucket_counts[32]), (2, 1));
        assert_eq!((point.scale, point.zero_count, point.count, point.sum), (5, 3, 6, Some(4.0)));
        assert_eq!((point.start_time_unix_nano, point.time_unix_nano), (5, 9));
        assert_eq!(buckets(&[]), None);
    }

    #[test]
    fn a_zero_is_a_figure_and_a_counter_has_a_beginning() {
        let mut all = Exposition::default();
        all.family("ontick_missed_cycles", Kind::Counter, "M.").sample(&Labels::default(), 0);
        all.family("ontick_watch_paused", Kind::Gauge, "P.").sample(&Labels::default(), 0);
        all.family("ontick_empty", Kind::Gauge, "No sample.");
        all.family("ontick_switch_frames", Kind::Counter, "F.").sample(&Labels::default(), 7);
        let request = request(&all, &Source { host: "a".into(), counting_since: 5, now: 9 });
        let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
        assert_eq!(metrics.len(), 3);
        let Some(Data::Sum(sum)) = &metrics[0].data else { panic!("{metrics:?}") };
        assert_eq!((sum.data_points[0].as_double, sum.data_points[0].start_time_unix_nano), (Some(0.0), 5));
        let Some(Data::Gauge(gauge)) = &metrics[1].data else { panic!("{metrics:?}") };
        assert_eq!((gauge.data_points[0].as_double, gauge.data_points[0].start_time_unix_nano), (Some(0.0), 0));
        let Some(Data::Sum(sum)) = &metrics[2].data else { panic!("{metrics:?}") };
        assert_eq!((sum.data_points[0].as_double, sum.data_points[0].start_time_unix_nano), (Some(7.0), 0));
    }
}
