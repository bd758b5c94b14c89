//! What `demo` and `verify` have in common: flows through a switch, judged and shown.

use std::io::{IsTerminal, stderr};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use clap::{Args, ValueEnum};
use ontick_record::run::Judged;
use ontick_record::switching::Trial;
use ontick_record::{Run, store};
use ontick_report::{Plot, plot};
use ontick_rt::cpus;
use ontick_switch::verify::flow::SIZES;
use ontick_switch::verify::frame_log;
use ontick_switch::verify::offered::OfferedLoad;
use ontick_switch::verify::proof::{self, Carrier, Proof, Proven};
use ontick_switch::verify::trial::TrialProgress;
use ontick_tsn::model::{Plane, Switch};
use ontick_units::CpuList;

use super::explaining::Explaining;
use crate::attempts::Attempts;
use crate::commands::measuring;
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
    #[arg(long, value_name = "SHARE", default_value = "10/1e6", value_parser = share)]
    allow_outside: Allowed,
    /// List each violation with its cause, if known
    #[arg(long)]
    explain: bool,
    /// Write the picture as SVG to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the picture as PNG to this file
    #[cfg(feature = "png")]
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
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

/// A share of frames, as it was written and as a number.
#[derive(Debug, Clone)]
struct Allowed {
    text: String,
    share: f64,
}

fn share(text: &str) -> Result<Allowed, String> {
    let wrong = || format!("\"{text}\" is not a share of frames: write N/M, as in 10/1e6, or a percentage, as in 0.1%");
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let share = match (text.strip_suffix('%'), text.split_once('/')) {
        (Some(percent), _) => number(percent).map(|percent| percent / 100.0),
        (None, Some((some, all))) => number(some).zip(number(all)).map(|(some, all)| some / all),
        (None, None) => number(text).filter(|none| *none == 0.0),
    };
    let share = share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(wrong)?;
    Ok(Allowed { text: text.into(), share })
}

fn duration(text: &str) -> Result<u64, String> {
    match flags::time(text)? {
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
        self.output.check()?;
        for path in self.pictures().chain(&self.frames) {
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
        self.finish(run, proven)
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
        let place = || proof::place(switch, self.cpu);
        Ok(match (self.plane, switch.plane) {
            (Some(PlaneName::Bridge), _) => Carrier::Bridge,
            (Some(PlaneName::Kernel), _) | (None, Plane::Kernel) => Carrier::Kernel,
            (Some(PlaneName::User), _) | (None, Plane::User) => Carrier::User(place()),
            (Some(PlaneName::Auto), _) | (None, Plane::Auto) => Carrier::Auto(place()),
        })
    }

    fn finish(&self, mut run: Run, proven: Proven) -> Result<Outcome, Failure> {
        let Proven { switching, series, notes, frames } = proven;
        let arrived = switching.trials.iter().any(|trial| trial.sum(|class| class.received) > 0);
        if run.interrupted && !arrived {
            return Err(Failure::new("the run was ended before anything was measured, so nothing is kept"));
        }
        (run.series, run.notes) = (series, notes);
        self.output.judge(&mut run, |_| true);
        // Only what was to be gated is judged: with open gates, nothing keeps frames in their windows.
        if let Some(trial) = switching.gated() {
            run.requirements.extend(self.judged(trial));
        }
        run.switch = Some(switching);
        let mut attempts = Attempts::default();
        attempts.note(self.output.deliver(&run).map(drop));
        if self.explain && !self.output.json {
            attempts.note(crate::terminal::print(&ontick_report::text::violations(&run, &crate::terminal::style())));
        }
        attempts.note(self.draw(&run));
        if let Some(path) = &self.frames {
            let table = frame_log::HEAD.to_string() + &frames;
            attempts.note(store::write_whole(path, table.as_bytes()));
        }
        attempts.end().map(|()| Outcome::of(&run))
    }

    /// What every trial with gates is held against.
    fn judged(&self, trial: &Trial) -> Vec<Judged> {
        let judged = |requirement: &str, seen: String, met| Judged {
            requirement: requirement.into(),
            series: String::new(),
            seen,
            met,
        };
        let sum = |of: fn(&ontick_record::switching::Class) -> u64| trial.sum(of);
        let [sent, received] = [sum(|class| class.sent), sum(|class| class.received)];
        let counted = sent as i64 - received as i64 - trial.unaccounted();
        let silent: Vec<&str> =
            trial.classes.iter().filter(|class| class.received == 0).map(|class| class.name.as_str()).collect();
        let wrong = sum(|class| class.duplicates + class.out_of_order + class.damaged);
        let outside = sum(|class| class.outside);
        let mut all = vec![
            judged(
                "every frame is accounted for",
                format!(
                    "{sent} sent, {received} received, {counted} dropped and counted, {} missing",
                    trial.unaccounted()
                ),
                trial.unaccounted() == 0,
            ),
            judged(
                "every class in order, none doubled or changed",
                format!(
                    "{} doubled, {} out of order, {} changed",
                    sum(|class| class.duplicates),
                    sum(|class| class.out_of_order),
                    sum(|class| class.damaged)
                ),
                wrong == 0,
            ),
            judged(
                &format!("outside their window: at most {}", self.allow_outside.text),
                format!("{outside} of {}", sum(|class| class.judged)),
                trial.share_outside().is_none_or(|share| share <= self.allow_outside.share),
            ),
        ];
        if !silent.is_empty() {
            all.push(judged("every class comes through", format!("nothing of {}", silent.join(", ")), false));
        }
        all
    }

    fn pictures(&self) -> impl Iterator<Item = &PathBuf> {
        #[cfg(feature = "png")]
        let png = self.png.as_ref();
        #[cfg(not(feature = "png"))]
        let png = None;
        self.svg.iter().chain(png)
    }

    fn draw(&self, run: &Run) -> Result<(), Failure> {
        if self.pictures().next().is_none() {
            return Ok(());
        }
        let picture = plot::svg(run, Plot::Arrivals);
        if let Some(path) = &self.svg {
            store::write_whole(path, picture.as_bytes())?;
        }
        #[cfg(feature = "png")]
        if let Some(path) = &self.png {
            store::write_whole(path, &ontick_report::png(&picture, 2.0)?)?;
        }
        if !self.output.json {
            let names: Vec<String> = self.pictures().map(|path| path.display().to_string()).collect();
            crate::terminal::print(&format!("picture: {}\n", names.join(", ")))?;
        }
        Ok(())
    }
}

fn begin(measurement: &str, carrier: &Carrier) -> Run {
    let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), measurement);
    run.started = ontick_record::date::now();
    run.environment = Some(measuring::environment(carrier.place().and_then(|place| place.cpu)));
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
        Self { shown: stderr().is_terminal() }
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
