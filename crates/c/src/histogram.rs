//! What a recorder had counted at a moment.

use std::ffi::{c_char, c_int};
use std::path::Path;

use ontick_machine::{Facts, Root};
use ontick_record::run::{Run, Series, Settings};
use ontick_record::{Bucket, Histogram, Measurement, date, store};
use ontick_rt::recorder::Snapshot;

use crate::cycle::{ONTICK_PHASE_AUTO, ONTICK_WAIT_HYBRID, ONTICK_WAIT_SLEEP, ontick_cycle};
use crate::fork;
use crate::handle::{Handle, borrow, close, look_at, open};
use crate::input::{check_room, give, text};
use crate::recorder::ontick_recorder;
use crate::status::{Failure, ONTICK_ERROR_SYSTEM, ONTICK_NONE, ONTICK_OK, guard};
use crate::thread::ontick_thread;

/// A histogram of latencies: exact up to 255 ns, then with buckets of at most 1 % of their value.
pub struct ontick_histogram {
    generation: u32,
    latency: Histogram,
    missed: u64,
    early: u64,
    outliers: u64,
    threshold_ns: u64,
}

impl Handle for ontick_histogram {
    fn generation(&self) -> u32 {
        self.generation
    }
}

/// The figures of a histogram. Later versions add to its end.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct ontick_stats {
    /// Latencies that were recorded.
    pub count: u64,
    /// The smallest, in ns; 0 where there is none.
    pub min_ns: u64,
    /// The largest, in ns; 0 where there is none.
    pub max_ns: u64,
    /// Their mean, in ns; 0 where there is none.
    pub mean_ns: f64,
    /// Their standard deviation, in ns; 0 where there is none.
    pub std_dev_ns: f64,
    /// Periods that were missed.
    pub missed: u64,
    /// Waits that ended before their time.
    pub early: u64,
    /// Latencies above the recorder's threshold.
    pub outliers: u64,
}

/// Some of a histogram's latencies: `count` from low_ns to low_ns + width_ns - 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_bucket {
    /// The smallest, in ns.
    pub low_ns: u64,
    /// How many ns they cover.
    pub width_ns: u64,
    /// How many there are.
    pub count: u64,
}

fn latency(snapshot: &Snapshot) -> Histogram {
    let buckets = snapshot.buckets().map(Bucket::from);
    Histogram::recorded(buckets, snapshot.min_ns.zip(snapshot.max_ns), snapshot.sum_ns, snapshot.sum_of_squares)
}

/// Takes what the recorder has counted so far, while it goes on. Any thread may take it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_recorder_histogram(
    recorder: *const ontick_recorder,
    histogram: *mut *mut ontick_histogram,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        open(histogram, || {
            let recorder = look_at(recorder)?;
            let snapshot = recorder.reader().snapshot();
            Ok(ontick_histogram {
                generation: fork::generation(),
                latency: latency(&snapshot),
                missed: snapshot.missed,
                early: snapshot.early,
                outliers: snapshot.outliers,
                threshold_ns: recorder.threshold_ns,
            })
        })
    }
}

/// The histogram's figures; `size` is sizeof(ontick_stats).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_histogram_stats(
    histogram: *const ontick_histogram,
    stats: *mut ontick_stats,
    size: usize,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let seen = unsafe { look_at(histogram) }?;
        check_room(stats, size, "the stats", "ontick_stats")?;
        let filled = ontick_stats {
            count: seen.latency.count(),
            min_ns: seen.latency.min_ns.unwrap_or(0),
            max_ns: seen.latency.max_ns.unwrap_or(0),
            mean_ns: seen.latency.mean_ns.unwrap_or(0.0),
            std_dev_ns: seen.latency.std_dev_ns.unwrap_or(0.0),
            missed: seen.missed,
            early: seen.early,
            outliers: seen.outliers,
        };
        // SAFETY: the caller's structure has that size.
        unsafe { give(&filled, stats, size) };
        Ok(ONTICK_OK)
    })
}

/// The latency that a share of all (0.99) does not exceed, in ns: the upper end of its bucket, so
/// never too good. ONTICK_NONE where there are none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_histogram_quantile(
    histogram: *const ontick_histogram,
    share: f64,
    latency_ns: *mut u64,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (seen, place) = unsafe { (look_at(histogram)?, latency_ns.as_mut()) };
        let place = place.ok_or_else(|| Failure::argument("the place for the latency is NULL"))?;
        if !(0.0..=1.0).contains(&share) {
            return Err(Failure::argument(format!("the share is {share}: it must be from 0 to 1")));
        }
        let Some(latency) = seen.latency.quantile(share) else { return Ok(ONTICK_NONE) };
        *place = latency;
        Ok(ONTICK_OK)
    })
}

/// How many latencies were certainly below `limit_ns`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_histogram_below(
    histogram: *const ontick_histogram,
    limit_ns: u64,
    count: *mut u64,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (seen, place) = unsafe { (look_at(histogram)?, count.as_mut()) };
        *place.ok_or_else(|| Failure::argument("the place for the count is NULL"))? = seen.latency.below(limit_ns);
        Ok(ONTICK_OK)
    })
}

/// A bucket that holds latencies, from 0, ascending; ONTICK_NONE past the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_histogram_bucket(
    histogram: *const ontick_histogram,
    index: usize,
    bucket: *mut ontick_bucket,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (seen, place) = unsafe { (look_at(histogram)?, bucket.as_mut()) };
        let place = place.ok_or_else(|| Failure::argument("the bucket is NULL"))?;
        let Some(bucket) = seen.latency.buckets().get(index) else { return Ok(ONTICK_NONE) };
        *place = ontick_bucket { low_ns: bucket.low_ns, width_ns: bucket.width_ns, count: bucket.count };
        Ok(ONTICK_OK)
    })
}

/// Writes a record that ontick shows and compares. `name` is the series' in tables and pictures; thread and
/// cycle tell how the loop ran, and may be NULL. An existing file is replaced as a whole.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_histogram_save(
    histogram: *const ontick_histogram,
    name: *const c_char,
    thread: *const ontick_thread,
    cycle: *mut ontick_cycle,
    path: *const c_char,
) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (seen, name, path) = unsafe { (look_at(histogram)?, text(name, "the name")?, text(path, "the path")?) };
        let mut settings = Settings { outlier_threshold_ns: seen.threshold_ns, ..Settings::default() };
        if !thread.is_null() {
            // SAFETY: it is not NULL, and as the header asks.
            describe_thread(unsafe { look_at(thread) }?, &mut settings);
        }
        if !cycle.is_null() {
            // SAFETY: it is not NULL, and as the header asks.
            describe_cycle(unsafe { borrow(cycle) }?, &mut settings);
        }
        let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), Measurement::Timer);
        run.started = date::now();
        run.duration_ns = settings.interval_ns.saturating_mul(seen.latency.count().saturating_add(seen.missed));
        run.environment = Some(Facts::gather(&Root::live()).environment(settings.cpu));
        run.series = vec![Series {
            name: name.into(),
            settings,
            latency: seen.latency.clone(),
            missed: seen.missed,
            early: seen.early,
            outlier_count: seen.outliers,
            ..Series::default()
        }];
        let document = store::text(&run);
        let written = store::write_whole(Path::new(path), document.as_bytes());
        written.map_err(|error| Failure::new(ONTICK_ERROR_SYSTEM, error))?;
        Ok(ONTICK_OK)
    })
}

fn describe_thread(thread: &ontick_thread, settings: &mut Settings) {
    settings.cpu = thread.section.cpu();
    settings.policy = thread.section.policy().unwrap_or_default().to_string();
    settings.memory_locked = thread.section.memory_locked();
    settings.refused = thread.section.refused().collect();
}

fn describe_cycle(cycle: &mut ontick_cycle, settings: &mut Settings) {
    settings.method = match cycle.options.wait {
        ONTICK_WAIT_HYBRID => "hybrid",
        ONTICK_WAIT_SLEEP => "clock_nanosleep",
        _ => "spin",
    }
    .into();
    settings.interval_ns = cycle.options.interval_ns;
    settings.phase_ns = Some(cycle.cycle.phase_ns());
    settings.phase_choice = match cycle.options.phase_ns {
        ONTICK_PHASE_AUTO => "auto",
        0.. => "fixed",
        _ => "chance",
    }
    .into();
    settings.margin_ns = cycle.cycle.wait().margin_ns();
    settings.clock = cycle.cycle.clock().name();
}

/// Ends the histogram and sets *histogram to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_histogram_free(histogram: *mut *mut ontick_histogram) -> c_int {
    // SAFETY: as the header asks.
    unsafe { close(histogram, drop) }
}
