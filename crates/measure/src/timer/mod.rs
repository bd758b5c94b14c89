//! `latency timer`: a periodic job, waited for by each method that Linux offers.

mod epoll;
mod futex;
mod io_uring;
mod method;
mod nanosleep;
mod posix_timer;
mod select;
mod setitimer;
mod signal;
mod timerfd;

use std::sync::atomic::Ordering::Relaxed;

use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::phase::{self, Phase};
use ontick_rt::wait::{DUTY, Wait};
use ontick_rt::{Cycle, Overrun, cpus, watchdog};

pub use method::{Method, MethodError};

use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Placement, series, session};

/// A periodic job.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job {
    /// Period, in ns.
    pub interval_ns: u64,
    /// How to wait.
    pub method: Method,
    /// Where in the period the deadlines lie.
    pub phase: Phase,
    /// What to do about periods that passed.
    pub overrun: Overrun,
    /// Largest share of the time to spin, for methods that do.
    pub duty: f64,
}

impl Job {
    /// Every `interval_ns`, waited for by `method`, phase left to chance.
    pub fn new(interval_ns: u64, method: Method) -> Self {
        Self { interval_ns, method, phase: Phase::Chance, overrun: Overrun::Skip, duty: DUTY }
    }

    fn with_phase_that_can_be_found(self) -> Self {
        match self.phase {
            Phase::Auto if self.interval_ns > phase::LONGEST_SCANNED_NS => Self { phase: Phase::Chance, ..self },
            _ => self,
        }
    }

    fn check(&self, placement: Placement) -> Result<(), Error> {
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
    if job.method == Method::SetItimer {
        setitimer::reserve();
    }
    let stop = observer.stop;
    let prepare = |_: &_| {
        let mut clock = Clock::new(ClockId::Monotonic);
        let phase = match job.phase {
            // Ctrl-C may already have come while the measurement before was ending.
            Phase::Auto if !stop.load(Relaxed) => {
                Phase::Fixed(phase::scan(&mut clock, phase::SCAN_NS).quietest(job.interval_ns))
            }
            other => other,
        };
        let wait = job.method.waiter(job.interval_ns, job.duty).map_err(Error::system(job.method.name()))?;
        let cycle = Cycle::with_phase(clock, wait, job.interval_ns, phase, job.overrun);
        Ok(Timer { cycle, job, began_ns: ClockId::Monotonic.now_ns() })
    };
    session::run(name, placement, limits, prepare, observer)
}

/// Measures several jobs of one interval in turn. `Phase::Auto` is resolved once, so that all have the same
/// phase and none has the better choice.
pub fn each(jobs: &[Job], placement: Placement, limits: Limits, observer: &mut Observer) -> Result<Vec<Series>, Error> {
    let auto = match jobs {
        [first, _, ..] if first.with_phase_that_can_be_found().phase == Phase::Auto => {
            Some(Phase::Fixed(find_phase(first.interval_ns, placement)?))
        }
        _ => None,
    };
    series::each(jobs, observer, |job, observer| {
        let job = Job { phase: auto.unwrap_or(job.phase), ..*job };
        let mut series = measure(job.method.name(), job, placement, limits, observer)?;
        if auto.is_some() {
            series.settings.phase_choice = "auto".into();
        }
        Ok(series)
    })
}

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
            early: tick.early(),
            napped: false,
        }
    }

    fn describe(&mut self, settings: &mut Settings) {
        let elapsed_ns = (ClockId::Monotonic.now_ns() - self.began_ns).max(1);
        settings.method = self.job.method.name().into();
        settings.interval_ns = self.job.interval_ns;
        settings.phase_ns = Some(self.cycle.phase_ns());
        settings.phase_choice = match self.job.phase {
            Phase::Chance => "chance",
            Phase::Fixed(_) => "fixed",
            Phase::Auto => "auto",
        }
        .into();
        settings.margin_ns = self.cycle.wait().margin_ns();
        settings.spin_duty = self.cycle.wait().spun_ns().map(|spun| spun as f64 / elapsed_ns as f64);
        settings.clock = self.cycle.clock().name();
    }
}
