//! `ontick network prove`

mod document;
mod drawn;
mod in_namespaces;
mod simulated;

use clap::{Args, ValueEnum};
use ontick_network::Fault;
use ontick_record::Run;

use super::planned::PlannedFlags;
use crate::commands::switch::judging::{self, Allowed};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, OutputFlags};

/// Run a planned network and hold every stream against its promise.
///
/// In simulation, the code of the user data plane serves each switch, driven by a discrete-event clock instead of sockets.
/// Talkers send each stream at its planned offset; links have the file's rates and lengths; each node has a clock that
/// differs from the others by the file's sync-error at most. The same seed gives the same result.
///
/// In namespaces, real frames pass through network namespaces of this machine: one core serves all switches, or the
/// kernel each of them (--target kernel), and one thread sends for all stations. What that itself needs is measured
/// first, with all gates open. Links take no time. Nothing is left behind, whatever ends the program.
///
/// The network is planned first unless PLAN is given.
///
/// Exit status: 0 every stream keeps its promise, 1 some do not, 2 it could not be run.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick network prove network.toml --html proof.html\n  ontick network prove network.toml plan.json --load 30% --duration 10s\n  ontick network prove network.toml --fault link-down=s1-s2@10ms..20ms \\\n      --fault clock-drift=s1:50ppm\n  sudo ontick network prove network.toml --in namespaces"
)]
pub struct Prove {
    #[command(flatten)]
    planned: PlannedFlags,
    /// Where the network is run
    #[arg(long = "in", value_enum, default_value = "simulation", value_name = "WORLD")]
    world: World,
    /// For how long messages are sent, in simulated time or in real
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    duration: u64,
    /// Best-effort frames of each station, as a part of its link (simulation)
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = share)]
    load: f64,
    /// What goes wrong (simulation): link-down=A-B@10ms..20ms, babble=TALKER, clock-drift=NODE:50ppm, clock-step=NODE:1ms,
    /// each with the time that it begins (@10ms) if that is not the start (repeatable)
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,
    /// Seed of random choices: the same seed gives the same result (simulation)
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long to send with all gates open first, to learn what the emulation needs (namespaces)
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    without_gates: u64,
    /// CPU of the core that serves all switches (namespaces, user data plane) [default: the one that suits best]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Tolerance: a frame that comes this much before its gate opens, or after it closes, is within its window (namespaces)
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    guard: u64,
    /// Exit with status 1 if more messages than this were outside their window (namespaces): N/M or a percentage
    #[arg(long, value_name = "SHARE", default_value = "10/1e6", value_parser = judging::share)]
    allow_outside: Allowed,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum World {
    /// In simulated time, by the code of the user data plane
    Simulation,
    /// With real frames on this machine
    Namespaces,
}

fn duration(text: &str) -> Result<u64, String> {
    match flags::duration(text)? {
        0 => Err("messages must be sent for some time".into()),
        ns => Ok(ns),
    }
}

fn share(text: &str) -> Result<f64, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    percent
        .filter(|percent| (0.0..=95.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| format!("\"{text}\" is no part of a link: write a percentage from 0% to 95%"))
}

impl Prove {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self.carry_out() {
            Ok(run) => self.output.deliver(&run),
            Err(failure) => {
                self.output.report_failure("network prove", &failure);
                Err(failure)
            }
        }
    }

    fn carry_out(&self) -> Result<Run, Failure> {
        self.output.check()?;
        let (mut run, lacks) = match self.world {
            World::Simulation => self.simulate()?,
            World::Namespaces => self.run_in_namespaces()?,
        };
        if self.output.html.is_some() || self.output.pictures.wanted() {
            run.facts.extend(lacks.map(drawn::Lacks::in_words));
        }
        let all = std::mem::take(&mut run.requirements);
        self.output.judge(&mut run, |_| true);
        run.requirements.splice(0..0, all);
        Ok(run)
    }
}
