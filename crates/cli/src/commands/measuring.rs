//! What every measuring command does around its measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use ontick_measure::observe::RunJournal;
use ontick_measure::sample_log::{SampleFile, SampleLog};
use ontick_measure::timetable::Timetable;
use ontick_measure::{Error, Limits, Live, Load, Observer, TraceBreak, document};
use ontick_record::run::Signal;
use ontick_record::store;
use ontick_record::{Finding, Measurement as Kind, Run, Series};
use ontick_report::text::samples::Samples;
use ontick_rt::cpus;
use rustix::thread::CapabilitySet;

use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::flags::{MeasuringFlags, OutputFlags};
use crate::progress::Progress;
use crate::{privileges, stop, terminal};

mod samples_end;

use self::samples_end::SamplesEnd;

/// A measurement about to be made.
pub struct Measurement<'a> {
    /// What is measured.
    pub kind: Kind,
    /// The series, in order and empty.
    pub series: Vec<Series>,
    /// The CPU that the environment describes.
    pub cpu: Option<u32>,
    /// Runs beside it.
    pub load: &'a Load,
    /// Redraw the whole terminal while it runs.
    pub watch: bool,
    /// What keeps the machine from good timing, where that was looked at.
    pub findings: Vec<Finding>,
    /// What a reader may want to know.
    pub facts: Vec<String>,
    /// Sentences that a reader must see beside the figures.
    pub notes: Vec<String>,
    /// Find out why samples were late.
    pub explain: bool,
    /// With the stacks of what timers interrupt.
    pub stack: bool,
    /// Split latencies into their parts.
    pub split: bool,
    /// Stop the kernel's trace at the first latency over this, in ns.
    pub break_trace_over: Option<u64>,
    /// What of it is simulated: it is shown beside every figure.
    pub simulated: Option<String>,
    /// What is waited for before anything can be measured, where that may never come.
    pub waits_for: Option<String>,
    /// How long it takes on the clock, in ns, where that is known.
    pub takes_ns: Option<u64>,
    /// Samples that are handed on meanwhile. The run ends when there is nobody left who takes them.
    pub samples: Option<Box<dyn FnMut() -> Option<Samples>>>,
    /// Where every sample is written to.
    pub sample_file: Option<SampleFile>,
    /// What was sampled, asked for when all is measured.
    pub signal: Option<Box<dyn FnOnce() -> Signal>>,
    /// Set by Ctrl-C, where whoever asks has something to take back that was there before.
    pub stop: Option<Arc<AtomicBool>>,
    /// The rights that it keeps beside those of every measurement; none where it keeps all that it has.
    pub keeps: Option<CapabilitySet>,
}

impl<'a> Measurement<'a> {
    /// As the flags ask for it, each series for these limits, with nothing found and nothing simulated.
    pub fn asked(
        flags: &'a MeasuringFlags,
        limits: Limits,
        kind: Kind,
        series: impl IntoIterator<Item: Into<Series>>,
    ) -> Self {
        let series: Vec<Series> = series.into_iter().map(Into::into).collect();
        Self {
            takes_ns: Timetable::of_series(series.len(), limits, None, flags.load()),
            kind,
            series,
            cpu: flags.placement.placement().cpu,
            load: flags.load(),
            watch: flags.watch,
            findings: Vec::new(),
            facts: flags.placement.note().into_iter().collect(),
            notes: Vec::new(),
            explain: flags.explain,
            stack: flags.stack,
            split: false,
            break_trace_over: flags.limits.break_trace_over(),
            simulated: None,
            waits_for: None,
            samples: None,
            sample_file: None,
            signal: None,
            stop: None,
            keeps: (!flags.needs_more()).then(CapabilitySet::empty),
        }
    }
}

/// Measures, records, judges (the series that `judged` picks) and shows.
pub fn run(
    asked: Measurement,
    output: &OutputFlags,
    judged: impl Fn(&Series) -> bool,
    measure: impl FnOnce(&mut Observer) -> Result<Vec<Series>, Error>,
) -> Result<Outcome, Failure> {
    run_boxed(asked, output, &judged, Box::new(measure))
}

/// A measurement as a value: what is around it is in the program once, and not for each command.
type Measure<'m> = Box<dyn FnOnce(&mut Observer) -> Result<Vec<Series>, Error> + 'm>;

fn run_boxed(
    asked: Measurement,
    output: &OutputFlags,
    judged: &dyn Fn(&Series) -> bool,
    measure: Measure,
) -> Result<Outcome, Failure> {
    let kind = asked.kind.clone();
    match carry_out(asked, output, measure) {
        Ok(measured) => measured.deliver(output, judged),
        Err(failure) => {
            output.report_failure(kind.as_str(), &failure);
            Err(failure)
        }
    }
}

/// A run that is over.
struct Measured {
    run: Run,
    /// What was seen of it while it ran, until the record is written.
    journal: Option<RunJournal>,
    /// What went wrong beside the measurement.
    failure: Option<Error>,
    /// Why no requirement is proven.
    unproven: Option<String>,
    /// The file of samples, where there is to be one: the result waits for no disk and no reader of a pipe.
    samples: Option<SamplesEnd>,
    /// The series that were asked for.
    asked: Vec<Series>,
}

fn carry_out(mut asked: Measurement, output: &OutputFlags, measure: Measure) -> Result<Measured, Failure> {
    output.check()?;
    asked.sample_file.as_ref().map_or(Ok(()), |file| store::check_writable(file.path()))?;
    // Before rights are given up.
    let trace = asked.break_trace_over.map(TraceBreak::prepare).transpose()?.map(Arc::new);
    let mut run = begin(&asked);
    let stop = asked.stop.take().map_or_else(stop::on_signal, Ok)?;
    asked.keeps.map_or(Ok(()), |more| privileges::MEASURING.settle_but(more))?;
    let log = asked.sample_file.as_ref().map(SampleLog::begin).transpose()?;
    // Nothing is announced of what turns out to be impossible.
    let mut announced = output.quiet || output.json;
    let (began, mut recorded) = (Instant::now(), false);
    let (measured, failure, unproven, journal) = {
        let mut progress = Progress::new(asked.kind.clone(), asked.watch, output.quiet, asked.waits_for.clone());
        let mut samples = asked.samples.take();
        let mut look = |live: &Live| {
            recorded = true;
            if !std::mem::replace(&mut announced, true) {
                announce(asked.cpu, asked.takes_ns);
            }
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
            if asked.stack {
                observer.with_stacks();
            }
        }
        if asked.split {
            observer.split();
        }
        if let Some(log) = &log {
            observer.keep_samples(log);
        }
        if let Some(trace) = &trace {
            observer.break_trace(trace.clone());
        }
        let measured = document::under_load(asked.load, || measure(&mut observer));
        run.facts.extend(observer.take_facts());
        run.notes.extend(observer.take_notes());
        (measured, observer.take_failure(), observer.take_unproven(), observer.into_journal())
    };
    let (series, note) = match measured {
        Ok(measured) => measured,
        Err(error) => {
            // Nothing was measured: nothing is to be kept.
            journal.map(RunJournal::remove).transpose()?;
            return Err(error.into());
        }
    };

    // Where gaps are looked for, none is a result.
    let may_be_empty = recorded && asked.kind == Kind::Noise;
    if stop.load(Relaxed) && !may_be_empty && series.iter().all(|s| s.latency.count() == 0 && s.dip.is_none()) {
        journal.map(RunJournal::remove).transpose()?;
        return Err(Failure::new(match &asked.waits_for {
            Some(what) => format!("the run was ended while it waited for {what}, so nothing was measured"),
            None => "the run was ended before anything was measured, so nothing is kept".into(),
        }));
    }

    match trace.map(|trace| trace.told()) {
        Some(Ok(told)) => run.facts.push(told),
        Some(Err(told)) => run.notes.push(told),
        None => {}
    }
    document::complete(&mut run, series, began.elapsed(), stop.load(Relaxed));
    run.signal = asked.signal.take().map(|signal| signal());
    run.notes.extend(note);
    let samples = SamplesEnd::of(log, asked.sample_file, run.interrupted, stop);
    Ok(Measured { run, journal, failure, unproven, samples, asked: asked.series })
}

impl Measured {
    /// Judges, records and shows.
    fn deliver(mut self, output: &OutputFlags, judged: &dyn Fn(&Series) -> bool) -> Result<Outcome, Failure> {
        output.judge(&mut self.run, judged);
        self.unproven.iter().for_each(|why| self.run.leave_unproven(why));
        if self.run.interrupted && lacks_series(&self.asked, &self.run.series, judged) {
            self.run.leave_unproven("the run was cut short before it came to all that this is about");
        }
        let recorded = output.write_record(&self.run);
        // The journal goes when the record is safely written, and only then, whatever becomes of the other files.
        let (kept, mut attempts) = (recorded.is_err(), Attempts::default());
        attempts.note(recorded);
        let delivered = output.deliver_others(&self.run, attempts);
        let journal = match self.journal {
            Some(journal) if kept => Some(journal.path().to_owned()),
            journal => journal.map(RunJournal::remove).transpose()?.and(None),
        };
        let delivered = delivered.map_err(|failure| match &journal {
            Some(journal) => Failure::new(format!("{failure}; what was measured is in {}", journal.display())),
            None => failure,
        });
        // Last, as it may take any time.
        let written = self.samples.map_or(Ok(()), SamplesEnd::wait);
        let outcome = match (delivered, written) {
            (Err(failure), Err(also)) => Err(Failure::new(format!("{failure}; {also}"))),
            (delivered, written) => delivered.and_then(|outcome| written.map(|()| outcome)),
        }?;
        // What was measured before it is shown and kept.
        self.failure.map_or(Ok(outcome), |failure| Err(failure.into()))
    }
}

/// Whether fewer series came than were asked for, of those that are judged. What is judged by what came of it is not known
/// among those asked for: then of all.
fn lacks_series(asked: &[Series], came: &[Series], judged: &dyn Fn(&Series) -> bool) -> bool {
    let count = |all: &[Series]| all.iter().filter(|series| judged(series)).count();
    match count(asked) {
        0 => came.len() < asked.len(),
        asked => count(came) < asked,
    }
}

/// A run that is over sooner needs no announcement, in ns.
const LONG_NS: u64 = 5_000_000_000;

/// Says how long it takes, and who else is on its CPU, as soon as it has begun.
fn announce(cpu: Option<u32>, takes_ns: Option<u64>) {
    if let Some((cpu, rival)) = cpu.and_then(|cpu| Some((cpu, cpus::pinned_rival(cpu)?))) {
        terminal::say(&format!("warning: CPU {cpu} is not for this measurement alone: {rival} is pinned to it"));
    }
    if let Some(takes_ns) = takes_ns {
        announce_time(takes_ns);
    }
}

/// Says how long a run takes, if that is long.
pub fn announce_time(takes_ns: u64) {
    if takes_ns >= LONG_NS {
        let seconds = takes_ns.div_ceil(1_000_000_000);
        terminal::say(&format!("This takes {}; Ctrl-C ends it with what is there.", clock_time(seconds)));
    }
}

/// As a clock shows it.
fn clock_time(seconds: u64) -> String {
    match (seconds / 3600, seconds % 3600 / 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, m, _) => format!("{h} h {m} min"),
    }
}

fn begin(asked: &Measurement) -> Run {
    let mut run = document::begin(asked.kind.clone(), asked.series.clone(), asked.cpu);
    run.simulated = asked.simulated.clone();
    if *asked.load != Load::None {
        run.series.iter_mut().for_each(|series| series.settings.load = asked.load.describe());
    }
    (run.findings, run.facts, run.notes) = (asked.findings.clone(), asked.facts.clone(), asked.notes.clone());
    run
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_interrupted_run_did_not_come_to_counts_where_it_is_judged() {
        let series = |names: &[&str]| names.iter().map(|name| Series::from(name.to_string())).collect::<Vec<_>>();
        let asked = series(&["stock", "ours a", "ours b"]);
        let ours = |series: &Series| series.name.starts_with("ours");
        assert!(lacks_series(&asked, &series(&["stock", "ours a"]), &|_| true));
        assert!(lacks_series(&asked, &series(&["stock", "ours a"]), &ours));
        assert!(!lacks_series(&asked, &series(&["ours a", "ours b"]), &ours));
        assert!(!lacks_series(&asked, &asked, &|_| true));
        // Of what is marked once it was measured.
        assert!(lacks_series(&asked, &series(&["marked"]), &|series| series.name == "marked"));
    }
}
