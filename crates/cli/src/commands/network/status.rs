//! `ontick network status`

use clap::Args;
use ontick_network::endpoint::Planned;
use ontick_rt::clock::ClockId;
use ontick_switch::apply::{Journal, Live, SwitchDir, differences};
use ontick_switch::kernel::status::status;
use ontick_switch::kernel::time_loss;
use ontick_switch::user::station::served;
use ontick_tsn::model::{Gates, Plane, Port, Switch};
use ontick_tsn::network::Network;
use ontick_tsn::planning::nodes;
use serde::Serialize;

use super::apply::switches;
use super::node_flags::{Node, NodeFlags};
use super::planned::PlannedFlags;
use crate::commands::switch::background;
use crate::commands::switch::status::goes_in_ns;
use crate::commands::switch::target_flags::{StateFlag, standing};
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// Show which switches of a network are set up on this machine, and whether they are as planned.
///
/// Exit status 1 if one of them is not as planned, or not set up.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network status network.toml plan.json\n  sudo ontick network status network.toml plan.json --json"
)]
pub struct Status {
    #[command(flatten)]
    planned: PlannedFlags,
    #[command(flatten)]
    nodes: NodeFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateFlag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    AsPlanned,
    Drifted,
    NotApplied,
}

/// What `--json` prints for each switch.
#[derive(Serialize)]
struct NodeStatus {
    node: String,
    state: State,
    /// Who does its work; absent: it is not set up.
    plane: Option<&'static str>,
    /// When its cycles began or will begin, in ns of TAI.
    base_time_ns: Option<u64>,
    /// Time until it goes unless it is confirmed, in ns.
    goes_in_ns: Option<u64>,
    /// What is not as planned, as sentences.
    differences: Vec<String>,
}

/// A switch that is set up.
struct Applied {
    node: Node,
    folder: SwitchDir,
    switch: Switch,
    /// When the cycles of each port with gates began.
    bases: Vec<Base>,
    /// What is not as it was set up.
    differences: Vec<String>,
}

/// When the cycles of a port began.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Base {
    port: String,
    base_ns: u64,
    cycle_ns: u64,
}

impl Status {
    pub fn run(self) -> Result<Outcome, Failure> {
        let target = self.planned.timing()?.target;
        let Planned { network, schedule, .. } = self.planned.read_for_node()?;
        // Any base time will do: they are compared without.
        let planned = switches(&network, &schedule, target, ClockId::Tai.now_ns())?;
        let applied = self.nodes.applied(&network, &self.state)?;
        let applied = applied
            .into_iter()
            .map(|(node, folder, journal)| Applied::find(node, folder, &journal))
            .collect::<Result<Vec<_>, _>>()?;
        let here = match self.nodes.here(&network) {
            // An interface went away, and what was set up with it is still there.
            Err(_) if !applied.is_empty() => Vec::new(),
            here => here?,
        };
        let is_applied = |node: &Node| applied.iter().any(|one| one.node.name == node.name);
        let missing = here.into_iter().filter(|node| planned.contains_key(&node.name) && !is_applied(node));
        let reference = applied.iter().flat_map(|one| &one.bases).max_by_key(|base| base.cycle_ns);
        let mut all: Vec<NodeStatus> = missing.map(|node| NodeStatus::not_applied(node.name)).collect();
        all.extend(applied.iter().map(|one| one.against(planned.get(&one.node.name), reference)));
        all.sort_by_key(|one| place(&network, &one.node));
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&all)? + "\n"))?,
            false => {
                let confirm = self.planned.network_command("sudo ontick network confirm", &self.nodes, &self.state);
                terminal::print(&all.iter().map(|one| one.text(&confirm)).collect::<String>())?;
            }
        }
        let fine = all.iter().all(|one| one.state == State::AsPlanned);
        Ok(if fine { Outcome::Met } else { Outcome::NotMet })
    }
}

/// In the network's file.
fn place(network: &Network, name: &str) -> Option<usize> {
    (0..network.nodes.len()).find(|id| nodes::name(network, *id) == name)
}

impl Applied {
    fn find(node: Node, folder: SwitchDir, journal: &Journal) -> Result<Self, Failure> {
        let switch = standing(&folder)?;
        let mut found: Vec<String> = match journal.is_complete() {
            true => Vec::new(),
            false => vec!["setting it up was interrupted: sudo ontick network revert, with the same file, restores what was before".into()],
        };
        let plan = folder.plan()?;
        let bases = if switch.plane == Plane::User {
            if journal.is_complete() && !folder.is_watched() {
                found
                    .push("the process that did its work is gone: sudo ontick network revert, with the same file, restores the rest".into());
            }
            let expects = plan.steps.iter().flat_map(|step| &step.expects);
            found.extend(differences(&Live, expects).iter().map(ToString::to_string));
            let second_ns = background::report(&folder).map_or(0, |report| report.base_ns);
            let base = |port: &Port, gates: &Gates| Base::of(port, gates, gates.base.at_second(second_ns));
            switch.ports.iter().filter_map(|port| Some(base(port, port.gates.as_ref()?))).collect()
        } else {
            let status = status(&Live, &switch, &plan, time_loss::in_force(&folder, &switch))?;
            found.extend(status.differences.iter().map(ToString::to_string));
            let base = |(port, seen): (&Port, &ontick_switch::kernel::status::PortStatus)| {
                let times = seen.oper.as_ref().or(seen.admin.as_ref())?;
                Some(Base::of(port, port.gates.as_ref()?, times.base_ns))
            };
            switch.ports.iter().zip(&status.ports).filter_map(base).collect()
        };
        Ok(Self { node, folder, switch, bases, differences: found })
    }

    /// Held against what is planned, and against the others' cycles.
    fn against(&self, planned: Option<&Switch>, reference: Option<&Base>) -> NodeStatus {
        let mut found = self.differences.clone();
        found.extend(other_plan(&self.switch, planned));
        found.extend(self.bases.iter().filter_map(|base| base.apart(reference?)));
        NodeStatus {
            node: self.node.name.clone(),
            state: if found.is_empty() { State::AsPlanned } else { State::Drifted },
            plane: Some(if self.switch.plane == Plane::User { "user" } else { "kernel" }),
            base_time_ns: self.bases.iter().map(|base| base.base_ns).max(),
            goes_in_ns: goes_in_ns(&self.folder),
            differences: found,
        }
    }
}

/// What of a switch is not as it is planned, whenever its cycles begin.
fn other_plan(standing: &Switch, planned: Option<&Switch>) -> Vec<String> {
    let Some(planned) = planned else { return vec!["the plan has nothing for it".into()] };
    let planned = served(Switch { plane: standing.plane, ..planned.clone() });
    let gates = |port: &Port| port.gates.as_ref().map(|gates| (gates.cycle_ns, gates.guard, gates.entries.clone()));
    let without = |switch: &Switch| {
        let ports = switch.ports.iter().map(|port| Port { gates: None, ..port.clone() }).collect();
        Switch { ports, ..switch.clone() }
    };
    if without(standing) != without(&planned) {
        return vec!["it was set up for another plan, with other classes, ports or entries".into()];
    }
    let ports = standing.ports.iter().zip(&planned.ports).filter(|(one, other)| gates(one) != gates(other));
    ports.map(|(port, _)| format!("port {}: its gates are of another plan", port.name)).collect()
}

impl Base {
    fn of(port: &Port, gates: &Gates, base_ns: u64) -> Self {
        Self { port: port.name.clone(), base_ns, cycle_ns: gates.cycle_ns }
    }

    /// A sentence where its cycles do not begin with the other's.
    fn apart(&self, other: &Self) -> Option<String> {
        (self.base_ns.abs_diff(other.base_ns) % self.cycle_ns.max(1) != 0).then(|| {
            format!(
                "port {}: its base time {} does not fit that of port {}, {}",
                self.port, self.base_ns, other.port, other.base_ns
            )
        })
    }
}

impl NodeStatus {
    fn not_applied(node: String) -> Self {
        Self {
            node,
            state: State::NotApplied,
            plane: None,
            base_time_ns: None,
            goes_in_ns: None,
            differences: Vec::new(),
        }
    }

    /// `confirm` is the command that keeps it.
    fn text(&self, confirm: &str) -> String {
        let state = match self.state {
            State::AsPlanned => "as planned",
            State::Drifted => "drifted",
            State::NotApplied => "not applied",
        };
        let mut text = format!("{:<15}  {state}", self.node);
        if let Some(plane) = self.plane {
            text += &format!(" · {plane} data plane");
        }
        if let Some(ns) = self.base_time_ns {
            text += &format!(" · base time {}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        }
        text += "\n";
        if let Some(ns) = self.goes_in_ns {
            let seconds = ns.div_ceil(1_000_000_000);
            text += &format!("  is removed in {seconds} s unless confirmed: {confirm}\n");
        }
        self.differences.iter().for_each(|difference| text += &format!("  differs   {difference}\n"));
        text
    }
}

#[cfg(test)]
mod tests {
    use ontick_tsn::config;

    use super::*;

    #[test]
    fn cycles_fit_where_whole_cycles_are_between_their_beginnings() {
        let base = |base_ns, cycle_ns| Base { port: "p".into(), base_ns, cycle_ns };
        assert_eq!(base(5_000, 1_000).apart(&base(9_000, 4_000)), None);
        let said = base(5_500, 1_000).apart(&base(9_000, 4_000)).unwrap();
        assert_eq!(said, "port p: its base time 5500 does not fit that of port p, 9000");
    }

    #[test]
    fn another_plan_is_seen_whatever_its_base_time() {
        let switch = |later_ns: u64, red: &str, limit: u32| {
            let base = 1_800_000_000_000_000_000 + later_ns;
            let text = format!(
                "[switch]\nname = \"s\"\nplane = \"user\"\n[[class]]\nname = \"red\"\nqueue = 0\nlimit = {limit}\n[[port]]\n\
                 name = \"a\"\nrate = \"1Gbit\"\n[[port]]\nname = \"b\"\nrate = \"1Gbit\"\n[port.gates]\nbase-time = \
                 {base}\nentries = [{{ open = [\"red\"], for = \"{red}\" }}]\n"
            );
            config::read(&text).map_err(|errors| errors.to_string()).unwrap().switch
        };
        let standing = switch(0, "1ms", 100);
        assert_eq!(other_plan(&standing, Some(&switch(7, "1ms", 100))), Vec::<String>::new());
        let said = |planned| other_plan(&standing, Some(&planned));
        assert_eq!(said(switch(0, "2ms", 100)), ["port b: its gates are of another plan"]);
        assert_eq!(
            said(switch(0, "1ms", 99)),
            ["it was set up for another plan, with other classes, ports or entries"]
        );
        assert_eq!(other_plan(&standing, None), ["the plan has nothing for it"]);
    }
}
