//! Looking on while a PRU works: nothing here is timed, the PRU counts for itself.

use std::thread::sleep;
use std::time::{Duration, Instant};

use ontick_record::Histogram;
use ontick_record::journal::Added;
use ontick_record::run::{Maxima, Series};
use ontick_units::{exact, show};

use super::block::PruCounts;
use super::layout::state;
use super::running::Running;
use crate::conditions::Watch;
use crate::observe::Observer;
use crate::track::Track;
use crate::{Error, Length, Limits};

/// How often is looked whether the work is over.
const LOOK: Duration = Duration::from_millis(10);
/// Ten looks at what it has found so far take a second: its RAM is slow to read, and reading it can make it wait.
const SHOW: Duration = Duration::from_millis(100);
/// The PRU's counts are 32 bits wide; a run ends before they are full.
const MOST: u32 = u32::MAX - (1 << 24);

/// How many the PRU is asked to make; 0 goes on until it is stopped.
pub(super) fn count(limits: Limits) -> Result<u32, Error> {
    match limits.length {
        Length::Duration(_) => Ok(0),
        Length::Count(count) if count <= u64::from(MOST) => Ok(count as u32),
        Length::Count(_) => Err(Error::Impossible(format!("a PRU counts to {MOST}: ask for fewer"))),
    }
}

/// What came of the work.
pub(super) struct Watched {
    /// In cycles.
    pub found: PruCounts,
    /// A series with its latency, as `latency` makes it, and what was kept meanwhile.
    pub series: Series,
}

/// Looks on until the work is over, and gives the PRU back.
pub(super) fn watch(
    name: &str,
    mut running: Running,
    limits: Limits,
    observer: &mut Observer,
    latency: impl Fn(&PruCounts) -> Histogram,
) -> Result<Watched, Error> {
    let (began, conditions) = (Instant::now(), Watch::start(None));
    let mut seen = Progress::default();
    let (mut shown, mut ended, mut halted, mut over_ns) = (began, false, None, None);
    while !ended && halted.is_none() {
        sleep(LOOK.min(left(limits, began)).max(Duration::from_millis(1)));
        let over = left(limits, began).is_zero() || observer.stopped();
        ended = over || running.state() != state::RUNNING;
        if ended || shown.elapsed() < SHOW {
            continue;
        }
        shown = Instant::now();
        // The shared RAM stays as it was when somebody stops the PRU.
        halted = running.halted();
        let found = running.found();
        let so_far = latency(&found);
        over_ns = so_far.max_ns.filter(|max_ns| limits.stop_over_ns.is_some_and(|limit_ns| *max_ns > limit_ns));
        ended = over_ns.is_some();
        seen.look(name, &so_far, &found, began.elapsed(), limits, observer)?;
        if found.done >= MOST {
            observer.note(format!("{name}: ended, because the PRU's counts were nearly full"));
            ended = true;
        }
    }
    let found = match halted.or_else(|| running.halted()) {
        None => running.stop()?,
        Some(state) => {
            observer.note(format!(
                "{name}: ended, because the PRU is {state}: somebody else stopped it, and figures are those until then"
            ));
            running.found()
        }
    };
    observer.note_all(running.give_back().into_iter().map(|what| format!("{name}: {what}")));
    let latency = latency(&found);
    if let (Some(limit_ns), Some(over_ns)) = (limits.stop_over_ns, over_ns) {
        let (limit, over) = (exact(limit_ns), show(over_ns));
        observer.note(format!("{name}: ended, because a latency was above {limit} ({over})"));
    }
    seen.keep(&latency, &found, observer);
    let series = Series {
        name: name.into(),
        latency,
        missed: found.late.into(),
        maxima: seen.into_maxima(began.elapsed()),
        conditions: conditions.end(),
        ..Series::default()
    };
    Ok(Watched { found, series })
}

fn left(limits: Limits, began: Instant) -> Duration {
    match limits.length {
        Length::Duration(ns) => Duration::from_nanos(ns).saturating_sub(began.elapsed()),
        Length::Count(_) => Duration::MAX,
    }
}

/// What was seen so far, second by second.
#[derive(Default)]
struct Progress {
    track: Track,
    seconds: u64,
    kept: Histogram,
    missed: u32,
    /// The largest since the last second ended.
    largest_ns: u64,
}

impl Progress {
    fn look(
        &mut self,
        name: &str,
        latency: &Histogram,
        found: &PruCounts,
        elapsed: Duration,
        limits: Limits,
        observer: &mut Observer,
    ) -> Result<(), Error> {
        if elapsed.as_secs() > self.seconds {
            self.seconds = elapsed.as_secs();
            self.keep(latency, found, observer);
        }
        let done = match limits.length {
            Length::Duration(u64::MAX) => None,
            Length::Duration(ns) => Some(elapsed.as_nanos() as f64 / ns.max(1) as f64),
            Length::Count(count) => Some(f64::from(found.done) / count.max(1) as f64),
        };
        observer.show(name, elapsed, done, latency, found.late.into(), self.track.maxima());
        Ok(())
    }

    /// Ends a second: keeps its largest, and writes what came into the journal.
    fn keep(&mut self, latency: &Histogram, found: &PruCounts, observer: &mut Observer) {
        let came = since(latency, &self.kept);
        self.largest_ns = came.buckets().last().map_or(0, |bucket| bucket.high_ns());
        self.track.push(self.largest_ns);
        let missed = found.late.saturating_sub(self.missed);
        (self.kept, self.missed) = (latency.clone(), found.late);
        observer.append(Added {
            series: observer.part().series,
            buckets: came.buckets().to_vec(),
            min_ns: latency.min_ns,
            max_ns: latency.max_ns,
            mean_ns: came.mean_ns,
            missed: missed.into(),
            second_max_ns: self.largest_ns,
            ..Added::default()
        });
    }

    fn into_maxima(self, elapsed: Duration) -> Maxima {
        let mut maxima = self.track.into_maxima();
        maxima.end_at(elapsed.as_nanos() as u64);
        maxima
    }
}

/// The samples that came since `before`.
fn since(now: &Histogram, before: &Histogram) -> Histogram {
    let was = |low_ns| before.buckets().iter().find(|bucket| bucket.low_ns == low_ns).map_or(0, |bucket| bucket.count);
    let came = now.buckets().iter().map(|bucket| {
        let count = bucket.count.saturating_sub(was(bucket.low_ns));
        ontick_record::histogram::Bucket { count, ..*bucket }
    });
    let mut came = Histogram::from_buckets(came);
    let (count, sum_ns) = came.buckets().iter().fold((0, 0), |(count, sum_ns), bucket| {
        (count + bucket.count, sum_ns + bucket.count * (bucket.low_ns + bucket.width_ns / 2))
    });
    came.mean_ns = (count > 0).then(|| sum_ns as f64 / count as f64);
    came
}
