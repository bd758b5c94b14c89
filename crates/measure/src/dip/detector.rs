//! A thread that drives dips, and one that detects their edges.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;

use ontick_gpio::{Edges, Gone, Line, Request};
use ontick_record::run::DipPoint;
use ontick_rt::clock::{Clock, ClockId, sleep_for};
use ontick_rt::thread::block_signals;

use super::Job;
use super::train::{Detected, Driven, count};
use crate::edge::Method;
use crate::{Error, Placement};

/// The line rests at least so long between dips, in ns, and as long as a dip.
const GAP_NS: u64 = 500_000;
/// The detecting thread ends within this, in ns.
const PATIENCE_NS: u64 = 5_000_000;
/// A dip may be too long by half a step or this, in ns.
const TOLERANCE_NS: u64 = 500;
/// No thread spins for longer than this, in ns.
const BATCH_NS: u64 = 300_000_000;
/// A real-time thread that polls leaves its CPU after that for this share of the time.
const RESTED: u64 = 9;
/// Sleeping takes so much longer than asked, in ns, as a rule.
const OVERSLEPT_NS: u64 = 100_000;
/// Opening lines and starting threads takes about this, in ns.
const BESIDE_NS: u64 = 20_000_000;
/// Of the dips of a trial that takes too long this share is driven.
const LEAST_SHARE: u32 = 4;

/// How long a trial of so many dips takes, in ns, as a rule.
pub fn trial_ns(width_ns: u64, dips: u32) -> u64 {
    let each_ns = GAP_NS.max(width_ns) + OVERSLEPT_NS + width_ns;
    let timed_ns = u64::from(dips) * each_ns + PATIENCE_NS + BESIDE_NS;
    timed_ns + timed_ns / RESTED
}

/// What dips of one width showed.
pub struct Trial {
    /// Those that were driven as they should be.
    pub point: DipPoint,
    /// All that were driven.
    pub driven: u32,
    /// What the lines are.
    pub backend: String,
}

/// The two threads' places.
pub struct Detector<'a> {
    pub job: &'a Job,
    pub placement: Placement,
    pub driver: Placement,
}

impl Detector<'_> {
    /// Drives the job's dips and counts what was detected of them. From `until_ns` on it drives a part of them only.
    pub fn trial(&self, width_ns: u64, until_ns: u64) -> Result<Trial, Error> {
        let at_once = (BATCH_NS / (GAP_NS.max(width_ns) + width_ns)).max(1) as u32;
        let all = self.job.dips;
        let mut trial =
            Trial { point: DipPoint { width_ns, ..DipPoint::default() }, driven: 0, backend: String::new() };
        loop {
            let least = (all / LEAST_SHARE).max(1).saturating_sub(trial.driven);
            let batch = self.batch(width_ns, (all - trial.driven).min(at_once), least, until_ns)?;
            let (point, of) = (&mut trial.point, batch.point);
            (point.dips, point.both, point.one) = (point.dips + of.dips, point.both + of.both, point.one + of.one);
            (trial.driven, trial.backend) = (trial.driven + batch.driven, batch.backend);
            let late = trial.driven >= all / LEAST_SHARE && ClockId::Monotonic.now_ns() >= until_ns;
            if trial.driven >= all || late {
                return Ok(trial);
            }
        }
    }

    fn batch(&self, width_ns: u64, dips: u32, least: u32, until_ns: u64) -> Result<Trial, Error> {
        let wiring = &self.job.wiring;
        let drive = Line::open(&wiring.drive, &Request::output(true).on_exit(wiring.on_exit))?;
        let edges = if self.job.method == Method::Poll { Edges::None } else { Edges::Both };
        let see = Line::open(&wiring.see, &Request::input().edges(edges))?;
        let backend = see.backend().to_string();
        let done = AtomicBool::new(false);
        let began_ns = ClockId::Monotonic.now_ns();
        let (driven, detected) = std::thread::scope(|scope| {
            let (ready, listening) = channel();
            let detecting = scope.spawn({
                let done = &done;
                move || {
                    block_signals();
                    let _ready = self.placement.take_and_settle();
                    let _ = ready.send(());
                    detect(see, self.job.method, done)
                }
            });
            let _ = listening.recv();
            let driving = scope.spawn(|| {
                block_signals();
                let _ready = self.driver.take_and_settle();
                let driven = drive_dips(drive, width_ns, dips, |driven, now_ns| driven < least || now_ns < until_ns);
                // What was notified meanwhile is still to be fetched.
                sleep_for(PATIENCE_NS);
                done.store(true, Ordering::Release);
                driven
            });
            (driving.join(), detecting.join())
        });
        let ended = |what| Error::Impossible(format!("the {what} thread ended early"));
        let gone = |line: &ontick_gpio::Name| {
            let line = line.clone();
            move |gone| Error::Gone { line, gone }
        };
        let driven = driven.map_err(|_| ended("driving"))?.map_err(gone(&wiring.drive))?;
        let detected = detected.map_err(|_| ended("detecting"))?.map_err(gone(&wiring.see))?;
        sleep_for((ClockId::Monotonic.now_ns() - began_ns) / RESTED);
        let tolerance_ns = (self.job.range.step_ns / 2).max(TOLERANCE_NS);
        let point = count(width_ns, tolerance_ns, &driven, &detected);
        Ok(Trial { point, driven: driven.len() as u32, backend })
    }
}

fn drive_dips(mut line: Line, width_ns: u64, dips: u32, go_on: impl Fn(u32, u64) -> bool) -> Result<Vec<Driven>, Gone> {
    let mut clock = Clock::new(ClockId::Monotonic);
    let mut driven = Vec::with_capacity(dips as usize);
    for n in 0..dips {
        if !go_on(n, clock.now_ns()) {
            break;
        }
        sleep_for(GAP_NS.max(width_ns));
        let fall_ns = clock.resync();
        line.write(false)?;
        // A write takes as long whatever the level: from the beginning of one to that of the other it is as long as the
        // line is low.
        let mut rise_ns = clock.now_ns();
        while rise_ns - fall_ns < width_ns {
            std::hint::spin_loop();
            rise_ns = clock.now_ns();
        }
        line.write(true)?;
        driven.push(Driven { fall_ns, width_ns: rise_ns - fall_ns });
    }
    Ok(driven)
}

fn detect(mut line: Line, method: Method, done: &AtomicBool) -> Result<Vec<Detected>, Gone> {
    let mut clock = Clock::new(ClockId::Monotonic);
    let (mut detected, mut level) = (Vec::new(), true);
    while !done.load(Ordering::Acquire) {
        match method {
            Method::Poll => {
                let rising = line.read()?;
                if rising != level {
                    level = rising;
                    detected.push(Detected { rising, time_ns: clock.now_ns() });
                }
            }
            Method::Interrupt | Method::InterruptBusy => {
                let busy = method == Method::InterruptBusy;
                let deadline_ns = if busy { 0 } else { clock.now_ns() + PATIENCE_NS };
                if let Some(edge) = line.edge(deadline_ns)? {
                    detected.push(Detected { rising: edge.rising, time_ns: edge.time_ns });
                }
            }
        }
    }
    Ok(detected)
}
