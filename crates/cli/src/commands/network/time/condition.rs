//! Why a node's time is not good.

use ontick_network::ptp::{Node, Observation, Role, Watch};
use ontick_units::exact;

use super::sentences::{Sentences, signed};

/// By what ptp4l said last; nothing where that is good.
pub fn lack(node: &Node, watch: &Watch, seen: &Observation, offset_ns: Option<i64>) -> Option<String> {
    match watch.role() {
        Role::Unsynchronized => {
            let sentences = Sentences::of(node);
            let port = |number, state| format!("{} {state}", sentences.interface(number));
            let ports: Vec<String> = seen.ports.iter().map(|one| port(one.number, one.state.name())).collect();
            Some(format!("it has no master, or is not in step with it ({})", ports.join(", ")))
        }
        Role::Grandmaster if watch.has_time() => None,
        Role::Grandmaster if node.grandmasters.is_empty() => {
            Some("it gives the time itself, as the grandmaster that it followed is lost".into())
        }
        Role::Grandmaster => Some("it gives the time itself, as it hears none of those that the file names".into()),
        Role::Follower { .. } => match (offset_ns, node.time.offset_bound_ns) {
            (None, _) => Some("its offset was not measured yet".into()),
            (Some(ns), Some(bound_ns)) if ns.unsigned_abs() > bound_ns => {
                Some(format!("the offset, {}, is beyond offset-bound = \"{}\"", signed(ns), exact(bound_ns)))
            }
            _ => None,
        },
    }
}
