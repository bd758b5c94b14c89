//! Looking on while a timed thread records: collects what the recorder cannot keep for ever, writes the
//! journal, and lets the caller draw.

mod collector;
mod ending;
mod journal;
mod part;
mod watch;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use ontick_record::Histogram;
use ontick_record::run::Maxima;

use crate::explain::{Explainer, Findings};
use crate::interval_log::IntervalLog;
use crate::sample_log::{Joining, SampleLog};
use crate::split::Splitter;
use crate::tap::Tap;
use crate::{Error, Placement, TraceBreak};

pub use journal::RunJournal;

pub(crate) use collector::Collector;
pub(crate) use part::Part;
pub(crate) use watch::watch;

/// A moment of a run that is going on.
pub struct Live<'a> {
    /// Name of the series that is measured.
    pub name: &'a str,
    /// Since recording began.
    pub elapsed: Duration,
    /// How much of the run is done, 0 to 1; `None` where it goes on until it is ended.
    pub done: Option<f64>,
    /// Everything recorded so far.
    pub latency: &'a Histogram,
    /// Periods missed so far.
    pub missed: u64,
    /// Largest latency per stretch of the run.
    pub maxima: &'a Maxima,
}

/// Who looks on, and what ends a run early.
pub struct Observer<'a> {
    /// Set by the caller (on Ctrl-C, say) to end the run with what was measured so far.
    pub stop: &'a AtomicBool,
    /// Called a few times a second, on the calling thread.
    pub look: &'a mut dyn FnMut(&Live),
    /// When the run began, all of its parts.
    began: Instant,
    /// See [`Observer::each_turn`].
    turn: Option<&'a mut dyn FnMut()>,
    /// Keeps the run safe against a sudden end; see [`Observer::keep_journal`].
    journal: Option<RunJournal>,
    part: Part,
    /// What was found of each series, where outliers are to be explained; see [`Observer::explain`].
    findings: Option<BTreeMap<usize, Findings>>,
    /// See [`Observer::with_stacks`].
    stacks: bool,
    waits_for_others: bool,
    /// Where times are kept one by one; see [`Observer::keep_intervals`].
    intervals: Option<Arc<IntervalLog>>,
    /// See [`Observer::split`].
    splits: bool,
    /// See [`Observer::keep_samples`].
    samples: Option<Joining>,
    /// See [`Observer::break_trace`].
    trace: Option<Arc<TraceBreak>>,
    facts: Vec<String>,
    notes: Vec<String>,
    failure: Option<Error>,
    unproven: Option<String>,
}

impl<'a> Observer<'a> {
    /// Looks on with `look` until the run ends or `stop` is set.
    pub fn new(stop: &'a AtomicBool, look: &'a mut dyn FnMut(&Live)) -> Self {
        Self {
            stop,
            look,
            began: Instant::now(),
            turn: None,
            journal: None,
            part: Part { series: 0, from: 0.0, share: 1.0 },
            findings: None,
            stacks: false,
            waits_for_others: false,
            intervals: None,
            splits: false,
            samples: None,
            trace: None,
            facts: Vec::new(),
            notes: Vec::new(),
            failure: None,
            unproven: None,
        }
    }

    /// Calls this on the calling thread as long as that gets its turn, from before recording begins: every 200 ms at least.
    pub fn each_turn(&mut self, turn: &'a mut dyn FnMut()) {
        self.turn = Some(turn);
    }

    fn take_turn(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn();
        }
    }

    /// Finds out why samples were late. This traces the kernel on the timed CPU while it is timed.
    pub fn explain(&mut self) {
        self.findings = Some(BTreeMap::new());
    }

    /// With that also keeps the stacks of what timers interrupt meanwhile.
    pub fn with_stacks(&mut self) {
        self.stacks = true;
    }

    /// In what is measured next the timed thread waits for others, as for an answer.
    pub fn waits_for_others(&mut self) {
        self.waits_for_others = true;
    }

    /// What finds out why samples of a thread were late, if anything does.
    pub(crate) fn explainer(&mut self, placement: Placement) -> Option<Explainer> {
        self.findings()?;
        let (explainer, note) = match self.stacks {
            true => Explainer::start_with_stacks(placement),
            false => Explainer::start(placement),
        };
        note.into_iter().for_each(|note| self.note(note));
        Some(if self.waits_for_others { explainer.waits_for_others() } else { explainer })
    }

    /// Has the timed thread keep the times that it measures one by one, and hands on where.
    pub(crate) fn keep_intervals(&mut self) -> Arc<IntervalLog> {
        self.intervals.get_or_insert_default().clone()
    }

    /// Where times are to be kept one by one, if they are.
    pub(crate) fn intervals(&self) -> Option<Arc<IntervalLog>> {
        self.intervals.clone()
    }

    /// Splits each latency of a thread that sleeps into its parts. This traces the kernel on the timed CPU while it is timed.
    pub fn split(&mut self) {
        self.splits = true;
    }

    /// Whether latencies are to be split.
    pub(crate) fn splits(&self) -> bool {
        self.splits
    }

    /// What splits the latencies of a thread, if anything does, and who gets its samples for that.
    pub(crate) fn splitter(&self, placement: Placement) -> Result<Option<(Splitter, Tap)>, Error> {
        self.splits.then(|| Splitter::start(placement)).transpose().map_err(Error::Unsplit)
    }

    /// Has every sample of what is measured next written there.
    pub fn keep_samples(&mut self, log: &SampleLog) {
        self.samples = Some(log.joining());
    }

    /// Those who get every sample of a thread, which is timed together with so many in all.
    pub(crate) fn taps(&self, series: &str, placement: Placement, together: usize) -> Vec<Tap> {
        self.samples.iter().map(|log| log.tap(series, placement, together)).collect()
    }

    /// What was found of the series that is measured; `None` if nothing is to be explained.
    pub(crate) fn findings(&mut self) -> Option<&mut Findings> {
        Some(self.findings.as_mut()?.entry(self.part.series).or_default())
    }

    /// Adds a sentence for the reader of the result.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds a sentence that a reader may want, and that needs no attention.
    pub fn fact(&mut self, fact: String) {
        self.facts.push(fact);
    }

    /// Sentences that a reader may want.
    pub fn take_facts(&mut self) -> Vec<String> {
        std::mem::take(&mut self.facts)
    }

    pub(crate) fn note_all(&mut self, notes: impl IntoIterator<Item = String>) {
        notes.into_iter().for_each(|note| self.note(note));
    }

    /// Sentences that a reader must see beside the figures.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Of a run that measures several series one after the other, measure this part next.
    pub(crate) fn begin(&mut self, part: Part) {
        self.part = part;
    }

    /// The part that is measured now.
    pub(crate) fn part(&self) -> Part {
        self.part
    }

    /// Shows how far the part that is measured now has come: `done` of it, 0 to 1.
    pub(crate) fn show(
        &mut self,
        name: &str,
        elapsed: Duration,
        done: Option<f64>,
        latency: &Histogram,
        missed: u64,
        maxima: &Maxima,
    ) {
        let done = done.map(|done| self.part.from + self.part.share * done.min(1.0));
        (self.look)(&Live { name, elapsed, done, latency, missed, maxima });
    }
}
