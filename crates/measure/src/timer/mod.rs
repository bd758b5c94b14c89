//! `latency timer`: a periodic job, waited for by each method that Linux offers.

pub mod cache;
mod epoll;
mod futex;
mod io_uring;
mod method;
mod nanosleep;
mod on_each_cpu;
mod posix_timer;
mod select;
mod setitimer;
mod signal;
mod timerfd;
pub mod waits;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::phase::{self, Phase};
use ontick_rt::wait::{DUTY, Wait};
use ontick_rt::{Cycle, Overrun, cpus, watchdog};
use ontick_units::exact;

pub use method::Method;
pub use on_each_cpu::{Places, cases, find_phases, on_each_cpu, together};

use crate::observe::Part;
use crate::probe::{Probe, Sample};
use crate::restrict_affinity::Cpus;
use crate::{Error, Limits, Load, Observer, Placement, confined, series, session};

/// Who chose a fixed phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Chosen {
    /// Whoever asked for the job.
    #[default]
    Asked,
    /// Nobody: it was found as the quietest one, before the measurement.
    Found,
    /// The phases of the jobs beside it, from which it keeps off.
    Staggered,
}

/// A periodic job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job {
    /// Period, in ns.
    pub interval_ns: u64,
    /// How to wait.
    pub method: Method,
    /// Where in the period the deadlines lie.
    pub phase: Phase,
    /// Who chose that, where it is fixed.
    pub chosen: Chosen,
    /// What to do about periods that passed.
    pub overrun: Overrun,
    /// Largest share of the time to spin, for methods that do.
    pub duty: f64,
    /// The hybrid wait's margin before the deadline, in ns, within the duty; `None` where it learns one.
    pub margin_ns: Option<u64>,
}

impl Job {
    /// Every `interval_ns`, waited for by `method`, phase left to chance.
    pub fn new(interval_ns: u64, method: Method) -> Self {
        Self {
            interval_ns,
            method,
            phase: Phase::Chance,
            chosen: Chosen::Asked,
            overrun: Overrun::Skip,
            duty: DUTY,
            margin_ns: None,
        }
    }

    /// The longest that it may spin before a deadline, in ns.
    pub fn longest_spin_ns(&self) -> u64 {
        method::longest_spin_ns(self.interval_ns, self.duty)
    }

    /// Whether the job can have its margin: only the hybrid wait has one, above 0 and within what it may spin.
    pub fn check_margin(&self) -> Result<(), Error> {
        let longest_ns = self.longest_spin_ns();
        let why = match self.margin_ns {
            Some(0) => "the margin must be above 0".into(),
            Some(_) if self.method != Method::Hybrid => format!("{} has no margin, only the hybrid wait", self.method),
            Some(ns) if ns > longest_ns => {
                format!("the margin must be at most {}: the wait spins no longer before a deadline", exact(longest_ns))
            }
            _ => return Ok(()),
        };
        Err(Error::Impossible(why))
    }

    fn with_phase_that_can_be_found(self) -> Self {
        match self.phase {
            Phase::Auto if self.interval_ns > phase::LONGEST_SCANNED_NS => Self { phase: Phase::Chance, ..self },
            _ => self,
        }
    }

    /// The same at the quietest phase, which was found beforehand.
    fn at_found(self, phase_ns: u64) -> Self {
        Self { phase: Phase::Fixed(phase_ns), chosen: Chosen::Found, ..self }
    }

    /// On the thread that starts the measurement, and held until that has ended.
    fn reserve(&self) -> Result<Option<setitimer::Reserved>, Error> {
        let reserved = (self.method == Method::SetItimer).then(setitimer::reserve).transpose();
        reserved.map_err(Error::system("the alarm of setitimer(2)"))
    }

    /// The cycle, on the thread that will run it; its waits are `wait_ns` long.
    fn cycle(&self, wait_ns: u64, stop: &AtomicBool) -> Result<Cycle<Box<dyn Wait>>, Error> {
        let mut clock = Clock::new(ClockId::Monotonic);
        let phase = match self.phase {
            // Ctrl-C may already have come while the measurement before was ending.
            Phase::Auto if !stop.load(Relaxed) => {
                Phase::Fixed(phase::scan(&mut clock, phase::SCAN_NS).quietest(self.interval_ns))
            }
            other => other,
        };
        let wait = self.method.waiter(wait_ns, self.duty, self.margin_ns).map_err(Error::system(self.method.name()))?;
        Ok(Cycle::with_phase(clock, wait, self.interval_ns, phase, self.overrun))
    }

    /// What of the settings is the same however many waits a cycle has.
    fn describe<W: Wait>(&self, cycle: &mut Cycle<W>, began_ns: u64, settings: &mut Settings) {
        let elapsed_ns = (ClockId::Monotonic.now_ns() - began_ns).max(1);
        settings.method = self.method.name().into();
        settings.interval_ns = self.interval_ns;
        settings.phase_ns = Some(cycle.phase_ns());
        settings.phase_choice = match (self.phase, self.chosen) {
            (Phase::Chance, _) => "chance",
            (Phase::Fixed(_), Chosen::Asked) => "fixed",
            (Phase::Fixed(_), Chosen::Staggered) => "staggered",
            (Phase::Fixed(_), Chosen::Found) | (Phase::Auto, _) => "auto",
        }
        .into();
        settings.margin_ns = cycle.wait().margin_ns();
        settings.margin_fixed = self.margin_ns.is_some() && self.method == Method::Hybrid;
        settings.spin_duty = cycle.wait().spun_ns().map(|spun| spun as f64 / elapsed_ns as f64);
        settings.clock = cycle.clock().name();
    }

    pub(crate) fn check(&self, placement: Placement) -> Result<(), Error> {
        if self.interval_ns < 1_000 {
            return Err(Error::Impossible("the interval must be at least 1us: a clock read alone takes 0.02us".into()));
        }
        if self.interval_ns > 3_600_000_000_000 {
            return Err(Error::Impossible("the interval must be at most 1h".into()));
        }
        if let Phase::Fixed(phase_ns) = self.phase {
            if phase_ns >= self.interval_ns {
                return Err(Error::Impossible("the phase must be shorter than the interval".into()));
            }
        }
        if !(self.duty > 0.0 && self.duty <= 1.0) {
            return Err(Error::Impossible("the duty must be above 0% and at most 100%".into()));
        }
        if self.method.spins() && placement.policy.is_real_time() {
            watchdog::may_occupy(cpus::online().len())?;
        }
        Ok(())
    }
}

/// Farther from a deadline than three times this the thread naps for so long at a time, in ns, so that a run
/// of any interval can be ended.
const NAP_NS: u64 = 300_000_000;

/// Measures the job at `placement`.
pub fn measure(
    name: &str,
    job: Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    job.check(placement)?;
    let job = job.with_phase_that_can_be_found();
    let _reserved = job.reserve()?;
    let stop = observer.stop;
    let prepare = |_: &_| {
        let cycle = job.cycle(job.interval_ns, stop)?;
        Ok(Timer { cycle, job, began_ns: ClockId::Monotonic.now_ns() })
    };
    session::run(name, placement, limits, prepare, observer)
}

/// Measures several jobs of one interval in turn. `Phase::Auto` is resolved once, so that all have the same
/// phase and none has the better choice.
pub fn each(jobs: &[Job], placement: Placement, limits: Limits, observer: &mut Observer) -> Result<Vec<Series>, Error> {
    let auto = match jobs {
        [first, _, ..] if first.with_phase_that_can_be_found().phase == Phase::Auto => {
            Some(find_phase(first.interval_ns, placement)?)
        }
        _ => None,
    };
    series::each(jobs, observer, |job, observer| {
        let job = auto.map_or(*job, |phase_ns| job.at_found(phase_ns));
        measure(job.method.name(), job, placement, limits, observer)
    })
}

/// Measures several jobs of one interval with each number of CPUs in turn, the load beside them on the same ones: what is
/// left of a machine with one core (source 000), on one with more. All have the same phase.
pub fn with_each_cpus(
    jobs: &[Job],
    cpus: &[Cpus],
    load: &Load,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    confined::check(cpus, load)?;
    let auto = match jobs {
        [first, ..] if first.with_phase_that_can_be_found().phase == Phase::Auto => {
            Some(find_phase(first.interval_ns, placement)?)
        }
        _ => None,
    };
    let share = 1.0 / (cpus.len() * jobs.len()).max(1) as f64;
    let mut begun = 0;
    confined::with_each(cpus, load, placement.cpu, observer, |count, observer| {
        let mut all = Vec::new();
        for job in jobs {
            if observer.stopped() {
                break;
            }
            observer.begin(Part { series: begun, from: begun as f64 * share, share });
            begun += 1;
            let name = confined::name(job.method.name(), count, cpus);
            let job = auto.map_or(*job, |phase_ns| job.at_found(phase_ns));
            let came = measure(&name, job, placement, limits, observer);
            let Some(series) = observer.or_end(came, begun > 1)? else { break };
            all.push(series);
        }
        Ok(all)
    })
}

/// How long looking for a phase takes, in ns.
pub const FIND_PHASE_NS: u64 = phase::SCAN_NS;

/// The quietest phase for `interval_ns` at `placement`, in ns, found on a thread set up as the job's will be.
pub fn find_phase(interval_ns: u64, placement: Placement) -> Result<u64, Error> {
    placement.check()?;
    std::thread::scope(|scope| {
        let scan = scope.spawn(|| {
            let _ready = placement.take();
            phase::scan(&mut Clock::new(ClockId::Monotonic), phase::SCAN_NS).quietest(interval_ns)
        });
        Ok(scan.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

struct Timer {
    cycle: Cycle<Box<dyn Wait>>,
    job: Job,
    began_ns: u64,
}

impl Probe for Timer {
    #[inline]
    fn next(&mut self) -> Sample {
        if let Some(now_ns) = self.cycle.approach(NAP_NS) {
            return Sample::nap(now_ns);
        }
        let tick = self.cycle.next();
        Sample {
            now_ns: tick.now_ns,
            latency_ns: Some(tick.latency_ns()),
            missed: tick.missed,
            early_ns: tick.early_ns(),
            napped: false,
        }
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(self.cycle.clock())
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.job.describe(&mut self.cycle, self.began_ns, settings);
    }

    fn is_described_first(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests;
