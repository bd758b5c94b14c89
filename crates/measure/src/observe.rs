//! Looking on while a timed thread records: collects what the recorder cannot keep for ever, writes the
//! journal, and lets the caller draw.

mod ending;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_record::histogram::Bucket;
use ontick_record::journal::{Added, Journal};
use ontick_record::run::{Maxima, Outlier, Peak, Peaks, Rival, Run, Series};
use ontick_record::{Histogram, run::Settings, std_dev, store};
use ontick_rt::cpus::{RivalWatch, Whereabouts};
use ontick_rt::recorder::{Reader, Snapshot};
use ontick_rt::thread::Policy;

use crate::explain::{Explainer, Findings};
use crate::interval_log::IntervalLog;
use crate::limits::{Length, Limits};
use crate::track::Track;
use crate::{Error, Placement};

/// How often the recorder is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How often it is looked whether recording has begun: a look too late would make a run that much longer.
const BEFORE: Duration = Duration::from_millis(5);
/// How often where so many peaks come at once that the recorder could not hold them until the next look.
const HURRIED: Duration = Duration::from_millis(5);
/// How many that are.
const MANY_PEAKS: u32 = 4096;
/// No longer than this: samples that become later and later are all peaks, and the rest of the work must be done too.
const HURRIED_AT_MOST: Duration = Duration::from_secs(2);
/// A journal without a line for so long gets one that tells the time alone: where samples come, a second has its line by then.
const SILENT: Duration = Duration::from_millis(1_100);
/// Outliers that are kept: the largest.
const OUTLIERS_KEPT: usize = 1000;

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
    waits_for_others: bool,
    /// Where times are kept one by one; see [`Observer::keep_intervals`].
    intervals: Option<Arc<IntervalLog>>,
    facts: Vec<String>,
    notes: Vec<String>,
    failure: Option<Error>,
    unproven: Option<String>,
}

/// The journal of a run, to be removed when the run is safely recorded.
pub struct RunJournal {
    path: PathBuf,
    journal: Journal,
    /// When it got its last line.
    written: Instant,
}

impl RunJournal {
    /// Where it is.
    pub fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Removes it.
    pub fn remove(self) -> Result<(), Error> {
        self.journal.remove().map_err(|error| Error::Record { path: self.path, error })
    }
}

/// Which part of a run is measured next.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Index of the series.
    pub series: usize,
    /// How much of the whole run is done when it begins, 0 to 1.
    pub from: f64,
    /// How much of the whole run it is, 0 to 1.
    pub share: f64,
}

impl Part {
    /// The n-th series that is measured together with this one.
    pub fn and(self, n: usize) -> Self {
        Self { series: self.series + n, ..self }
    }
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
            waits_for_others: false,
            intervals: None,
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

    /// Keeps a journal for the record `path`, so that a killed run loses at most its last second.
    /// `run` has one series, without samples, for each that will be measured. Beside a device there is no journal.
    pub fn keep_journal(&mut self, path: PathBuf, run: &Run) -> Result<(), Error> {
        if store::is_device(&path) {
            return Ok(());
        }
        let journal = Journal::create(&path, run).map_err(|error| Error::Record { path: path.clone(), error })?;
        self.journal = Some(RunJournal { path, journal, written: Instant::now() });
        Ok(())
    }

    /// The journal, which stays until it is removed.
    pub fn into_journal(self) -> Option<RunJournal> {
        self.journal
    }

    /// Finds out why samples were late. This traces the kernel on the timed CPU while it is timed.
    pub fn explain(&mut self) {
        self.findings = Some(BTreeMap::new());
    }

    /// In what is measured next the timed thread waits for others, as for an answer.
    pub fn waits_for_others(&mut self) {
        self.waits_for_others = true;
    }

    /// What finds out why samples of a thread were late, if anything does.
    pub(crate) fn explainer(&mut self, placement: Placement) -> Option<Explainer> {
        self.findings()?;
        let (explainer, note) = Explainer::start(placement);
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

    /// Journals that the run goes on, where nothing told so for a while: a killed run without samples lasted, too.
    fn append_time(&mut self) {
        if self.journal.as_ref().is_some_and(|journal| journal.written.elapsed() >= SILENT) {
            self.append(Added { series: self.part.series, ..Added::default() });
        }
    }

    /// Journals what was added, as of now. Where the disk refuses, the run goes on: what it measures is not lost.
    pub(crate) fn append(&mut self, mut added: Added) {
        added.duration_ns = self.began.elapsed().as_nanos() as u64;
        let Some(RunJournal { journal, written, .. }) = &mut self.journal else { return };
        *written = Instant::now();
        if let Err(error) = journal.append(&added) {
            let note = format!("{}: {error}; the run went on while its journal stopped", journal.path().display());
            self.note(note);
        }
    }
}

/// Looks on until the timed threads are `done`, each of which has its collector; their series follow `first`.
pub(crate) fn watch(
    collectors: &mut [Collector],
    first: Part,
    observer: &mut Observer,
    done: &dyn Fn() -> bool,
    recording: &AtomicBool,
) {
    let mut began: Option<Instant> = None;
    while !done() {
        let rest = collectors.iter().map(|collector| collector.rest(began)).min().unwrap_or(LOOK);
        std::thread::sleep(if began.is_some() { LOOK.min(rest) } else { BEFORE });
        observer.take_turn();
        if !recording.load(Relaxed) {
            continue;
        }
        let began = *began.get_or_insert_with(Instant::now);
        take_first_peaks(collectors, first, observer, done);
        let elapsed = began.elapsed();
        for (n, collector) in collectors.iter_mut().enumerate() {
            observer.begin(first.and(n));
            collector.look_where(elapsed);
            collector.rivals.iter_mut().for_each(RivalWatch::update);
            collector.look(observer, false);
            collector.take(observer, false);
        }
        observer.begin(first);
        show(collectors, observer, elapsed);
    }
    for (n, collector) in collectors.iter_mut().enumerate() {
        observer.begin(first.and(n));
        collector.look(observer, true);
        collector.take(observer, true);
    }
}

/// At first nearly every sample is a peak: looks often until they are few.
fn take_first_peaks(collectors: &mut [Collector], first: Part, observer: &mut Observer, done: &dyn Fn() -> bool) {
    let began = Instant::now();
    while collectors.iter().any(|collector| !collector.has_few_peaks) && !done() {
        let before = Instant::now();
        std::thread::sleep(HURRIED);
        observer.take_turn();
        for (n, collector) in collectors.iter_mut().enumerate().filter(|(_, collector)| !collector.has_few_peaks) {
            observer.begin(first.and(n));
            let came = f64::from(collector.look(observer, false));
            let few = came * LOOK.as_secs_f64() < f64::from(MANY_PEAKS) * before.elapsed().as_secs_f64();
            collector.has_few_peaks = few || began.elapsed() >= HURRIED_AT_MOST;
        }
    }
}

/// Shows what was recorded so far, by all of them together.
fn show(collectors: &[Collector], observer: &mut Observer, elapsed: Duration) {
    let snapshots: Vec<Snapshot> = collectors.iter().map(|collector| collector.reader.snapshot()).collect();
    let done = collectors.iter().zip(&snapshots).map(|(collector, snapshot)| collector.share_done(elapsed, snapshot));
    let done = done.min_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal)).flatten();
    let mut all = snapshots.iter().map(histogram);
    let Some(mut latency) = all.next() else { return };
    all.for_each(|other| latency.merge(&other));
    let missed = snapshots.iter().map(|snapshot| snapshot.missed).sum();
    match collectors {
        [only] => observer.show(only.name, elapsed, done, &latency, missed, only.track.maxima()),
        several => {
            let maxima = Maxima::of_all(several.iter().map(|collector| collector.track.maxima()));
            observer.show(&format!("{} CPUs", several.len()), elapsed, done, &latency, missed, &maxima);
        }
    }
}

/// Turns a recorder's reader into a series, in constant memory however long the run.
pub(crate) struct Collector<'n> {
    reader: Reader,
    name: &'n str,
    limits: Limits,
    track: Track,
    outliers: BinaryHeap<Reverse<(u64, u64, Option<u32>)>>,
    peaks: Peaks,
    /// Those that come do not fill the recorder between two looks.
    has_few_peaks: bool,
    journalled: Option<Snapshot>,
    /// Outliers that are not journalled yet.
    fresh: Vec<Outlier>,
    explainer: Option<(Explainer, &'n AtomicI32)>,
    whereabouts: Option<(Whereabouts, &'n AtomicI32)>,
    rivals: Option<RivalWatch>,
    /// Where it was found, and what to say of it.
    strayed: Vec<(u32, String)>,
}

impl<'n> Collector<'n> {
    pub fn new(reader: Reader, name: &'n str, limits: Limits) -> Self {
        // All are peaks until there are enough of them.
        reader.hand_over_above(0);
        Self {
            reader,
            name,
            limits,
            track: Track::default(),
            outliers: BinaryHeap::new(),
            peaks: Peaks::default(),
            has_few_peaks: false,
            journalled: None,
            fresh: Vec::new(),
            explainer: None,
            whereabouts: None,
            rivals: None,
            strayed: Vec::new(),
        }
    }

    /// Looks whether the thread with this id, which is there once recording begins, stays on its CPU.
    pub fn expect_on(&mut self, cpu: u32, tid: &'n AtomicI32) {
        self.whereabouts = Some((Whereabouts::of_one_pinned_to(cpu), tid));
    }

    /// Looks meanwhile for real-time threads of others that a thread of this policy has to wait for.
    pub fn watch_for_rivals(&mut self, cpu: u32, policy: Policy) {
        self.rivals = Some(RivalWatch::start(cpu, policy));
    }

    /// Those that were found until now.
    pub fn take_rivals(&mut self) -> Vec<Rival> {
        let rivals = self.rivals.take().map(RivalWatch::end).unwrap_or_default();
        let recorded = rivals.into_iter().map(|rival| Rival {
            pid: rival.pid,
            tid: rival.tid,
            thread: rival.thread,
            command: rival.command,
            policy: rival.policy.to_string(),
            ran_ns: rival.ran_ns,
        });
        recorded.collect()
    }

    /// Other CPUs on which it was found, with what to say of it.
    pub fn take_strayed(&mut self) -> Vec<(u32, String)> {
        std::mem::take(&mut self.strayed)
    }

    fn look_where(&mut self, elapsed: Duration) {
        let Some((whereabouts, tid)) = &mut self.whereabouts else { return };
        if let Some(cpu) = whereabouts.update(tid.load(Relaxed)) {
            let said = format!(
                "{}: {} within {:.1} s, and the thread went on elsewhere, on CPU {cpu}: not all figures are of one CPU",
                self.name,
                whereabouts.why(),
                elapsed.as_secs_f64()
            );
            self.strayed.push((cpu, said));
        }
    }

    /// Explains outliers of the thread with this id, which is there once recording begins.
    pub fn explain(&mut self, explainer: Explainer, tid: &'n AtomicI32) {
        self.explainer = Some((explainer, tid));
    }

    /// Until the end of a run whose length is known, so that short runs do not wait for the next look.
    fn rest(&self, began: Option<Instant>) -> Duration {
        let left = match (self.limits.length, began) {
            (Length::Duration(ns), Some(began)) => Duration::from_nanos(ns).saturating_sub(began.elapsed()),
            _ => Duration::from_millis(20),
        };
        left.max(Duration::from_millis(5))
    }

    fn share_done(&self, elapsed: Duration, snapshot: &Snapshot) -> Option<f64> {
        let share = match self.limits.length {
            Length::Duration(u64::MAX) => return None,
            Length::Duration(ns) => elapsed.as_nanos() as f64 / ns.max(1) as f64,
            Length::Count(count) => snapshot.count() as f64 / count.max(1) as f64,
        };
        Some(share.min(1.0))
    }

    /// Takes outliers that came, and explains them. Returns how many came that are peaks at most.
    fn look(&mut self, observer: &mut Observer, ended: bool) -> u32 {
        let began_ns = self.reader.began_ns().unwrap_or(0);
        let (mut came, mut peaks) = (Vec::new(), 0u32);
        while let Some(o) = self.reader.next_outlier() {
            self.peaks.add(Peak { at_ns: o.at_ns.saturating_sub(began_ns), latency_ns: o.latency_ns });
            if o.latency_ns > self.limits.outlier_ns {
                came.push(Outlier { at_ns: o.at_ns, latency_ns: o.latency_ns, cause: None });
            } else {
                peaks += 1;
            }
        }
        self.reader.hand_over_above(self.peaks.above_ns());
        let explained = match (&mut self.explainer, observer.findings()) {
            (Some((explainer, tid)), Some(findings)) => explainer.explain(came, tid.load(Relaxed), ended, findings),
            _ => came,
        };
        if observer.journal.is_some() {
            self.fresh.extend_from_slice(&explained);
        }
        self.keep(&explained);
        peaks
    }

    /// Takes the seconds that ended, their outliers, and journals them.
    fn take(&mut self, observer: &mut Observer, all: bool) {
        let seconds = self.reader.take_seconds(all);
        if seconds.is_empty() && !all {
            return observer.append_time();
        }
        seconds.iter().for_each(|max_ns| self.track.push(*max_ns));

        if observer.journal.is_some() {
            let (snapshot, before) = (self.reader.snapshot(), self.journalled.as_ref());
            let (sum, squares, count, missed, seen) =
                before.map_or((0, 0, 0, 0, 0), |b| (b.sum_ns, b.sum_of_squares, b.count(), b.missed, b.outliers));
            let came = snapshot.count() - count;
            let causes = observer.findings().map(Findings::fresh_causes).unwrap_or_default();
            observer.append(Added {
                series: observer.part.series,
                buckets: snapshot.buckets_since(before).map(Bucket::from).collect(),
                min_ns: snapshot.min_ns,
                max_ns: snapshot.max_ns,
                mean_ns: (came > 0).then(|| snapshot.sum_ns.saturating_sub(sum) as f64 / came as f64),
                std_dev_ns: std_dev(
                    came,
                    snapshot.sum_ns.saturating_sub(sum),
                    snapshot.sum_of_squares.saturating_sub(squares),
                ),
                missed: snapshot.missed - missed,
                second_max_ns: seconds.iter().max().copied().unwrap_or(0),
                outliers: std::mem::take(&mut self.fresh),
                outlier_count: snapshot.outliers - seen,
                causes,
                ..Added::default()
            });
            self.journalled = Some(snapshot);
        }
    }

    fn keep(&mut self, outliers: &[Outlier]) {
        for outlier in outliers {
            self.outliers.push(Reverse((outlier.latency_ns, outlier.at_ns, outlier.cause)));
            if self.outliers.len() > OUTLIERS_KEPT {
                self.outliers.pop();
            }
        }
    }

    /// The series, once the timed thread has ended.
    pub fn finish(mut self, observer: &mut Observer) -> Series {
        let explainer = self.explainer.take();
        let mut series = self.into_series();
        if let (Some((explainer, _)), Some(findings)) = (explainer, observer.findings()) {
            explainer.end(findings);
            findings.describe(&mut series);
        }
        series
    }

    fn into_series(self) -> Series {
        let snapshot = self.reader.snapshot();
        let kept = self.outliers.into_iter().map(|Reverse(outlier)| outlier);
        let mut outliers: Vec<Outlier> =
            kept.map(|(latency_ns, at_ns, cause)| Outlier { at_ns, latency_ns, cause }).collect();
        outliers.sort_by_key(|o| o.at_ns);
        Series {
            name: self.name.into(),
            settings: Settings::default(),
            latency: histogram(&snapshot),
            missed: snapshot.missed,
            early: snapshot.early,
            maxima: self.track.into_maxima(),
            outliers,
            outlier_count: snapshot.outliers,
            peaks: self.peaks.into_sorted(),
            ..Series::default()
        }
    }
}

pub(crate) fn histogram(snapshot: &Snapshot) -> Histogram {
    let buckets = snapshot.buckets().map(Bucket::from);
    Histogram::recorded(buckets, snapshot.min_ns.zip(snapshot.max_ns), snapshot.sum_ns, snapshot.sum_of_squares)
}
