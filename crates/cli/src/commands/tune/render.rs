//! Plans and what became of them, as text.

use ontick_machine::apply::{Change, Outcome};
use ontick_machine::boot::{BootPlan, CommandOutcome};
use ontick_machine::isolate::Isolated;
use ontick_machine::plan::{Item, State, TuningPlan};
use ontick_machine::revert::{Reverted, Step};
use ontick_machine::status::{SettingState, Standing, Status};
use ontick_report::Style;
use ontick_report::text::{Entry, Mark, diff, labelled, list};
use ontick_undo::Undone;

use super::done::{BootDone, Done};
use crate::flags::RootFlag;

/// What is said where none of these settings could be seen; of the running machine (`live`), a kernel runs.
pub(super) fn unseen(items: &[Item], live: bool) -> Option<&'static str> {
    let is_absent = |item: &Item| matches!(item.state, State::Absent(_));
    if !items.iter().all(|item| is_absent(item) || matches!(item.state, State::Unreadable(_))) {
        return None;
    }
    Some(match live {
        false => "No kernel runs here whose settings could be seen.\n",
        true if items.iter().all(is_absent) => "Nothing to change.\n",
        true => "None of the settings could be read.\n",
    })
}

/// The changes; `all` adds what stays as it is. `live`: of the running machine.
pub fn plan(plan: &TuningPlan, all: bool, live: bool, style: &Style) -> String {
    let target = &plan.target;
    let (profile, cpus, others) = (target.profile.name(), &target.cpus, &target.others);
    let head = format!("profile {profile} · CPU {cpus} for timed programs, CPU {others} for everything else");
    let mut text = labelled("", &head, style) + "\n";
    let would = |i: &&Item| matches!(i.state, State::Change | State::NeedsIsolate | State::Refused(_));
    let (shown, rest): (Vec<&Item>, Vec<&Item>) = plan.items.iter().partition(would);
    let mut entries = grouped(&shown, |i| &i.path, planned);
    if all {
        entries.extend(grouped(&rest, |i| &i.path, planned));
    }
    text += &list(&entries, style);
    if let Some(unseen) = unseen(&plan.items, live) {
        text += unseen;
    } else if entries.is_empty() {
        text += "Everything is as wanted.\n";
    }
    text += &notes(&plan.notes, style);
    if !all && !rest.is_empty() {
        text += &format!(" ...  {} more stay as they are (--all)\n", counted(rest.len(), "setting"));
    }
    text
}

fn planned(item: &Item) -> Entry {
    let (mark, word, said) = match &item.state {
        State::Change => (Mark::Look, "change", format!("{} → {}", item.current, item.wanted)),
        State::NeedsIsolate => {
            (Mark::Plain, "isolate", format!("{} → {}, only with --isolate", item.current, item.wanted))
        }
        State::AsWanted => (Mark::Good, "ok", item.current.clone()),
        State::Left(why) => (Mark::Plain, "leave", format!("{}: {why}", item.current)),
        State::Absent(why) => (Mark::Plain, "absent", why.clone()),
        State::Unreadable(why) => (Mark::Plain, "unread", why.clone()),
        State::Refused(why) => (Mark::Bad, "refused", why.clone()),
    };
    let reason = matches!(item.state, State::Change | State::NeedsIsolate).then(|| ("why", item.why.to_owned()));
    entry(mark, word, item.knob, said, reason.into_iter().collect())
}

/// What would be done about the way the machine boots.
pub fn boot_plan(plan: &BootPlan, style: &Style) -> String {
    let mut text = String::from("\nAt boot\n");
    let why = |name: String, why: &str| entry(Mark::Look, "boot", &name, why.into(), Vec::new());
    let mut wanted: Vec<Entry> = plan.arguments.iter().map(|a| why(a.text(), a.why)).collect();
    wanted.extend(plan.settings.iter().map(|s| why(format!("{}={}", s.key, s.value), s.why)));
    text += &list(&wanted, style);
    text += &notes(&plan.notes, style);
    if plan.edits.is_empty() {
        return text + "The boot files are as wanted.\n";
    }
    plan.edits.iter().for_each(|edit| text += &format!("\n{}", diff(&edit.diff, style)));
    text += "\n";
    for command in &plan.commands {
        text += &format!("then      {command}\n");
    }
    text + &format!("restart   {}\n", plan.restart)
}

/// What `apply` did.
pub(super) fn done(done: &Done, root: &RootFlag, style: &Style) -> String {
    let changes: Vec<&Change> = done.applied.changes.iter().collect();
    let left: Vec<&Item> = done.left.iter().collect();
    let mut entries = grouped(&changes, |c| &c.path, changed);
    entries.extend(grouped(&left, |i| &i.path, planned));
    let mut text = list(&entries, style);
    if entries.is_empty() && done.applied.stopped.is_none() {
        text += done.unseen.unwrap_or("Every setting is as wanted already.\n");
    }
    if let Some(isolated) = &done.isolated {
        text += &isolation(isolated, style);
    }
    if let Some(boot) = &done.boot {
        text += &booted(boot, root.is_folder(), style);
    }
    let refused = changes.iter().filter(|c| matches!(c.outcome, Outcome::Refused(_))).count();
    let made = changes.len() - refused;
    if made > 0 || done.isolated.is_some() || done.boot.is_some() {
        let refused = if refused > 0 { format!(", {refused} refused") } else { String::new() };
        let back = root.command("sudo ontick tune revert");
        text += &format!("\n{} changed{refused}. The way back: {back}\n", counted(made, "setting"));
    }
    text
}

fn changed(change: &Change) -> Entry {
    let (mark, word, more) = match &change.outcome {
        Outcome::Done => (Mark::Good, "done", String::new()),
        Outcome::Different(shown) => (Mark::Look, "differs", format!(", but the kernel shows {shown}")),
        Outcome::Refused(why) => (Mark::Bad, "refused", format!(": {why}")),
    };
    let said = format!("{} → {}{more}{}", change.from, change.to, besides(&change.note));
    entry(mark, word, &change.knob, said, Vec::new())
}

fn besides(note: &Option<String>) -> String {
    note.as_ref().map(|note| format!("; {note}")).unwrap_or_default()
}

fn isolation(isolated: &Isolated, style: &Style) -> String {
    let head = match (&isolated.refused, &isolated.group) {
        (Some(why), _) => entry(Mark::Bad, "refused", "isolation", why.clone(), Vec::new()),
        (None, group) => {
            let group = group.as_deref().unwrap_or_default();
            let said = format!(
                "{}: {group}; {} moved, {} stay",
                isolated.method,
                counted(isolated.moved, "task"),
                isolated.stayed.len()
            );
            let how = format!("ontick run --isolate, or: echo PID > {group}/cgroup.procs");
            entry(Mark::Good, "done", "isolation", said, vec![("use", how)])
        }
    };
    let stayed: Vec<&ontick_machine::isolate::UnmovedTask> = isolated.stayed.iter().collect();
    let mut entries = vec![head];
    let mut reasons: Vec<&str> = stayed.iter().map(|s| s.why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for why in reasons {
        let names: Vec<String> =
            stayed.iter().filter(|s| s.why == why).map(|s| format!("{} {}", s.name, s.task)).collect();
        let below = vec![("", names.join(", "))];
        entries.push(entry(Mark::Plain, "stay", &counted(names.len(), "task"), why.into(), below));
    }
    list(&entries, style)
}

/// What was done about the way the machine boots; in a folder (`of_folder`), what its system is to run yet.
fn booted(boot: &BootDone, of_folder: bool, style: &Style) -> String {
    let mut text = String::from("\nAt boot\n");
    let mut entries = Vec::new();
    for file in &boot.files.written {
        let backup = file.backup.iter().map(|b| ("backup", b.clone())).collect();
        entries.push(entry(Mark::Good, "written", "file", file.path.clone(), backup));
    }
    entries.extend(boot.files.stopped.iter().map(|w| entry(Mark::Bad, "refused", "files", w.clone(), Vec::new())));
    entries.extend(boot.unit_refused.iter().map(|w| entry(Mark::Bad, "refused", "unit", w.clone(), Vec::new())));
    entries.extend(ran(&boot.commands));
    text += &list(&entries, style);
    if boot.plan.edits.is_empty() {
        text += "The boot files are as wanted already.\n";
    }
    text += &notes(&boot.plan.notes, style);
    if !boot.files.written.is_empty() {
        if of_folder {
            boot.plan.commands.iter().for_each(|command| text += &format!("then      {command}\n"));
        }
        text += &format!("It takes effect with a restart: {}\n", boot.plan.restart);
    }
    text
}

/// What is in force.
pub fn status(status: &Status, style: &Style) -> String {
    let changes: Vec<&Standing> = status.changes.iter().collect();
    let mut text = list(&grouped(&changes, |c| &c.path, standing), style);
    if changes.is_empty() {
        text += "No change by ontick is in force.\n";
    }
    text + &before(status.undone_by_restart, &status.damage, style)
}

fn standing(change: &Standing) -> Entry {
    let values = match change.set.is_empty() {
        true => change.path.clone(),
        false => format!("{} → {}", change.original, change.set),
    };
    let (mark, word, said) = match change.state {
        SettingState::AsSet => (Mark::Good, "set", values),
        SettingState::AsBefore => (Mark::Plain, "before", format!("{values}, as it was before")),
        SettingState::ChangedByOthers => {
            (Mark::Look, "others", format!("{values}, and another program's {}", change.now))
        }
        SettingState::Gone => (Mark::Plain, "gone", values),
    };
    entry(mark, word, &change.knob, said + &besides(&change.note), Vec::new())
}

/// What `revert` did.
pub fn reverted(reverted: &Reverted, commands: &[CommandOutcome], live: bool, style: &Style) -> String {
    let steps: Vec<&Step> = reverted.steps.iter().collect();
    let mut entries = grouped(&steps, |s| &s.path, undone);
    entries.extend(ran(commands));
    let mut text = list(&entries, style);
    if steps.is_empty() && reverted.damaged.is_some() {
        text += "No other change by ontick is in force.\n";
    } else if steps.is_empty() {
        text += "No change by ontick is in force.\n";
    } else if reverted.complete() {
        text += &format!("\nEverything is as before ({} undone).\n", counted(steps.len(), "change"));
    }
    if let Some(place) = reverted.damaged {
        text += &notes(&[format!("what is left of the journal is kept in {place}")], style);
    }
    if !live {
        reverted.commands.iter().for_each(|c| text += &format!("then      {c}\n"));
    }
    text + &before(reverted.undone_by_restart, &reverted.damage, style)
}

/// What became of one change.
pub fn undone(step: &Step) -> Entry {
    let to = if step.original.is_empty() { step.path.clone() } else { step.original.clone() };
    let (mark, word, said) = match &step.outcome {
        Undone::Restored => (Mark::Good, "restored", to),
        Undone::TakenOut => (Mark::Good, "taken out", format!("{to}: what another program wrote there since stays")),
        Undone::AlreadyAsBefore => (Mark::Good, "as before", to),
        Undone::Gone => (Mark::Plain, "gone", to),
        Undone::ChangedByOthers(why) if !step.is_value => {
            (Mark::Look, "left", format!("{to}: {why} (--force restores it)"))
        }
        Undone::ChangedByOthers(now) => {
            (Mark::Look, "left", format!("another program has set {now} since; it was {to} (--force restores it)"))
        }
        Undone::Superseded(why) => (Mark::Plain, "left", format!("{why}; it was {to}")),
        Undone::Refused(why) => (Mark::Bad, "refused", format!("{to}: {why}")),
    };
    entry(mark, word, &step.knob, said, Vec::new())
}

fn before(undone_by_restart: usize, damage: &[String], style: &Style) -> String {
    let mut all = Vec::new();
    if undone_by_restart > 0 {
        all.push(format!("{} had gone with a restart", counted(undone_by_restart, "change")));
    }
    all.extend(damage.iter().map(|d| format!("the journal {}: {d}", ontick_machine::journal::PATH)));
    notes(&all, style)
}

fn ran(commands: &[CommandOutcome]) -> Vec<Entry> {
    let one = |ran: &CommandOutcome| match &ran.failed {
        None => entry(Mark::Good, "ran", &ran.command, String::new(), Vec::new()),
        Some(why) => entry(Mark::Bad, "failed", &ran.command, why.clone(), Vec::new()),
    };
    commands.iter().map(one).collect()
}

/// Notes, each on lines of its own.
pub fn notes(notes: &[String], style: &Style) -> String {
    notes.iter().map(|note| labelled("note      ", note, style)).collect()
}

/// One entry for all that differ in their file only, where the first of them stands.
fn grouped<T>(all: &[&T], path: fn(&T) -> &String, show: fn(&T) -> Entry) -> Vec<Entry> {
    let mut groups: Vec<(Entry, Vec<&String>)> = Vec::new();
    for one in all {
        let entry = show(one);
        match groups.iter_mut().find(|(group, _)| *group == entry) {
            Some((_, paths)) => paths.push(path(one)),
            None => groups.push((entry, vec![path(one)])),
        }
    }
    let finished = |(mut entry, paths): (Entry, Vec<&String>)| {
        let more = if paths.len() > 1 { format!(" and {} more", paths.len() - 1) } else { String::new() };
        if entry.said != *paths[0] {
            entry.below.insert(0, ("in", format!("{}{more}", paths[0])));
        }
        entry
    };
    groups.into_iter().map(finished).collect()
}

/// One line of a list.
pub fn entry(mark: Mark, word: &str, name: &str, said: String, below: Vec<(&'static str, String)>) -> Entry {
    Entry { mark, word: word.into(), name: name.into(), said, below }
}

/// `1 file`, `2 files`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use ontick_machine::ValueFormat;

    use super::*;

    #[test]
    fn a_running_kernel_is_not_said_to_run_nowhere() {
        let item = |state| Item {
            knob: "machine-check-poll",
            path: "/sys/p".into(),
            form: ValueFormat::Plain,
            current: String::new(),
            wanted: String::new(),
            state,
            why: "",
            source: "",
        };
        let absent = || item(State::Absent("this machine does not have it".into()));
        let unread = || item(State::Unreadable("/sys/p: no right to".into()));
        assert_eq!(unseen(&[absent(), absent()], true), Some("Nothing to change.\n"));
        assert_eq!(unseen(&[absent(), unread()], true), Some("None of the settings could be read.\n"));
        assert!(unseen(&[absent(), unread()], false).is_some_and(|said| said.starts_with("No kernel runs here")));
        assert_eq!(unseen(&[absent(), item(State::AsWanted)], true), None);
    }
}
