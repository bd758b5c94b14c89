//! A pulse in every period, for as long as it is wanted: what a servo or a dimmed lamp needs. Period and width may be changed
//! meanwhile, and the next period is the first that has them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use ontick_gpio::{Backend, Gone, Line, Name, Request};
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::ThreadSetup;
use ontick_rt::{cpus, watchdog};

use super::Method;
use super::driver::PulseDriver;
use super::pace::Pace;
use super::setpoint::{Modulation, Setpoint};
use crate::probe::{Probe, Sample};
use crate::{Error, Length, Limits, Observer, Placement, session};

/// An edge that comes later than this after it was due is late, in ns.
pub const LATE_NS: u64 = 10_000;

/// How exact the edges were, by the program's own clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modulated {
    /// Periods that there were.
    pub periods: u64,
    /// Periods that were left out, as the time of the one after had come too.
    pub missed: u64,
    /// Edges that were made.
    pub edges: u64,
    /// Of these, those that came more than [`LATE_NS`] after they were due.
    pub late: u64,
    /// By how much the latest came after it was due, in ns.
    pub latest_ns: u64,
    /// What is behind the line, once it was had.
    pub backend: Option<Backend>,
    /// Why it ended before its time.
    pub gone: Option<Gone>,
    /// What the timed thread was refused.
    pub refused: Vec<String>,
    /// What else is to be said of the run.
    pub notes: Vec<String>,
}

/// Written by the timed thread alone.
#[derive(Debug, Default)]
struct Tally {
    periods: AtomicU64,
    edges: AtomicU64,
    late: AtomicU64,
    latest_ns: AtomicU64,
    backend: OnceLock<Backend>,
    gone: OnceLock<Gone>,
}

impl Tally {
    #[inline]
    fn edge(&self, late_ns: u64) {
        add(&self.edges, 1);
        add(&self.late, (late_ns > LATE_NS).into());
        self.latest_ns.store(self.latest_ns.load(Relaxed).max(late_ns), Relaxed);
    }
}

/// Without a locked instruction: there is one writer.
#[inline]
fn add(cell: &AtomicU64, n: u64) {
    cell.store(cell.load(Relaxed) + n, Relaxed);
}

/// Makes the pulses on a thread at `placement`, until `limit_ns` has passed or the observer ends it; then the line is left as
/// `request` says. A pulse that has begun is made whole.
pub fn modulate(
    line: &Name,
    request: &Request,
    setpoint: &Arc<Setpoint>,
    placement: Placement,
    limit_ns: Option<u64>,
    observer: &mut Observer,
) -> Result<Modulated, Error> {
    if placement.policy.is_real_time() {
        watchdog::may_occupy(cpus::online().len())?;
    }
    let tally = Arc::new(Tally::default());
    let limits = Limits::new(Length::Duration(limit_ns.unwrap_or(u64::MAX)));
    let prepare = |_: &ThreadSetup| Modulator::start(line, request, setpoint.clone(), limit_ns, tally.clone());
    let series = session::run("pwm", placement, limits, prepare, observer)?;
    let gone = tally.gone.get().copied();
    Ok(Modulated {
        periods: tally.periods.load(Relaxed),
        missed: series.missed,
        edges: tally.edges.load(Relaxed),
        late: tally.late.load(Relaxed),
        latest_ns: tally.latest_ns.load(Relaxed),
        backend: tally.backend.get().copied(),
        gone,
        refused: series.settings.refused,
        // Why it ended is said by itself.
        notes: if gone.is_none() { observer.take_notes() } else { Vec::new() },
    })
}

/// Makes one period after the other.
struct Modulator {
    driver: PulseDriver,
    pace: Pace,
    clock: Clock,
    setpoint: Arc<Setpoint>,
    now: Modulation,
    limit_ns: Option<u64>,
    /// When no further period begins, once the first was there.
    end_ns: Option<u64>,
    tally: Arc<Tally>,
    name: Name,
}

impl Modulator {
    fn start(
        name: &Name,
        request: &Request,
        setpoint: Arc<Setpoint>,
        limit_ns: Option<u64>,
        tally: Arc<Tally>,
    ) -> Result<Self, Error> {
        let line = Line::open(name, request)?;
        let _ = tally.backend.set(line.backend());
        let mut clock = Clock::new(ClockId::Monotonic);
        let now = setpoint.get();
        let pace = Pace::new(&Method::Hybrid, now.width_ns(), now.period_ns() - now.width_ns(), clock.now_ns());
        let (driver, name) = (PulseDriver::Line(line), name.clone());
        Ok(Self { driver, pace, clock, setpoint, now, limit_ns, end_ns: None, tally, name })
    }

    fn period(&mut self) -> Result<Sample, Gone> {
        let missed = self.pace.between(&mut self.clock);
        let due_ns = self.pace.due_ns().unwrap_or_else(|| self.clock.now_ns());
        if self.end_ns.is_some_and(|end_ns| due_ns >= end_ns) {
            return Ok(Sample::nap(self.clock.now_ns()));
        }
        let wanted = self.setpoint.get();
        if wanted.period_ns() != self.now.period_ns() {
            self.pace.change_period(wanted.period_ns());
        }
        self.now = wanted;
        let latency_ns = self.make(due_ns)?;
        add(&self.tally.periods, 1);
        let now_ns = self.clock.now_ns();
        if self.end_ns.is_none() {
            self.end_ns = self.limit_ns.map(|limit_ns| now_ns.saturating_add(limit_ns));
        }
        Ok(Sample { now_ns, latency_ns, missed, early_ns: 0, napped: false })
    }

    /// The pulse of the period that began at `due_ns`; by how much the later of its edges was late, if it has any.
    fn make(&mut self, due_ns: u64) -> Result<Option<u64>, Gone> {
        let (period_ns, width_ns) = (self.now.period_ns(), self.now.width_ns());
        if width_ns == 0 || width_ns == period_ns {
            self.driver.hold(width_ns > 0)?;
            return Ok(None);
        }
        let driven = self.driver.pulse(&mut self.pace, &mut self.clock, width_ns)?;
        let rose_late_ns = driven.before_ns.saturating_sub(due_ns);
        let fell_late_ns = driven.after_ns.saturating_sub(driven.before_ns + width_ns);
        self.tally.edge(rose_late_ns);
        self.tally.edge(fell_late_ns);
        Ok(Some(rose_late_ns.max(fell_late_ns)))
    }
}

impl Probe for Modulator {
    fn next(&mut self) -> Sample {
        self.period().unwrap_or_else(|gone| {
            let _ = self.tally.gone.set(gone);
            Sample::nap(self.clock.now_ns())
        })
    }

    /// Each pulse moves something.
    fn may_practise(&self) -> bool {
        false
    }

    fn failure(&mut self) -> Option<Error> {
        self.tally.gone.get().map(|gone| Error::Gone { line: self.name.clone(), gone: *gone })
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = Method::Hybrid.name().into();
        settings.interval_ns = self.now.period_ns();
        settings.margin_ns = self.pace.margin_ns();
        settings.clock = self.clock.name();
        settings.line = Some(self.name.to_string());
        settings.backend = self.tally.backend.get().map(ToString::to_string);
    }
}

#[cfg(test)]
mod tests;
