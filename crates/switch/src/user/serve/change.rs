//! What changes while the core runs: gates, frame sizes, idle slopes and streams.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ontick_tsn::model::{Port, Switch};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::shaper::PortShaping;

use super::Service;
use super::ports::{base, base_ns, rate};
use crate::user::address_table::random_seed;
use crate::user::core::{Command, Streams, max_sdu};
use crate::user::counters::StreamCounters;
use crate::user::either::EitherPort;
use crate::user::gate::Gates;
use crate::user::latent_errors::LatentErrors;
use crate::user::shaper::Credits;

/// A core that works takes commands within this.
const TAKES: Duration = Duration::from_millis(500);
const TURN: Duration = Duration::from_millis(1);

/// Why a switch that is set up was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Something else differs, too.
    #[error(
        "only gates, frame sizes, idle slopes and streams can change while the switch is set up; for anything else revert it \
         and apply it again"
    )]
    MoreThanCanChange,
    /// No core sees all frames of a stream.
    #[error(
        "stream {0} may come in by ports of several cores, and none of them sees all of its frames: name ports of one core \
         (ingress), or revert the switch and apply it again, which shares the ports out anew"
    )]
    Torn(String),
    /// The core has commands that it has not taken yet.
    #[error("the core does not take commands at the moment; try again")]
    Busy,
}

impl Service {
    /// Takes over the gates, frame sizes, idle slopes and streams of a changed model, all of them or none; everything else of
    /// it must be as it was. Afterwards the core holds frames to the new sizes, slopes and streams, unless it is kept from
    /// its work.
    pub fn change(&mut self, switch: &Switch) -> Result<(), ChangeError> {
        if switch.fixed() != self.switch.fixed() {
            return Err(ChangeError::MoreThanCanChange);
        }
        let base_ns = base_ns(switch);
        let mut commands = Vec::new();
        let mut counters = None;
        if switch.streams != self.switch.streams {
            if let Some(torn) = self.running.spread().torn(&switch.streams) {
                return Err(ChangeError::Torn(torn.name.clone()));
            }
            let of_each = self.stream_counters(switch);
            commands = self.running.to_each(|| Command::Streams(self.streams(switch, base_ns, &of_each)));
            counters = Some(of_each);
        }
        let of_ports = [self.sizes(switch), self.gates(switch, base_ns), self.idle_slopes(switch)];
        commands.extend(of_ports.into_iter().flatten().map(|command| (self.running.core_of(&command), command)));
        if !self.running.send_all(commands) {
            return Err(ChangeError::Busy);
        }
        let began = Instant::now();
        while !self.running.have_taken_all() && began.elapsed() < TAKES {
            std::thread::sleep(TURN);
        }
        if let Some(counters) = counters {
            self.running.counters().streams.replace(counters);
            self.latent_errors =
                LatentErrors::from_now(switch, self.began.elapsed(), &self.running.counters().streams.all());
        }
        for (port, (new, old)) in self.ports.iter_mut().zip(switch.ports.iter().zip(&self.switch.ports)) {
            if new.gates != old.gates {
                (port.base_ns, self.base_ns) = (base_ns, base_ns);
            }
        }
        self.switch = switch.clone();
        // Ports that have gates for the first time.
        for at in 0..self.ports.len() {
            if self.ports[at].ahead_ns == 0 {
                self.look_ahead(at);
            }
        }
        Ok(())
    }

    fn sizes(&self, switch: &Switch) -> Vec<Command<EitherPort>> {
        let ports = switch.ports.iter().zip(&self.switch.ports).enumerate();
        let differ = ports.filter(|(_, (new, old))| new.max_sdu != old.max_sdu);
        differ.map(|(index, _)| Command::Sizes(index, max_sdu(switch, index))).collect()
    }

    fn gates(&self, switch: &Switch, base_ns: u64) -> Vec<Command<EitherPort>> {
        let ports = switch.ports.iter().zip(&self.switch.ports).enumerate();
        // A guard band is as long as the largest frame.
        let resized = |new: &Port, old: &Port| new.gates.is_some() && new.max_sdu != old.max_sdu;
        let differ = ports.filter(|(_, (new, old))| new.gates != old.gates || resized(new, old));
        let command = |(index, (port, old)): (usize, (&Port, &Port))| {
            // Only its guard bands are others where the list is the same.
            let base_ns = if port.gates == old.gates { self.ports[index].base_ns } else { base_ns };
            Command::Gates(index, Schedule::of(switch, port, base(port, base_ns), rate(port)))
        };
        differ.map(command).collect()
    }

    fn idle_slopes(&self, switch: &Switch) -> Vec<Command<EitherPort>> {
        let ports = switch.ports.iter().zip(&self.switch.ports).enumerate();
        // How far a class may be in debt depends on its largest frame.
        let resized = |new: &Port, old: &Port| new.is_shaped() && new.max_sdu != old.max_sdu;
        let differ = ports.filter(|(_, (new, old))| new.idle_slopes != old.idle_slopes || resized(new, old));
        let command = |(index, (port, _)): (usize, (&Port, &Port))| {
            let credits = |shaping| Box::new(Credits::new(shaping, self.ports[index].rate, &Gates::new(None)));
            Command::IdleSlopes(index, PortShaping::of(switch, port).map(credits))
        };
        differ.map(command).collect()
    }

    /// Counters of the streams: those of a stream that was there before go on.
    fn stream_counters(&self, switch: &Switch) -> Vec<Arc<StreamCounters>> {
        let (before, all) = (&self.switch.streams, self.running.counters().streams.all());
        let counters = |name: &str| {
            let old = before.iter().zip(&all).find(|(old, _)| old.name == name);
            old.map_or_else(Arc::default, |(_, counters)| counters.clone())
        };
        switch.streams.iter().map(|stream| counters(&stream.name)).collect()
    }

    /// The streams for a core.
    fn streams(&self, switch: &Switch, base_ns: u64, counters: &[Arc<StreamCounters>]) -> Option<Box<Streams>> {
        let begun = switch.with_stream_gates_at(base_ns).streams;
        Streams::after(&self.switch.streams, &switch.streams, &begun, counters, random_seed())
    }
}
