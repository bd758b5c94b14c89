//! What every measuring command does around its measurement.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use ontick_machine::{Facts, Journal, Root};
use ontick_measure::observe::Kept;
use ontick_measure::{Error, Live, Load, Observer};
use ontick_record::{Environment, Finding, Measurement as Kind, Run, Series};
use ontick_report::text::samples::Samples;

use crate::failure::{Failure, Outcome};
use crate::flags::{MeasuringFlags, OutputFlags};
use crate::progress::Progress;
use crate::stop;

/// A measurement about to be made.
pub struct Measurement<'a> {
    /// What is measured.
    pub kind: Kind,
    /// The series, in order and empty.
    pub series: Vec<Series>,
    /// The CPU that the environment is told for.
    pub cpu: Option<u32>,
    /// Runs beside it.
    pub load: &'a Load,
    /// Redraw the whole terminal while it runs.
    pub watch: bool,
    /// What stands between the machine and good timing, where that was looked at.
    pub findings: Vec<Finding>,
    /// What a reader may want to know.
    pub facts: Vec<String>,
    /// Sentences that a reader must see beside the figures.
    pub notes: Vec<String>,
    /// Find out why samples were late.
    pub explain: bool,
    /// What of it is simulated: it stands beside every figure.
    pub simulated: Option<String>,
    /// What is waited for before anything can be measured, where that may never come.
    pub waits_for: Option<String>,
    /// Samples that are handed on meanwhile. The run ends when there is nobody left who takes them.
    pub samples: Option<Box<dyn FnMut() -> Option<Samples>>>,
}

impl<'a> Measurement<'a> {
    /// As the flags ask for it, with nothing found and nothing simulated.
    pub fn asked(flags: &'a MeasuringFlags, kind: Kind, series: impl IntoIterator<Item: Into<Series>>) -> Self {
        Self {
            kind,
            series: series.into_iter().map(Into::into).collect(),
            cpu: flags.placement.placement().cpu,
            load: flags.load(),
            watch: flags.watch,
            findings: Vec::new(),
            facts: flags.placement.note().into_iter().collect(),
            notes: Vec::new(),
            explain: flags.explain,
            simulated: None,
            waits_for: None,
            samples: None,
        }
    }
}

/// Measures, records, judges (the series that `judged` picks) and shows.
pub fn run(
    mut asked: Measurement,
    output: &OutputFlags,
    judged: impl Fn(&Series) -> bool,
    measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Outcome, Failure> {
    output.check()?;
    let mut run = begin(&asked);
    let stop = stop::on_signal()?;
    let began = Instant::now();
    let (measured, failure, journal) = {
        let mut progress = Progress::new(asked.kind.clone(), asked.watch, output.quiet, asked.waits_for.clone());
        let mut samples = asked.samples.take();
        let mut look = |live: &Live| {
            let now = samples.as_mut().map(|samples| samples());
            // Files are complete, and closed, once everything was measured.
            if matches!(now, Some(None)) && live.done.is_none_or(|done| done < 1.0) {
                stop.store(true, Relaxed);
            }
            progress.look(live, now.flatten().as_ref());
        };
        let mut observer = Observer::new(&stop, &mut look);
        if let Some(path) = &output.record {
            observer.keep_journal(path.clone(), &run)?;
        }
        if asked.explain {
            observer.explain();
        }
        let measured = under_load(asked.load, || measure(&mut observer));
        run.facts.extend(observer.take_facts());
        run.notes.extend(observer.take_notes());
        (measured, observer.take_failure(), observer.into_journal())
    };
    let (series, note) = match measured {
        Ok(measured) => measured,
        Err(error) => {
            // Nothing was measured: nothing is to be kept.
            journal.map(Kept::remove).transpose()?;
            return Err(error.into());
        }
    };

    if stop.load(Relaxed) && series.iter().all(|s| s.latency.count() == 0) {
        journal.map(Kept::remove).transpose()?;
        return Err(Failure::new(match &asked.waits_for {
            Some(what) => format!("the run was ended while it waited for {what}, so nothing was measured"),
            None => "the run was ended before anything was measured, so nothing is kept".into(),
        }));
    }

    run.duration_ns = began.elapsed().as_nanos() as u64;
    run.interrupted = stop.load(Relaxed);
    run.series = series;
    run.notes.extend(note);
    for series in run.series.iter_mut().filter(|s| s.settings.load.is_empty()) {
        series.settings.load = asked.load.describe();
    }
    output.judge(&mut run, judged);
    let outcome = output.deliver(&run).map_err(|failure| match &journal {
        Some(journal) => Failure::new(format!("{failure}; what was measured is in {}", journal.path().display())),
        None => failure,
    })?;
    // The journal goes only when the record is safely written.
    journal.map(Kept::remove).transpose()?;
    // What was measured before it is shown and kept.
    failure.map_or(Ok(outcome), |failure| Err(failure.into()))
}

/// Measures while the load runs; the second value is a note if that ended before its time.
fn under_load(
    load: &Load,
    measure: impl FnOnce() -> Result<Vec<Series>, Error>,
) -> Result<(Vec<Series>, Option<String>), Error> {
    let running = load.start()?;
    let series = measure()?;
    let note = running.ended().map(|status| format!("the load ended before the measurement did ({status})"));
    Ok((series, note))
}

fn begin(asked: &Measurement) -> Run {
    let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), asked.kind.clone());
    run.started = ontick_record::date::now();
    run.environment = Some(environment(asked.cpu));
    run.simulated = asked.simulated.clone();
    (run.findings, run.facts, run.notes) = (asked.findings.clone(), asked.facts.clone(), asked.notes.clone());
    run.series = asked.series.clone();
    run
}

/// The machine as it is now, seen from this CPU where one is meant.
pub fn environment(cpu: Option<u32>) -> Environment {
    let (root, facts) = (Root::live(), Facts::gather(&Root::live()));
    Environment { tuned: tuned(&root), ..facts.environment(cpu) }
}

/// The knobs whose changes stand.
fn tuned(root: &Root) -> Vec<String> {
    let mut knobs: Vec<String> =
        Journal::read(root).map(|j| j.entries().map(|e| e.knob.clone()).collect()).unwrap_or_default();
    knobs.dedup();
    knobs
}
