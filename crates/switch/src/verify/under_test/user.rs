//! The user data plane.

use ontick_rt::thread::Policy;

use super::{Lost, UnderTest};
use crate::model::{Port, Switch};
use crate::schedule::Schedule;
use crate::user::core::{Attachment, Stall};
use crate::user::either::EitherPort;
use crate::user::open::OpenError;
use crate::user::running::{Noticed, StartError};
use crate::user::{Place, Running};
use crate::verify::namespace::{Namespace, NamespaceError};

/// A user data plane on the ports of a namespace.
pub struct UserPlane {
    running: Running<EitherPort>,
    switch: Switch,
    place: Place,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
pub enum UserPlaneError {
    /// A port cannot be used.
    #[error("{0}")]
    Port(#[from] OpenError),
    /// The core was not started.
    #[error("{0}")]
    Start(#[from] StartError),
    /// The namespace cannot be entered.
    #[error("{0}")]
    Namespace(#[from] NamespaceError),
}

impl UserPlane {
    /// Starts it on ports that are in `namespace`, with cycles that begin at `base_ns`.
    pub fn start(
        switch: &Switch,
        namespace: &Namespace,
        base_ns: u64,
        rates: &[u64],
        place: Place,
    ) -> Result<Self, UserPlaneError> {
        let open = || -> Result<Vec<EitherPort>, OpenError> {
            switch.ports.iter().map(|port| EitherPort::open(&port.name, switch.socket)).collect()
        };
        let ports = namespace.within(open)??;
        let attach = |((model, port), rate): ((&Port, EitherPort), &u64)| Attachment {
            port: Some(port),
            rate: *rate,
            schedule: Schedule::of(switch, model, base_ns, *rate),
        };
        let attachments = switch.ports.iter().zip(ports).zip(rates).map(attach).collect();
        let running = Running::start(switch, attachments, place)?;
        Ok(Self { running, switch: switch.clone(), place })
    }
}

impl UnderTest for UserPlane {
    fn plane(&self) -> &'static str {
        "user"
    }

    fn about(&self) -> String {
        let Place { cpu, policy } = self.place;
        let cpu = cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
        let policy = if policy == Policy::Other { "ordinary scheduling".into() } else { policy.to_string() };
        let refused = self.running.refused();
        let but = if refused.is_empty() { String::new() } else { format!(" (refused: {})", refused.join("; ")) };
        format!("user data plane, {cpu}, {policy}{but}")
    }

    fn lost(&mut self, from: usize, to: usize) -> Result<Lost, String> {
        let counters = self.running.counters();
        let (ins, outs) = (&counters.ports[from], &counters.ports[to]);
        let port = &self.switch.ports[from].name;
        let classes = self.switch.classes.iter();
        Ok(Lost {
            classes: classes.map(|class| outs.queues[usize::from(class.queue)].dropped()).collect(),
            elsewhere: vec![
                (format!("ring of port {port}"), ins.overflowed.get()),
                (format!("refused at port {port}"), ins.oversized.get() + ins.malformed.get() + ins.reserved.get()),
                (format!("filtered at port {port}"), ins.filtered.get()),
            ],
        })
    }

    fn stalls(&mut self) -> Vec<Stall> {
        self.running.stalls().collect()
    }

    fn tend(&mut self) -> Vec<String> {
        let told = |noticed| match noticed {
            Noticed::ClockSet(by_ns) => format!("the clock was set by {by_ns} ns meanwhile: windows moved with it"),
            Noticed::Demoted => "the switch's core hung and lost its real-time priority".into(),
            Noticed::Ended => "the switch's core ended by itself".into(),
        };
        self.running.tend().into_iter().map(told).collect()
    }
}
