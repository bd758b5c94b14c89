//! How the timed thread leaves its CPU to others where periods are too short to sleep in each.

use std::fmt;

use ontick_rt::wait::Hybrid;
use ontick_rt::wait::demand::{Kernel, NotCounted};

use crate::Trigger;

/// How demand for a CPU is counted, where that is needed.
#[derive(Debug)]
pub struct Demands(pub(crate) Option<Result<Kernel, NotCounted>>);

impl Demands {
    /// For samples at this trigger. Reads some megabytes where periods are short: before anything is timed.
    pub fn find(trigger: &Trigger) -> Self {
        let is_short = matches!(trigger, Trigger::Every(period_ns) if !Hybrid::new(*period_ns).may_sleep());
        Self(is_short.then(Kernel::find))
    }
}

/// When the timed thread rests.
#[derive(Debug)]
pub enum Rests {
    /// In each period.
    EachPeriod,
    /// When another thread wants its CPU.
    OnDemand,
    /// A tenth of the time, for this reason.
    ByTheClock(NotCounted),
}

impl fmt::Display for Rests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EachPeriod => write!(f, "the timed thread sleeps in each period"),
            Self::OnDemand => write!(f, "the timed thread rests when another one wants its CPU"),
            Self::ByTheClock(why) => {
                write!(f, "the timed thread rests a tenth of the time, and misses samples then: {why}")
            }
        }
    }
}
