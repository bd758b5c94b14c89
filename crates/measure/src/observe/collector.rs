//! One timed thread's recorder turned into a series, in constant memory however long the run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ontick_record::histogram::Bucket;
use ontick_record::journal::Added;
use ontick_record::run::{Outlier, Peak, Peaks, Rival, Series, Settings};
use ontick_record::std_dev;
use ontick_rt::cpus::{RivalWatch, Whereabouts};
use ontick_rt::recorder::{Reader, Snapshot};
use ontick_rt::thread::Policy;

use super::Observer;
use crate::explain::{Explainer, Findings};
use crate::limits::{Length, Limits};
use crate::recorded::histogram;
use crate::split::Splitter;
use crate::track::Track;

/// Outliers that are kept: the largest.
const OUTLIERS_KEPT: usize = 1000;

/// Turns a recorder's reader into a series, in constant memory however long the run.
pub(crate) struct Collector<'n> {
    pub(super) reader: Reader,
    pub(super) name: &'n str,
    limits: Limits,
    pub(super) track: Track,
    outliers: BinaryHeap<Reverse<(u64, u64, Option<u32>)>>,
    peaks: Peaks,
    /// Those that come do not fill the recorder between two looks.
    pub(super) has_few_peaks: bool,
    journalled: Option<Snapshot>,
    /// What the timed thread tells of itself, until that is journalled.
    told: Option<&'n OnceLock<Settings>>,
    /// Outliers that are not journalled yet.
    fresh: Vec<Outlier>,
    explainer: Option<(Explainer, &'n AtomicI32)>,
    splitter: Option<(Splitter, &'n AtomicI32)>,
    whereabouts: Option<(Whereabouts, &'n AtomicI32)>,
    pub(super) rivals: Option<RivalWatch>,
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
            told: None,
            fresh: Vec::new(),
            explainer: None,
            splitter: None,
            whereabouts: None,
            rivals: None,
            strayed: Vec::new(),
        }
    }

    /// Journals how the thread measures, which is there once recording begins: a run that is killed has it too.
    pub fn journal_settings(&mut self, told: &'n OnceLock<Settings>) {
        self.told = Some(told);
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

    pub(super) fn look_where(&mut self, elapsed: Duration) {
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

    /// Splits the latencies of the thread with this id.
    pub fn split(&mut self, splitter: Splitter, tid: &'n AtomicI32) {
        self.splitter = Some((splitter, tid));
    }

    /// Until the end of a run whose length is known, so that short runs do not wait for the next look.
    pub(super) fn rest(&self, began: Option<Instant>) -> Duration {
        let left = match (self.limits.length, began) {
            (Length::Duration(ns), Some(began)) => Duration::from_nanos(ns).saturating_sub(began.elapsed()),
            _ => Duration::from_millis(20),
        };
        left.max(Duration::from_millis(5))
    }

    pub(super) fn share_done(&self, elapsed: Duration, snapshot: &Snapshot) -> Option<f64> {
        let share = match self.limits.length {
            Length::Duration(u64::MAX) => return None,
            Length::Duration(ns) => elapsed.as_nanos() as f64 / ns.max(1) as f64,
            Length::Count(count) => snapshot.count() as f64 / count.max(1) as f64,
        };
        Some(share.min(1.0))
    }

    /// Takes outliers that came, and explains them. Returns how many came that are peaks at most.
    pub(super) fn look(&mut self, observer: &mut Observer, ended: bool) -> u32 {
        if let Some((splitter, tid)) = &mut self.splitter {
            splitter.look(tid.load(Relaxed), ended);
        }
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
    pub(super) fn take(&mut self, observer: &mut Observer, all: bool) {
        if let Some(settings) = self.told.take().and_then(OnceLock::get) {
            let settings = Some(Box::new(settings.clone()));
            observer.append(Added { series: observer.part.series, settings, ..Added::default() });
        }
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
        let (explainer, splitter) = (self.explainer.take(), self.splitter.take());
        let mut series = self.into_series();
        if let Some((splitter, _)) = splitter {
            splitter.end(&mut series);
        }
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
