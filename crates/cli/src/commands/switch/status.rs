//! `ontick switch status`

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::Args;
use ontick_record::store;
use ontick_report::datapath::{self, DataPath};
use ontick_report::plot;
use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, Live, SwitchDir, differences};
use ontick_switch::ethtool::mac_merge::{self, VerifyStatus};
use ontick_switch::kernel::status::{LinkState, PortStatus, Status as Standing, status};
use ontick_switch::kernel::time_loss;
use ontick_switch::qdisc::Times;
use ontick_tsn::model::{GateOverride, Plane, Switch};
use ontick_units::{count, exact};
use serde::Serialize;

use super::status_user::{self, first_column};
use super::target_flags::{NameFlags, standing};
use super::{background, data_path, forwarding, streams};
use crate::failure::{Failure, Outcome};
use crate::screen::Screen;
use crate::{stop, terminal};

/// Show the state of a switch: gates in force and to come, counters of each, and what another program has changed.
///
/// --watch and --svg show the data path: how many frames came to each stage (ingress, classifier, queue, gate, egress),
/// left it, and were dropped there, and why.
///
/// Exit status 1 if something is not as it was set up, or if there is no such switch.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch status\n  sudo ontick switch status cell4 --json\n  sudo ontick switch status --watch\n  sudo ontick switch status --svg path.svg"
)]
pub struct Status {
    #[command(flatten)]
    name: NameFlags,
    /// Show the counters of the data path each second, until Ctrl-C: on the whole screen, or as lines where the output is
    /// no terminal that can be rewritten
    #[arg(long)]
    watch: bool,
    /// Write a picture of the data path to this file; with --watch, each second anew
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON; with --watch, a document a line
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
    /// What its gates are in place of their lists, as the network's time is lost.
    forced: Option<GateOverride>,
}

/// A switch as it was found.
struct Found {
    json: Json,
    text: String,
    path: DataPath,
    /// Whether all is as it was set up.
    fine: bool,
}

/// What `--json` prints, on many lines or on one.
struct Json {
    pretty: String,
    line: String,
}

impl Json {
    fn of(shown: &impl Serialize) -> Result<Self, Failure> {
        Ok(Self { pretty: serde_json::to_string_pretty(shown)? + "\n", line: serde_json::to_string(shown)? + "\n" })
    }
}

impl Status {
    pub fn run(self) -> Result<Outcome, Failure> {
        if let Some(path) = &self.svg {
            store::check_writable(path)?;
        }
        if self.watch {
            return self.watch();
        }
        let Some(found) = self.found()? else { return self.none() };
        match self.json {
            true => terminal::print(&found.json.pretty)?,
            false => terminal::print(&ontick_report::text::fitted(&found.text, &terminal::style()))?,
        }
        self.draw(&found)?;
        if let Some(path) = self.svg.as_ref().filter(|_| !self.json) {
            terminal::print(&format!("picture: {}\n", path.display()))?;
        }
        Ok(if found.fine { Outcome::Met } else { Outcome::NotMet })
    }

    fn none(&self) -> Result<Outcome, Failure> {
        terminal::print(&if self.json { "null\n".into() } else { self.name.none() })?;
        Ok(Outcome::NotMet)
    }

    fn draw(&self, found: &Found) -> Result<(), Failure> {
        match &self.svg {
            Some(path) => Ok(store::write_whole(path, plot::data_path(&found.path).as_bytes())?),
            None => Ok(()),
        }
    }

    /// Each second, until it is stopped or the switch is gone.
    fn watch(&self) -> Result<Outcome, Failure> {
        let stop = stop::on_signal()?;
        let screen = Screen::new(!self.json);
        let (mut second, mut last) = (0, None);
        while !stop.load(Relaxed) {
            let Some(found) = self.found()? else {
                drop(screen);
                return self.none();
            };
            self.draw(&found)?;
            match (self.json, &screen) {
                (true, _) => terminal::print(&found.json.line)?,
                (false, Screen::Whole) => {
                    let differs =
                        if found.fine { "" } else { "\nsomething is not as it was set up: see switch status\n" };
                    terminal::screen(&(datapath::text(&found.path, &terminal::screen_style()) + differs));
                }
                (false, Screen::Lines) => {
                    let lines = datapath::lines(&found.path);
                    terminal::print(&lines.iter().map(|line| format!("{second:4} s  {line}\n")).collect::<String>())?;
                    second += 1;
                }
            }
            last = Some(found.fine);
            for _ in 0..20 {
                if !stop.load(Relaxed) {
                    std::thread::sleep(Duration::from_millis(50));
                }
            }
        }
        Ok(if last == Some(true) { Outcome::Met } else { Outcome::NotMet })
    }

    /// The switch, unless there is none.
    fn found(&self) -> Result<Option<Found>, Failure> {
        let Some(folder) = self.name.folder()? else { return Ok(None) };
        let Some(journal) = Journal::read(&folder)? else { return Ok(None) };
        match of(&folder, &journal) {
            // It was taken away while it was looked at.
            Err(_) if matches!(Journal::read(&folder), Ok(None)) => Ok(None),
            found => found.map(Some),
        }
    }
}

fn of(folder: &SwitchDir, journal: &Journal) -> Result<Found, Failure> {
    let switch = standing(folder)?;
    if switch.plane == Plane::User {
        return user(folder, journal, &switch);
    }
    let shown = look(folder, journal, &switch)?;
    Ok(Found {
        json: Json::of(&shown)?,
        text: text(&shown, &switch),
        path: data_path::of_kernel(&switch, &shown.standing),
        fine: shown.complete && shown.standing.differences.is_empty() && shown.forced.is_none(),
    })
}

fn user(folder: &SwitchDir, journal: &Journal, switch: &Switch) -> Result<Found, Failure> {
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
    Ok(Found {
        json: Json::of(&shown)?,
        text: shown.text(switch),
        path: data_path::of_user(switch, shown.report.as_ref()),
        fine: shown.is_fine(),
    })
}

pub fn goes_in_ns(folder: &SwitchDir) -> Option<u64> {
    folder.pending().map(|until_ns| until_ns.saturating_sub(ClockId::Monotonic.now_ns()))
}

fn look(folder: &SwitchDir, journal: &Journal, switch: &Switch) -> Result<Shown, Failure> {
    let forced = time_loss::in_force(folder, switch);
    Ok(Shown {
        standing: status(&Live, switch, &folder.plan()?, forced)?,
        forced,
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
    match shown.forced {
        Some(GateOverride::Open) => text += "time      the network's is lost: all gates are open\n",
        Some(GateOverride::Closed) => text += "time      the network's is lost: no port forwards anything\n",
        None => {}
    }
    text += &forwarding::text(switch);
    text += &streams::text_of_kernel(&standing.streams);
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
    let role = port.spanning_tree_role.as_ref().map(|role| format!(", {role}")).unwrap_or_default();
    let tree = port.spanning_tree.as_ref().map(|state| format!(" · spanning tree: {state}{role}")).unwrap_or_default();
    let mut text = format!("\nport {}  {link} · {}{tree}\n", port.name, port.queueing);
    for (label, times) in [("in force", &port.oper), ("to come", &port.admin)] {
        if let Some(times) = times {
            text += &gates_text(label, times, switch);
        }
    }
    if let Some(state) = &port.preemption {
        text += &format!("  preempts  {}\n", preemption_text(&port.name, state, switch));
    }
    if !port.classes.is_empty() {
        text += &format!("  {:<16} {:>12} {:>16} {:>8} {:>7}\n", "class", "frames", "octets", "dropped", "waiting");
    }
    for class in &port.classes {
        text += &format!(
            "{} {:>12} {:>16} {:>8} {:>7}\n",
            first_column(&class.class),
            count(class.packets),
            count(class.bytes),
            count(class.drops),
            count(class.waiting)
        );
    }
    port.driver.iter().for_each(|(name, count)| text += &format!("  {name} {count}\n"));
    text
}

/// Which classes' frames are preempted, and whether they are by now.
fn preemption_text(port: &str, state: &mac_merge::State, switch: &Switch) -> String {
    let port = switch.ports.iter().find(|of| of.name == port);
    let preemption = port.and_then(|port| port.preemption.as_ref());
    let names = preemption.iter().flat_map(|of| &of.preemptible).map(|class| switch.classes[*class].name.as_str());
    let other_end = match state.verify_status {
        VerifyStatus::Unknown => "it is not known whether the other end can",
        VerifyStatus::Initial | VerifyStatus::Verifying => "the other end is being asked",
        VerifyStatus::Succeeded => "the other end can",
        VerifyStatus::Failed => "the other end does not answer",
        VerifyStatus::Disabled => "the other end is not asked",
    };
    let active = if state.tx_active { "active" } else { "not active" };
    let size = state.settings.tx_min_frag_size;
    format!("{} · {active}, {other_end} · fragments of {size} octets or more", names.collect::<Vec<_>>().join("+"))
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
