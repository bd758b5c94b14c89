//! Other gates and streams for a switch that is set up.

use ontick_switch::apply::{Act, Host, Journal, Live, Refused, SwitchDir};
use ontick_switch::kernel;
use ontick_switch::user::station::served;
use ontick_tsn::config;
use ontick_tsn::model::{Plane, Port, Switch};

use super::measured::Measured;
use super::target_flags::{self, refuse_short_windows, standing};
use super::{background, file};
use crate::failure::Failure;

/// Sets the gates and streams that a configuration has; what was done, as a sentence. Whoever calls it holds the lock.
pub fn apply(
    folder: &SwitchDir,
    journal: &Journal,
    switch: &Switch,
    measured: Option<&Measured>,
) -> Result<String, Failure> {
    let name = &switch.name;
    if !journal.is_complete() {
        return Err(Failure::new(format!(
            "setting up switch {name} was interrupted: sudo ontick switch revert {name} restores what was before"
        )));
    }
    let before = standing(folder)?;
    let short = refuse_short_windows(&Switch { plane: before.plane, ..switch.clone() }, measured)?;
    short.iter().for_each(|note| file::note(note));
    if before.plane == Plane::User {
        return of_user(folder, &before, switch);
    }
    let plan = folder.plan()?;
    let now_ns = ontick_switch::clock::now_ns(switch.clock);
    let Some(regated) = kernel::regate(&Live, (&plan, journal.entries()), &before, switch, now_ns)? else {
        return Err(Failure::new(format!(
            "switch {name} is set up, and only streams and the gates of ports that have some can be changed: sudo \
                 ontick switch revert {name}, then apply"
        )));
    };
    if regated.is_empty() {
        return Ok(format!("Switch {name} is already as the file says."));
    }
    if let (Some(streams), Some(mut journal)) = (&regated.streams, Journal::read(folder)?) {
        streams.intend(&mut journal)?;
    }
    // Before the gates: whoever keeps the switch then sets the new ones.
    folder.keep_configuration(&config::write(switch), &regated.plan)?;
    if let Err(refused) = in_kernel(&regated) {
        let back = all(&regated.back).and_then(|()| all(&regated.again()));
        folder.keep_configuration(&config::write(&before), &plan)?;
        back.map_err(|worse| Failure::new(format!("{refused}, and the gates before cannot be restored: {worse}")))?;
        return Err(Failure::new(format!("{refused}. Gates and streams are as before")));
    }
    let ports = regated.acts.len();
    let streams = regated.streams.is_some().then(|| format!("Streams of switch {name} are changed."));
    let gates = (ports > 0)
        .then(|| format!("Gates of switch {name} are changed on {ports} port{}.", if ports == 1 { "" } else { "s" }));
    Ok(streams.into_iter().chain(gates).collect::<Vec<_>>().join(" "))
}

/// Streams last: what of them is refused leaves those of before.
fn in_kernel(regated: &kernel::Regated) -> Result<(), Refused> {
    all(&regated.acts)?;
    regated.streams.as_ref().map_or(Ok(()), |streams| streams.carry_out(&Live))?;
    all(&regated.again())
}

/// For a data plane that runs.
fn of_user(folder: &SwitchDir, before: &Switch, after: &Switch) -> Result<String, Failure> {
    let name = &before.name;
    if target_flags::is_wanted(before, after) {
        return Ok(format!("Switch {name} is already as the file says."));
    }
    let after = served(Switch { plane: Plane::User, ..after.clone() });
    let without = |switch: &Switch| {
        let ports = switch.ports.iter().map(|port| Port { gates: None, ..port.clone() }).collect();
        Switch { ports, streams: Vec::new(), ..switch.clone() }
    };
    if without(before) != without(&after) {
        return Err(Failure::new(format!(
            "switch {name} is set up, and only gates and streams can be changed: sudo ontick switch revert {name}, \
                 then apply"
        )));
    }
    if !folder.is_watched() {
        return Err(Failure::new(format!(
            "switch {name} was set up, but the process that did its work is gone: sudo ontick switch revert {name}, \
                 then apply"
        )));
    }
    let text = config::write(&after);
    folder.keep_configuration(&text, &folder.plan()?)?;
    if !background::took(folder, &text) {
        folder.keep_configuration(&config::write(before), &folder.plan()?)?;
        return Err(Failure::new("the data plane did not take the gates and streams; they are as before"));
    }
    let has_gates = before.ports.iter().zip(&after.ports).any(|(old, new)| old.gates != new.gates);
    let streams = (before.streams != after.streams).then(|| format!("Streams of switch {name} are changed."));
    let gates = has_gates.then(|| format!("Gates of switch {name} change at their base time."));
    Ok(streams.into_iter().chain(gates).collect::<Vec<_>>().join(" "))
}

fn all(acts: &[Act]) -> Result<(), Refused> {
    acts.iter().try_for_each(|act| Live.act(act))
}
