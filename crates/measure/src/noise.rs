//! `latency noise`: how often and for how long a spinning core is taken away.

use ontick_record::Case;
use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::gaps::Gaps;
use ontick_rt::{cpus, watchdog};

use crate::clock_readings::Timing;
use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Placement, session};

/// A run can be ended this often, in ns.
const BREATH_NS: u64 = 100_000_000;

/// Spins at `placement` and records every gap of at least `shortest_ns` between two readings of the clock. The
/// thread rests a tenth of the time; what happens then is not seen.
pub fn measure(
    name: &str,
    shortest_ns: u64,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    if placement.policy.is_real_time() {
        watchdog::may_occupy(cpus::online().len())?;
    }
    session::run(name, placement, limits, |_: &_| Ok(Noise::new(shortest_ns)), observer)
}

/// The same on several CPUs at once; what tells the series apart is in their order.
pub fn on_each_cpu(
    on: &[u32],
    shortest_ns: u64,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    if placement.policy.is_real_time() {
        watchdog::may_occupy_together(on, &cpus::online())?;
    }
    let cases: Vec<Case> = cases(on).collect();
    let names: Vec<String> = cases.iter().map(Case::to_string).collect();
    let member = |(cpu, name): (&u32, _)| session::Member {
        name,
        placement: Placement { cpu: Some(*cpu), ..placement },
        prepare: move |_: &_| Ok(Noise::new(shortest_ns)),
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
}

impl Noise {
    fn new(shortest_ns: u64) -> Self {
        let clock = Clock::new(ClockId::Monotonic);
        let (name, shortest_ns) = (clock.name(), shortest_ns.max(1));
        let began_ns = ClockId::Monotonic.now_ns();
        Self { gaps: Gaps::new(clock, shortest_ns), shortest_ns, clock: name, began_ns }
    }
}

impl Probe for Noise {
    fn next(&mut self) -> Sample {
        let end_ns = self.gaps.now_ns() + BREATH_NS;
        let gap = self.gaps.next_before(end_ns);
        Sample {
            now_ns: self.gaps.now_ns(),
            latency_ns: gap.map(|gap| gap.length_ns),
            missed: 0,
            early: false,
            napped: false,
        }
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
        let elapsed_ns = (ClockId::Monotonic.now_ns() - self.began_ns).max(1);
        settings.spin_duty = Some(self.gaps.watched_ns() as f64 / elapsed_ns as f64);
    }
}
