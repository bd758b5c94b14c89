//! `latency noise`: how often and for how long a spinning core is taken away.

use ontick_record::Case;
use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::gaps::{Gap, Gaps, LEAST_DUTY};
use ontick_rt::wait::DUTY;
use ontick_rt::{cpus, watchdog};

use crate::clock_readings::Timing;
use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Placement, session};

/// A run can be ended this often, in ns.
const BREATH_NS: u64 = 100_000_000;
/// The first look of a run is this long at most, in ns, and each one after it twice as long.
const FIRST_BREATH_NS: u64 = 1_000_000;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Job {
    /// Gaps of at least this between two readings of the clock, in ns.
    pub shortest_ns: u64,
    /// Share of the time to spin. The thread rests the others; what happens then is not seen.
    pub duty: f64,
}

impl Job {
    /// These gaps, with the rests that every loop has that spins.
    pub fn new(shortest_ns: u64) -> Self {
        Self { shortest_ns, duty: DUTY }
    }

    fn check(&self) -> Result<(), Error> {
        match (LEAST_DUTY..=1.0).contains(&self.duty) {
            true => Ok(()),
            false => Err(Error::Impossible(format!(
                "the duty must be at least {}% and at most 100%: with less hardly any time would be watched",
                LEAST_DUTY * 100.0
            ))),
        }
    }
}

/// Spins at `placement` and records every gap.
pub fn measure(
    name: &str,
    job: Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    job.check()?;
    if placement.policy.is_real_time() {
        watchdog::may_occupy(cpus::online().len())?;
    }
    session::run(name, placement, limits, |_: &_| Ok(Noise::new(job)), observer)
}

/// The same on several CPUs at once; what tells the series apart is in their order.
pub fn on_each_cpu(
    on: &[u32],
    job: Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    job.check()?;
    if placement.policy.is_real_time() {
        watchdog::may_occupy_together(on, &cpus::online())?;
    }
    let cases: Vec<Case> = cases(on).collect();
    let names: Vec<String> = cases.iter().map(Case::to_string).collect();
    let member = |(cpu, name): (&u32, _)| session::Member {
        name,
        placement: Placement { cpu: Some(*cpu), ..placement },
        prepare: move |_: &_| Ok(Noise::new(job)),
    };
    let members = on.iter().zip(names.iter().map(String::as_str)).map(member).collect();
    let mut all = session::run_together(members, limits, observer)?;
    all.iter_mut().zip(cases).for_each(|(series, case)| series.case = case);
    Ok(all)
}

/// What tells the series of several CPUs apart.
pub fn cases(on: &[u32]) -> impl Iterator<Item = Case> {
    on.iter().map(|cpu| Case { cpu: Some(*cpu), ..Case::default() })
}

struct Noise {
    gaps: Gaps,
    shortest_ns: u64,
    clock: String,
    began_ns: u64,
    watched: Watched,
    /// How long the next look is at most.
    breath_ns: u64,
    /// When the run ends.
    end_ns: u64,
}

impl Noise {
    fn new(job: Job) -> Self {
        let clock = Clock::new(ClockId::Monotonic);
        let (name, shortest_ns) = (clock.name(), job.shortest_ns.max(1));
        let began_ns = ClockId::Monotonic.now_ns();
        Self {
            gaps: Gaps::with_duty(clock, shortest_ns, job.duty),
            shortest_ns,
            clock: name,
            began_ns,
            watched: Watched::default(),
            breath_ns: BREATH_NS,
            end_ns: u64::MAX,
        }
    }
}

/// How long the run watched, of all that was watched: from its beginning, and without gaps that do not belong to it, as what
/// the thread did before it began, or one past its end.
#[derive(Debug, Default)]
struct Watched {
    before_ns: u64,
    /// The last gap, until it is recorded.
    last_ns: u64,
    left_out_ns: u64,
}

impl Watched {
    /// The run begins, when so much was watched before.
    fn begin(&mut self, watched_ns: u64) {
        *self = Self { before_ns: watched_ns, ..Self::default() };
    }

    fn saw(&mut self, gap: Option<Gap>) {
        self.left_out_ns += std::mem::replace(&mut self.last_ns, gap.map_or(0, |gap| gap.length_ns));
    }

    fn recorded(&mut self) {
        self.last_ns = 0;
    }

    fn ns(&self, watched_ns: u64) -> u64 {
        watched_ns.saturating_sub(self.before_ns + self.left_out_ns + self.last_ns)
    }
}

impl Probe for Noise {
    fn next(&mut self) -> Sample {
        let breath_end_ns = self.gaps.now_ns() + self.breath_ns;
        self.breath_ns = (self.breath_ns * 2).min(BREATH_NS);
        // A gap that begins after the run belongs to nothing, and is not watched for.
        let gap = self.gaps.next_before(breath_end_ns.min(self.end_ns));
        self.watched.saw(gap);
        Sample {
            now_ns: self.gaps.now_ns(),
            latency_ns: gap.map(|gap| gap.length_ns),
            missed: 0,
            early_ns: 0,
            napped: false,
        }
    }

    fn begin(&mut self) {
        self.watched.begin(self.gaps.watched_ns());
        // Its time is counted from the first look on.
        self.breath_ns = FIRST_BREATH_NS;
    }

    fn will_end_at(&mut self, end_ns: u64) {
        self.end_ns = end_ns;
    }

    fn recorded(&mut self) {
        self.watched.recorded();
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(self.gaps.clock())
    }

    fn timing(&self) -> Timing {
        Timing::Between
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = "gaps of a spinning core".into();
        settings.shortest_ns = Some(self.shortest_ns);
        settings.clock = self.clock.clone();
        settings.watched_ns = Some(self.watched.ns(self.gaps.watched_ns()));
        let elapsed_ns = (ClockId::Monotonic.now_ns() - self.began_ns).max(1);
        settings.spin_duty = Some(self.gaps.watched_ns() as f64 / elapsed_ns as f64);
    }

    fn is_described_first(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::{Length, Live};

    #[test]
    fn only_what_belongs_to_the_run_was_watched() {
        let gap = |length_ns| Some(Gap { at_ns: 0, length_ns });
        let mut watched = Watched::default();
        watched.saw(gap(700));
        watched.begin(10_000);
        assert_eq!(watched.ns(10_000), 0);
        // The first began before the run.
        watched.saw(gap(3_000));
        assert_eq!(watched.ns(13_000), 0);
        watched.saw(gap(400));
        watched.recorded();
        watched.saw(None);
        assert_eq!(watched.ns(20_000), 7_000);
        // The last came after its end.
        watched.saw(gap(900));
        assert_eq!(watched.ns(21_000), 7_100);
    }

    #[test]
    fn a_run_without_a_gap_watches_no_longer_than_it_lasts() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        for length_ns in [30_000_000, 150_000_000] {
            let limits = Limits::new(Length::Duration(length_ns));
            let job = Job { shortest_ns: 3_600_000_000_000, duty: 1.0 };
            let mut watched = || {
                let series = measure("gaps", job, Placement::stock(), limits, &mut observer).unwrap();
                assert_eq!(series.latency.count(), 0);
                series.settings.watched_ns.unwrap()
            };
            // Another may have the CPU when a look is to end, which is then so much longer: not each time.
            let least_ns = (0..20).map(|_| watched()).find(|ns| *ns < length_ns + 20_000_000);
            assert!(least_ns.is_some_and(|ns| ns >= length_ns), "{least_ns:?} of {length_ns}");
        }
    }

    #[test]
    fn a_record_says_how_long_was_watched_which_all_gaps_are_within() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        let limits = Limits::new(Length::Duration(60_000_000));
        let began_ns = ClockId::Monotonic.now_ns();
        let series = measure("gaps", Job::new(100), Placement::stock(), limits, &mut observer).unwrap();
        let took_ns = ClockId::Monotonic.now_ns() - began_ns;
        let watched_ns = series.settings.watched_ns.unwrap();
        let taken_ns = series.latency.mean_ns.unwrap_or(0.0) * series.latency.count() as f64;
        assert!(taken_ns <= watched_ns as f64 + 1.0, "{taken_ns} of {watched_ns}");
        assert!(watched_ns > 0 && watched_ns < took_ns, "{watched_ns} of {took_ns}");
        for duty in [0.0, 0.000_000_01, 0.0049, 1.1, f64::NAN] {
            let job = Job { duty, ..Job::new(100) };
            let refused = measure("gaps", job, Placement::stock(), limits, &mut observer).unwrap_err();
            assert!(refused.to_string().contains("the duty must be at least 0.5%"), "{refused}");
        }
    }
}
