//! OpenMetrics text exposition of a run, for Prometheus and its kin.

use ontick_record::compare::missed;
use ontick_record::openmetrics::{Distribution, Exposition, Kind, Labels, seconds};
use ontick_record::{Histogram, Run, Series};

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
    exposition(run).finish()
}

/// The run's figures, family by family.
pub fn exposition(run: &Run) -> Exposition {
    exposition_of(run, |_| true)
}

/// The figures of some of its series.
pub fn exposition_of(run: &Run, is_shown: impl Fn(&Series) -> bool) -> Exposition {
    let labelled = run.series.iter().zip(series_labels(run));
    let all: Vec<(&Series, Labels)> = labelled.filter(|(series, _)| is_shown(series)).collect();
    let mut out = Exposition::default();
    histogram(&mut out, &all);
    gauges(&mut out, &all);
    deviations(&mut out, &all);
    pulses(&mut out, &all);
    counters(&mut out, run, &all);
    requirements(&mut out, run);
    information(&mut out, run);
    out
}

fn histogram(out: &mut Exposition, all: &[(&Series, Labels)]) {
    let help = "Latency: now minus the time at which the thread should have been running.";
    let family = out.family("ontick_latency_seconds", Kind::Histogram, help);
    for (s, labels) in all {
        family.histogram(labels, distribution(&s.latency));
    }
}

/// A histogram as metrics have it.
pub fn distribution(latency: &Histogram) -> Distribution {
    let limits = EDGES_NS.map(|edge| edge + 1);
    let count = latency.count();
    // What is beyond the last bucket is at most as late as the largest.
    let beyond = latency.max_ns.map(|max| (max, latency.overflow)).filter(|(_, count)| *count > 0);
    let ascending = latency.by_upper_edge();
    let buckets = ascending.iter().map(|bucket| (bucket.high_ns(), bucket.count));
    Distribution {
        below: EDGES_NS.into_iter().zip(latency.below_each(&limits)).collect(),
        buckets: buckets.chain(beyond).collect(),
        count,
        sum_ns: latency.mean_ns.map(|mean| mean * count as f64),
    }
}

fn gauges(out: &mut Exposition, all: &[(&Series, Labels)]) {
    let quantiles = [("0.5", 0.5), ("0.99", 0.99), ("0.999", 0.999), ("0.9999", 0.9999)];
    let help = "Latency that this share of the samples does not exceed.";
    let family = out.family("ontick_latency_quantile_seconds", Kind::Gauge, help);
    for (s, labels) in all {
        for (name, q) in quantiles {
            if let Some(ns) = s.latency.quantile(q) {
                family.sample(&labels.and("quantile", name), seconds(ns as f64));
            }
        }
    }
    let family = out.family("ontick_latency_max_seconds", Kind::Gauge, "Largest latency of the run.");
    for (s, labels) in all {
        if let Some(ns) = s.latency.max_ns {
            family.sample(labels, seconds(ns as f64));
        }
    }
}

/// Where one is exact.
fn deviations(out: &mut Exposition, all: &[(&Series, Labels)]) {
    let with: Vec<_> = all.iter().filter_map(|(s, labels)| Some((s.latency.std_dev_ns?, labels))).collect();
    if with.is_empty() {
        return;
    }
    let family = out.family("ontick_latency_stddev_seconds", Kind::Gauge, "Standard deviation of the latencies.");
    for (ns, labels) in with {
        family.sample(labels, seconds(ns));
    }
}

fn pulses(out: &mut Exposition, all: &[(&Series, Labels)]) {
    let with: Vec<_> = all.iter().filter_map(|(s, labels)| Some((s.pulse.as_ref()?, labels))).collect();
    if with.is_empty() {
        return;
    }
    let family = out.family("ontick_pulse_wanted_seconds", Kind::Gauge, "Width that the pulses should have had.");
    for (pulse, labels) in &with {
        family.sample(labels, seconds(pulse.wanted_ns as f64));
    }
    let help = "Width of the shortest, average and longest pulse.";
    let family = out.family("ontick_pulse_width_seconds", Kind::Gauge, help);
    for (pulse, labels) in &with {
        let width = &pulse.width;
        let figures = [
            ("shortest", width.min_ns.map(|ns| ns as f64)),
            ("average", width.mean_ns),
            ("longest", width.max_ns.map(|ns| ns as f64)),
        ];
        for (which, ns) in figures.into_iter().filter_map(|(which, ns)| Some((which, ns?))) {
            family.sample(&labels.and("which", which), seconds(ns));
        }
    }
}

fn counters(out: &mut Exposition, run: &Run, all: &[(&Series, Labels)]) {
    let help = "Periods that passed without being acted on.";
    let family = out.family("ontick_missed_cycles", Kind::Counter, help);
    for (s, labels) in all {
        if let Some(missed) = missed(run, s) {
            family.sample(labels, missed);
        }
    }
    let family = out.family("ontick_outliers", Kind::Counter, "Samples above the outlier threshold.");
    for (s, labels) in all {
        family.sample(labels, s.outlier_count);
    }
}

fn requirements(out: &mut Exposition, run: &Run) {
    let help = "1 where the requirement was met, else 0.";
    let family = out.family("ontick_requirement_met", Kind::Gauge, help);
    for (i, r) in run.requirements.iter().enumerate() {
        if !run.requirements[..i].iter().any(|before| before.requirement == r.requirement) {
            let labels = Labels::new(&[("requirement", &r.requirement), ("series", &r.series)]);
            family.sample(&labels, u8::from(r.met));
        }
    }
}

fn information(out: &mut Exposition, run: &Run) {
    let simulated = run.simulated.clone().unwrap_or_default();
    let about = Labels::new(&[
        ("tool", &run.tool),
        ("measurement", run.measurement.as_str()),
        ("started", &run.started),
        ("simulated", &simulated),
    ]);
    out.family("ontick_run", Kind::Info, "The run.").sample(&about, 1);
    let Some(e) = &run.environment else { return };
    let cpus = e.cpus_online.to_string();
    let about = Labels::new(&[
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
    out.family("ontick_environment", Kind::Info, "The machine that the run was made on.").sample(&about, 1);
}

/// The labels of each series. Two that share a name would be the same metric: later ones get a number.
fn series_labels(run: &Run) -> Vec<Labels> {
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
        let labels = Labels::new(&[
            ("measurement", run.measurement.as_str()),
            ("series", name),
            ("method", &s.settings.method),
            ("load", load_name(&s.settings.load)),
        ]);
        // Only where lines took part: who scrapes both must be able to tell a simulated one by every sample.
        match s.settings.backend.as_deref() {
            Some(backend) => labels.and("backend", backend),
            None => labels,
        }
    };
    run.series.iter().zip(&names).map(of).collect()
}
