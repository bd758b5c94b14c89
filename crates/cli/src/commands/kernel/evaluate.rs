//! `ontick kernel evaluate`

use std::cell::Cell;

use clap::Args;
use ontick_measure::load::SOURCE_004;
use ontick_measure::timer::{self, Job, Method, Places};
use ontick_measure::timetable::Timetable;
use ontick_measure::{Length, Limits, Load, Placement};
use ontick_record::run::Published;
use ontick_record::{Measurement as Kind, Series};
use ontick_rt::thread::Policy;
use ontick_rt::{cpus, watchdog};
use ontick_units::show;

use crate::commands::measuring::{self, Measurement};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, Cpus, OutputFlags};
use crate::terminal;

/// Evaluate how well this machine's kernel keeps time, as source 004 evaluates its real-time kernel.
///
/// clock_nanosleep to an absolute time every 500 us, 100 000 times at priority 80 beside `cat /dev/zero`, then the same
/// by every other timer, beside source 004's figures. That takes 50 s for each timer, 10 min for all of them; Ctrl-C
/// ends it with the results so far. Source 004's second load are pings from another host, sudo ping -i 0.01 HOST there;
/// --load source-004+ping has a network namespace of this machine for that host, so no network card takes part.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick kernel evaluate\n  sudo ontick kernel evaluate --only                 clock_nanosleep alone, 50 s\n  sudo ontick kernel evaluate --loops 2000 --load none\n  sudo ontick kernel evaluate --only --load source-004+ping\n  sudo ontick kernel evaluate --record rt.json\n  ontick compare stock.json rt.json"
)]
pub struct Evaluate {
    /// How many times each timer expires
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    loops: u64,
    /// Time between two expirations, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "500us", value_parser = flags::interval)]
    interval: u64,
    /// Measure clock_nanosleep alone, as source 004 does
    #[arg(long)]
    only: bool,
    /// Load to run during the measurement: source-004, none, cpu, memory, io, fork, net, cpu+net, all, ping or
    /// source-004+ping (pings from a second host, which a network namespace of this machine stands for; root), or
    /// cmd:COMMAND
    #[arg(long, default_value = SOURCE_004)]
    load: Load,
    /// CPU of the timed thread; several, with a thread on each, as a list (1-3), isolated or all; or "any" to leave it to the
    /// scheduler [default: one isolated, else one without fixed interrupts]
    #[arg(long, value_name = "LIST|isolated|all|any", value_parser = flags::several)]
    cpu: Option<Cpus>,
    /// Scheduling: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "fifo:80")]
    policy: Policy,
    /// Show percentiles, histogram and maxima live on the whole terminal
    #[arg(long)]
    watch: bool,
    /// Trace the kernel and name the cause of each outlier (needs root)
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputFlags,
}

/// Keep latencies above this one by one, in ns: what source 004 saw at most.
const OUTLIER_NS: u64 = 95_000;
const NOTE: &str = "source 004's figures (min/avg/max) are cyclictest's on a Raspberry Pi Model B (one CPU at 700 MHz, Linux 4.4.9-rt17) beside cat /dev/zero and pings from another host; with more tests its worst was about 166us";

/// What became of clock_nanosleep: smallest, average and largest latency, in ns.
type Summary = (u64, f64, u64);

impl Evaluate {
    pub fn run(self) -> Result<Outcome, Failure> {
        let cpu = Cpus::first(self.cpu.as_ref(), self.policy);
        let placement = Placement { cpu, policy: self.policy, prepared: true, wake_within_us: Some(0), awake: false };
        let together = self.cpu.as_ref().map_or(Ok(None), |cpus| cpus.together(!self.only))?;
        let (several, left) = together.unwrap_or_default();
        let (methods, left_out) = self.methods(&several);
        let mut facts: Vec<String> = flags::why_there(&placement).filter(|_| self.cpu.is_none()).into_iter().collect();
        facts.push(NOTE.into());
        facts.extend(left_out.into_iter().chain(left));
        let limits = Limits { length: Length::Count(self.loops), outlier_ns: OUTLIER_NS, stop_over_ns: None };
        let jobs: Vec<Job> = methods.iter().map(|method| Job::new(self.interval, *method)).collect();
        let asked = Measurement {
            kind: Kind::KernelEvaluate,
            series: match several.is_empty() {
                true => methods.iter().map(|method| method.to_string().into()).collect(),
                false => timer::cases(&jobs, &several).map(Series::from).collect(),
            },
            cpu: placement.cpu,
            load: &self.load,
            watch: self.watch,
            findings: Vec::new(),
            facts,
            notes: Vec::new(),
            explain: self.explain,
            stack: false,
            split: false,
            break_trace_over: None,
            simulated: None,
            waits_for: None,
            takes_ns: Timetable::of_series(methods.len(), limits, Some(self.interval), &self.load),
            samples: None,
            sample_file: None,
            signal: None,
            stop: None,
            keeps: None,
        };
        let seen = Cell::new(None);
        let outcome = measuring::run(asked, &self.output, is_of_source, |observer| {
            let mut all = match several.is_empty() {
                true => timer::each(&jobs, placement, limits, observer)?,
                false => {
                    let places = Places { cpus: &several, staggered: false };
                    timer::on_each_cpu(&jobs, places, placement, limits, observer)?
                }
            };
            all.iter_mut().for_each(|series| series.published = published(series));
            seen.set(summary(&all));
            Ok(all)
        });
        // Shown whatever became of the files.
        if let Some(seen) = seen.get().filter(|_| !self.output.json) {
            terminal::print(&beside(seen))?;
        }
        outcome
    }

    /// The source's own timer first. Those that would hold the only CPU, or all of them, are left out, and so is the one timer
    /// of a process where threads on several CPUs need one each.
    fn methods(&self, several: &[u32]) -> (Vec<Method>, Vec<String>) {
        let others = Method::ALL.into_iter().filter(|m| *m != Method::ClockNanosleep && !self.only);
        let (online, is_real_time) = (cpus::online(), self.policy.is_real_time());
        let alone = is_real_time && watchdog::may_occupy(online.len()).is_err();
        let crowded = is_real_time && watchdog::may_occupy_together(several, &online).is_err();
        let (holding, others): (Vec<Method>, Vec<Method>) =
            others.partition(|m| alone && m.spins() || crowded && *m == Method::Spin);
        let (single, fit): (Vec<Method>, Vec<Method>) =
            others.into_iter().partition(|m| several.len() > 1 && *m == Method::SetItimer);
        let methods = [Method::ClockNanosleep].into_iter().chain(fit).collect();
        let names = |of: &[Method]| of.iter().map(Method::to_string).collect::<Vec<_>>().join(" and ");
        let what = if alone { "this machine's only CPU" } else { "every CPU of this machine" };
        let mut notes = Vec::new();
        if !holding.is_empty() {
            let verb = if holding.len() == 1 { "is left out: it" } else { "are left out: they" };
            notes.push(format!("{} {verb} would hold {what}", names(&holding)));
        }
        if !single.is_empty() {
            notes.push(format!("{} is left out: a process has one such timer, and no thread its own", names(&single)));
        }
        (methods, notes)
    }
}

/// By which timer.
fn method(series: &Series) -> &str {
    series.case.method.as_deref().unwrap_or(&series.name)
}

/// Whether it is by source 004's own timer.
fn is_of_source(series: &Series) -> bool {
    method(series) == Method::ClockNanosleep.name()
}

/// What became of the source's timer, on all CPUs together.
fn summary(all: &[Series]) -> Option<Summary> {
    let mut whole = Series::default();
    all.iter().filter(|series| is_of_source(series)).for_each(|series| whole.latency.merge(&series.latency));
    figures(&whole)
}

/// What source 004 says of this timer.
fn published(series: &Series) -> Option<Published> {
    let figure = match method(series) {
        "clock_nanosleep" => "23/37/95us",
        "nanosleep" | "setitimer" => "max > 1ms",
        _ => return None,
    };
    let how = "cyclictest, 100 000 loops of 500us at priority 80, full load, Raspberry Pi Model B at 700 MHz".into();
    Some(Published { source: "source 004".into(), figure: figure.into(), how })
}

fn figures(series: &Series) -> Option<Summary> {
    let latency = &series.latency;
    Some((latency.min_ns?, latency.mean()?, latency.max_ns?))
}

fn beside((min, mean, max): Summary) -> String {
    let (min, mean, max) = (show(min), show(mean.round() as u64), show(max));
    format!(
        "\nclock_nanosleep, min/avg/max\n  this machine                      {min} / {mean} / {max}\n  source 004, Raspberry Pi Model B  23us / 37us / 95us\n"
    )
}
