//! Rapid spanning tree (IEEE 802.1Q-2022 clause 13): the kernel hands the bridge over to mstpd, by a program that comes with
//! it (Documentation/networking/bridge.rst).

use std::collections::BTreeMap;

use ontick_tsn::model::{Bridge, BridgePriority, Role, SpanningTree, Switch};
use serde::Deserialize;

use crate::apply::{Act, Expect, Host, Step, parsed};

/// What the kernel runs, in its first network namespace.
const HELPER: &str = "/sbin/bridge-stp";

/// That nobody speaks the protocol here, and where that daemon is.
pub const NO_DAEMON: &str = "stp = \"rstp\" needs the daemon mstpd with its program /sbin/bridge-stp \
                             (github.com/mstpd/mstpd), or stp = true, which the kernel speaks itself";

/// Why rapid spanning tree cannot be had.
pub(super) fn missing(host: &impl Host, switch: &Switch) -> Option<String> {
    if !matches!(switch.stp, SpanningTree::Rstp(_)) {
        return None;
    }
    if switch.bridge != Bridge::Linux {
        return Some("stp = \"rstp\" is for the kernel's own bridge (bridge = \"linux\", or stp = true)".into());
    }
    host.query(&["test", "-x", HELPER]).is_err().then(|| NO_DAEMON.into())
}

/// Hands the bridge over before it has ports; none where the file does not ask for that. The daemon goes on without the
/// bridge once that is removed.
pub(super) fn step(switch: &Switch) -> Option<Step> {
    let SpanningTree::Rstp(priority) = switch.stp else { return None };
    if switch.role != Role::Bridge {
        return None;
    }
    let bridge = switch.name.clone();
    let state = |number: u8| Act::run(format!("ip link set dev {bridge} type bridge stp_state {number}"));
    // From nothing, so that it may be asked for once more.
    let step = Step::new(format!("bridge {bridge}: rapid spanning tree (mstpd)")).act(state(0)).act(state(1));
    // Of the only tree, number 0; the daemon does not take the kernel's.
    let of_tree = priority.number() / BridgePriority::STEP;
    let step = step.act(Act::run(format!("mstpctl settreeprio {bridge} 0 {of_tree}")));
    Some(step.expect(Expect::Rapid { bridge }))
}

/// The role of each port of a bridge, as mstpd has it.
pub(super) fn roles(host: &impl Host, bridge: &str) -> BTreeMap<String, String> {
    #[derive(Deserialize)]
    struct Shown {
        port: String,
        role: String,
    }
    let argv = ["mstpctl", "-f", "json", "showport", bridge];
    let shown: Vec<Shown> = host.query(&argv).and_then(|text| parsed(&argv, &text)).unwrap_or_default();
    shown.into_iter().map(|one| (one.port, one.role.to_lowercase())).collect()
}
