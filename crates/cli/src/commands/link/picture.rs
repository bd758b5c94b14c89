//! Pulses that were received, as a run that reports and pictures show.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use ontick_gpio::Name;
use ontick_link::bare::BareTrial;
use ontick_link::trial::Trial;
use ontick_link::{Code, Setting};
use ontick_measure::{Load, document};
use ontick_record::run::Pulse;
use ontick_record::{Case, Histogram, Measurement, Run, Series, store};

use super::bench::Bench;
use super::eye;
use crate::attempts::Attempts;

use crate::failure::Failure;
use crate::flags::PictureFlags;

/// Files for what was received.
#[derive(Args, Debug, Clone)]
pub struct ReceivedFlags {
    /// Write an HTML report with the widths of the pulses received to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    pictures: PictureFlags,
}

impl ReceivedFlags {
    /// Finds out before anything is measured whether the files can be written.
    pub fn check(&self) -> Result<(), Failure> {
        for path in self.html.iter().chain(self.pictures.files()) {
            store::check_writable(path)?;
        }
        Ok(())
    }

    /// Writes those that were asked for.
    pub fn write(&self, run: &Run) -> Result<(), Failure> {
        let mut attempts = Attempts::default();
        if let Some(path) = &self.html {
            attempts.note(store::write_whole(path, ontick_report::html(run).as_bytes()));
        }
        attempts.note(self.pictures.draw(run));
        attempts.end()
    }
}

/// Widths received, each with how many pulses, and how wide such buckets are, in ns.
pub struct Received {
    of_sent: BTreeMap<u64, BTreeMap<u64, u64>>,
    bucket_ns: u64,
}

/// Bare pulses are counted in steps of this, in ns.
const BARE_BUCKET_NS: u64 = 500;

impl Received {
    /// Of frames: every pulse is taken for the width that is nearest.
    pub fn of_frames(trial: &Trial, setting: Setting) -> Self {
        let Code { shortest_ns, step_ns, .. } = setting.code;
        let mut of_sent: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for eye::Bin { steps, pulses } in eye::bins(trial) {
            let value = steps.round().clamp(0.0, f64::from(setting.code.longest_pulse())) as u32;
            let width_ns = (shortest_ns as f64 + steps * step_ns as f64).max(0.0) as u64;
            *of_sent.entry(setting.code.pulse_ns(value)).or_default().entry(width_ns).or_default() += pulses;
        }
        Self { of_sent, bucket_ns: (step_ns / 10).max(1) }
    }

    /// Of bare bits, for which it is known what was sent.
    pub fn of_bits(trial: &BareTrial, code: Code) -> Self {
        let mut of_sent: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for (bit, widths_ns) in (0..).zip(&trial.widths_ns) {
            let widths = of_sent.entry(code.pulse_ns(bit)).or_default();
            for ns in widths_ns {
                *widths.entry(ns / BARE_BUCKET_NS * BARE_BUCKET_NS).or_default() += 1;
            }
        }
        Self { of_sent, bucket_ns: BARE_BUCKET_NS }
    }

    fn series(&self, code: Code, load: &Load, bench: &Bench, method: &str) -> Vec<Series> {
        let of = |(wanted_ns, widths): (&u64, &BTreeMap<u64, u64>)| {
            let mut width = Histogram::default();
            widths.iter().for_each(|(ns, pulses)| width.add(*ns, self.bucket_ns, *pulses));
            let count: u64 = widths.values().sum();
            let sum: f64 = widths.iter().map(|(ns, pulses)| *ns as f64 * *pulses as f64).sum();
            width.mean_ns = (count > 0).then(|| sum / count as f64);
            width.min_ns = widths.keys().next().copied();
            width.max_ns = widths.keys().next_back().map(|ns| ns + self.bucket_ns - 1);
            let loaded = Some(*load != Load::None);
            let mut series = Series::from(Case { width_ns: Some(*wanted_ns), loaded, ..Case::default() });
            series.settings.method = method.into();
            series.settings.load = load.describe();
            series.settings.line = Some(bench.from.to_string());
            series.settings.watched_line = Some(bench.to.to_string());
            series.pulse = Some(Pulse {
                wanted_ns: *wanted_ns,
                gap_ns: code.gap_ns(0),
                width,
                measured_by: "the receiver of the link".into(),
                ..Pulse::default()
            });
            series
        };
        self.of_sent.iter().map(of).collect()
    }
}

/// The run: what was received without a load, and beside it.
pub fn run(bench: &Bench, method: &str, code: Code, sides: &[(&Load, Received)]) -> Run {
    let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), Measurement::LinkTest);
    run.started = ontick_record::date::now();
    run.environment = Some(document::environment(bench.cpu()));
    let lines: Vec<&Name> = bench.lines().into_iter().flatten().collect();
    run.simulated = ontick_gpio::simulation_note(&lines);
    run.series = sides.iter().flat_map(|(load, received)| received.series(code, load, bench, method)).collect();
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pulse_stands_with_the_width_that_was_sent() {
        let trial = BareTrial { widths_ns: [vec![100_400, 100_499, 170_000], vec![199_900]], ..BareTrial::default() };
        let received = Received::of_bits(&trial, Code::SOURCE_002);
        let widths: Vec<_> = received.of_sent.iter().map(|(sent, widths)| (*sent, widths.clone())).collect();
        let short = BTreeMap::from([(100_000, 2), (170_000, 1)]);
        assert_eq!(widths, [(100_000, short), (200_000, BTreeMap::from([(199_500, 1)]))]);
    }
}
