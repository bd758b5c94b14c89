//! A switch that is at work already.

use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;

use super::{Lost, UnderTest};
use crate::apply::Folder;
use crate::model::Switch;
use crate::user::serve::Report;

/// A data plane at work reports of itself within this.
const PATIENCE: Duration = Duration::from_secs(4);
const PAUSE: Duration = Duration::from_millis(50);

/// Any switch between two interfaces. Where ontick's own user data plane is at work on this machine under the switch's
/// name, its counters say what became of frames that did not arrive.
pub struct Outside {
    switch: Switch,
    folder: Option<Folder>,
}

impl Outside {
    /// `folder` is where a switch of this name would keep what is known of it.
    pub fn new(switch: &Switch, folder: Option<Folder>) -> Self {
        let names = |switch: &Switch| switch.ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
        let is_own = |folder: &Folder| {
            let report = report(folder);
            let configured = report.and_then(|report| crate::config::read(&report.configuration).ok());
            configured.is_some_and(|read| names(&read.switch) == names(switch))
        };
        Self { switch: switch.clone(), folder: folder.filter(is_own) }
    }

    /// Whether its counters are to be had.
    pub fn is_own(&self) -> bool {
        self.folder.is_some()
    }
}

impl UnderTest for Outside {
    fn plane(&self) -> &'static str {
        "outside"
    }

    fn about(&self) -> String {
        match self.is_own() {
            true => "a switch that was at work already, with the counters of its user data plane".into(),
            false => "a switch that was at work already".into(),
        }
    }

    fn lost(&mut self, from: usize, to: usize) -> Result<Lost, String> {
        let Some(folder) = &self.folder else {
            return Ok(Lost { classes: vec![Vec::new(); self.switch.classes.len()], elsewhere: Vec::new() });
        };
        // What it reported before does not have the last frames in it.
        let (began, now_ns) = (Instant::now(), ClockId::Monotonic.now_ns());
        loop {
            if let Some(report) = report(folder).filter(|report| report.at_ns >= now_ns) {
                return Ok(Lost::by(&self.switch, &report.counters, from, to));
            }
            if began.elapsed() > PATIENCE {
                return Err(format!("switch {} has stopped counting: see ontick switch status", self.switch.name));
            }
            std::thread::sleep(PAUSE);
        }
    }
}

fn report(folder: &Folder) -> Option<Report> {
    serde_json::from_str(&folder.report()?).ok()
}
