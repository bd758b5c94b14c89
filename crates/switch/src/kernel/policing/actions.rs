//! The actions of streams: their numbers, and those that there are.

use ontick_tsn::model::{Stream, Switch};
use serde_json::Value;

use crate::apply::{Expect, Host, Plan, Refused, parsed};

/// Actions of the kind `police` that a stream has: one for the size, one for the meter.
const OF_A_STREAM: u32 = 2;

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

/// The number of the first action of an applied switch, and when it was planned.
pub fn as_planned(plan: &Plan) -> Option<(u32, u64)> {
    let expects = plan.steps.iter().flat_map(|step| &step.expects);
    expects.into_iter().find_map(|expect| match expect {
        Expect::Policed { first, planned_ns, .. } => Some((*first, *planned_ns)),
        _ => None,
    })
}

/// Numbers of the actions of a stream, each kind counted by itself.
pub struct Numbers {
    pub size: u32,
    pub gate: u32,
    pub meter: u32,
}

impl Numbers {
    pub fn of(first: u32, place: usize) -> Self {
        let size = first + OF_A_STREAM * place as u32;
        Self { size, gate: first + place as u32, meter: size + 1 }
    }
}

/// Actions of a kind, as `tc` shows them.
pub fn listed(host: &impl Host, kind: &str) -> Result<Vec<Value>, Refused> {
    let argv = ["tc", "-s", "-j", "actions", "list", "action", kind];
    let shown: Vec<Value> = parsed(&argv, &host.query(&argv)?)?;
    Ok(shown.into_iter().filter_map(|part| part["actions"].as_array().cloned()).flatten().collect())
}

/// The highest number that an action has, of those that leave room for others.
pub fn taken(host: &impl Host) -> Result<Option<u32>, Refused> {
    let mut all = listed(host, "police")?;
    all.extend(listed(host, "gate")?);
    let numbers = all.iter().filter_map(|action| u32::try_from(action["index"].as_u64()?).ok());
    Ok(numbers.filter(|number| *number <= u32::MAX / 2).max())
}
