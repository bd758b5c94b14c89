//! What is tested: anything that carries frames from port to port and says what it lost.

mod bridge;
mod counted;
mod kernel;
mod outside;
mod user;

pub use bridge::Bridge;
pub use kernel::{KernelPlane, KernelPlaneError};
pub use outside::Outside;
pub use user::{UserPlane, UserPlaneError};

use super::namespace::NamespaceError;
use crate::apply::Refused;
use crate::user::core::Stall;
use crate::user::counters::Counters;
use ontick_tsn::model::{Class, Switch};

/// Frames by the cause or the place of their loss.
pub type Causes = Vec<(String, u64)>;

/// The cause of a frame that may still come.
pub const WAITING: &str = "still waiting";

/// Frames that were lost and counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lost {
    /// By the place of their class in the switch's classes, and by their cause.
    pub classes: Vec<Causes>,
    /// Where no class is known of: at which place.
    pub elsewhere: Causes,
}

impl Lost {
    /// What was lost since `before`.
    pub fn since(&self, before: &Lost) -> Lost {
        let since = |lost: &Causes, before: Option<&Causes>| {
            let frames = |cause: &String| {
                before.into_iter().flatten().find(|(name, _)| name == cause).map_or(0, |(_, frames)| *frames)
            };
            lost.iter().map(|(cause, lost)| (cause.clone(), lost.saturating_sub(frames(cause)))).collect()
        };
        let class = |(i, lost): (usize, &Causes)| since(lost, before.classes.get(i));
        Lost {
            classes: self.classes.iter().enumerate().map(class).collect(),
            elsewhere: since(&self.elsewhere, Some(&before.elsewhere)),
        }
    }

    /// How many frames will not come any more.
    pub fn gone(&self) -> u64 {
        let causes = self.classes.iter().flatten().chain(&self.elsewhere);
        causes.filter(|(cause, _)| cause != WAITING).map(|(_, frames)| frames).sum()
    }

    /// What a user data plane has counted on the way from one port to another (places in the model's ports).
    fn by(switch: &Switch, counters: &Counters, from: usize, to: usize) -> Self {
        let (ins, outs) = (&counters.ports[from], &counters.ports[to]);
        let port = &switch.ports[from].name;
        let of_class = |class: &Class| {
            let queue = &outs.queues[usize::from(class.queue)];
            let drops = queue.drops().into_iter().chain([(WAITING, queue.waiting.get())]);
            drops.map(|(cause, frames)| (cause.to_string(), frames)).collect()
        };
        Self {
            classes: switch.classes.iter().map(of_class).collect(),
            elsewhere: ins.not_forwarded().map(|(cause, frames)| (format!("into port {port}: {cause}"), frames)).into(),
        }
    }
}

/// The thread that does a switch's work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worker {
    /// Its number for the kernel.
    pub tid: i32,
    /// How far the switch's clock is from the monotonic one, in ns.
    pub distance_ns: i64,
}

/// Why it is not known what was lost.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CountersError {
    /// A counter cannot be read.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Its network namespace cannot be entered, or does not answer.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// Another process does its work, and does not report its counters any more.
    #[error("switch {0} has stopped counting")]
    Stopped(String),
}

/// A switch under test.
pub trait UnderTest {
    /// `user`, `kernel`, `bridge`.
    fn plane(&self) -> &'static str;

    /// That in words, with what matters about how it runs.
    fn about(&self) -> String;

    /// Frames lost so far on their way from one port to another (as places in the model's ports).
    fn lost(&mut self, from: usize, to: usize) -> Result<Lost, CountersError>;

    /// Why it dropped frames that were to leave by a port, or how many it sent cycles late: sentences for each class that
    /// has any.
    fn drop_reasons(&self, _to: usize) -> Vec<String> {
        Vec::new()
    }

    /// For how long it may sleep on purpose, in ns: a shaped class has more to send behind that.
    fn longest_rest_ns(&self) -> u64 {
        0
    }

    /// The thread that does its work, where it has one.
    fn worker(&self) -> Option<Worker> {
        None
    }

    /// Stretches of time, since this was last asked, in which it did not run though it should have.
    fn stalls(&mut self) -> Vec<Stall> {
        Vec::new()
    }

    /// Looks after it; call it several times a second. What a reader must know comes back.
    fn service(&mut self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::source_004_test;
    use ontick_tsn::model::Guard;

    #[test]
    fn what_was_lost_has_its_cause() {
        let switch = source_004_test::switch(1_000_000, Guard::None);
        let counters = Counters::new(2);
        let before = Lost::by(&switch, &counters, 0, 1);
        let red = &counters.ports[1].queues[1];
        red.full.add(1);
        red.over_sdu.add(2);
        red.no_window.add(4);
        red.down.add(8);
        red.refused.add(16);
        red.waiting.set(32);
        let ins = &counters.ports[0];
        ins.overflowed.add(64);
        ins.oversized.add(128);
        ins.malformed.add(256);
        ins.reserved.add(512);
        ins.filtered.add(1_024);
        ins.no_entry.add(2_048);
        ins.closed.add(4_096);
        ins.policed.add(8_192);
        ins.eliminated.add(16_384);
        let lost = Lost::by(&switch, &counters, 0, 1).since(&before);
        let sum = |causes: &Causes| causes.iter().map(|(_, frames)| frames).sum::<u64>();
        assert_eq!(lost.classes.iter().map(sum).collect::<Vec<_>>(), [0, 63, 0]);
        assert!(lost.classes[1].contains(&("no window long enough".into(), 4)));
        assert_eq!(sum(&lost.elsewhere), 32_767 - 63);
        assert_eq!(lost.gone(), 32_767 - 32, "what waits may still come");
        assert!(lost.elsewhere.contains(&("into port port1: no static entry".into(), 2_048)));
    }
}
