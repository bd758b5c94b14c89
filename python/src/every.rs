//! Periods that do not drift, as an iterator.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use ontick_measure::document;
use ontick_record::histogram::Bucket;
use ontick_record::run::Settings;
use ontick_record::{Histogram as Counts, Measurement, Series};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::recorder::{self, Reader, Snapshot, Writer};
use ontick_rt::wait::{DUTY, Hybrid, Sleep, Spin, Wait};
use ontick_rt::{Cycle, Overrun, Phase, Tick as Reached, cpus, phase, watchdog};
use pyo3::prelude::*;

use crate::arguments::{interval, time};
use crate::errors::{Class, argument};
use crate::histogram::Histogram;
use crate::interrupt::{self, LOOK_NS};
use crate::run::Record;
use crate::{fork, realtime};

/// The longest interval: a day, in ns.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// One period's beginning.
#[pyclass(frozen, module = "ontick")]
#[derive(Clone, Copy)]
pub struct Tick(Reached);

#[pymethods]
impl Tick {
    #[getter]
    fn index(&self) -> u64 {
        self.0.index
    }

    #[getter]
    fn deadline_ns(&self) -> u64 {
        self.0.deadline_ns
    }

    #[getter]
    fn now_ns(&self) -> u64 {
        self.0.now_ns
    }

    #[getter]
    fn latency_ns(&self) -> u64 {
        self.0.latency_ns()
    }

    #[getter]
    fn missed(&self) -> u64 {
        self.0.missed
    }

    fn __repr__(&self) -> String {
        let Reached { index, missed, .. } = self.0;
        format!("Tick(index={index}, latency_ns={}, missed={missed})", self.0.latency_ns())
    }
}

/// A loop's deadlines, for one thread at a time.
#[pyclass(frozen, module = "ontick._ontick")]
pub struct Every {
    generation: u32,
    inner: Mutex<Inner>,
    reader: Mutex<Reader>,
    method: String,
    interval_ns: u64,
    phase_choice: &'static str,
    outlier_ns: u64,
    started_ns: u64,
}

struct Inner {
    cycle: Cycle<Box<dyn Wait + Send>>,
    writer: Writer,
    left: u64,
    end_ns: u64,
}

#[pymethods]
impl Every {
    /// Made on the thread that will wait; finding a phase takes half a second.
    #[new]
    #[pyo3(signature = (interval, wait, phase, duty, catch_up, count, duration, outlier_threshold))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        interval: &str,
        wait: &str,
        phase: &str,
        duty: Option<f64>,
        catch_up: bool,
        count: Option<u64>,
        duration: Option<&str>,
        outlier_threshold: &str,
    ) -> PyResult<Self> {
        let interval_ns = self::interval("interval", interval)?;
        if !(1_000..=LONGEST_NS).contains(&interval_ns) {
            return Err(argument(format!("interval is {interval}: it must be from 1us to a day")));
        }
        let duty = duty.unwrap_or(DUTY);
        if !(duty > 0.0 && duty <= 1.0) {
            return Err(argument(format!("duty is {duty}: it must be above 0 and at most 1")));
        }
        let outlier_ns = time("outlier_threshold", outlier_threshold)?;
        let duration_ns = duration.map(|text| time("duration", text)).transpose()?;
        let waiter = waiter(wait, interval_ns, duty)?;
        let fixed = match phase {
            "chance" | "auto" => None,
            text => Some(time("phase", text)?),
        };
        let overrun = if catch_up { Overrun::CatchUp } else { Overrun::Skip };
        let seeks = phase == "auto" && interval_ns <= phase::LONGEST_SCANNED_NS;
        py.detach(|| {
            let mut clock = Clock::new(ClockId::Monotonic);
            let (phase, phase_choice) = match fixed {
                Some(ns) => (Phase::Fixed(ns), "fixed"),
                None if seeks => (Phase::Fixed(phase::scan(&mut clock, phase::SCAN_NS).quietest(interval_ns)), "auto"),
                None => (Phase::Chance, "chance"),
            };
            let (writer, reader) = recorder::channel(outlier_ns);
            let started_ns = ClockId::Monotonic.now_ns();
            let end_ns = duration_ns.map_or(u64::MAX, |ns| started_ns.saturating_add(ns));
            let cycle = Cycle::with_phase(clock, waiter, interval_ns, phase, overrun);
            Ok(Self {
                generation: fork::generation(),
                inner: Mutex::new(Inner { cycle, writer, left: count.unwrap_or(u64::MAX), end_ns }),
                reader: Mutex::new(reader),
                method: wait.into(),
                interval_ns,
                phase_choice,
                outlier_ns,
                started_ns,
            })
        })
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// Waits for the next deadline, without the interpreter.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Tick>> {
        fork::check(self.generation, "this loop")?;
        py.detach(|| self.waiting()?.next(self.interval_ns))
    }

    #[getter]
    fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// What was recorded so far.
    #[getter]
    fn latency(&self) -> Histogram {
        Histogram(Arc::new(counts(&self.snapshot())))
    }

    #[getter]
    fn missed(&self) -> u64 {
        self.snapshot().missed
    }

    /// What was recorded so far, as a record of this machine.
    fn record(&self, py: Python<'_>, name: &str, section: Option<&realtime::Section>) -> PyResult<Record> {
        let mut settings = Settings {
            method: self.method.clone(),
            interval_ns: self.interval_ns,
            phase_choice: self.phase_choice.into(),
            outlier_threshold_ns: self.outlier_ns,
            ..Settings::default()
        };
        if let Some(section) = section {
            section.describe(&mut settings);
        }
        {
            let mut inner = self.waiting()?;
            settings.phase_ns = Some(inner.cycle.phase_ns());
            settings.margin_ns = inner.cycle.wait().margin_ns();
            settings.clock = inner.cycle.clock().name();
        }
        let snapshot = self.snapshot();
        let took_ns = ClockId::Monotonic.now_ns() - self.started_ns;
        Ok(py.detach(|| {
            let mut run = document::begin(Measurement::Timer, Vec::new(), settings.cpu);
            run.duration_ns = took_ns;
            run.series = vec![Series {
                name: name.into(),
                settings,
                latency: counts(&snapshot),
                missed: snapshot.missed,
                early: snapshot.early,
                outlier_count: snapshot.outliers,
                ..Series::default()
            }];
            Record::from(run)
        }))
    }
}

impl Every {
    fn waiting(&self) -> PyResult<MutexGuard<'_, Inner>> {
        match self.inner.try_lock() {
            Ok(inner) => Ok(inner),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Class::InUse.error("another thread waits in this loop: make one for each thread"))
            }
        }
    }

    fn snapshot(&self) -> Snapshot {
        self.reader.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).snapshot()
    }
}

impl Inner {
    /// `None` at the end. The wait itself is one of `ontick-rt`; only far deadlines are approached in naps.
    fn next(&mut self, interval_ns: u64) -> PyResult<Option<Tick>> {
        if self.left == 0 {
            return Ok(None);
        }
        if self.cycle.next_ns() >= self.end_ns {
            wait_until(self.end_ns)?;
            self.left = 0;
            return Ok(None);
        }
        if interval_ns > LOOK_NS {
            while self.cycle.approach(LOOK_NS).is_some() {
                interrupt::check()?;
            }
        }
        let tick = self.cycle.next();
        if tick.deadline_ns >= self.end_ns {
            self.left = 0;
            return Ok(None);
        }
        self.left -= 1;
        self.writer.missed(tick.missed);
        if tick.early() {
            self.writer.early();
        }
        self.writer.record(tick.now_ns, tick.latency_ns());
        Ok(Some(Tick(tick)))
    }
}

/// Nothing is due before `end_ns`, so this wait need not be exact.
fn wait_until(end_ns: u64) -> PyResult<()> {
    loop {
        let left_ns = end_ns.saturating_sub(ClockId::Monotonic.now_ns());
        if left_ns == 0 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_nanos(left_ns.min(LOOK_NS)));
        interrupt::check()?;
    }
}

fn waiter(name: &str, interval_ns: u64, duty: f64) -> PyResult<Box<dyn Wait + Send>> {
    match name {
        "hybrid" => Ok(Box::new(Hybrid::with_duty(interval_ns, duty))),
        "clock_nanosleep" => Ok(Box::new(Sleep)),
        "spin" => {
            watchdog::may_occupy(cpus::online().len()).map_err(|error| Class::Refused.error(error))?;
            Ok(Box::new(Spin::default()))
        }
        other => Err(argument(format!("wait is \"{other}\": it must be hybrid, clock_nanosleep or spin"))),
    }
}

fn counts(snapshot: &Snapshot) -> Counts {
    let buckets = snapshot.buckets().map(Bucket::from);
    Counts::recorded(buckets, snapshot.min_ns.zip(snapshot.max_ns), snapshot.sum_ns, snapshot.sum_of_squares)
}
