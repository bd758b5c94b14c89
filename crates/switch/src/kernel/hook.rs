//! A port's hook for filters (clsact, tc(8)): at its way in and at its way out.

use crate::apply::{Act, Hook, Host, Iface, Step, Undo, preferences_at, qdiscs};

/// A step that puts filters with these preferences there, and makes the hook where neither the port has one nor a step
/// `before` makes it. `filters` undoes them where the hook stays.
pub(super) fn filters_step(
    host: &impl Host,
    mut step: Step,
    (port, hook): (&Iface, Hook),
    preferences: &[u16],
    before: &[Step],
    filters: Undo,
) -> Result<Step, String> {
    let name = &port.name;
    let makes = |undo: &Undo| matches!(undo, Undo::Clsact { port: of } if of.name == *name);
    if before.iter().flat_map(|step| &step.undos).any(makes) {
        return Ok(step.undo(filters));
    }
    let present = qdiscs(host, name).map_err(|refused| refused.to_string())?;
    let has = |kind: &str| present.iter().any(|qdisc| qdisc["kind"] == kind);
    if has("ingress") {
        return Err(format!("port {name} has an ingress queueing discipline, beside which there can be no clsact"));
    }
    if !has("clsact") {
        step = step.undo(Undo::Clsact { port: port.clone() });
        return Ok(step.act(Act::run(format!("tc qdisc add dev {name} clsact"))));
    }
    let taken = preferences_at(host, name, hook).map_err(|refused| refused.to_string())?;
    match preferences.iter().find(|preference| taken.contains(preference)) {
        Some(preference) => Err(format!(
            "port {name} has {} filter with preference {preference} already, which ontick would use",
            if hook == Hook::Ingress { "an ingress" } else { "a" }
        )),
        None => Ok(step.undo(filters)),
    }
}
