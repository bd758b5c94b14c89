//! Looking at the timed threads while they record: often enough that nothing is lost, and no more often.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use ontick_record::run::Maxima;
use ontick_rt::cpus::RivalWatch;
use ontick_rt::recorder::Snapshot;

use super::Observer;
use super::collector::Collector;
use super::part::Part;
use crate::recorded::histogram;

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
