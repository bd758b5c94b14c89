//! `ontick network apply`

use std::collections::BTreeMap;

use clap::Args;
use ontick_network::endpoint::Planned;
use ontick_rt::clock::ClockId;
use ontick_switch::apply::Journal;
use ontick_tsn::config;
use ontick_tsn::model::{Base, Plane, Role, Switch};
use ontick_tsn::network::Network;
use ontick_tsn::planning::nodes::{self, Form};
use ontick_tsn::target::Target;
use ontick_tsn::validate::Schedule;
use ontick_units::exact;

use super::node_flags::{Node, NodeFlags};
use super::planned::PlannedFlags;
use super::station_flags;
use crate::commands::switch::daemon::RestFlags;
use crate::commands::switch::plan::setup;
use crate::commands::switch::target_flags::StateFlag;
use crate::commands::switch::together::{Applied, Decided, Together};
use crate::commands::switch::{background, file};
use crate::failure::{Failure, Outcome};
use crate::{flags, privileges, terminal};

/// Set up the switches of a network that this machine is, all of them or none.
///
/// Each is set up as by `ontick switch apply`, with gates that begin at one base time; `ontick network revert` restores
/// what was before. Switches of the user data plane share one core.
///
/// Exit status: 0 they are set up, 2 they are not, and everything is as before.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network apply network.toml plan.json\n  sudo ontick network apply network.toml plan.json --node s1 --confirm 60s\n  sudo ontick network apply network.toml plan.json --dry-run"
)]
pub struct Apply {
    #[command(flatten)]
    planned: PlannedFlags,
    #[command(flatten)]
    nodes: NodeFlags,
    /// When cycles begin, in ns of TAI; the same on all machines [default: with a whole second, about a second from now]
    #[arg(long, value_name = "NS")]
    base_time: Option<u64>,
    /// Remove the switches after this time unless `ontick network confirm` is given
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    confirm: Option<u64>,
    /// Print what would be done; nothing is changed
    #[arg(long, conflicts_with = "confirm")]
    dry_run: bool,
    #[command(flatten)]
    rest: RestFlags,
    #[command(flatten)]
    state: StateFlag,
}

impl Apply {
    pub fn run(self) -> Result<Outcome, Failure> {
        if !self.dry_run {
            privileges::SWITCH_APPLY.require("network apply")?;
        }
        let target = self.planned.timing()?.target;
        let Planned { network, schedule, .. } = self.planned.read_for_node()?;
        let here = self.nodes.here(&network)?;
        let periods = network.streams.iter().map(|stream| stream.period_ns);
        let base_ns = station_flags::base_ns(self.base_time, periods)?;
        let planned = switches(&network, &schedule, target, base_ns)?;
        let (own, without): (Vec<&Node>, Vec<&Node>) = here.iter().partition(|node| planned.contains_key(&node.name));
        let idle = |node: &Node| format!("no stream leaves switch {}, so there is nothing to set up", node.name);
        if let (true, Some(first)) = (own.is_empty(), without.first()) {
            return Err(Failure::new(idle(first)));
        }
        without.iter().for_each(|node| file::note(&idle(node)));
        let switches = own.iter().map(|node| planned[&node.name].clone()).collect();
        let together = Together {
            state: &self.state,
            calibration: self.planned.calibration(),
            rest: self.rest,
            confirm_ns: self.confirm,
        };
        if self.dry_run {
            let decided = together.plan(switches)?;
            terminal::print(&script(&decided))?;
            decided.iter().for_each(|one| file::way_back(&one.plan));
            return Ok(Outcome::Met);
        }
        self.refuse_again(&own)?;
        let applied = together.apply(switches)?;
        terminal::print(&self.text(&applied, base_ns))?;
        Ok(Outcome::Met)
    }

    /// Refuses what is there already, with the network's own commands: the switches are looked at and removed together.
    fn refuse_again(&self, own: &[&Node]) -> Result<(), Failure> {
        let mut there: Vec<&str> = Vec::new();
        for node in own {
            let journal = Journal::read(&self.state.folder(&node.name)?)?;
            there.extend(journal.filter(Journal::is_complete).map(|_| node.name.as_str()));
        }
        let these = match there.as_slice() {
            [] => return Ok(()),
            [name] => format!("switch {name} is"),
            names => format!("switches {} are", names.join(", ")),
        };
        let (status, revert) = (self.status_command(), self.network_command("sudo ontick network revert"));
        Err(Failure::new(format!("{these} set up already: `{status}` shows how, `{revert}` restores what was before")))
    }

    fn status_command(&self) -> String {
        self.planned.command("sudo ontick network status", &self.nodes, &self.state)
    }

    fn network_command(&self, command: &str) -> String {
        self.planned.network_command(command, &self.nodes, &self.state)
    }

    fn text(&self, applied: &Applied, base_ns: u64) -> String {
        let mut text = String::new();
        if !applied.kernel.is_empty() {
            text += &format!("{} set up in the kernel.\n", these(&applied.kernel, "is", "are"));
        }
        if let Some(report) = &applied.report {
            text += &format!("{} {}.\n", these(&applied.user, "works", "work by turns"), background::place(report));
        }
        let status = self.status_command();
        text += &format!("Cycles begin at {base_ns} ns of TAI. Look at them: {status}\n");
        if let Some(after_ns) = self.confirm {
            let confirm = self.network_command("sudo ontick network confirm");
            text += &format!("All is removed in {} unless confirmed: {confirm}\n", exact(after_ns));
        }
        text
    }
}

/// What is planned for each switch that streams leave, as its file would be read; by name.
pub fn switches(
    network: &Network,
    schedule: &Schedule,
    target: &Target,
    base_ns: u64,
) -> Result<BTreeMap<String, Switch>, Failure> {
    let form = Form {
        base: Base::At(base_ns),
        guard_bands: !target.length_aware,
        most_entries: target.most_entries.min(nodes::MOST_ENTRIES),
        shortest_ns: target.shortest_ns,
        plane: target.plane,
    };
    let (planned, _) = nodes::switches(network, schedule, form).map_err(Failure::new)?;
    let read = |switch: Switch| {
        let read = config::read_at(&config::write(&switch), ClockId::Realtime.now_ns());
        let read = read.map_err(|errors| Failure::new(format!("switch {}: {errors}", switch.name)))?;
        Ok((switch.name, read.switch))
    };
    planned.into_iter().filter(|switch| switch.role == Role::Bridge).map(read).collect()
}

/// A script that a shell would take, too, but for the data plane.
fn script(decided: &[Decided]) -> String {
    let step = |one: &Decided| format!("# switch {}\n{}", one.switch.name, setup::steps(&one.plan));
    let mut text: String = decided.iter().map(step).collect();
    let user = decided.iter().filter(|one| one.switch.plane == Plane::User);
    let user: Vec<&str> = user.map(|one| one.switch.name.as_str()).collect();
    if !user.is_empty() {
        text += &format!("# the data plane of {}: a dedicated core, until it is reverted\n", user.join(", "));
    }
    text
}

/// The beginning of a sentence about one switch or several.
fn these(names: &[String], one: &str, several: &str) -> String {
    match names {
        [name] => format!("Switch {name} {one}"),
        names => format!("Switches {} {several}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        apply: Apply,
    }

    #[test]
    fn commands_that_are_named_are_about_the_same_switches_in_the_same_folder() {
        let of = |words: &[&str]| {
            let words = [&["apply", "lab.toml"], words].concat();
            let apply = Alone::try_parse_from(words).unwrap().apply;
            (apply.status_command(), apply.network_command("sudo ontick network revert"))
        };
        let (status, revert) = ("sudo ontick network status lab.toml", "sudo ontick network revert lab.toml");
        assert_eq!(of(&[]), (status.into(), revert.into()));
        let given = ["lab.json", "--node", "s1", "--node", "s2", "--state", "my folder", "--target", "kernel"];
        let nodes = "--node s1 --node s2 --state 'my folder'";
        assert_eq!(of(&given), (format!("{status} lab.json --target kernel {nodes}"), format!("{revert} {nodes}")));
        let times =
            "--hand-over 1us --spread 2us --spacing 0s --window-guard 300ns --clock-error 1.5us --forwarding 1ms";
        let given: Vec<&str> = times.split(' ').collect();
        assert_eq!(of(&given), (format!("{status} {times}"), revert.into()));
    }

    #[test]
    fn what_was_set_up_is_looked_at_and_confirmed_where_it_is() {
        let words = ["apply", "lab.toml", "--node", "s1", "--state", "/tmp/here", "--confirm", "60s"];
        let apply = Alone::try_parse_from(words).unwrap().apply;
        let applied = Applied { kernel: vec!["s1".into()], ..Applied::default() };
        assert_eq!(
            apply.text(&applied, 5),
            "Switch s1 is set up in the kernel.\n\
             Cycles begin at 5 ns of TAI. Look at them: sudo ontick network status lab.toml --node s1 --state /tmp/here\n\
             All is removed in 1min unless confirmed: sudo ontick network confirm lab.toml --node s1 --state /tmp/here\n"
        );
    }
}
