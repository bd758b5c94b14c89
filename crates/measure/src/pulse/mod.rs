//! Trains of pulses on a line, and how wide they really are.
//!
//! The width is reported by the line itself wherever something can look at it (`observer`): a program that reads the
//! clock around its own writes sees its own delays only.

mod calibrate;
mod driven;
mod driver;
mod edges;
mod ending;
mod first;
mod method;
mod modulation;
mod observer;
mod pace;
mod pwm;
mod running;
mod setpoint;
mod spi;
mod table;
mod train;
mod trains;
mod watcher;
mod widths;

use std::sync::OnceLock;

use ontick_gpio::{Name, OnExit};
use ontick_record::run::{Pulse, Series, Settings};
use ontick_rt::thread::ThreadSetup;
use ontick_rt::wait::DUTY;
use ontick_rt::{cpus, watchdog};

pub use calibrate::{calibrated, names_of_calibrated};
pub use method::Method;
pub use modulation::{LATE_NS, Modulated, modulate};
pub use pwm::{Channel, modulate_by};
pub use setpoint::{Modulation, Setpoint};
pub use spi::{Device, Pattern, pattern};
pub use table::Table;
pub use trains::Trains;

use crate::edge::Wiring;
use crate::kmod::{Timer, TrainRequest, Undisturbed};
use crate::pru;
use crate::{Error, Limits, Observer, Placement, session};
use running::Running;
use train::Train;

/// The shortest pulse and gap, in ns.
const SHORTEST_NS: u64 = 1_000;
/// The longest pulse and gap, in ns: a run must be able to end.
const LONGEST_NS: u64 = 1_000_000_000;

/// A train of pulses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The line that is driven, where the program times the pulses.
    pub line: Name,
    /// A line that follows it and is looked at instead of the driven one.
    pub watched_line: Option<Name>,
    /// How wide each pulse should be, in ns.
    pub width_ns: u64,
    /// Time between the end of a pulse and the beginning of the next, in ns.
    pub gap_ns: u64,
    /// What times the pulses.
    pub method: Method,
    /// Constant overhead that calibration found, to be subtracted from what is asked of the mechanism, in ns.
    pub subtract_ns: Option<i64>,
    /// What the driven line is left at.
    pub on_exit: OnExit,
}

impl Job {
    /// What is asked of the mechanism, in ns.
    fn asked_ns(&self) -> u64 {
        self.width_ns.saturating_add_signed(-self.subtract_ns.unwrap_or(0)).max(1)
    }

    fn period_ns(&self) -> u64 {
        self.width_ns + self.gap_ns
    }

    fn check(&self, placement: Placement) -> Result<(), Error> {
        let within = |ns| (SHORTEST_NS..=LONGEST_NS).contains(&ns);
        if !within(self.width_ns) {
            return Err(Error::Impossible("the width of a pulse must be from 1us to 1s".into()));
        }
        if !within(self.gap_ns) {
            return Err(Error::Impossible("the gap between pulses must be from 1us to 1s".into()));
        }
        if self.method == Method::Spin && self.width_ns as f64 > DUTY * (self.width_ns + self.gap_ns) as f64 {
            let gap_ns = (self.width_ns as f64 * (1.0 / DUTY - 1.0)) as u64;
            let gap = ontick_units::exact(gap_ns.div_ceil(1_000) * 1_000);
            return Err(Error::Impossible(format!(
                "spinning through such pulses would leave others less than a tenth of the CPU (make the gap {gap} at least, or choose hybrid)"
            )));
        }
        if self.method.spins() && placement.policy.is_real_time() {
            watchdog::may_occupy(cpus::online().len())?;
        }
        Ok(())
    }

    /// The train that the kernel module makes.
    fn planned(&self, timer: Timer, undisturbed: Undisturbed, placement: Placement) -> TrainRequest {
        let (line, on_exit) = (self.line.clone(), self.on_exit);
        TrainRequest {
            line,
            on_exit,
            width_ns: self.asked_ns(),
            period_ns: self.period_ns(),
            timer,
            undisturbed,
            placement,
        }
    }

    fn pulse(&self) -> Pulse {
        let (wanted_ns, gap_ns, subtracted_ns) = (self.width_ns, self.gap_ns, self.subtract_ns);
        Pulse { wanted_ns, gap_ns, subtracted_ns, ..Pulse::default() }
    }

    /// Hardware that times itself can only be looked at from outside.
    fn required_watched_line(&self) -> Result<&Name, Error> {
        self.watched_line.as_ref().ok_or_else(|| {
            let what = self.method.hardware().unwrap_or_default();
            Error::Impossible(format!(
                "{what} times its pulses itself: join a line to its output and name that as the input"
            ))
        })
    }

    fn describe(&self, settings: &mut Settings) {
        settings.method = self.method.name().into();
        settings.interval_ns = self.period_ns();
        settings.line = Some(self.method.hardware().unwrap_or_else(|| self.line.to_string()));
    }

    /// The train that a PRU makes.
    fn by_pru(&self, output: &pru::Output) -> pru::Train {
        let (output, on_exit) = (output.clone(), self.on_exit);
        pru::Train { output, width_ns: self.asked_ns(), gap_ns: self.gap_ns, on_exit }
    }

    fn try_out(&self) -> Result<(), Error> {
        let Some(see) = self.watched_line.clone().filter(|_| self.method.hardware().is_none()) else { return Ok(()) };
        Wiring { drive: self.line.clone(), see, on_exit: self.on_exit }.try_out()
    }
}

/// Makes pulses on a thread at `placement`. The latency of the series is by how much each was too wide or too narrow.
pub fn measure(
    name: &str,
    job: &Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    if let (Method::Pru(output), None) = (&job.method, &job.watched_line) {
        let series = job.by_pru(output).measure(name, limits, observer)?;
        let pulse = series.pulse.clone().map(|pulse| Pulse {
            width: pulse.width,
            measured_by: pulse.measured_by,
            ..job.pulse()
        });
        return Ok(Series { pulse, ..series });
    }
    job.check(placement)?;
    job.try_out()?;
    let (widths, seen) = widths::channel(job.width_ns);
    let widths = widths.also_into(observer.intervals());
    let measured_by = OnceLock::new();
    let mut series = match &job.method {
        Method::Pwm(_) | Method::Pru(_) => {
            let prepare = |_: &ThreadSetup| {
                let running = Running::start(job, widths, placement)?;
                let _ = measured_by.set(running.measured_by());
                Ok(running)
            };
            session::run(name, placement, limits, prepare, observer)?
        }
        _ => {
            let prepare = |_: &ThreadSetup| {
                let train = Train::start(job, widths, placement)?;
                let _ = measured_by.set(train.measured_by());
                Ok(train)
            };
            session::run(name, placement, limits, prepare, observer)?
        }
    };
    let measured_by = measured_by.into_inner().unwrap_or_default();
    series.pulse = Some(Pulse { width: seen.histogram(), first: seen.first(), measured_by, ..job.pulse() });
    Ok(series)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    use ontick_gpio::{Line, Request, sim};
    use ontick_rt::clock::sleep_for;
    use ontick_rt::thread::Policy;

    use super::*;
    use crate::Length;

    /// A chip of the test's own.
    struct Bench(String);

    impl Bench {
        fn new(test: &str) -> Self {
            Self(format!("pulse-{test}-{}", std::process::id()))
        }

        fn line(&self, line: u32) -> Name {
            Name::Sim { chip: self.0.clone(), line }
        }

        fn job(&self, method: Method) -> Job {
            let (width_ns, gap_ns) = (100_000, 300_000);
            Job {
                line: self.line(4),
                watched_line: None,
                width_ns,
                gap_ns,
                method,
                subtract_ns: None,
                on_exit: OnExit::Low,
            }
        }
    }

    impl Drop for Bench {
        fn drop(&mut self) {
            let _ = sim::remove(&self.0);
        }
    }

    fn measure_it(job: &Job, count: u64) -> Result<Series, Error> {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let limits = Limits::new(Length::Count(count));
        measure("pulses", job, Placement::stock(), limits, &mut Observer::new(&stop, &mut look))
    }

    #[test]
    fn every_mechanism_makes_pulses_that_the_line_tells() {
        let bench = Bench::new("all");
        for method in Method::PROGRAM {
            let series = measure_it(&bench.job(method.clone()), 50).unwrap();
            let pulse = series.pulse.unwrap();
            assert_eq!((pulse.wanted_ns, pulse.gap_ns, pulse.subtracted_ns), (100_000, 300_000, None));
            assert_eq!((series.latency.count(), pulse.width.count()), (50, 50), "{method}");
            assert_eq!(pulse.measured_by, "edges of the simulated line itself");
            // No wait ends early; the conversions of two clocks may differ by a hair.
            assert!(pulse.width.min_ns.unwrap() > 95_000, "{method}: {:?}", pulse.width.min_ns);
            let settings = series.settings;
            assert_eq!((settings.method.as_str(), settings.interval_ns), (method.name(), 400_000));
            assert_eq!(settings.backend.as_deref(), Some("simulated"));
            assert_eq!((settings.line, settings.watched_line), (Some(bench.line(4).to_string()), None));
        }
    }

    #[test]
    fn another_line_sees_the_same_pulses_and_those_too_short_for_it_are_missed() {
        let bench = Bench::new("seen");
        let (drive, see) = (bench.line(4), bench.line(17));
        sim::wire(&drive, &see, sim::Wire::default()).unwrap();
        let job = Job { watched_line: Some(see.clone()), ..bench.job(Method::Hybrid) };
        let series = measure_it(&job, 50).unwrap();
        let pulse = series.pulse.unwrap();
        assert_eq!((series.latency.count(), pulse.width.count()), (50, 50));
        assert!(pulse.measured_by.contains(&see.to_string()), "{}", pulse.measured_by);
        assert!(pulse.width.min_ns.unwrap() > 95_000);
        assert_eq!(series.settings.watched_line, Some(see.to_string()));

        // The fall comes too soon after the rise to be notified, however long the machine stops us in between: no pulse is
        // ever seen whole.
        let slow = sim::Wire { dead_time_ns: 4_000_000_000, ..sim::Wire::default() };
        sim::wire(&drive, &see, slow).unwrap();
        let error = measure_it(&job, 50).unwrap_err().to_string();
        assert!(error.contains("too short") && error.contains(&see.to_string()), "{error}");
    }

    #[test]
    fn pulses_that_nobody_sees_until_the_end_are_missed() {
        let bench = Bench::new("unseen");
        let (drive, see) = (bench.line(4), bench.line(17));
        sim::wire(&drive, &see, sim::Wire::default()).unwrap();
        // By sleeping no pulse is left out: whatever is missed was not seen.
        let job = Job { watched_line: Some(see.clone()), ..bench.job(Method::Sleep) };
        let (stop, mut parted) = (AtomicBool::new(false), None);
        let mut look = |live: &crate::Live| match parted {
            None if live.latency.count() > 0 => {
                let broken = sim::Wire { loss_ppm: 1_000_000, ..sim::Wire::default() };
                sim::wire(&drive, &see, broken).unwrap();
                parted = Some(std::time::Instant::now());
            }
            Some(parted) if parted.elapsed() > std::time::Duration::from_millis(500) => stop.store(true, Relaxed),
            _ => {}
        };
        let limits = Limits::new(Length::Count(u64::MAX));
        let series = measure("pulses", &job, Placement::stock(), limits, &mut Observer::new(&stop, &mut look)).unwrap();
        assert!(series.missed > 20, "{} of {}", series.missed, series.latency.count());
    }

    #[test]
    fn the_line_is_left_as_asked_also_when_a_run_is_refused() {
        let bench = Bench::new("left");
        for (on_exit, level, driven) in
            [(OnExit::High, true, true), (OnExit::Low, false, true), (OnExit::Input, false, false)]
        {
            measure_it(&Job { on_exit, ..bench.job(Method::Sleep) }, 3).unwrap();
            let line = &sim::line_states(&bench.0).unwrap()[4];
            assert_eq!((line.level, line.driven, line.owner.clone()), (level, driven, None), "{on_exit}");
        }
        let apart = Job { watched_line: Some(bench.line(9)), on_exit: OnExit::High, ..bench.job(Method::Sleep) };
        assert!(measure_it(&apart, 3).unwrap_err().to_string().contains("does not follow"));
        assert!(sim::line_states(&bench.0).unwrap()[4].level);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let bench = Bench::new("never");
        let refused = |job: Job| measure_it(&job, 1).unwrap_err().to_string();
        assert!(refused(Job { width_ns: 999, ..bench.job(Method::Sleep) }).contains("1us to 1s"));
        assert!(refused(Job { gap_ns: 2_000_000_000, ..bench.job(Method::Sleep) }).contains("gap"));
        let dense = Job { width_ns: 1_000_000, gap_ns: 1_000, ..bench.job(Method::Spin) };
        assert!(refused(dense).contains("112us at least"));
        assert!(refused(Job { line: bench.line(99), ..bench.job(Method::Sleep) }).contains("lines 0 to 53"));
    }

    /// A thread stands in for the hardware: nothing else makes pulses on a simulated line.
    #[test]
    fn a_channel_that_times_itself_is_set_up_looked_at_and_put_back() {
        let bench = Bench::new("pwm");
        let (drive, see) = (bench.line(4), bench.line(17));
        sim::wire(&drive, &see, sim::Wire::default()).unwrap();
        let (_root, channel) = pwm::tests::idle_channel();
        let method = Method::Pwm(channel.clone());
        let job =
            Job { method, watched_line: Some(see), width_ns: 100_000, gap_ns: 900_000, ..bench.job(Method::Sleep) };
        let done = AtomicBool::new(false);
        let series = std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut line = Line::open(&drive, &Request::output(false)).unwrap();
                while !done.load(Relaxed) {
                    if pwm::tests::files(&channel) == ["1000000", "100000", "1"] {
                        line.write(true).unwrap();
                        sleep_for(100_000);
                        line.write(false).unwrap();
                    }
                    sleep_for(900_000);
                }
            });
            let series = measure_it(&job, 30);
            done.store(true, Relaxed);
            series.unwrap()
        });
        assert_eq!((series.latency.count(), series.settings.method.as_str()), (30, "pwm"));
        assert_eq!(series.settings.line.as_deref(), Some("pwmchip0:1"));
        assert!(series.pulse.unwrap().width.min_ns.unwrap() > 95_000);
        assert_eq!(pwm::tests::files(&channel), ["0", "0", "0"]);

        let alone = Job { watched_line: None, ..job };
        assert!(measure_it(&alone, 1).unwrap_err().to_string().contains("name that as the input"));
    }

    #[test]
    fn calibration_subtracts_what_it_found_and_tells_both() {
        let bench = Bench::new("calibrated");
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let placement = Placement { policy: Policy::Other, ..Placement::stock() };
        let job = bench.job(Method::Sleep);
        let series = calibrated("sleep", &job, placement, Limits::new(Length::Count(200)), &mut observer).unwrap();
        let [before, after] = &series[..] else { panic!("{} series", series.len()) };
        assert_eq!([&before.name, &after.name], ["sleep, raw", "sleep, calibrated"]);
        let (before, after) = (before.pulse.as_ref().unwrap(), after.pulse.as_ref().unwrap());
        let overhead = before.width.quantile(0.5).unwrap() as i64 - 100_000;
        assert_eq!((before.subtracted_ns, after.subtracted_ns), (None, Some(overhead)));
        // A sleep is never too short, so there was something to subtract, and no pulse is wider for it.
        assert!(overhead > 0 && after.width.min_ns < before.width.min_ns);
    }

    #[test]
    fn overhead_longer_than_the_pulse_leaves_the_shortest_wait() {
        let bench = Bench::new("asked");
        let asked = |subtract_ns| Job { subtract_ns, ..bench.job(Method::Sleep) }.asked_ns();
        assert_eq!([None, Some(70_000), Some(-500), Some(200_000)].map(asked), [100_000, 30_000, 100_500, 1]);
    }
}
