//! Other gates, frame sizes, idle slopes and streams for a switch that is set up.

use ontick_switch::apply::{Act, Host, Journal, Live, Plan, Refused, SwitchDir, differences};
use ontick_switch::kernel::{self, time_loss};
use ontick_switch::user::plan::too_large;
use ontick_switch::user::station::served;
use ontick_tsn::config;
use ontick_tsn::model::{Plane, Port, Switch};

use super::measured::Measured;
use super::target_flags::{self, refuse_short_windows, standing};
use super::{background, file};
use crate::failure::Failure;

/// Sets the gates, frame sizes, idle slopes and streams that a configuration has; what was done, as a sentence. Whoever calls
/// it holds the lock.
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
            "switch {name} is set up, and only streams, gates of ports that have some, and idle slopes of classes that \
             have one can be changed: sudo ontick switch revert {name}, then apply"
        )));
    };
    if regated.is_empty() {
        return as_planned(folder, &before, &plan).map(|()| format!("Switch {name} is already as the file says."));
    }
    if let (Some(streams), Some(mut journal)) = (&regated.streams, Journal::read(folder)?) {
        streams.intend(&mut journal)?;
    }
    // Before the gates: whoever keeps the switch then sets the new ones.
    folder.keep_configuration(&standing_as(&before, switch), &regated.plan)?;
    if let Err(refused) = in_kernel(&regated) {
        let back = all(&regated.back).and_then(|()| all(&regated.again()));
        folder.keep_configuration(&config::write(&before), &plan)?;
        back.map_err(|worse| Failure::new(format!("{refused}, and the gates before cannot be restored: {worse}")))?;
        return Err(Failure::new(format!("{refused}. Gates, idle slopes and streams are as before")));
    }
    let ports = regated.gates_on;
    Ok(done(&before, switch, &format!("are changed on {ports} port{}", if ports == 1 { "" } else { "s" })))
}

/// What is kept of a changed switch. Its data plane was decided when it was set up, whatever its file leaves open.
fn standing_as(before: &Switch, after: &Switch) -> String {
    config::write(&Switch { plane: before.plane, ..after.clone() })
}

/// A switch is as its file says only where the kernel has it so: somebody may have changed it, or been killed over it.
fn as_planned(folder: &SwitchDir, switch: &Switch, plan: &Plan) -> Result<(), Failure> {
    let plan = time_loss::in_force(folder, switch).map_or_else(|| plan.clone(), |to| time_loss::forced(plan, to));
    let expects = plan.steps.iter().flat_map(|step| &step.expects);
    let Some(difference) = differences(&Live, expects).into_iter().next() else { return Ok(()) };
    let name = &switch.name;
    Err(Failure::new(format!(
        "switch {name} is set up as the file says, but {difference}: sudo ontick switch run with the file puts that right, \
         as does sudo ontick switch revert {name}, then apply"
    )))
}

/// What was changed; `gates` says what became of those.
fn done(before: &Switch, after: &Switch, gates: &str) -> String {
    let name = &before.name;
    let differ = |of: fn(&Port, &Port) -> bool| before.ports.iter().zip(&after.ports).any(|(old, new)| of(old, new));
    let streams = (before.streams != after.streams).then(|| format!("Streams of switch {name} are changed."));
    let sizes =
        differ(|old, new| old.max_sdu != new.max_sdu).then(|| format!("Frame sizes of switch {name} are changed."));
    let slopes = differ(|old, new| old.idle_slopes != new.idle_slopes)
        .then(|| format!("Idle slopes of switch {name} are changed."));
    let gates = differ(|old, new| old.gates != new.gates).then(|| format!("Gates of switch {name} {gates}."));
    [streams, sizes, slopes, gates].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Streams last: what of them is refused leaves those of before.
fn in_kernel(regated: &kernel::Regated) -> Result<(), Refused> {
    all(&regated.acts)?;
    let Some(streams) = &regated.streams else { return Ok(()) };
    streams.carry_out(&Live)?;
    all(&regated.again()).inspect_err(|_| streams.put_back(&Live))
}

/// For a data plane that runs.
fn of_user(folder: &SwitchDir, before: &Switch, after: &Switch) -> Result<String, Failure> {
    let name = &before.name;
    if !folder.is_watched() {
        return Err(Failure::new(format!(
            "switch {name} was set up, but the process that did its work is gone: sudo ontick switch revert {name}, \
             then apply"
        )));
    }
    if target_flags::is_wanted(before, after) {
        // Whoever put it there may have been killed before the data plane refused it.
        return match background::took(folder, &folder.configuration()?) {
            Ok(()) => Ok(format!("Switch {name} is already as the file says.")),
            Err(why) => Err(Failure::new(format!(
                "switch {name} is to be as the file says, and the data plane did not take that: {why}"
            ))),
        };
    }
    let after = served(Switch { plane: Plane::User, ..after.clone() });
    if before.fixed() != after.fixed() {
        return Err(Failure::new(format!(
            "switch {name} is set up, and only gates, frame sizes, idle slopes and streams can be changed: sudo ontick \
             switch revert {name}, then apply"
        )));
    }
    if let Some(why) = after.ports.iter().find_map(|port| too_large(&after, port)) {
        return Err(Failure::new(why));
    }
    let text = config::write(&after);
    folder.keep_configuration(&text, &folder.plan()?)?;
    if let Err(why) = background::took(folder, &text) {
        folder.keep_configuration(&config::write(before), &folder.plan()?)?;
        return Err(Failure::new(format!(
            "the data plane did not take the gates, frame sizes, idle slopes and streams, which are as before: {why}"
        )));
    }
    Ok(done(before, &after, "change at their base time"))
}

fn all(acts: &[Act]) -> Result<(), Refused> {
    acts.iter().try_for_each(|act| Live.act(act))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_switch_keeps_the_data_plane_that_it_was_set_up_with() {
        let text = "[switch]\nname = \"cell\"\n[[class]]\nname = \"all\"\nqueue = 0\n[[port]]\nname = \"a\"\n[[port]]\nname = \"b\"\n";
        let after = config::read(text).unwrap().switch;
        assert_eq!(after.plane, Plane::Auto);
        let before = Switch { plane: Plane::Kernel, ..after.clone() };
        assert_eq!(config::read(&standing_as(&before, &after)).unwrap().switch.plane, Plane::Kernel);
    }
}
