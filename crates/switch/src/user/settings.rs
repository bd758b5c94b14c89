//! Settings of the ports while the switch works: put back when another program changes them, and made anew for an
//! interface that was made anew.
//!
//! Both happen under the lock of the switch's folder and only while its journal is there, so that nobody who reverts the
//! switch at the same time finds them changed behind his back. What is put back is in the journal already, as it was
//! before the switch; what is set at a new interface is written down first.

use std::time::{Duration, Instant};

use super::plan;
use crate::apply::port::PortError;
use crate::apply::{Act, ApplyError, Expect, Host, Journal, Step, SwitchDir, SwitchDirError, carry_out, links};
use crate::features;

/// How often offloads are looked at: nobody tells of them.
const LOOK: Duration = Duration::from_secs(1);

/// Why a new interface was not set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetUpError {
    /// The switch's folder.
    #[error(transparent)]
    Folder(#[from] SwitchDirError),
    /// It is no port.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A step.
    #[error(transparent)]
    Step(#[from] ApplyError),
    /// Somebody reverts the switch.
    #[error("the switch is being taken away")]
    GoesAway,
}

/// Keeps them.
#[derive(Debug)]
pub struct Settings<H> {
    host: H,
    folder: SwitchDir,
    look_at: Instant,
}

/// A setting that another program had changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PutBack {
    /// The port.
    pub port: String,
    /// What was done, or why it could not be, as the end of a sentence that begins with the port.
    pub what: String,
}

impl<H: Host> Settings<H> {
    /// Of an applied switch.
    pub fn new(host: H, folder: SwitchDir) -> Self {
        Self { host, folder, look_at: Instant::now() + LOOK }
    }

    /// Sets an interface up that took the place of a port's former one; what there was is in the journal first.
    pub fn set_up_again(&self, port: &str) -> Result<(), SetUpError> {
        let _lock = self.folder.lock()?;
        let mut journal = self.journal().ok_or(SetUpError::GoesAway)?;
        let mut steps = plan::of_port(&self.host, port)?;
        for step in &mut steps {
            // The link is followed as it comes.
            step.acts.retain(|act| !matches!(act, Act::AwaitLink { .. }));
            carry_out(&self.host, &mut journal, step)?;
        }
        let mut plan = self.folder.plan()?;
        plan.steps.retain(|step| step.port.as_deref() != Some(port));
        plan.steps.extend(steps);
        Ok(self.folder.keep_plan(&plan)?)
    }

    /// Now and then: looks at ports that are open, each with the index of its interface, and puts back what differs.
    pub fn service(&mut self, open: &[(&str, u32)]) -> Vec<PutBack> {
        if Instant::now() < self.look_at {
            return Vec::new();
        }
        self.look_at = Instant::now() + LOOK;
        if open.iter().all(|(port, _)| self.spoilt(port).is_none()) {
            return Vec::new();
        }
        self.put_back(open)
    }

    fn put_back(&self, open: &[(&str, u32)]) -> Vec<PutBack> {
        let Ok(_lock) = self.folder.lock() else { return Vec::new() };
        let (Some(_), Ok(links)) = (self.journal(), links(&self.host)) else { return Vec::new() };
        let mut done = Vec::new();
        for (port, index) in open {
            // A new interface of this name is set up first.
            if !links.iter().any(|link| link.name == *port && link.index == *index) {
                continue;
            }
            let Some(act) = self.spoilt(port) else { continue };
            let what = match (self.host.act(&act), self.spoilt(port)) {
                (Ok(()), None) => format!("another program changed its settings; put back ({act})"),
                (Ok(()), Some(still)) => format!("another program changed its settings, and `{still}` has no effect"),
                (Err(refused), _) => format!("another program changed its settings, and {refused}"),
            };
            done.push(PutBack { port: (*port).into(), what });
        }
        done
    }

    /// What would put a port's settings back; nothing where they are as they should be.
    fn spoilt(&self, port: &str) -> Option<Act> {
        let on = features::to_switch_off(&self.host.features(port).ok()?, features::hides_octets);
        if !on.is_empty() {
            let wanted = on.into_iter().map(|name| (name, false)).collect();
            return Some(Act::Features { port: port.into(), wanted });
        }
        let plan = self.folder.plan().ok()?;
        let of_port = |step: &&Step| step.port.as_deref() == Some(port);
        let expects = plan.steps.iter().filter(of_port).flat_map(|step| &step.expects);
        expects.into_iter().find_map(|expect| match expect {
            Expect::Value { path, value } if self.host.read(path).is_some_and(|now| now != *value) => {
                Some(Act::Write { path: path.clone(), value: value.clone() })
            }
            _ => None,
        })
    }

    fn journal(&self) -> Option<Journal> {
        Journal::read(&self.folder).ok().flatten()
    }
}
