//! Gates that are set anew: after a link event, with a clock that was set, once more a little later.

use std::time::{Duration, Instant};

use super::super::gates;
use super::Keeper;
use crate::apply::{Act, Expect, Host};

/// A driver may still be setting its queues up when it tells of the link: gates are set once more after this.
const AGAIN: Duration = Duration::from_millis(400);

impl<H: Host> Keeper<'_, H> {
    pub(super) fn reissue_soon(&mut self, name: &str) {
        let now = Instant::now();
        self.due.entry(name.into()).or_default().extend([now, now + AGAIN]);
    }

    pub(super) fn reissue_all_soon(&mut self) {
        let ports: Vec<String> = self.switch.ports.iter().map(|port| port.name.clone()).collect();
        ports.iter().for_each(|port| self.reissue_soon(port));
    }

    pub(super) fn reissue(&mut self) {
        let now = Instant::now();
        let due: Vec<String> =
            self.due.iter().filter(|(_, at)| at.first().is_some_and(|at| *at <= now)).map(|(n, _)| n.clone()).collect();
        for name in due {
            if let Some(times) = self.due.get_mut(&name) {
                times.retain(|at| *at > now);
            }
            self.reissue_one(&name);
        }
        self.due.retain(|_, times| !times.is_empty());
    }

    pub(super) fn reissue_one(&mut self, name: &str) {
        self.stop_port(name);
        let Some(act) = self.gates_of(name) else { return };
        // Its own gates come with its return.
        if self.replaced().map_or(true, |replaced| replaced.contains(name)) {
            return;
        }
        match self.host.act(&act) {
            Ok(()) => *self.tally.reissued.entry(name.into()).or_default() += 1,
            // What else stands there is seen by the look at everything.
            Err(refused) => self.say_once(format!("port {name}: {refused}")),
        }
    }

    /// What sets the port's gates.
    fn gates_of(&self, name: &str) -> Option<Act> {
        let wanted = self.wanted();
        let expects = wanted.steps.iter().flat_map(|step| &step.expects);
        expects.into_iter().find_map(|expect| match expect {
            Expect::Taprio { port, taprio } if port == name => Some(gates::replace(port, taprio)),
            _ => None,
        })
    }
}
