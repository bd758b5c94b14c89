//! The OpenMetrics text format, 1.0: how figures are written for Prometheus and its kin.

use std::fmt::{Display, Write};

/// A text of metrics, family by family.
#[derive(Debug, Default)]
pub struct Exposition {
    prefix: &'static str,
    text: String,
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
pub struct Family<'a> {
    text: &'a mut String,
    name: String,
    kind: Kind,
}

/// The labels of a sample, as they are written.
#[derive(Debug, Clone, Default)]
pub struct Labels(String);

impl Exposition {
    /// A text in which the name of every family begins with this.
    pub fn with_prefix(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// Begins a family; a name that ends in `_seconds` has that unit.
    pub fn family(&mut self, name: &str, kind: Kind, help: &str) -> Family<'_> {
        let (text, name) = (&mut self.text, format!("{}{name}", self.prefix));
        let word = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
            Kind::Info => "info",
        };
        let _ = writeln!(text, "# TYPE {name} {word}");
        if name.ends_with("_seconds") {
            let _ = writeln!(text, "# UNIT {name} seconds");
        }
        let _ = writeln!(text, "# HELP {name} {}", escape(help));
        Family { text, name, kind }
    }

    /// The text with the line that closes it.
    pub fn finish(self) -> String {
        self.text + "# EOF\n"
    }
}

impl Family<'_> {
    /// Adds one figure of a counter, a gauge or an info.
    pub fn sample(&mut self, labels: &Labels, value: impl Display) {
        let suffix = match self.kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.write(suffix, labels, value);
    }

    /// Adds a histogram: how many samples are at most as long as each of the edges, in nanoseconds, and how many there
    /// are in all. The sum may be unknown; the format then wants no count beside the last bucket either.
    pub fn histogram(
        &mut self,
        labels: &Labels,
        buckets: impl Iterator<Item = (u64, u64)>,
        all: u64,
        sum_ns: Option<f64>,
    ) {
        for (edge_ns, count) in buckets {
            self.write("_bucket", &labels.and("le", &seconds(edge_ns as f64)), count);
        }
        self.write("_bucket", &labels.and("le", "+Inf"), all);
        if let Some(sum_ns) = sum_ns.filter(|sum| sum.is_finite()) {
            self.write("_count", labels, all);
            self.write("_sum", labels, seconds(sum_ns));
        }
    }

    fn write(&mut self, suffix: &str, labels: &Labels, value: impl Display) {
        let _ = writeln!(self.text, "{}{suffix}{{{}}} {value}", self.name, labels.0);
    }
}

impl Labels {
    /// Names with their values.
    pub fn new(pairs: &[(&str, &str)]) -> Self {
        pairs.iter().fold(Self::default(), |labels, (name, value)| labels.and(name, value))
    }

    /// These and one more.
    #[must_use]
    pub fn and(&self, name: &str, value: &str) -> Self {
        let comma = if self.0.is_empty() { "" } else { "," };
        Self(format!("{}{comma}{name}=\"{}\"", self.0, escape(value)))
    }
}

fn escape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c if c.is_control() => text.push('\u{fffd}'),
            c => text.push(c),
        }
    }
    text
}

/// Nanoseconds as seconds, in the form that the format calls canonical: `1e-07`, `0.0001`, `1.0`.
pub fn seconds(ns: f64) -> String {
    let value = ns / 1e9;
    if value == 0.0 || (1e-4..1e6).contains(&value) {
        let text = format!("{}", (ns.round()) / 1e9);
        return if text.contains('.') { text } else { format!("{text}.0") };
    }
    let text = format!("{value:e}");
    let (number, exponent) = text.split_once('e').expect("the form has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    // What a division leaves behind the last digit that nanoseconds have.
    let number: f64 = number.parse().expect("the number is one");
    let number = (number * 1e9).round() / 1e9;
    format!("{number}e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_text_has_its_families_in_order_and_an_end() {
        let mut text = Exposition::with_prefix("a_");
        let labels = Labels::new(&[("port", "\"1\"\n")]);
        text.family("frames", Kind::Counter, "Frames.").sample(&labels, 7);
        text.family("up", Kind::Gauge, "Whether it is.").sample(&labels.and("class", "x"), 1);
        let mut latency = text.family("latency_seconds", Kind::Histogram, "Latency.");
        latency.histogram(&labels, [(100, 1), (200, 3)].into_iter(), 4, Some(1e3));
        let wanted = r##"# TYPE a_frames counter
# HELP a_frames Frames.
a_frames_total{port="\"1\"\n"} 7
# TYPE a_up gauge
# HELP a_up Whether it is.
a_up{port="\"1\"\n",class="x"} 1
# TYPE a_latency_seconds histogram
# UNIT a_latency_seconds seconds
# HELP a_latency_seconds Latency.
a_latency_seconds_bucket{port="\"1\"\n",le="1e-07"} 1
a_latency_seconds_bucket{port="\"1\"\n",le="2e-07"} 3
a_latency_seconds_bucket{port="\"1\"\n",le="+Inf"} 4
a_latency_seconds_count{port="\"1\"\n"} 4
a_latency_seconds_sum{port="\"1\"\n"} 1e-06
# EOF
"##;
        assert_eq!(text.finish(), wanted);
    }

    #[test]
    fn a_histogram_without_a_sum_has_no_count() {
        for sum in [None, Some(f64::NAN)] {
            let mut text = Exposition::default();
            text.family("x", Kind::Histogram, "X.").histogram(&Labels::default(), std::iter::empty(), 4, sum);
            assert_eq!(text.finish(), "# TYPE x histogram\n# HELP x X.\nx_bucket{le=\"+Inf\"} 4\n# EOF\n");
        }
    }

    #[test]
    fn numbers_are_canonical() {
        let shown = [0.0, 100.0, 3_000.0, 41_000.0, 100_000.0, 1e9, 1e10, 1_234.0].map(seconds);
        assert_eq!(shown, ["0.0", "1e-07", "3e-06", "4.1e-05", "0.0001", "1.0", "10.0", "1.234e-06"]);
    }

    proptest! {
        #[test]
        fn a_label_reads_back_and_stays_on_its_line(value in "[ -~\n\\\\\"äµ]{0,40}") {
            let text = escape(&value);
            prop_assert!(!text.contains('\n'));
            let mut back = String::new();
            let mut chars = text.chars();
            while let Some(c) = chars.next() {
                prop_assert_ne!(c, '"');
                match (c, if c == '\\' { chars.next() } else { None }) {
                    ('\\', Some('n')) => back.push('\n'),
                    ('\\', Some(escaped)) => back.push(escaped),
                    (c, _) => back.push(c),
                }
            }
            prop_assert_eq!(back, value);
        }

        #[test]
        fn seconds_read_back(ns in 0u64..1 << 50) {
            let back: f64 = seconds(ns as f64).parse().unwrap();
            prop_assert!((back * 1e9 - ns as f64).abs() <= 1e-8 * ns as f64 + 0.5, "{ns}");
        }
    }
}
