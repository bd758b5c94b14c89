//! The actions of streams: their numbers, and those that there are.

use std::collections::BTreeSet;

use ontick_tsn::model::{Stream, Switch};
use serde_json::Value;

use crate::apply::{Expect, Host, Plan, Refused, StreamActions, parsed};

/// The parts of the kernel that it takes, by their names in `check`.
pub fn parts(switch: &Switch) -> Vec<&'static str> {
    let has = |of: fn(&Stream) -> bool| switch.streams.iter().any(of);
    let mut parts = Vec::new();
    if has(|_| true) {
        parts.extend(["clsact", "flower"]);
    }
    if has(|stream| stream.max_sdu.is_some() || stream.meter.is_some()) {
        parts.push("police");
    }
    if has(|stream| stream.gate.is_some()) {
        parts.push("gate");
    }
    parts
}

/// What the actions of each stream of an applied switch are called; nothing where no stream is policed.
pub fn as_planned(plan: &Plan) -> &[StreamActions] {
    let expects = plan.steps.iter().flat_map(|step| &step.expects);
    let mut actions = expects.filter_map(|expect| match expect {
        Expect::Policed { actions, .. } => Some(actions.as_slice()),
        _ => None,
    });
    // A port by which no stream comes in any more has none.
    actions.find(|actions| !actions.is_empty()).unwrap_or_default()
}

/// Actions of a kind, as `tc` shows them.
pub fn listed(host: &impl Host, kind: &str) -> Result<Vec<Value>, Refused> {
    let argv = ["tc", "-s", "-j", "actions", "list", "action", kind];
    let shown: Vec<Value> = parsed(&argv, &host.query(&argv)?)?;
    Ok(shown.into_iter().filter_map(|part| part["actions"].as_array().cloned()).flatten().collect())
}

/// The numbers that actions have.
pub fn taken(host: &impl Host) -> Result<BTreeSet<u32>, Refused> {
    let mut all = listed(host, "police")?;
    all.extend(listed(host, "gate")?);
    Ok(all.iter().filter_map(|action| u32::try_from(action["index"].as_u64()?).ok()).collect())
}
