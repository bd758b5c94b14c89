//! `latency dip`: the shortest time for which an input falls and rises again that is still detected.
//!
//! Source 002 found that an input that drops and rises within several dozen us raises no interrupt at all.
//!
//! How many trials a search needs depends on what it finds. Each has its time, in which it confirms what it found.

mod detector;
mod search;
mod train;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use ontick_record::run::{Dip, DipPoint, Maxima, Series, Settings};
use ontick_record::{Case, Histogram};
use ontick_rt::clock::ClockId;
use ontick_rt::{cpus, watchdog};

pub use search::Range;

use crate::edge::{Method, Wiring};
use crate::{Error, Observer, Placement};
use detector::{Detector, trial_ns};

/// What is measured.
#[derive(Debug, Clone)]
pub struct Job {
    /// The two lines.
    pub wiring: Wiring,
    /// How the edges are detected.
    pub method: Method,
    /// The widths that are searched.
    pub range: Range,
    /// Dips of each width.
    pub dips: u32,
    /// The share of them that must be detected.
    pub share: f64,
    /// CPU of the driving thread; `None`: the first other one.
    pub driver_cpu: Option<u32>,
}

/// The shortest dip, in ns.
const SHORTEST_NS: u64 = 100;
/// The longest, in ns: the driving thread spins through each.
const LONGEST_NS: u64 = 10_000_000;
/// Searches of a series: of the shortest dip of which both edges are detected, and of which one is.
const SEARCHES: u64 = 2;
/// A search has time for as many of its trials: noise makes it try again, and a load makes each trial longer.
const ROUNDS: u64 = 2;

impl Job {
    fn check(&self, placement: Placement) -> Result<(), Error> {
        let Range { low_ns, high_ns, step_ns } = self.range;
        if step_ns == 0 {
            return Err(Error::Impossible("the step between widths of dips must be above 0".into()));
        }
        if low_ns < SHORTEST_NS || high_ns > LONGEST_NS || low_ns > high_ns {
            return Err(Error::Impossible("the widths of dips must be from 100ns to 10ms, the shortest first".into()));
        }
        // The driving thread spins on one CPU, and who polls on another.
        if placement.policy.is_real_time() {
            watchdog::may_occupy(cpus::online().len())?;
        }
        Ok(())
    }

    /// How long it takes on the clock, in ns, a load's start aside.
    pub fn takes_ns(&self) -> u64 {
        let Range { low_ns, high_ns, step_ns } = self.range;
        if step_ns == 0 || low_ns > high_ns {
            return 0;
        }
        let trial_ns = trial_ns(low_ns.midpoint(high_ns), self.dips);
        SEARCHES.saturating_mul(ROUNDS * self.range.trials()).saturating_mul(trial_ns)
    }

    /// What tells its series from the others of a run.
    pub fn case(&self, loaded: bool) -> Case {
        Case { method: Some(self.method.name().into()), loaded: Some(loaded), ..Case::default() }
    }
}

/// Searches the shortest dip of which both edges are detected, and the shortest of which one is, until this time on the
/// monotonic clock.
pub fn measure(
    job: &Job,
    loaded: bool,
    until_ns: u64,
    placement: Placement,
    observer: &mut Observer,
) -> Result<Series, Error> {
    job.check(placement)?;
    placement.check()?;
    let driver = placement.peer(job.driver_cpu.map(|cpu| (cpu, "--from-cpu")), "a dip from one CPU to another")?;
    job.wiring.try_out()?;
    let mut search = Search {
        detector: Detector { job, placement, driver },
        name: Series::from(job.case(loaded)).name,
        began_ns: now_ns(),
        until_ns,
        points: BTreeMap::new(),
        backend: None,
        observer,
    };
    let both_ns = search.shortest(job.range, SEARCHES, |point| point.both)?;
    // One edge of a dip is detected wherever both are.
    let of_one = Range { high_ns: both_ns.unwrap_or(job.range.high_ns), ..job.range };
    let one_ns = search.shortest(of_one, 1, |point| point.one)?.or(both_ns);
    let Search { points, backend, .. } = search;
    let points = points.into_values().collect();
    let Range { low_ns, high_ns, step_ns } = job.range;
    let case = job.case(loaded);
    let mut series = Series::from(case);
    series.dip = Some(Dip { share: job.share, low_ns, high_ns, step_ns, both_ns, one_ns, points });
    series.settings = Settings {
        method: job.method.name().into(),
        peer_cpu: driver.cpu,
        line: Some(job.wiring.drive.to_string()),
        watched_line: Some(job.wiring.see.to_string()),
        backend,
        ..Settings::default()
    };
    Ok(series)
}

fn now_ns() -> u64 {
    ClockId::Monotonic.now_ns()
}

/// The searches of a series, one after the other.
struct Search<'a, 'o> {
    detector: Detector<'a>,
    name: String,
    began_ns: u64,
    until_ns: u64,
    points: BTreeMap<u64, DipPoint>,
    backend: Option<String>,
    observer: &'a mut Observer<'o>,
}

impl Search<'_, '_> {
    /// The shortest dip of which enough are `detected`, in an equal share of the time that is left for so many searches.
    fn shortest(&mut self, range: Range, searches: u64, detected: fn(&DipPoint) -> u64) -> Result<Option<u64>, Error> {
        let began_ns = now_ns();
        let window_ns = (self.until_ns.saturating_sub(began_ns) / searches).max(1);
        let trial_ns = window_ns / range.trials();
        let elapsed = || (now_ns() - began_ns) as f64 / window_ns as f64;
        range.shortest(elapsed, |width_ns| self.holds(width_ns, now_ns() + trial_ns, detected))
    }

    fn holds(&mut self, width_ns: u64, until_ns: u64, detected: fn(&DipPoint) -> u64) -> Result<bool, Error> {
        if self.observer.stop.load(Relaxed) {
            return Err(Error::Impossible("the search was ended before it found the shortest dip".into()));
        }
        let elapsed_ns = now_ns() - self.began_ns;
        let done = elapsed_ns as f64 / self.until_ns.saturating_sub(self.began_ns).max(1) as f64;
        let nothing = (Histogram::default(), Maxima::default());
        self.observer.show(&self.name, Duration::from_nanos(elapsed_ns), Some(done), &nothing.0, 0, &nothing.1);
        let trial = self.detector.trial(width_ns, until_ns)?;
        let point = trial.point;
        self.backend = Some(trial.backend);
        // Where hardly any could be driven so short, nothing is known.
        if point.dips * 2 < trial.driven.into() {
            return Ok(false);
        }
        let held = detected(&point) as f64 >= self.detector.job.share * point.dips as f64;
        let all = self.points.entry(width_ns).or_insert_with(|| DipPoint { width_ns, ..DipPoint::default() });
        (all.dips, all.both, all.one) = (all.dips + point.dips, all.both + point.both, all.one + point.one);
        Ok(held)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use ontick_gpio::{Name, OnExit, sim};

    use super::*;

    /// A simulated line notifies of no edge within its dead time of another, however late anybody is: dips that last
    /// longer than they should are left out.
    #[test]
    fn the_dead_time_of_a_simulated_line_is_found() {
        if cpus::allowed().len() < 2 {
            return;
        }
        let chip = format!("dip-{}", std::process::id());
        let line = |line| Name::Sim { chip: chip.clone(), line };
        let wiring = Wiring { drive: line(4), see: line(17), on_exit: OnExit::Low };
        let dead_time_ns = 350_000;
        sim::wire(&wiring.drive, &wiring.see, sim::Wire { dead_time_ns, ..sim::Wire::default() }).unwrap();
        let range = Range { low_ns: 100_000, high_ns: 900_000, step_ns: 100_000 };
        let job = Job { wiring, method: Method::Interrupt, range, dips: 20, share: 0.9, driver_cpu: None };
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let placement = Placement { cpu: Some(cpus::preferred()), ..Placement::stock() };
        let takes_ns = job.takes_ns();
        // Other work may leave too few dips as short as they were to be, so that a longer one is found; never a shorter one.
        let undisturbed = (0..3).any(|_| {
            let began_ns = now_ns();
            let series = measure(&job, false, began_ns + takes_ns, placement, &mut observer).unwrap();
            // A busy machine makes it longer, and none makes it shorter.
            assert!(now_ns() - began_ns >= takes_ns / 100 * 85, "{takes_ns}");
            let dip = series.dip.unwrap();
            assert!(dip.both_ns.is_none_or(|both_ns| both_ns >= 400_000), "{:?}", dip.points);
            (dip.both_ns, dip.one_ns) == (Some(400_000), Some(100_000))
        });
        assert!(undisturbed);
        assert!(!sim::line_states(&chip).unwrap()[4].level, "left low");
        sim::remove(&chip).unwrap();
    }

    #[test]
    fn widths_that_cannot_be_are_refused() {
        let line = |line| Name::Sim { chip: "none".into(), line };
        let wiring = Wiring { drive: line(4), see: line(17), on_exit: OnExit::Low };
        let range = "from 100ns to 10ms";
        for (low_ns, high_ns, step_ns, why) in [
            (1, 10, 1, range),
            (2_000, 1_000, 100, range),
            (1_000, 20_000_000, 1_000, range),
            (200, 300, 0, "the step between"),
        ] {
            let range = Range { low_ns, high_ns, step_ns };
            let job =
                Job { wiring: wiring.clone(), method: Method::Poll, range, dips: 1, share: 1.0, driver_cpu: None };
            let error = job.check(Placement::stock()).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
