//! The text format of OpenMetrics 1.0, and Prometheus' of before, 0.0.4.

use std::borrow::Cow;
use std::fmt::Write;

use super::{Distribution, Exposition, Family, Kind, Labels, Value};

/// All families, and the line that closes the text.
pub fn text(exposition: &Exposition) -> String {
    let mut text = String::new();
    for family in exposition.families() {
        let name = &family.name;
        let _ = writeln!(text, "# TYPE {name} {}", family.kind.name());
        if name.ends_with("_seconds") {
            let _ = writeln!(text, "# UNIT {name} seconds");
        }
        let _ = writeln!(text, "# HELP {name} {}", escape(&family.help));
        samples(&mut text, family);
    }
    text + "# EOF\n"
}

/// The same in version 0.0.4: a family has the name of its samples, an info is a gauge, and quotes in words are no more than that.
pub fn plain(exposition: &Exposition) -> String {
    let mut text = String::new();
    for family in exposition.families().iter().filter(|family| !family.samples.is_empty()) {
        let name = format!("{}{}", family.name, family.kind.suffix());
        let kind = if family.kind == Kind::Info { Kind::Gauge } else { family.kind };
        let help = escape(&family.help).replace("\\\"", "\"");
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", kind.name());
        samples(&mut text, family);
    }
    text
}

fn samples(text: &mut String, family: &Family) {
    let name = &family.name;
    for (labels, value) in &family.samples {
        // Once for all buckets of a histogram.
        let labels = joined(labels);
        match value {
            Value::Number(number) => {
                let _ = writeln!(text, "{name}{}{{{labels}}} {number}", family.kind.suffix());
            }
            Value::Distribution(distribution) => histogram(text, name, &labels, distribution),
        }
    }
}

/// The sum may be unknown; the format then wants no count beside the last bucket either.
fn histogram(text: &mut String, name: &str, labels: &str, distribution: &Distribution) {
    let between = if labels.is_empty() { "" } else { "," };
    let all = distribution.count;
    for (edge_ns, count) in &distribution.below {
        let edge = seconds(*edge_ns as f64);
        let _ = writeln!(text, "{name}_bucket{{{labels}{between}le=\"{edge}\"}} {count}");
    }
    let _ = writeln!(text, "{name}_bucket{{{labels}{between}le=\"+Inf\"}} {all}");
    if let Some(sum_ns) = distribution.sum_ns {
        let _ = writeln!(text, "{name}_count{{{labels}}} {all}\n{name}_sum{{{labels}}} {}", seconds(sum_ns));
    }
}

fn joined(labels: &Labels) -> String {
    let mut text = String::new();
    for (n, (name, value)) in labels.pairs().iter().enumerate() {
        let between = if n > 0 { "," } else { "" };
        let _ = write!(text, "{between}{name}=\"{}\"", escape(value));
    }
    text
}

fn escape(value: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c != '\\' && c != '"' && !c.is_control();
    if value.chars().all(is_plain) {
        return Cow::Borrowed(value);
    }
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
    Cow::Owned(text)
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
    use crate::openmetrics::Kind;
    use proptest::prelude::*;

    #[test]
    fn a_text_has_its_families_in_order_and_an_end() {
        let mut text = Exposition::with_prefix("a_");
        let labels = Labels::new(&[("port", "\"1\"\n")]);
        text.family("frames", Kind::Counter, "Frames.").sample(&labels, 7);
        text.family("up", Kind::Gauge, "Whether it is.").sample(&labels.and("class", "x"), 1);
        let latency = text.family("latency_seconds", Kind::Histogram, "Latency.");
        latency.histogram(
            &labels,
            Distribution { below: vec![(100, 1), (200, 3)], count: 4, sum_ns: Some(1e3), ..Default::default() },
        );
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
    fn the_text_of_before_names_families_as_their_samples_and_knows_no_info() {
        let mut text = Exposition::with_prefix("a_");
        text.family("frames", Kind::Counter, "Of \"it\".\nAll.").sample(&Labels::default(), 7);
        text.family("run", Kind::Info, "The run.").sample(&Labels::new(&[("tool", "\"x\"")]), 1);
        text.family("none", Kind::Gauge, "None.");
        let wanted = "# HELP a_frames_total Of \"it\".\\nAll.\n# TYPE a_frames_total counter\na_frames_total{} 7\n\
                      # HELP a_run_info The run.\n# TYPE a_run_info gauge\na_run_info{tool=\"\\\"x\\\"\"} 1\n";
        assert_eq!(text.finish_plain(), wanted);
    }

    #[test]
    fn a_histogram_without_a_sum_has_no_count() {
        let mut text = Exposition::default();
        let distribution = Distribution { count: 4, ..Default::default() };
        text.family("x", Kind::Histogram, "X.").histogram(&Labels::default(), distribution);
        assert_eq!(text.finish(), "# TYPE x histogram\n# HELP x X.\nx_bucket{le=\"+Inf\"} 4\n# EOF\n");
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
