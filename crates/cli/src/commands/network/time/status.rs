//! `ontick network time status`

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use ontick_network::ptp::{
    Client, ClientError, Event, Node, Observation, PortProperties, Role, SocketDir, SocketError, Watch, check_socket,
    clock_programs,
};
use ontick_record::time_status::{
    GateStatus, Gates, Grandmaster, SCHEMA, Stamps, Steering, TimeLossPolicy, TimePort, TimeProfile, TimeRole,
    TimeStatus, TimeWatch,
};
use ontick_rt::clock::ClockId;
use ontick_tsn::model::GateOverride;
use ontick_tsn::network::Profile;

use super::condition::lack;
use super::node_flag::NodeName;
use super::on_loss::in_kernel;
use super::report::RunReport;
use super::run::OF_OTHERS;
use super::sentences::Sentences;
use super::status_text;
use crate::commands::switch::target_flags::StateFlag;
use crate::failure::{Failure, Outcome};
use crate::terminal;

/// ptp4l answers in microseconds; on a machine with other work it may take longer.
const ANSWER: Duration = Duration::from_secs(2);

/// Show a node's time: its role, its grandmaster, its offset, and whether the time is good.
///
/// ptp4l itself is asked: the one that `network time run` runs for the node, or that of another program, by --socket. For how
/// long the time has been good or not, and what gates do, is known from `network time run`, while that is there.
///
/// Exit status: 0 the node has the network's time, within `offset-bound` if the file has one; 1 it has not; 2 nobody can be
/// asked.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network time status network.toml --node s1\n  sudo ontick network time status network.toml --node camera \\\n      --socket /var/run/ptp4l --json"
)]
pub struct Status {
    #[command(flatten)]
    node: NodeName,
    /// The management socket of a ptp4l that another program runs (its `uds_address`)
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The folder for ptp4l's sockets
    #[arg(long, value_name = "DIR", hide = true)]
    sockets: Option<PathBuf>,
    #[command(flatten)]
    state: StateFlag,
}

/// What was found out of a node.
struct Look<'a> {
    node: &'a Node,
    seen: Observation,
    ports: Vec<PortProperties>,
    /// Of the process that watches the time, if there is one.
    report: Option<RunReport>,
    /// Programs that set clocks and run on this machine.
    programs: Vec<String>,
    /// Switches whose gates the time does not touch.
    kept: Vec<String>,
}

impl Status {
    pub fn run(self) -> Result<Outcome, Failure> {
        let node = self.node.find()?;
        let status = self.look(&node)?.status();
        match self.json {
            true => terminal::print(&(serde_json::to_string_pretty(&status)? + "\n"))?,
            false => {
                let text = status_text::text(&status);
                terminal::print(&ontick_report::text::fitted(&text, &terminal::style()))?;
            }
        }
        Ok(if status.good { Outcome::Met } else { Outcome::NotMet })
    }

    fn look<'a>(&self, node: &'a Node) -> Result<Look<'a>, Failure> {
        let socket = self.socket_of(node)?;
        let (seen, ports) = ask(node, &socket).map_err(|error| unanswered(node, &socket, error))?;
        let report = RunReport::read(&socket);
        let forced = report.as_ref().and_then(|report| report.forced);
        let kept = forced.map(|_| in_kernel(self.state.state.as_deref())).unwrap_or_default();
        Ok(Look { node, seen, ports, report, programs: clock_programs(), kept })
    }

    /// That which is named, or that of the process which keeps the node in time.
    fn socket_of(&self, node: &Node) -> Result<PathBuf, Failure> {
        if let Some(path) = &self.socket {
            check_socket(path).map_err(with_sudo)?;
            return Ok(path.clone());
        }
        let running = SocketDir::new(self.sockets.as_deref()).running().map_err(with_sudo)?;
        let mut own = running.into_iter().filter(|(name, _)| *name == node.name).map(|(_, socket)| socket);
        match (own.next(), own.next()) {
            (Some(socket), None) => Ok(socket),
            (Some(one), Some(other)) => Err(Failure::new(format!(
                "more than one ptp4l runs for node {}: say which by --socket {}, or --socket {}",
                node.name,
                one.display(),
                other.display()
            ))),
            (None, _) => Err(Failure::new(format!(
                "nothing keeps node {0} in time here: `sudo ontick network time run {1} --node {0}` does, and --socket \
                 names that of a ptp4l of another program",
                node.name,
                self.node.file().display()
            ))),
        }
    }
}

fn with_sudo(error: SocketError) -> Failure {
    match &error {
        SocketError::Unreadable { why, .. } if why.kind() == io::ErrorKind::PermissionDenied => {
            Failure::new(format!("{error}: run it with sudo"))
        }
        _ => error.into(),
    }
}

fn ask(node: &Node, socket: &Path) -> Result<(Observation, Vec<PortProperties>), ClientError> {
    let mut client = Client::connect_to_unknown(socket, node.addressing(), ANSWER)?;
    let ports = client.port_properties(ANSWER)?;
    Ok((client.observe(ANSWER)?, ports))
}

fn unanswered(node: &Node, socket: &Path, error: ClientError) -> Failure {
    let socket = socket.display();
    let kind = match &error {
        ClientError::Socket(why) => Some(why.kind()),
        _ => None,
    };
    Failure::new(match kind {
        Some(io::ErrorKind::PermissionDenied) => format!("the ptp4l of {socket} is another user's: run it with sudo"),
        Some(io::ErrorKind::ConnectionRefused) => {
            format!("nobody answers at {socket}: the ptp4l that opened it has ended")
        }
        Some(_) => format!("{socket}: {error}"),
        None => format!(
            "the ptp4l of {socket} does not answer for {} in domain {}, as the file has it: it has another profile or \
             domain, runs in another network namespace, or hangs",
            status_text::profile(profile(node)),
            node.time.domain
        ),
    })
}

fn profile(node: &Node) -> TimeProfile {
    match node.time.profile {
        Profile::Gptp => TimeProfile::Gptp,
        Profile::Default => TimeProfile::Default,
    }
}

impl Look<'_> {
    fn status(&self) -> TimeStatus {
        let Self { node, seen, report, .. } = self;
        let free_running = report.as_ref().is_some_and(|report| report.free_running);
        let mut watch = Watch::new(node, free_running, 0);
        let events = watch.update(0, seen);
        let role = match watch.role() {
            Role::Grandmaster => TimeRole::Grandmaster,
            Role::Follower { .. } => TimeRole::Follower,
            Role::Unsynchronized => TimeRole::Unsynchronized,
        };
        // ptp4l has 0 before it knows the way's delay.
        let offset = seen.offset.filter(|offset| offset.ns != 0 || seen.path_delay_ns.is_some());
        let offset_ns = offset.map(|offset| offset.ns);
        let lack = lack(node, &watch, seen, offset_ns);
        // Whoever watches knows what went before; and what changed just now it has not seen yet.
        let reason = lack.clone().or_else(|| report.as_ref().filter(|report| !report.good)?.reason.clone());
        let good = reason.is_none();
        let now_ns = ClockId::Monotonic.now_ns();
        let same = report.as_ref().filter(|report| report.good == good);
        let ports: Vec<TimePort> = seen.ports.iter().map(|port| self.port(port.number)).collect();
        let stamps = ports.iter().find_map(|port| port.stamps);
        TimeStatus {
            schema: SCHEMA.into(),
            node: node.name.clone(),
            profile: profile(node),
            domain: node.time.domain,
            clock: seen.own.to_string(),
            role,
            grandmaster: self.grandmaster(),
            good,
            for_ns: same.map(|report| now_ns.saturating_sub(report.since_ns)),
            reason,
            offset_ns,
            offset_bound_ns: node.time.offset_bound_ns,
            path_delay_ns: seen.path_delay_ns,
            ports,
            steering: steering(role, stamps, free_running, &self.programs),
            gates: self.gates(),
            watch: report.as_ref().map(|report| TimeWatch {
                for_ns: now_ns.saturating_sub(report.began_ns),
                losses: report.losses,
                beyond_bound: report.beyond_bound,
            }),
            notes: self.notes(role, &events),
        }
    }

    fn grandmaster(&self) -> Grandmaster {
        let Self { node, seen, .. } = self;
        let is_own = seen.grandmaster == seen.own;
        let named = node.grandmaster_of(seen.grandmaster_priority1).filter(|name| *name != node.name || is_own);
        let own = is_own.then_some(node.name.as_str());
        Grandmaster {
            clock: seen.grandmaster.to_string(),
            node: own.or(named).map(str::to_owned),
            priority1: seen.grandmaster_priority1,
            steps_removed: seen.steps_removed,
        }
    }

    fn port(&self, number: u16) -> TimePort {
        let seen = self.seen.ports.iter().find(|port| port.number == number);
        let properties = self.ports.iter().find(|port| port.number == number);
        TimePort {
            number,
            interface: properties.map(|port| port.interface.clone()),
            state: seen.map_or("", |port| port.state.name()).into(),
            stamps: properties.map(|port| if port.by_hardware { Stamps::Hardware } else { Stamps::Software }),
            peer_delay_ns: seen.map(|port| port.peer_delay_ns).filter(|ns| *ns != 0),
        }
    }

    fn gates(&self) -> GateStatus {
        let policy = self.node.time.on_time_loss;
        GateStatus {
            now: match self.report.as_ref().and_then(|report| report.forced) {
                None => Gates::Lists,
                Some(GateOverride::Open) => Gates::Open,
                Some(GateOverride::Closed) => Gates::Closed,
            },
            on_time_loss: match policy.map(|policy| policy.gates) {
                None => TimeLossPolicy::Keep,
                Some(GateOverride::Open) => TimeLossPolicy::Open,
                Some(GateOverride::Closed) => TimeLossPolicy::Stop,
            },
            holdover_ns: policy.map(|policy| policy.holdover_ns),
        }
    }

    fn notes(&self, role: TimeRole, events: &[Event]) -> Vec<String> {
        let Self { node, ports, programs, kept, .. } = self;
        let sentences = Sentences::of(node);
        let of_grandmasters = |event: &&Event| matches!(event, Event::TwoGrandmasters { .. } | Event::Unnamed { .. });
        let mut notes: Vec<String> =
            events.iter().filter(of_grandmasters).map(|event| sentences.event(event).1).collect();
        let interfaces: Vec<&str> = ports.iter().map(|port| port.interface.as_str()).collect();
        if !interfaces.is_empty() && interfaces != node.interfaces {
            notes.push(format!(
                "ptp4l's ports are {}, and those of node {} in the file are {}",
                interfaces.join(", "),
                node.name,
                node.interfaces.join(", ")
            ));
        }
        let others = programs.iter().filter(|name| OF_OTHERS.contains(&name.as_str()));
        if role != TimeRole::Grandmaster {
            notes.extend(others.map(|name| format!("{name} runs on this machine, and sets its clock, too")));
        }
        if !kept.is_empty() {
            notes.push(format!("the gates of {} follow their lists, as the kernel keeps them", kept.join(", ")));
        }
        notes
    }
}

/// Who steers which clock, by what is stamped and which programs run.
fn steering(role: TimeRole, stamps: Option<Stamps>, free_running: bool, programs: &[String]) -> Steering {
    if free_running {
        return Steering { free_running, ..Steering::default() };
    }
    let runs = |name: &str| programs.iter().find(|program| *program == name).cloned();
    let others = OF_OTHERS.into_iter().find_map(runs);
    let ptp4l = (role == TimeRole::Follower).then(|| "ptp4l".to_owned());
    let (system, cards) = match stamps {
        Some(Stamps::Software) => (ptp4l.or(others), None),
        Some(Stamps::Hardware) => match (role, runs("phc2sys")) {
            (TimeRole::Grandmaster, phc2sys) => (others, phc2sys),
            (_, phc2sys) => (phc2sys.or(others), ptp4l),
        },
        None => (others, None),
    };
    Steering { system, cards, free_running }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_steers_follows_from_stamps_role_and_programs() {
        let of = |role, stamps, programs: &[&str]| {
            let programs: Vec<String> = programs.iter().map(|name| (*name).to_owned()).collect();
            let found = steering(role, Some(stamps), false, &programs);
            [found.system, found.cards].map(Option::unwrap_or_default)
        };
        let both = ["chronyd", "phc2sys", "ptp4l"];
        assert_eq!(of(TimeRole::Follower, Stamps::Software, &both), ["ptp4l", ""]);
        assert_eq!(of(TimeRole::Grandmaster, Stamps::Software, &both), ["chronyd", ""]);
        assert_eq!(of(TimeRole::Unsynchronized, Stamps::Software, &["ptp4l"]), ["", ""]);
        assert_eq!(of(TimeRole::Follower, Stamps::Hardware, &both), ["phc2sys", "ptp4l"]);
        assert_eq!(of(TimeRole::Follower, Stamps::Hardware, &["ptp4l"]), ["", "ptp4l"]);
        assert_eq!(of(TimeRole::Grandmaster, Stamps::Hardware, &both), ["chronyd", "phc2sys"]);
        let free = steering(TimeRole::Follower, Some(Stamps::Software), true, &["ptp4l".to_owned()]);
        assert_eq!((free.system, free.free_running), (None, true));
    }
}
