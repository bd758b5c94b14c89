//! `ontick switch status`

use clap::Args;
use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, Live, SwitchDir, differences};
use ontick_switch::kernel::status::{LinkState, PortStatus, Status as Standing, status};
use ontick_switch::qdisc::Times;
use ontick_tsn::model::Plane;
use ontick_tsn::model::Switch;
use ontick_units::exact;
use serde::Serialize;

use super::target_flags::{NameFlags, standing};
use super::{background, forwarding, status_user};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Show the state of a switch: gates in force and to come, counters of each, and what another program has changed.
///
/// Exit status 1 if something is not as it was set up, or if there is no such switch.
#[derive(Args)]
#[command(after_help = "Examples:\n  sudo ontick switch status\n  sudo ontick switch status cell4 --json")]
pub struct Status {
    #[command(flatten)]
    name: NameFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Shown {
    #[serde(flatten)]
    standing: Standing,
    /// Whether all that was planned was done.
    complete: bool,
    /// Whether `ontick switch run` keeps it.
    watched: bool,
    /// Time until it goes unless it is confirmed, in ns.
    goes_in_ns: Option<u64>,
}

impl Status {
    pub fn run(self) -> Result<Outcome, Failure> {
        let found = match self.name.folder()? {
            Some(folder) => Journal::read(&folder)?.map(|journal| (folder, journal)),
            None => None,
        };
        let Some((folder, journal)) = found else { return self.none() };
        match self.of(&folder, &journal) {
            // It was taken away while it was looked at.
            Err(_) if matches!(Journal::read(&folder), Ok(None)) => self.none(),
            reported => reported,
        }
    }

    fn none(&self) -> Result<Outcome, Failure> {
        terminal::print(if self.json { "null\n" } else { "There is no such switch.\n" })?;
        Ok(Outcome::NotMet)
    }

    fn of(&self, folder: &SwitchDir, journal: &Journal) -> Result<Outcome, Failure> {
        let switch = standing(folder)?;
        if switch.plane == Plane::User {
            return self.user(folder, journal, &switch);
        }
        let shown = look(folder, journal, &switch)?;
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&shown)? + "\n"))?,
            false => terminal::print(&text(&shown, &switch))?,
        }
        let fine = shown.complete && shown.standing.differences.is_empty();
        Ok(if fine { Outcome::Met } else { Outcome::NotMet })
    }
}

impl Status {
    fn user(&self, folder: &SwitchDir, journal: &Journal, switch: &Switch) -> Result<Outcome, Failure> {
        let plan = folder.plan()?;
        let expects = plan.steps.iter().flat_map(|step| &step.expects);
        let shown = status_user::Shown {
            name: switch.name.clone(),
            plane: "user",
            complete: journal.is_complete(),
            watched: folder.is_watched(),
            goes_in_ns: goes_in_ns(folder),
            differences: differences(&Live, expects).iter().map(ToString::to_string).collect(),
            report: background::report(folder),
        };
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&shown)? + "\n"))?,
            false => terminal::print(&shown.text(switch))?,
        }
        Ok(if shown.is_fine() { Outcome::Met } else { Outcome::NotMet })
    }
}

fn goes_in_ns(folder: &SwitchDir) -> Option<u64> {
    folder.pending().map(|until_ns| until_ns.saturating_sub(ClockId::Monotonic.now_ns()))
}

fn look(folder: &SwitchDir, journal: &Journal, switch: &Switch) -> Result<Shown, Failure> {
    Ok(Shown {
        standing: status(&Live, switch, &folder.plan()?)?,
        complete: journal.is_complete(),
        watched: folder.is_watched(),
        goes_in_ns: goes_in_ns(folder),
    })
}

fn text(shown: &Shown, switch: &Switch) -> String {
    let standing = &shown.standing;
    let name = &standing.name;
    let state = match (shown.complete, shown.watched) {
        (false, _) => format!("was interrupted while it was set up: sudo ontick switch revert {name}"),
        (true, true) => "kept correct by ontick switch run".into(),
        (true, false) => "no process keeps it correct (sudo ontick switch run)".into(),
    };
    let mut text = format!("{name}  kernel data plane · {state}\n");
    if let Some(ns) = shown.goes_in_ns {
        let seconds = ns.div_ceil(1_000_000_000);
        text += &format!("is removed in {seconds} s unless confirmed: sudo ontick switch confirm {name}\n");
    }
    text += &forwarding::text(switch);
    standing.ports.iter().for_each(|port| text += &port_text(port, switch));
    for difference in &standing.differences {
        text += &format!("\ndiffers   {difference}");
    }
    if !standing.differences.is_empty() {
        text += "\n";
    }
    text
}

fn port_text(port: &PortStatus, switch: &Switch) -> String {
    let link = match port.link {
        LinkState::Gone => "gone",
        LinkState::Off => "switched off",
        LinkState::NoLink => "no link",
        LinkState::Up => "up",
    };
    let mut text = format!("\nport {}  {link} · {}\n", port.name, port.queueing);
    for (label, times) in [("in force", &port.oper), ("to come", &port.admin)] {
        if let Some(times) = times {
            text += &gates_text(label, times, switch);
        }
    }
    if !port.classes.is_empty() {
        text += &format!("  {:<16} {:>12} {:>14} {:>8} {:>8}\n", "class", "frames", "octets", "dropped", "waiting");
    }
    for class in &port.classes {
        text += &format!(
            "  {:<16} {:>12} {:>14} {:>8} {:>8}\n",
            class.class, class.packets, class.bytes, class.drops, class.waiting
        );
    }
    port.driver.iter().for_each(|(name, count)| text += &format!("  {name} {count}\n"));
    text
}

fn gates_text(label: &str, times: &Times, switch: &Switch) -> String {
    let names = |open: u64| {
        let opened = switch.classes.iter().filter(|class| open & (1 << class.queue) != 0);
        let names: Vec<&str> = opened.map(|class| class.name.as_str()).collect();
        match names.as_slice() {
            [] => "none".into(),
            all if all.len() == switch.classes.len() => "all".to_owned(),
            names => names.join("+"),
        }
    };
    let entries: Vec<String> =
        times.entries.iter().map(|(open, ns)| format!("{} {}", names(*open), exact(*ns))).collect();
    let base = format!("base time {}.{:09}", times.base_ns / 1_000_000_000, times.base_ns % 1_000_000_000);
    format!("  {label:<9} {} · cycle {} · {base}\n", entries.join(", "), exact(times.cycle_ns))
}
