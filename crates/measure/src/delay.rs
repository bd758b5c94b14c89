//! `latency delay`: how long a delay takes beyond what was asked for, from none at all up, by each call that makes one.
//!
//! Source 002 found some 70 us added to every delay of usleep(3), so that none was shorter.

mod method;

use ontick_record::Case;
use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::{cpus, watchdog};

pub use method::Method;

use crate::clock_readings::Timing;
use crate::probe::{Probe, Sample};
use crate::{Error, Limits, Observer, Placement, session};

/// The delays of the curve unless others are asked for, in ns.
pub const DELAYS_NS: [u64; 9] = [0, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000];

/// The longest delay that can be asked for, in ns; usleep(3) may refuse more.
pub const LONGEST_NS: u64 = 999_999_000;

/// The thread sleeps at least so long between two delays, in ns, and at least a ninth of a delay: it keeps no CPU to
/// itself.
const REST_NS: u64 = 200_000;

/// One point of the curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delay {
    /// The call that makes it.
    pub method: Method,
    /// How long it is to be, in ns.
    pub asked_ns: u64,
}

impl Delay {
    /// What tells its series from the others of a run.
    pub fn case(self) -> Case {
        Case { delay_ns: Some(self.asked_ns), method: Some(self.method.name().into()), ..Case::default() }
    }
}

/// Measures one point: a sample's latency is by how much the delay was too long.
pub fn measure(delay: Delay, placement: Placement, limits: Limits, observer: &mut Observer) -> Result<Series, Error> {
    if delay.asked_ns > LONGEST_NS {
        return Err(Error::Impossible("a delay must be shorter than 1s".into()));
    }
    if delay.method.spins() && placement.policy.is_real_time() {
        watchdog::may_occupy(cpus::online().len())?;
    }
    let prepare = |_: &_| Ok(Delayed { clock: Clock::new(ClockId::Monotonic), delay, pause: delay.method.pause() });
    let case = delay.case();
    let series = session::run(&case.to_string(), placement, limits, prepare, observer)?;
    Ok(Series { case, ..series })
}

struct Delayed {
    clock: Clock,
    delay: Delay,
    pause: method::Pause,
}

impl Probe for Delayed {
    fn next(&mut self) -> Sample {
        let asked_ns = self.delay.asked_ns;
        ontick_rt::clock::sleep_for(REST_NS.max(asked_ns / 9));
        let due_ns = self.clock.now_ns() + asked_ns;
        self.pause.until(&mut self.clock, due_ns, asked_ns);
        let now_ns = self.clock.now_ns();
        let latency_ns = Some(now_ns.saturating_sub(due_ns));
        Sample { now_ns, latency_ns, missed: 0, early_ns: due_ns.saturating_sub(now_ns), napped: false }
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(&mut self.clock)
    }

    fn timing(&self) -> Timing {
        Timing::Between
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = self.delay.method.name().into();
        settings.margin_ns = self.pause.margin_ns();
        settings.clock = self.clock.name();
    }

    fn is_described_first(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Length;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn no_delay_is_shorter_than_asked_for() {
        for method in Method::ALL {
            let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
            let delay = Delay { method, asked_ns: 300_000 };
            let limits = Limits::new(Length::Count(20));
            let series = measure(delay, Placement::stock(), limits, &mut Observer::new(&stop, &mut look)).unwrap();
            assert_eq!(series.name, format!("300us, {method}"));
            assert_eq!((series.latency.count(), series.early), (20, 0), "{method}");
        }
    }

    #[test]
    fn a_delay_of_a_second_is_refused() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let delay = Delay { method: Method::Usleep, asked_ns: 1_000_000_000 };
        let limits = Limits::new(Length::Count(1));
        let error = measure(delay, Placement::stock(), limits, &mut Observer::new(&stop, &mut look)).unwrap_err();
        assert!(error.to_string().contains("shorter than 1s"));
    }
}
