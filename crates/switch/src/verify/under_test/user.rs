//! The user data plane.

use std::time::Duration;

use ontick_rt::thread::Policy;
use ontick_units::show;

use super::{CountersError, Lost, UnderTest, Worker};
use crate::user::CorePlacement;
use crate::user::core::Stall;
use crate::user::rest;
use crate::user::serve::{ServeError, Service, ServiceEvent};
use crate::verify::namespace::{Namespace, NamespaceError};
use ontick_tsn::model::{Class, Switch};

/// A user data plane on the ports of a namespace.
pub struct UserPlane {
    service: Service,
    switch: Switch,
    place: CorePlacement,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UserPlaneError {
    /// It could not begin.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

impl UserPlane {
    /// Starts it on ports that are in `namespace`.
    pub fn start(switch: &Switch, namespace: &Namespace, place: CorePlacement) -> Result<Self, UserPlaneError> {
        let service = namespace.within(|| Service::start(switch, place))??;
        Ok(Self { service, switch: switch.clone(), place })
    }
}

impl UnderTest for UserPlane {
    fn plane(&self) -> &'static str {
        "user"
    }

    fn about(&self) -> String {
        let CorePlacement { cpu, policy, .. } = self.place;
        let cpu = cpu.map_or("any CPU".into(), |cpu| format!("CPU {cpu}"));
        let policy = if policy == Policy::Other { "ordinary scheduling".into() } else { policy.to_string() };
        let report = self.service.report();
        let rests = if report.rests { ", rests 70us each millisecond" } else { "" };
        let ahead_ns = report.ports.iter().map(|port| port.ahead_ns).max().unwrap_or(0);
        let ahead = if ahead_ns > 0 { format!(", hands over {} ahead", show(ahead_ns)) } else { String::new() };
        let refused = report.refused.join("; ");
        let but = if refused.is_empty() { String::new() } else { format!(" (refused: {refused})") };
        format!("user data plane, {cpu}, {policy}{ahead}{rests}{but}")
    }

    fn longest_rest_ns(&self) -> u64 {
        if self.service.report().rests { rest::REST_NS + rest::LATE_NS } else { 0 }
    }

    fn lost(&mut self, from: usize, to: usize) -> Result<Lost, CountersError> {
        Ok(Lost::by(&self.switch, &self.service.report().counters, from, to))
    }

    fn drop_reasons(&self, to: usize) -> Vec<String> {
        let counters = self.service.report().counters;
        let why = |class: &Class| {
            let queue = &counters.ports[to].queues[usize::from(class.queue)];
            let (reasons, overdue) = (queue.drop_reasons(), queue.overdue.get());
            let dropped = (!reasons.is_empty()).then(|| format!("dropped of {}: {}", class.name, reasons.join(", ")));
            let overdue = (overdue > 0).then(|| {
                format!("overdue of {}: {overdue} were sent a cycle of the gates or more after they came", class.name)
            });
            [dropped, overdue].into_iter().flatten()
        };
        self.switch.classes.iter().flat_map(why).collect()
    }

    fn worker(&self) -> Option<Worker> {
        Some(Worker { tid: self.service.tid(), distance_ns: self.service.distance_ns() })
    }

    fn stalls(&mut self) -> Vec<Stall> {
        self.service.stalls().collect()
    }

    fn service(&mut self) -> Vec<String> {
        match self.service.service(Duration::ZERO) {
            // Every cable here was plugged in a moment ago.
            Ok(happened) => {
                happened.iter().filter(|what| !matches!(what, ServiceEvent::Up(_))).map(ToString::to_string).collect()
            }
            Err(error) => vec![format!("the switch could not be looked after: {error}")],
        }
    }
}
