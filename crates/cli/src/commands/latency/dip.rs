//! `ontick latency dip`

use clap::Args;
use ontick_gpio::{Name, OnExit};
use ontick_measure::dip::{self, Job, Range};
use ontick_measure::edge::{Method, Wiring};
use ontick_measure::timetable::Timetable;
use ontick_measure::{Load, series};
use ontick_record::{Measurement as Kind, Series};
use ontick_rt::clock::ClockId;

use super::mechanisms::{self, Mechanisms};
use crate::commands::measuring::{self, Measurement};
use crate::commands::simulated;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, OutputFlags, PlacementFlags};
use crate::privileges;

/// Search the shortest dip of an input that is still detected: it falls and rises again.
///
/// Dips of one width are driven; the width counts as detected if so many of them are that `--share` is reached. The
/// search halves the range until two neighbouring widths differ, and tries both again until its time is over. Dips in
/// which the driving thread was stopped are left out. Source 002 found that dips of several dozen us raise no interrupt
/// on a Raspberry Pi.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick latency dip\n  sudo ontick latency dip --output gpiochip0:4 --input gpiochip0:17 \\\n      --load cpu --html dips.html\n  sudo ontick latency dip --method poll --from 200ns --to 20us --step 100ns\n\nThe driven line must be joined to the watched one: by a cable, or by `ontick gpio wire` if both are simulated. Without names, two simulated lines are used."
)]
pub struct Dip {
    /// The line that is driven [default: sim:bench/4]
    #[arg(long, value_name = "LINE", requires = "input")]
    output: Option<Name>,
    /// The line that is watched [default: sim:bench/17]
    #[arg(long, value_name = "LINE", requires = "output")]
    input: Option<Name>,
    /// How an edge is detected: poll, interrupt, interrupt-busy; or several (poll,interrupt) or all, one after the other
    #[arg(long, value_name = "METHOD,…", default_value = "all", value_parser = methods)]
    method: Mechanisms<Method>,
    /// The shortest dip of the search
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    from: u64,
    /// The longest dip of the search
    #[arg(long, value_name = "TIME", default_value = "500us", value_parser = flags::time)]
    to: u64,
    /// Difference between neighbouring widths
    #[arg(long, value_name = "TIME", default_value = "1us", value_parser = flags::time)]
    step: u64,
    /// Dips of each width
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    dips: u32,
    /// Share of the dips of a width that must be detected
    #[arg(long, value_name = "PERCENT", default_value = "99", value_parser = share)]
    share: f64,
    /// CPU of the driving thread [default: the first other one]
    #[arg(long, value_name = "N")]
    from_cpu: Option<u32>,
    /// State of the driven line afterwards: keep, low, high or input
    #[arg(long, value_name = "STATE", default_value = "low")]
    on_exit: OnExit,
    /// Search again beside this load: cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND [default: none]
    #[arg(long)]
    load: Option<Load>,
    #[command(flatten)]
    placement: PlacementFlags,
    #[command(flatten)]
    output_files: OutputFlags,
}

fn methods(text: &str) -> Result<Mechanisms<Method>, String> {
    mechanisms::read(text, &Method::ALL)
}

fn share(text: &str) -> Result<f64, String> {
    match text.trim_end_matches('%').parse::<f64>() {
        Ok(percent) if percent > 0.0 && percent <= 100.0 => Ok(percent / 100.0),
        _ => Err(format!("\"{text}\" is no share above 0 and up to 100 percent")),
    }
}

impl Dip {
    pub fn run(self) -> Result<Outcome, Failure> {
        let placement = self.placement.placement();
        let (drive, see) = match (self.output, self.input) {
            (Some(drive), Some(see)) => (drive, see),
            _ => simulated::joined(4, 17)?,
        };
        let wiring = Wiring { drive, see, on_exit: self.on_exit };
        let range = Range { low_ns: self.from, high_ns: self.to, step_ns: self.step };
        let (dips, share, driver_cpu) = (self.dips, self.share, self.from_cpu);
        let job = |method: &Method| Job { wiring: wiring.clone(), method: *method, range, dips, share, driver_cpu };
        let mut loads = vec![Load::None];
        loads.extend(self.load.filter(|load| *load != Load::None));
        let all: Vec<(&Load, Job)> = loads
            .iter()
            .flat_map(|load| self.method.0.iter().map(move |method| (load, method)))
            .map(|(load, method)| (load, job(method)))
            .collect();
        let may_settle = !loads.iter().any(Load::needs_rights);
        let keeps = may_settle.then(|| privileges::of_lines([&wiring.drive, &wiring.see]));
        let takes_ns = |load: &Load, job: &Job| Timetable::of_load(load) + job.takes_ns();
        let cases = all.iter().map(|(load, job)| Series::from(job.case(**load != Load::None))).collect();
        let asked = Measurement {
            kind: Kind::Dip,
            series: cases,
            cpu: placement.cpu,
            load: &Load::None,
            watch: false,
            findings: Vec::new(),
            facts: self.placement.note().into_iter().collect(),
            notes: Vec::new(),
            explain: false,
            stack: false,
            split: false,
            break_trace_over: None,
            simulated: ontick_gpio::simulation_note(&[&wiring.drive, &wiring.see]),
            waits_for: None,
            takes_ns: Some(all.iter().map(|(load, job)| takes_ns(load, job)).sum()),
            signal: None,
            stop: None,
            samples: None,
            sample_file: None,
            keeps,
        };
        measuring::run(
            asked,
            &self.output_files,
            |_| true,
            |observer| {
                let mut until_ns = ClockId::Monotonic.now_ns();
                series::each(&all, observer, |(load, job), o| {
                    until_ns += takes_ns(load, job);
                    let running = load.start()?;
                    let mut series = dip::measure(job, **load != Load::None, until_ns, placement, o)?;
                    load.describe_beside(&running, &mut series.settings);
                    if let Some(status) = running.ended() {
                        o.note(format!("the load ended before the search did ({status})"));
                    }
                    Ok(series)
                })
            },
        )
    }
}
