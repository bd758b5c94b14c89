//! A switch that is at work already.

use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;

use super::{CountersError, Lost, UnderTest, counted};
use crate::apply::{Journal, Live, SwitchDir};
use crate::kernel::status::{LinkState, port_statuses};
use crate::qdisc::TIMER_LATE_NS;
use crate::user::rest;
use crate::user::serve::Report;
use ontick_tsn::model::Switch;

/// A data plane at work reports of itself within this.
const PATIENCE: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(50);

/// Any switch between two interfaces. Where ontick's own data plane is at work on this machine under the switch's name,
/// its counters say what became of frames that did not arrive.
pub struct Outside {
    switch: Switch,
    own: Option<Own>,
}

/// Whose counters are to be had.
enum Own {
    /// The core's, which it reports.
    User(SwitchDir),
    /// The kernel's, at the ports themselves.
    Kernel,
}

impl Outside {
    /// `folder` is where a switch of this name would keep what is known of it.
    pub fn new(switch: &Switch, folder: Option<SwitchDir>) -> Self {
        Self { switch: switch.clone(), own: folder.and_then(|folder| own(switch, folder)) }
    }

    /// Whether its counters are to be had.
    pub fn is_own(&self) -> bool {
        self.own.is_some()
    }
}

fn own(switch: &Switch, folder: SwitchDir) -> Option<Own> {
    let names = |switch: &Switch| switch.ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
    let is_it = |configuration: &str| {
        ontick_tsn::config::read(configuration).is_ok_and(|read| names(&read.switch) == names(switch))
    };
    if let Some(report) = report(&folder) {
        return is_it(&report.configuration).then_some(Own::User(folder));
    }
    // One that was taken away has no journal any more.
    let stands = matches!(Journal::read(&folder), Ok(Some(_)));
    if !stands || !folder.configuration().is_ok_and(|text| is_it(&text)) {
        return None;
    }
    let statuses = port_statuses(&Live, switch).ok()?;
    // Its ports may be in another network namespace, or those of a machine with the same names.
    statuses.iter().all(|port| port.link != LinkState::Gone).then_some(Own::Kernel)
}

impl UnderTest for Outside {
    fn plane(&self) -> &'static str {
        "outside"
    }

    fn about(&self) -> String {
        match self.own {
            Some(Own::User(_)) => "a switch that was at work already, with the counters of its user data plane".into(),
            Some(Own::Kernel) => "a switch that was at work already, with the counters of the kernel".into(),
            None => "a switch that was at work already".into(),
        }
    }

    fn longest_rest_ns(&self) -> u64 {
        match self.own {
            Some(Own::User(_)) => rest::REST_NS + rest::LATE_NS,
            // What hiCredit has on top of the standard's.
            Some(Own::Kernel) => TIMER_LATE_NS,
            None => 0,
        }
    }

    fn lost(&mut self, from: usize, to: usize) -> Result<Lost, CountersError> {
        let folder = match &self.own {
            None => return Ok(Lost { classes: vec![Vec::new(); self.switch.classes.len()], elsewhere: Vec::new() }),
            Some(Own::Kernel) => return Ok(counted::lost(&Live, &self.switch, from, to)?),
            Some(Own::User(folder)) => folder,
        };
        // What it reported before does not have the last frames in it.
        let (began, now_ns) = (Instant::now(), ClockId::Monotonic.now_ns());
        loop {
            if let Some(report) = report(folder).filter(|report| report.at_ns >= now_ns) {
                return Ok(Lost::by(&self.switch, &report.counters, from, to));
            }
            if began.elapsed() > PATIENCE {
                return Err(CountersError::Stopped(self.switch.name.clone()));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn report(folder: &SwitchDir) -> Option<Report> {
    serde_json::from_str(&folder.report()?).ok()
}
