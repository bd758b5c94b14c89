//! The kernel's data plane.

use super::{Causes, CountersError, Lost, UnderTest, counted};
use crate::apply::{self, Live, Plan, Refused, differences};
use crate::kernel::{self, CannotPlan};
use crate::verify::namespace::{Namespace, NamespaceError};
use ontick_tsn::model::{Bridge, SpanningTree, Switch};

/// The kernel's bridge, classifier and taprio on the ports of a namespace, with which they end.
pub struct KernelPlane<'a> {
    namespace: &'a Namespace,
    switch: Switch,
    plan: Plan,
}

/// Why it does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelPlaneError {
    /// The kernel lacks something.
    #[error("the kernel's data plane cannot be set up here: {0}")]
    Cannot(#[from] CannotPlan),
    /// The kernel refused something.
    #[error("the kernel's data plane could not be set up: {0}")]
    Refused(#[from] Refused),
    /// It is other than it was set up.
    #[error("the kernel's data plane is not as it was set up: {0}")]
    Differs(apply::Difference),
    /// The namespace cannot be entered.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
}

impl<'a> KernelPlane<'a> {
    /// Sets it up on ports that are in `namespace`. There is no way back to be kept: everything is gone with the
    /// namespace.
    pub fn start(switch: &Switch, namespace: &'a Namespace) -> Result<Self, KernelPlaneError> {
        if switch.bridge != Bridge::Linux {
            let why = "Open vSwitch works where its daemon runs, not in a network namespace of its own: set the switch \
                       up, and measure it on its ports";
            return Err(CannotPlan { reasons: vec![why.into()] }.into());
        }
        // Nothing is around it that could make a loop, no daemon hears of it, and a port of a spanning tree would forward
        // nothing for half a minute.
        let switch = &Switch { stp: SpanningTree::Off, ..switch.clone() };
        let set_up = || -> Result<Plan, KernelPlaneError> {
            let plan = kernel::plan(&Live, switch, crate::clock::now_ns(switch.clock))?;
            for step in &plan.steps {
                step.acts.iter().try_for_each(|act| apply::Host::act(&Live, act))?;
            }
            match differences(&Live, plan.steps.iter().flat_map(|step| &step.expects)).into_iter().next() {
                Some(difference) => Err(KernelPlaneError::Differs(difference)),
                None => Ok(plan),
            }
        };
        let plan = namespace.within(set_up)??;
        Ok(Self { namespace, switch: switch.clone(), plan })
    }

    /// Whether it has gates.
    pub fn has_taprio(&self) -> bool {
        self.switch.ports.iter().any(|port| port.gates.is_some())
    }

    /// Frames that it took in and did not send, at all of its ports, by why; those that wait are among them.
    pub fn not_sent(&self) -> Result<Causes, CountersError> {
        Ok(self.namespace.within(|| counted::not_sent(&Live, &self.switch))??)
    }

    fn status(&self) -> Result<kernel::Status, String> {
        let status = self.namespace.within(|| kernel::status(&Live, &self.switch, &self.plan, None));
        status.map_err(|e| e.to_string())?.map_err(|e| e.to_string())
    }
}

impl UnderTest for KernelPlane<'_> {
    fn plane(&self) -> &'static str {
        "kernel"
    }

    fn about(&self) -> String {
        let mut kinds: Vec<String> = self
            .status()
            .map(|status| status.ports.into_iter().map(|port| port.queueing).collect())
            .unwrap_or_default();
        kinds.sort();
        kinds.dedup();
        format!("kernel data plane, bridge with {}", kinds.join(" and "))
    }

    fn lost(&mut self, from: usize, to: usize) -> Result<Lost, CountersError> {
        Ok(self.namespace.within(|| counted::lost(&Live, &self.switch, from, to))??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::user::testbed::namespace;
    use ontick_tsn::config;

    #[test]
    fn a_switch_that_cuts_loops_forwards_at_once_where_there_is_none() {
        let Some(namespace) = namespace() else { return };
        let text = "[switch]\nname = \"cell4\"\nplane = \"kernel\"\nstp = \"rstp\"\n[[class]]\nname = \"all\"\nqueue = 0\n\
                    [[port]]\nname = \"p1\"\n[[port]]\nname = \"p2\"\n";
        let switch = config::read(text).unwrap().switch;
        for (port, peer) in [("p1", "q1"), ("p2", "q2")] {
            namespace.join(port, &namespace, peer).unwrap();
        }
        let plane = KernelPlane::start(&switch, &namespace).unwrap();
        let shown = namespace.run("ip", &["-d", "link", "show", "dev", "cell4"]).unwrap();
        assert!(shown.contains(" stp_state 0 "), "{shown}");
        assert!(plane.status().unwrap().ports.iter().all(|port| port.spanning_tree.is_none()));
    }
}
