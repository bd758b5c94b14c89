//! `ontick prove`

use std::path::PathBuf;

use clap::Args;
use ontick_machine::{Facts, Root, WantedCpus, check};
use ontick_measure::{Load, prove};
use ontick_record::{Measurement as Kind, Requirement, Side};
use ontick_units::CpuList;
use rustix::thread::CapabilitySet;

use super::measuring::{self, Measurement};
use super::tuned::{Tuned, target};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, OutputFlags};

/// Can this machine act on time, and what does ontick's way of running change?
///
/// Measures the same periodic job the stock way (normal scheduling, any CPU, nanosleep) and ontick's way
/// (one CPU, FIFO 99, memory locked, hybrid wait, quietest phase), idle and under load, in interleaved
/// blocks; prints a table and a verdict and leaves ontick-report.html.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick prove\n  sudo ontick prove --duration 10min \\\n      --require '99% < 3us' --require 'missed = 0'\n  sudo ontick prove --cpu isolated                 on all of these at once\n  sudo ontick prove --tune                         with changed settings\n  sudo ontick prove --keep-awake                   with a CPU that does not idle\n  sudo ontick prove --tune=governor,irq-affinity   with only these two changed"
)]
pub struct Prove {
    /// How long the whole run takes on the clock, the start of the load included
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = flags::duration)]
    duration: u64,
    /// Period of the job, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// CPU of ontick's side, or several with a thread on each, as a list (2-3), isolated, or all but the first (all); of
    /// several the stock side has a thread on each, too [default: one isolated, else one without fixed interrupts]
    #[arg(long, value_name = "LIST|isolated|all", value_parser = str::parse::<WantedCpus>)]
    cpu: Option<WantedCpus>,
    /// Keep the CPU of ontick's side from idling, by a thread of the lowest policy: it is then back at once when a timer fires
    #[arg(long)]
    keep_awake: bool,
    /// Margin before the deadline at which ontick's hybrid wait stops sleeping, instead of one that it learns
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    margin: Option<u64>,
    /// Load of the loaded blocks: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND [default: all; where
    /// stress-ng is not installed, cat /dev/zero on each CPU]
    #[arg(long)]
    load: Option<Load>,
    /// Trace the kernel and name the cause of each outlier (needs root)
    #[arg(long)]
    explain: bool,
    /// Write the HTML report to this file
    #[arg(long, value_name = "FILE", default_value = "ontick-report.html")]
    html: PathBuf,
    /// Print the record as JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Write also the record to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write the requirements and how they were met to this file, as JUnit XML for continuous integration
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Exit with status 1 unless this holds on ontick's side: "99% < 3us", "max < 100us", "missed = 0" (repeatable)
    #[arg(long, value_name = "REQUIREMENT")]
    require: Vec<Requirement>,
    /// Estimate what is exceeded less than once in so many cycles, beyond what was observed [default: 1e9]
    #[arg(long, value_name = "CYCLES", num_args = 0..=1, require_equals = true, default_missing_value = "1e9", value_parser = flags::once_in)]
    tail: Option<u64>,
    /// Change the machine's settings as `ontick tune plan` proposes for that CPU, or only these (--tune=KNOB,KNOB), and
    /// restore them afterwards
    #[arg(long, value_name = "KNOB", num_args = 0..=1, require_equals = true, value_delimiter = ',', default_missing_value = "")]
    tune: Option<Vec<String>>,
}

/// CPUs, and what is to be said of those that were left out.
type Chosen = (Vec<u32>, Option<String>);

impl Prove {
    /// The CPUs that were named; the usual one where none was.
    fn cpus(&self) -> Result<Chosen, Failure> {
        let Some(wanted) = &self.cpu else { return Ok((vec![flags::unnamed().cpu], None)) };
        let facts = Facts::gather(&Root::live());
        let cpus = flags::cpus_of(wanted, &facts)?;
        let left = wanted.left_out(&facts, &cpus);
        Ok((cpus.iter().collect(), left))
    }

    pub fn run(self) -> Result<Outcome, Failure> {
        let (load, lacks) = self.load.clone().map_or_else(Load::usual, |load| (load, None));
        let (cpus, left) = self.cpus()?;
        let plan = prove::Plan {
            interval_ns: self.interval,
            duration_ns: self.duration,
            cpus,
            awake: self.keep_awake,
            margin_ns: self.margin,
            load,
        };
        let may_settle = !self.explain && !plan.load.needs_rights();
        let output = OutputFlags {
            json: self.json,
            record: self.record,
            html: Some(self.html.clone()),
            pictures: flags::PictureFlags::default(),
            junit: self.junit,
            require: self.require,
            quiet: false,
            tail: self.tail,
        };
        // Before settings are changed for what cannot be measured.
        ready(&plan, &output).inspect_err(|failure| output.report_failure(Kind::Prove.as_str(), failure))?;
        let wanted: CpuList = plan.cpus.iter().copied().collect();
        let tuned = self.tune.as_ref().map(|knobs| Tuned::apply(Some(wanted.clone()), knobs)).transpose();
        let mut tuned = tuned.inspect_err(|failure| output.report_failure(Kind::Prove.as_str(), failure))?;
        if may_settle {
            tuned.iter_mut().for_each(Tuned::leave_to_guardian);
        }
        let facts = Facts::gather(&Root::live());
        let findings = target(&facts, Some(wanted))
            .map(|target| check(&facts, &target, &|remedy| flags::RootFlag::default().remedy(remedy)))
            .unwrap_or_default();
        let tunable = findings.iter().any(|f| f.knob.is_some());
        let mut notes = tuned.as_ref().map(|tuned| tuned.notes.clone()).unwrap_or_default();
        notes.extend(lacks);
        let asked = Measurement {
            kind: Kind::Prove,
            series: plan.series(),
            cpu: plan.placement().cpu,
            load: &Load::None,
            watch: false,
            findings,
            facts: flags::why_there(&plan.placement()).filter(|_| self.cpu.is_none()).into_iter().chain(left).collect(),
            notes,
            explain: self.explain,
            stack: false,
            split: false,
            break_trace_over: None,
            simulated: None,
            waits_for: None,
            takes_ns: Some(plan.takes_ns()),
            samples: None,
            sample_file: None,
            signal: None,
            stop: None,
            keeps: may_settle.then(CapabilitySet::empty),
        };
        let outcome =
            measuring::run(asked, &output, |s| s.case.side == Some(Side::Ontick), |o| prove::prove(&plan, o))?;
        let restored = tuned.map(Tuned::restore).transpose();
        if !self.json {
            let mut last = format!("Report: {}\n", self.html.display());
            match self.tune {
                Some(_) if restored.is_ok() => last += "The machine's settings are as they were before.\n",
                None if tunable => last += "Again with what `ontick tune plan` proposes: sudo ontick prove --tune\n",
                _ => {}
            }
            crate::terminal::print(&last)?;
        }
        restored.map(|_| outcome)
    }
}

/// Whether the plan can be measured, and what comes of it be kept and judged.
fn ready(plan: &prove::Plan, output: &OutputFlags) -> Result<(), Failure> {
    plan.check()?;
    output.check()?;
    output.check_journal()
}
