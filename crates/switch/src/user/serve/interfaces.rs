//! What becomes of a port whose interface loses its link, vanishes or returns.

use std::time::{Duration, Instant};

use ontick_tsn::model::{Guard, Socket};
use ontick_tsn::schedule::Schedule;

use super::ports::{USUAL_RATE, base, keep_whole, rate};
use super::{Service, ServiceEvent};
use crate::link::Change;
use crate::user::core::Command;
use crate::user::either::EitherPort;
use crate::user::packet::least_egress_ns;

/// Of the least time that a frame took to its link, this part is relied on: the processor may become faster, and no frame
/// may leave before its gate opens.
const SURE: (u64, u64) = (3, 4);
/// An interface that is there again and cannot be used is tried so often.
const RETRY: Duration = Duration::from_secs(1);

impl Service {
    pub(super) fn changed(&mut self, index: u32, name: &str, change: &Change) -> Option<ServiceEvent> {
        let at = self.ports.iter().position(|port| port.index == Some(index));
        match (change, at) {
            (Change::Gone, Some(at)) => self.gone(at),
            // A port that is called otherwise now is the same port still.
            (Change::Appeared | Change::Renamed { .. }, None) => self.back(name),
            (Change::CarrierUp, Some(at)) => self.link(at, true),
            (Change::CarrierDown, Some(at)) => self.link(at, false),
            (Change::Flapped, Some(at)) => {
                self.link(at, false);
                self.link(at, true)
            }
            _ => None,
        }
    }

    fn link(&mut self, at: usize, up: bool) -> Option<ServiceEvent> {
        self.ports[at].link = up;
        if self.guard.link_changed(at) {
            let _ = self.running.send(Command::Close(at, false));
        }
        if up {
            self.follow_rate(at);
            self.look_ahead(at);
        }
        let _ = self.running.send(Command::Link(at, up));
        let name = self.switch.ports[at].name.clone();
        Some(if up { ServiceEvent::Up(name) } else { ServiceEvent::Down(name) })
    }

    /// A link that comes up may have agreed on another rate, by which frames and guard bands are reckoned.
    fn follow_rate(&mut self, at: usize) {
        let port = &self.switch.ports[at];
        let rate = rate(port);
        if std::mem::replace(&mut self.ports[at].rate, rate) == rate {
            return;
        }
        let _ = self.running.send(Command::Rate(at, rate));
        if port.gates.as_ref().is_some_and(|gates| gates.guard == Guard::LargestFrame) {
            let schedule = Schedule::of(&self.switch, port, base(port, self.ports[at].base_ns), rate);
            let _ = self.running.send(Command::Gates(at, schedule));
        }
    }

    /// Finds out how long frames are on their way to the link at least: so much earlier they can be handed over.
    pub(super) fn look_ahead(&mut self, at: usize) {
        let port = &self.switch.ports[at];
        // AF_XDP has another way, which nothing stamps.
        if port.gates.is_none() || self.switch.socket != Socket::Packet || !self.ports[at].link {
            return;
        }
        // Without it gates open all the same.
        let least_ns = least_egress_ns(&port.name).ok().flatten().unwrap_or(0);
        let ahead_ns = least_ns * SURE.0 / SURE.1;
        self.ports[at].ahead_ns = ahead_ns;
        let _ = self.running.send(Command::Ahead(at, ahead_ns));
    }

    fn gone(&mut self, at: usize) -> Option<ServiceEvent> {
        (self.ports[at].index, self.ports[at].link) = (None, false);
        let _ = self.running.send(Command::Replace(at, None, USUAL_RATE));
        Some(ServiceEvent::Gone(self.switch.ports[at].name.clone()))
    }

    fn back(&mut self, name: &str) -> Option<ServiceEvent> {
        let at = self.switch.ports.iter().position(|port| port.name == name)?;
        if self.ports[at].index.is_some() {
            return None;
        }
        let set_up =
            self.settings.as_ref().map_or(Ok(()), |settings| settings.set_up_again(name).map_err(|e| e.to_string()));
        let opened = set_up.and_then(|()| EitherPort::open(name, self.switch.socket).map_err(|why| why.to_string()));
        let mut open = match opened {
            Ok(open) => open,
            Err(why) if self.ports[at].said.replace(why.clone()).as_ref() == Some(&why) => return None,
            Err(why) => return Some(ServiceEvent::Unusable(name.into(), why)),
        };
        let link = self.watch.named(name).is_some_and(|link| link.carrier);
        let rate = rate(&self.switch.ports[at]);
        let joined = keep_whole(&mut open, name, &self.watch);
        let port = &mut self.ports[at];
        port.said = None;
        (port.index, port.link, port.rate, port.joined) = (Some(open.index()), link, rate, joined);
        self.guard.link_changed(at);
        let _ = self.running.send(Command::Replace(at, Some(open), rate));
        if !link {
            let _ = self.running.send(Command::Link(at, false));
        }
        self.look_ahead(at);
        Some(ServiceEvent::Back(name.into()))
    }

    /// Interfaces that are there again and could not be used at once.
    pub(super) fn try_again(&mut self) -> Vec<ServiceEvent> {
        if self.tried.elapsed() < RETRY {
            return Vec::new();
        }
        self.tried = Instant::now();
        let there = |at: &usize| {
            let name = &self.switch.ports[*at].name;
            (self.ports[*at].index.is_none() && self.watch.named(name).is_some()).then(|| name.clone())
        };
        let names: Vec<String> = (0..self.ports.len()).filter_map(|at| there(&at)).collect();
        names.iter().filter_map(|name| self.back(name)).collect()
    }
}
