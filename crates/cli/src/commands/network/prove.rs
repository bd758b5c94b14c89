//! `ontick network prove`

mod document;

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use ontick_network::{Costs, Fault, Options, simulate};
use ontick_record::Run;
use ontick_tsn::egress::DataPlane;
use ontick_tsn::network::Network;
use ontick_tsn::planning::{Outcome as Planned, PlanOptions, Timetable, gate_control_list, plan};
use ontick_tsn::validate::Schedule;

use super::network_flags::NetworkFlags;
use super::plan::read_plan;
use super::timing_flags::TimingFlags;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, OutputFlags};
use crate::{stop, terminal};

/// Networks with more links than this are not drawn, nor are cycles longer than this, in ns.
const MOST_DRAWN: (usize, u64) = (60, 100_000_000);

/// Run a planned network and hold every stream against its promise.
///
/// In simulation, the code of the user data plane serves each switch, driven by a discrete-event clock instead of sockets.
/// Talkers send each stream at its planned offset; links have the file's rates and lengths; each node has a clock that
/// differs from the others by the file's sync-error at most. The same seed gives the same result. The network is planned
/// first unless PLAN is given.
///
/// Exit status: 0 every stream keeps its promise, 1 some do not, 2 it could not be run.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick network prove network.toml --html proof.html\n  ontick network prove network.toml plan.json --load 30% --duration 10s\n  ontick network prove network.toml --fault link-down=s1-s2@10ms..20ms \\\n      --fault clock-drift=s1:50ppm"
)]
pub struct Prove {
    /// The file that describes the network
    #[arg(required_unless_present = "task", value_name = "FILE")]
    first: Option<PathBuf>,
    /// The plan, as `plan --out` writes it for --target user [default: it is planned now]
    #[arg(value_name = "PLAN")]
    second: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkFlags,
    /// Where the network is run
    #[arg(long = "in", value_enum, default_value = "simulation", value_name = "WORLD")]
    world: World,
    /// For how long messages are sent, in simulated time
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    duration: u64,
    /// Best-effort frames of each station, as a part of its link
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = share)]
    load: f64,
    /// What goes wrong: link-down=A-B@10ms..20ms, babble=TALKER, clock-drift=NODE:50ppm, clock-step=NODE:1ms, each with the
    /// time that it begins (@10ms) if that is not the start (repeatable)
    #[arg(long, value_name = "FAULT")]
    fault: Vec<Fault>,
    /// Seed of random choices: the same seed gives the same result
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// How long to search for a plan, where none is given
    #[arg(long, value_name = "TIME", value_parser = flags::time, default_value = "60s")]
    time: u64,
    #[command(flatten)]
    timing: TimingFlags,
    #[command(flatten)]
    output: OutputFlags,
}

#[derive(Clone, Copy, ValueEnum)]
enum World {
    /// In simulated time, by the code of the user data plane
    Simulation,
}

fn duration(text: &str) -> Result<u64, String> {
    match flags::time(text)? {
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
        let World::Simulation = self.world;
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
        // With tables for the network, the one file is the plan.
        let (file, plan_file) = match &self.network.task {
            Some(_) => (None, self.first.as_ref()),
            None => (self.first.as_ref(), self.second.as_ref()),
        };
        let timing = self.timing.read_else("user")?;
        if timing.target.plane != Some(DataPlane::User) {
            return Err(Failure::new(format!(
                "a simulation runs the code of the user data plane, and the target is {}: leave --target out, or name user",
                timing.target.name
            )));
        }
        let network = timing.apply(self.network.read(file)?);
        let stop = stop::on_signal()?;
        let go_on = || !stop.load(Relaxed);
        let (table, schedule) = match plan_file {
            Some(file) => {
                let wrong = |error| Failure::new(format!("{}: {error}", file.display()));
                let document = read_plan(file)?;
                (document.timetable(&network), document.schedule(&network).map_err(wrong)?)
            }
            None => self.plan(&network, &go_on)?,
        };
        let options = Options {
            duration_ns: self.duration,
            seed: self.seed,
            costs: Costs::within(&network.timing),
            load: self.load,
            faults: self.fault.clone(),
            trace_ns: drawn(&network, &schedule),
        };
        let began = Instant::now();
        let mut line = Progress::new(self.duration);
        let line = std::cell::RefCell::new(&mut line);
        let shown = |simulated_ns: u64| {
            line.borrow_mut().show(simulated_ns);
            go_on()
        };
        let outcome = simulate(&network, &table, &schedule, &options, &shown).map_err(Failure::new)?;
        line.borrow_mut().clear();
        if outcome.interrupted && outcome.frames == 0 {
            return Err(Failure::new("the run was ended before anything was measured, so nothing is kept"));
        }
        let took = began.elapsed().as_secs_f64().max(1e-9);
        if !self.output.json {
            terminal::say(&format!(
                "ontick: {} of simulated time took {took:.2} s: {:.2} million frames a second, {:.2} million on links",
                ontick_units::exact(outcome.simulated_ns),
                outcome.frames as f64 / took / 1e6,
                outcome.hops as f64 / took / 1e6
            ));
        }
        let mut run = document::run(&network, &schedule, &options, &outcome);
        let all = std::mem::take(&mut run.requirements);
        self.output.judge(&mut run, |_| true);
        run.requirements.splice(0..0, all);
        Ok(run)
    }

    fn plan(&self, network: &Network, go_on: &dyn Fn() -> bool) -> Result<(Timetable, Schedule), Failure> {
        if let Some(too_long) = gate_control_list::too_long_in_any_plan(network) {
            return Err(Failure::new(too_long));
        }
        let (begun, time) = (Instant::now(), Duration::from_nanos(self.time));
        let planned =
            plan(network, &PlanOptions::default(), &Timetable::default(), &|| go_on() && begun.elapsed() < time);
        let table = match planned {
            Planned::Planned(table) => table,
            Planned::Impossible(_) => {
                return Err(Failure::new(
                    "there is no plan for the user data plane, so there is nothing to run: `ontick network plan --target user` \
                     says why",
                ));
            }
            Planned::NotFound(_) => {
                return Err(Failure::new(
                    "no plan was found for the user data plane, so there is nothing to run: `ontick network plan --target \
                     user` says how far it came, and takes a longer --time",
                ));
            }
        };
        let schedule = gate_control_list::schedule(network, &table).map_err(Failure::new)?;
        Ok((table, schedule))
    }
}

/// How much of the beginning is kept to be drawn: a cycle, of networks that are small enough.
fn drawn(network: &Network, schedule: &Schedule) -> u64 {
    let cycle_ns = schedule.windows.iter().map(|window| window.cycle_ns).max().unwrap_or(0);
    if network.links.len() <= MOST_DRAWN.0 && cycle_ns <= MOST_DRAWN.1 { cycle_ns } else { 0 }
}

/// How far it is, on a line of the terminal that is rewritten.
struct Progress {
    whole_ns: u64,
    shown: bool,
    next: Instant,
}

impl Progress {
    fn new(whole_ns: u64) -> Self {
        Self { whole_ns, shown: terminal::can_rewrite(), next: Instant::now() + Duration::from_millis(500) }
    }

    fn show(&mut self, done_ns: u64) {
        if self.shown && Instant::now() >= self.next {
            self.next = Instant::now() + Duration::from_millis(200);
            terminal::rewrite(&format!("{:3.0}%  simulated", done_ns as f64 * 100.0 / self.whole_ns as f64));
        }
    }

    fn clear(&self) {
        if self.shown {
            terminal::clear_line();
        }
    }
}
