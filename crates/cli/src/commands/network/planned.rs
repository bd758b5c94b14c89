//! A network and its plan, as all commands take them that run it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use ontick_network::endpoint::Planned;
use ontick_tsn::egress::EgressTiming;
use ontick_tsn::network::Network;
use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, close_short_gaps, gate_control_list, nodes, plan};
use ontick_tsn::target::Target;
use ontick_tsn::validate::{Schedule, beyond_target};

use super::network_flags::NetworkFlags;
use super::node_flags::NodeFlags;
use super::timing_flags::{Timing, TimingFlags};
use crate::commands::switch::measured::CalibrationFlag;
use crate::commands::switch::target_flags::StateFlag;
use crate::failure::Failure;
use crate::flags;

/// Its files.
#[derive(Args)]
pub struct PlannedFlags {
    /// The file that describes the network
    #[arg(required_unless_present = "task", value_name = "FILE")]
    first: Option<PathBuf>,
    /// The plan, as `plan --out` writes it for the same target [default: it is planned now]
    #[arg(value_name = "PLAN")]
    second: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkFlags,
    /// How long to search for a plan, where none is given
    #[arg(long, value_name = "TIME", value_parser = flags::time, default_value = "60s")]
    time: u64,
    #[command(flatten)]
    timing: TimingFlags,
}

impl PlannedFlags {
    /// What executes the schedule: the user data plane, where nothing else is named.
    pub fn timing(&self) -> Result<Timing, Failure> {
        self.timing.read_else("user")
    }

    /// What was measured of what executes it.
    pub fn calibration(&self) -> &CalibrationFlag {
        self.timing.calibration()
    }

    /// Whether a plan, or a time of the target, was named: then nothing else is planned.
    pub fn is_settled(&self) -> bool {
        self.plan_file().is_some() || self.timing.names_times()
    }

    /// The file of the plan, if one was given: with tables for the network, the one file is the plan.
    pub fn plan_file(&self) -> Option<&PathBuf> {
        if self.network.task.is_some() { self.first.as_ref() } else { self.second.as_ref() }
    }

    /// A command about what is set up of the network on this machine, as it is to be typed.
    pub fn network_command(&self, command: &str, nodes: &NodeFlags, state: &StateFlag) -> String {
        let words = self.network.words(self.network_file()).into_iter();
        in_words(command, words.chain(nodes.words()).chain(state.words()))
    }

    /// The same of one that needs the plan, too.
    pub fn command(&self, command: &str, nodes: &NodeFlags, state: &StateFlag) -> String {
        let plan = self.plan_file().map(|plan| plan.display().to_string());
        let words = self.network.words(self.network_file()).into_iter().chain(plan).chain(self.timing.words());
        in_words(command, words.chain(nodes.words()).chain(state.words()))
    }

    fn network_file(&self) -> Option<&PathBuf> {
        self.first.as_ref().filter(|_| self.network.task.is_none())
    }

    /// A plan of the same network for nodes of another timing, if one is found within a part of `--time`.
    pub fn again(&self, network: &Network, timing: EgressTiming, go_on: &dyn Fn() -> bool) -> Option<Planned> {
        let network = network.clone().timed(timing);
        let (begun, time) = (Instant::now(), Duration::from_nanos(self.time / 20));
        let go_on = || go_on() && begun.elapsed() < time;
        let Outcome::Planned(table) = plan(&network, &PlanOptions::default(), &Timetable::default(), &go_on) else {
            return None;
        };
        let schedule = gate_control_list::schedule(&network, &table).ok()?;
        Some(Planned { network, table, schedule })
    }

    /// As `read`, for a node: a plan of the network as it was once, or for another target, would have it send at other
    /// times, or leave streams out.
    pub fn read_for_node(&self) -> Result<Planned, Failure> {
        self.read(&self.timing()?, &|| true)?.every_stream_is_placed().map_err(Failure::new)
    }

    /// Reads both, or plans.
    pub fn read(&self, timing: &Timing, go_on: &dyn Fn() -> bool) -> Result<Planned, Failure> {
        let network = timing.apply(self.network.read(self.network_file())?);
        match self.plan_file() {
            Some(file) => Planned::read(network, file).map_err(Failure::new),
            None => {
                let (table, schedule) = self.plan(&network, timing, go_on)?;
                Ok(Planned { network, table, schedule })
            }
        }
    }

    fn plan(
        &self,
        network: &Network,
        timing: &Timing,
        go_on: &dyn Fn() -> bool,
    ) -> Result<(Timetable, Schedule), Failure> {
        if let Some(too_long) = gate_control_list::too_long_in_any_plan(network) {
            return Err(Failure::new(too_long));
        }
        nodes::every_way_has_queues(network).map_err(Failure::new)?;
        let options = PlanOptions { shortest_ns: timing.target.shortest_ns, ..PlanOptions::default() };
        let (begun, time) = (Instant::now(), Duration::from_nanos(self.time));
        let planned = plan(network, &options, &Timetable::default(), &|| go_on() && begun.elapsed() < time);
        let (plane, target) = (plane(timing), timing.target.name);
        let table = match planned {
            Outcome::Planned(table) => table,
            Outcome::Impossible(certificates) => {
                let because: Vec<String> = certificates.iter().map(|one| one.in_words(network)).collect();
                return Err(Failure::new(format!(
                    "there is no plan for {plane}, so there is nothing to run: {}",
                    because.join("; ")
                )));
            }
            Outcome::NotFound(_) => {
                return Err(Failure::new(format!(
                    "no plan was found for {plane}, so there is nothing to run: `ontick network plan --target {target}` says \
                     how far it came, and takes a longer --time"
                )));
            }
        };
        let mut schedule = gate_control_list::schedule(network, &table).map_err(Failure::new)?;
        close_short_gaps(&mut schedule, timing.target.shortest_ns, network, &table);
        match beyond_target(network, &schedule, timing.target) {
            Some(beyond) => Err(Failure::new(format!("{beyond}; there is nothing to run"))),
            None => Ok((table, schedule)),
        }
    }
}

fn in_words(command: &str, words: impl IntoIterator<Item = String>) -> String {
    words.into_iter().fold(command.to_owned(), |text, word| format!("{text} {}", flags::typed(&word)))
}

/// What a reader of the result must know of a plan that is for something else.
pub fn note(planned: &Planned, target: &Target) -> Option<String> {
    let name = target.name;
    let streams = planned.unsuited()?;
    Some(format!(
        "the plan's place for {streams} does not suit: it is for another target than {name}, or for the network as it was \
         once; plan again with --target {name}"
    ))
}

fn plane(timing: &Timing) -> &'static str {
    match timing.target.name {
        "user" => "the user data plane",
        _ => "this target",
    }
}
