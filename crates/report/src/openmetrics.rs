//! OpenMetrics text exposition of a run, for Prometheus and its kin.

use std::fmt::Write;

use ontick_record::compare::missed;
use ontick_record::{Run, Series};

use crate::grouping::load_name;

/// Upper edges of the exposed buckets, in ns: 1-2-5 steps from 100 ns to 10 s. 3 us is among them
/// because requirements and verdicts ask for it.
const EDGES_NS: [u64; 26] = [
    100,
    200,
    500,
    1_000,
    2_000,
    3_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    200_000_000,
    500_000_000,
    1_000_000_000,
    2_000_000_000,
    5_000_000_000,
    10_000_000_000,
];

/// The run as OpenMetrics text, closed by `# EOF`. Times are seconds, as the format asks.
///
/// A bucket counts the samples that are certainly not above its edge.
pub fn openmetrics(run: &Run) -> String {
    let labels = series_labels(run);
    let all: Vec<(&Series, &str)> = run.series.iter().zip(labels.iter().map(String::as_str)).collect();
    let mut out = Exposition::default();
    histogram(&mut out, &all);
    gauges(&mut out, &all);
    pulses(&mut out, &all);
    counters(&mut out, run, &all);
    requirements(&mut out, run);
    information(&mut out, run);
    out.0.push_str("# EOF\n");
    out.0
}

#[derive(Default)]
struct Exposition(String);

impl Exposition {
    /// Begins a family; a name ending in `_seconds` has that unit.
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        if name.ends_with("_seconds") {
            let _ = writeln!(self.0, "# UNIT {name} seconds");
        }
        let _ = writeln!(self.0, "# HELP {name} {help}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
    }
}

fn histogram(out: &mut Exposition, all: &[(&Series, &str)]) {
    const NAME: &str = "ontick_latency_seconds";
    out.family(NAME, "histogram", "Latency: now minus the time at which the thread should have been running.");
    for (s, labels) in all {
        for edge in EDGES_NS {
            let labels = format!("{labels},le=\"{}\"", seconds(edge as f64));
            out.sample("ontick_latency_seconds_bucket", &labels, s.latency.below(edge + 1));
        }
        out.sample("ontick_latency_seconds_bucket", &format!("{labels},le=\"+Inf\""), s.latency.count());
        // The format wants both or none.
        if let Some(mean) = s.latency.mean_ns.filter(|m| m.is_finite()) {
            out.sample("ontick_latency_seconds_count", labels, s.latency.count());
            out.sample("ontick_latency_seconds_sum", labels, seconds(mean * s.latency.count() as f64));
        }
    }
}

fn gauges(out: &mut Exposition, all: &[(&Series, &str)]) {
    let quantiles = [("0.5", 0.5), ("0.99", 0.99), ("0.999", 0.999), ("0.9999", 0.9999)];
    out.family("ontick_latency_quantile_seconds", "gauge", "Latency that this share of the samples does not exceed.");
    for (s, labels) in all {
        for (name, q) in quantiles {
            if let Some(ns) = s.latency.quantile(q) {
                out.sample(
                    "ontick_latency_quantile_seconds",
                    &format!("{labels},quantile=\"{name}\""),
                    seconds(ns as f64),
                );
            }
        }
    }
    out.family("ontick_latency_max_seconds", "gauge", "Largest latency of the run.");
    for (s, labels) in all {
        if let Some(ns) = s.latency.max_ns {
            out.sample("ontick_latency_max_seconds", labels, seconds(ns as f64));
        }
    }
}

fn pulses(out: &mut Exposition, all: &[(&Series, &str)]) {
    let with: Vec<_> = all.iter().filter_map(|(s, labels)| Some((s.pulse.as_ref()?, *labels))).collect();
    if with.is_empty() {
        return;
    }
    out.family("ontick_pulse_wanted_seconds", "gauge", "Width that the pulses should have had.");
    for (pulse, labels) in &with {
        out.sample("ontick_pulse_wanted_seconds", labels, seconds(pulse.wanted_ns as f64));
    }
    out.family("ontick_pulse_width_seconds", "gauge", "Width of the shortest, average and longest pulse.");
    for (pulse, labels) in &with {
        let width = &pulse.width;
        let figures = [
            ("shortest", width.min_ns.map(|ns| ns as f64)),
            ("average", width.mean_ns),
            ("longest", width.max_ns.map(|ns| ns as f64)),
        ];
        for (which, ns) in figures.into_iter().filter_map(|(which, ns)| Some((which, ns?))) {
            out.sample("ontick_pulse_width_seconds", &format!("{labels},which=\"{which}\""), seconds(ns));
        }
    }
}

fn counters(out: &mut Exposition, run: &Run, all: &[(&Series, &str)]) {
    out.family("ontick_missed_cycles", "counter", "Periods that passed without being acted on.");
    for (s, labels) in all {
        if let Some(missed) = missed(run, s) {
            out.sample("ontick_missed_cycles_total", labels, missed);
        }
    }
    out.family("ontick_outliers", "counter", "Samples above the outlier threshold.");
    for (s, labels) in all {
        out.sample("ontick_outliers_total", labels, s.outliers_seen);
    }
}

fn requirements(out: &mut Exposition, run: &Run) {
    out.family("ontick_requirement_met", "gauge", "1 where the requirement was met, else 0.");
    for (i, r) in run.requirements.iter().enumerate() {
        if !run.requirements[..i].iter().any(|before| before.requirement == r.requirement) {
            let labels = labels(&[("requirement", &r.requirement), ("series", &r.series)]);
            out.sample("ontick_requirement_met", &labels, u8::from(r.met));
        }
    }
}

fn information(out: &mut Exposition, run: &Run) {
    out.family("ontick_run", "info", "The run.");
    let simulated = run.simulated.clone().unwrap_or_default();
    let about = labels(&[
        ("tool", &run.tool),
        ("measurement", &run.measurement),
        ("started", &run.started),
        ("simulated", &simulated),
    ]);
    out.sample("ontick_run_info", &about, 1);
    let Some(e) = &run.environment else { return };
    out.family("ontick_environment", "info", "The machine that the run was made on.");
    let cpus = e.cpus_online.to_string();
    let about = labels(&[
        ("machine", &e.machine),
        ("processor", &e.processor),
        ("architecture", &e.architecture),
        ("system", &e.system),
        ("kernel", &e.kernel),
        ("preemption", &e.preemption),
        ("cpus_online", &cpus),
        ("isolated", &e.isolated),
        ("governor", &e.governor),
        ("clocksource", &e.clocksource),
        ("hypervisor", &e.hypervisor),
    ]);
    out.sample("ontick_environment_info", &about, 1);
}

/// The labels of each series. Two that share a name would be the same metric: later ones get a number.
fn series_labels(run: &Run) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for s in &run.series {
        let mut name = s.name.clone();
        let mut number = 1;
        while names.contains(&name) {
            number += 1;
            name = format!("{} ({number})", s.name);
        }
        names.push(name);
    }
    let of = |(s, name): (&Series, &String)| {
        let mut about = vec![
            ("measurement", run.measurement.as_str()),
            ("series", name),
            ("method", &s.settings.method),
            ("load", load_name(&s.settings.load)),
        ];
        // Only where lines took part: who scrapes both must be able to tell a simulated one by every sample.
        about.extend(s.settings.backend.as_deref().map(|backend| ("backend", backend)));
        labels(&about)
    };
    run.series.iter().zip(&names).map(of).collect()
}

fn labels(pairs: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escape(value));
    pairs.iter().map(one).collect::<Vec<_>>().join(",")
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
fn seconds(ns: f64) -> String {
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
