//! What `demo` and `verify` have in common: flows through a switch, judged and shown.

use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use clap::{Args, ValueEnum};
use ontick_measure::document;
use ontick_record::{Run, store};
use ontick_rt::cpus;
use ontick_switch::user::placement;
use ontick_switch::verify::flow::SIZES;
use ontick_switch::verify::frame_log;
use ontick_switch::verify::offered::OfferedLoad;
use ontick_switch::verify::proof::{Carrier, Proof, Proven};
use ontick_switch::verify::trial::TrialProgress;
use ontick_tsn::model::{Plane, Switch};
use ontick_units::CpuList;

use super::explaining::Explaining;
use super::judging::{self, Allowed};
use crate::attempts::Attempts;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, OutputFlags};
use crate::stop;

/// How a switch is tried out, and what becomes of the result.
#[derive(Args, Debug, Clone)]
pub struct ProvingFlags {
    /// The data plane, overriding the configuration
    #[arg(long, value_enum)]
    plane: Option<PlaneName>,
    /// CPU of the user data plane [default: the one that the configuration names, else the one that suits best]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// How long to send frames
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration)]
    duration: u64,
    /// How long to send frames with all gates open, to compare; 0s: not at all
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = flags::time)]
    without_gates: u64,
    /// Size of an untagged frame with its check sequence, 64 to 1518; a VLAN tag adds 4
    #[arg(long, value_name = "OCTETS", default_value_t = *SIZES.end(), value_parser = clap::value_parser!(u32).range(64..=1518))]
    size: u32,
    /// Tolerance: a frame that begins this much before its gate opens, or ends this much after it closes, counts as
    /// within its window
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    guard: u64,
    /// Exit with status 1 if more frames than this were outside their window: N/M or a percentage
    #[arg(long, value_name = "SHARE", default_value = "10/1e6", value_parser = judging::share)]
    allow_outside: Allowed,
    /// List each violation with its cause, if known
    #[arg(long)]
    explain: bool,
    /// Write every frame that arrived to this file, with its times and its judgement, as comma-separated values
    #[arg(long, value_name = "FILE")]
    frames: Option<PathBuf>,
    #[command(flatten)]
    output: OutputFlags,
}

/// What carries the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PlaneName {
    /// The kernel where it can, else a dedicated core
    Auto,
    /// Bridge, classifier and taprio
    Kernel,
    /// A dedicated core
    User,
    /// The kernel's bridge without gates, to compare
    Bridge,
}

fn duration(text: &str) -> Result<u64, String> {
    match flags::duration(text)? {
        short if short < 10_000_000 => Err("frames must be sent for 10ms at least".into()),
        ns => Ok(ns),
    }
}

/// What is tried out.
pub struct Asked {
    /// `switch demo`, `switch verify`.
    pub measurement: &'static str,
    pub switch: Switch,
    /// Where flows go in, and where they come out: places in the switch's ports.
    pub ports: (usize, usize),
    /// Classes that get a flow; none: all that can have one.
    pub classes: Vec<usize>,
    pub offered: OfferedLoad,
    /// A switch that is at work already.
    pub outside: Option<Carrier>,
}

impl ProvingFlags {
    /// Tries it out, judges it and shows it.
    pub fn prove(&self, asked: Asked) -> Result<Outcome, Failure> {
        let measurement = asked.measurement;
        match self.carry_out(asked) {
            Ok((run, proven)) => self.finish(run, proven),
            Err(failure) => {
                self.output.report_failure(measurement, &failure);
                Err(failure)
            }
        }
    }

    fn carry_out(&self, asked: Asked) -> Result<(Run, Proven), Failure> {
        self.output.check_files()?;
        if let Some(path) = &self.frames {
            store::check_writable(path)?;
        }
        let carrier = self.carrier(&asked)?;
        let stop = stop::on_signal()?;
        let mut run = begin(asked.measurement, &carrier);
        let proof = self.proof(asked, carrier);
        let began = Instant::now();
        let (mut explaining, note) = match proof.carrier.place().filter(|_| self.explain).map(Explaining::start) {
            Some((explaining, note)) => (Some(explaining), note),
            None => (None, None),
        };
        let mut proven = {
            let mut line = Line::new();
            let mut look = |name: &str, moment: TrialProgress| {
                if let Some(explaining) = &mut explaining {
                    explaining.look(&moment);
                }
                line.show(name, &moment);
            };
            proof.carry_out(&stop, &mut look)?
        };
        if let Some(explaining) = explaining {
            explaining.end(&mut proven.switching.trials);
        }
        proven.notes.extend(note);
        run.duration_ns = began.elapsed().as_nanos() as u64;
        run.interrupted = stop.load(Relaxed);
        let arrived = proven.switching.trials.iter().any(|trial| trial.sum(|class| class.received) > 0);
        match run.interrupted && !arrived {
            true => Err(Failure::new("the run was ended before anything was measured, so nothing is kept")),
            false => Ok((run, proven)),
        }
    }

    fn proof(&self, asked: Asked, carrier: Carrier) -> Proof {
        Proof {
            switch: asked.switch,
            ports: asked.ports,
            carrier,
            classes: asked.classes,
            offered: asked.offered,
            size: self.size,
            duration_ns: self.duration,
            without_gates_ns: self.without_gates.min(self.duration),
            guard_ns: self.guard,
            log_frames: self.frames.is_some(),
            bins: 1_000,
            kept_cycles: 4,
        }
    }

    fn carrier(&self, asked: &Asked) -> Result<Carrier, Failure> {
        if let Some(Carrier::Outside { send, receive, folder }) = asked.outside.clone() {
            return match (self.plane, send == receive) {
                (Some(_), _) => Err(Failure::new(
                    "--plane is for switches that are set up here, not for one between --send and --receive",
                )),
                (None, true) => {
                    Err(Failure::new(format!("frames cannot leave and return by the same interface ({send})")))
                }
                (None, false) => Ok(Carrier::Outside { send, receive, folder }),
            };
        }
        if let Some(cpu) = self.cpu.filter(|cpu| !cpus::online().contains(cpu)) {
            let online = cpus::online().into_iter().collect::<CpuList>();
            return Err(Failure::new(format!("CPU {cpu} is not online (this machine has CPU {online})")));
        }
        let switch = &asked.switch;
        // Only where it is needed, as it takes a CPU.
        let place = || placement::place(switch, self.cpu);
        Ok(match (self.plane, switch.plane) {
            (Some(PlaneName::Bridge), _) => Carrier::Bridge,
            (Some(PlaneName::Kernel), _) | (None, Plane::Kernel) => Carrier::Kernel,
            (Some(PlaneName::User), _) | (None, Plane::User) => Carrier::User(place()),
            (Some(PlaneName::Auto), _) | (None, Plane::Auto) => Carrier::Auto(place()),
        })
    }

    fn finish(&self, mut run: Run, proven: Proven) -> Result<Outcome, Failure> {
        let Proven { switching, series, notes, facts, frames } = proven;
        (run.series, run.notes) = (series, notes);
        run.facts.extend(facts);
        // Only what was to be gated is judged: with open gates, nothing keeps frames in their windows.
        run.requirements = judging::judged(&switching, &run, &self.output.require, &self.allow_outside);
        run.switch = Some(switching);
        let mut attempts = Attempts::default();
        attempts.note(self.output.deliver(&run).map(drop));
        if self.explain && !self.output.json {
            attempts.note(crate::terminal::print(&ontick_report::text::violations(&run, &crate::terminal::style())));
        }
        let drawn: Vec<String> = self.output.pictures.files().map(|path| path.display().to_string()).collect();
        if !drawn.is_empty() && !self.output.json {
            attempts.note(crate::terminal::print(&format!("picture: {}\n", drawn.join(", "))));
        }
        if let Some(path) = &self.frames {
            let table = frame_log::HEAD.to_string() + &frames;
            attempts.note(store::write_whole(path, table.as_bytes()));
        }
        attempts.end().map(|()| Outcome::of(&run))
    }
}

fn begin(measurement: &str, carrier: &Carrier) -> Run {
    let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), measurement);
    run.started = ontick_record::date::now();
    run.environment = Some(document::environment(carrier.place().and_then(|place| place.cpu)));
    run.simulated = match carrier {
        Carrier::Outside { send, receive, .. } => {
            let without: Vec<&str> =
                [send, receive].into_iter().filter(|name| !has_hardware(name)).map(String::as_str).collect();
            (!without.is_empty()).then(|| format!("interface {} has no hardware behind it", without.join(" nor ")))
        }
        _ => Some("virtual Ethernet (veth) between network namespaces of this machine".into()),
    };
    run
}

/// Virtual interfaces have no device.
fn has_hardware(interface: &str) -> bool {
    std::path::Path::new("/sys/class/net").join(interface).join("device").exists()
}

/// How far it is, on a line of the terminal that is rewritten.
struct Line {
    shown: bool,
}

impl Line {
    fn new() -> Self {
        Self { shown: crate::terminal::can_rewrite() }
    }

    fn show(&mut self, name: &str, moment: &TrialProgress) {
        if self.shown {
            let TrialProgress { done, sent, received, outside, .. } = moment;
            let percent = done * 100.0;
            crate::terminal::rewrite(&format!(
                "{percent:3.0}%  {name}  {sent} sent  {received} received  {outside} outside"
            ));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.shown {
            crate::terminal::clear_line();
        }
    }
}
