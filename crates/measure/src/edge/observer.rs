//! The timed side: seeing edges.

use ontick_gpio::{Edges, Gone, Line};
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};

use super::driver::Driver;
use super::{Job, Method};
use crate::clock_readings::Timing;
use crate::probe::{Probe, Sample};
use crate::{Error, Placement};

/// Without an edge for so long the thread rests: a run can be ended then, and other tasks on the CPU get
/// their share. In ns.
const PATIENCE_NS: u64 = 50_000_000;
/// The kernel's time stamp of an edge and this program's of its cause may be apart by this, in ns.
const SKEW_NS: u64 = 1_000;

/// One who polls would never leave the CPU: a tenth of the time is slept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Who sleeps for every edge needs none.
    Never,
    /// After every edge, this long in ns: the next one is far enough.
    Always(u64),
    /// Edges come too fast to sleep between them: after a stretch of them, and those that come meanwhile are
    /// left out. When it is due, in ns.
    Due(u64),
}

/// A stretch with its rest, in ns.
const STRETCH_NS: u64 = 20_000_000;
/// Edges further apart than this leave time to sleep between them, in ns.
const FAR_APART_NS: u64 = 500_000;

impl Rest {
    fn of(job: &Job) -> Self {
        match job.method {
            Method::Interrupt => Rest::Never,
            Method::Poll | Method::InterruptBusy if job.interval_ns >= FAR_APART_NS => {
                Rest::Always(job.interval_ns / 10)
            }
            Method::Poll | Method::InterruptBusy => Rest::Due(0),
        }
    }
}

/// Sees edges, one after the other.
pub struct EdgeObserver {
    driver: Driver,
    job: Job,
    line: Line,
    clock: Clock,
    driver_cpu: Option<u32>,
    level: bool,
    /// Number of the last edge that was seen.
    seen: u64,
    rest: Rest,
    gone: Option<Gone>,
}

impl EdgeObserver {
    pub fn start(job: &Job, driver_placement: Placement) -> Result<Self, Error> {
        let edges = if job.method == Method::Poll { Edges::None } else { Edges::Both };
        let drive = job.wiring.open_drive()?;
        let line = job.wiring.open_see(edges)?;
        let driver = Driver::start(drive, job.interval_ns, driver_placement)?;
        let clock = Clock::new(ClockId::Monotonic);
        driver.go();
        let (rest, job, driver_cpu) = (Rest::of(job), job.clone(), driver_placement.cpu);
        Ok(Self { driver, job, line, clock, driver_cpu, level: false, seen: 0, rest, gone: None })
    }

    /// Waits for the next edge: the level after it, until when it must have been made, and the time now.
    fn await_edge(&mut self) -> Result<Option<(bool, u64, u64)>, Gone> {
        let patience_ns = self.clock.now_ns() + PATIENCE_NS;
        match self.job.method {
            Method::Poll => self.poll(patience_ns),
            Method::Interrupt => self.notified(patience_ns),
            Method::InterruptBusy => self.ask(patience_ns),
        }
    }

    fn poll(&mut self, patience_ns: u64) -> Result<Option<(bool, u64, u64)>, Gone> {
        loop {
            let level = self.line.read()?;
            let now_ns = self.clock.now_ns();
            if level != self.level {
                return Ok(Some((level, now_ns, now_ns)));
            }
            if now_ns > patience_ns {
                return Ok(None);
            }
        }
    }

    fn notified(&mut self, patience_ns: u64) -> Result<Option<(bool, u64, u64)>, Gone> {
        let edge = self.line.edge(patience_ns)?;
        let now_ns = self.clock.now_ns();
        Ok(edge.map(|edge| (edge.rising, edge.time_ns + SKEW_NS, now_ns)))
    }

    fn ask(&mut self, patience_ns: u64) -> Result<Option<(bool, u64, u64)>, Gone> {
        loop {
            let seen = self.notified(0)?;
            if seen.is_some() || self.clock.now_ns() > patience_ns {
                return Ok(seen);
            }
        }
    }

    fn rest(&mut self, now_ns: u64) -> Result<(), Gone> {
        match self.rest {
            Rest::Never => {}
            Rest::Always(ns) => {
                self.sleep(ns);
            }
            Rest::Due(due_ns) if now_ns < due_ns => {}
            Rest::Due(_) => {
                let now_ns = self.sleep(STRETCH_NS / 10);
                self.catch_up()?;
                self.rest = Rest::Due(now_ns + STRETCH_NS * 9 / 10);
            }
        }
        Ok(())
    }

    fn sleep(&mut self, ns: u64) -> u64 {
        let until_ns = self.clock.now_ns() + ns;
        self.clock.id().sleep_until(until_ns);
        self.clock.resync()
    }

    /// Passes over the edges that came during a rest.
    fn catch_up(&mut self) -> Result<(), Gone> {
        match self.job.method {
            Method::Poll => self.level = self.line.read()?,
            Method::Interrupt | Method::InterruptBusy => {
                while let Some(edge) = self.line.edge(0)? {
                    self.level = edge.rising;
                }
            }
        }
        let now_ns = self.clock.now_ns();
        self.seen = self.driver.causes.of(self.level, now_ns, self.seen).map_or(self.seen, |cause| cause.number);
        Ok(())
    }

    fn see(&mut self) -> Result<Sample, Gone> {
        let Some((level, until_ns, now_ns)) = self.await_edge()? else {
            return Ok(Sample::nap(self.sleep(PATIENCE_NS / 10)));
        };
        self.level = level;
        // None: the newest of its level was seen already, so this is an edge that the driver did not make.
        let Some(cause) = self.driver.causes.of(level, until_ns, self.seen) else {
            return Ok(Sample::nap(now_ns));
        };
        let missed = cause.number - self.seen - 1;
        self.seen = cause.number;
        self.rest(now_ns)?;
        Ok(Sample { now_ns, latency_ns: Some(now_ns.saturating_sub(cause.at_ns)), missed, early_ns: 0, napped: false })
    }
}

impl Probe for EdgeObserver {
    fn next(&mut self) -> Sample {
        self.see().unwrap_or_else(|gone| {
            self.gone = Some(gone);
            Sample::nap(self.clock.now_ns())
        })
    }

    fn failure(&mut self) -> Option<Error> {
        if let Some(gone) = self.gone {
            return Some(Error::Gone { line: self.job.wiring.see.clone(), gone });
        }
        let gone = Gone(rustix::io::Errno::NODEV);
        self.driver.causes.gone().then(|| Error::Gone { line: self.job.wiring.drive.clone(), gone })
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(&mut self.clock)
    }

    fn timing(&self) -> Timing {
        Timing::Between
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = self.job.method.name().into();
        settings.interval_ns = self.job.interval_ns;
        settings.peer_cpu = self.driver_cpu;
        settings.clock = self.clock.name();
        self.job.wiring.describe(&self.line, settings);
    }
}
