//! `ontick tune search`

mod asked;
mod asked_boots;
mod bench;
mod boots;
mod candidates;
mod found;
mod modelled;
mod searching;
pub mod watchdog;

use std::path::PathBuf;

use clap::Args;
use ontick_measure::{Load, Method};
use ontick_record::search::Judge;
use ontick_rt::thread::Policy;

use crate::failure::{Failure, Outcome};
use crate::flags::{self, PictureFlags, RootFlag, TargetFlags};

/// Find out which settings help this machine, this load and this job.
///
/// Each candidate is measured against the machine as it is, in quartets of interleaved blocks (base, candidate, candidate,
/// base, or the other way round, by a coin). Those that are clearly useless are given up early. Those that help are then
/// measured together, and each is taken out of the set once. All is put back, also if the search is killed or if a candidate
/// makes the machine unusable, and a search that was killed or ended with Ctrl-C goes on with --continue.
///
/// Kernel arguments need restarts: --boot searches those of `ontick tune plan --boot`. Each boot is one session of blocks and
/// one figure; a round is a boot of the base and one of each candidate, in an order by chance. A systemd unit goes on after
/// each restart. A boot with a candidate is chosen for that boot alone, so that the next restart is the usual boot again,
/// and what does not come up is left out.
#[derive(Args)]
#[command(
    after_help = "Candidates:\n  governor irq-affinity …   settings, as in ontick tune plan\n  wait=METHOD duty=SHARE margin=TIME phase=TIME cpu=N keep-awake\n                            of the loop, without any setting\n  knobs                     all settings of the profile (the default)\n  loop                      the usual alternatives of the loop\n  sim:NAME=POINTS           one of a modelled machine, in virtual time\n  sim:NAME=hang             one with which the search gets no turn\n\nExamples:\n  sudo ontick tune search --time 20min --out found.toml\n  sudo ontick tune search stat-interval irq-affinity loop --load cpu\n  sudo ontick tune search --continue --time 40min --svg found.svg\n  ontick tune search --boot             what would be tried, and how often\n  sudo ontick tune search --boot --restart\n  sudo ontick tune search --boot --status --out found.toml\n  sudo ontick tune apply --profile found.toml\n  ontick tune search sim:good=2 sim:none=0 --seed 1"
)]
pub struct Search {
    /// What is tried [default: knobs; with --boot, the kernel arguments of the plan]
    #[arg(value_name = "CANDIDATE")]
    candidates: Vec<String>,
    #[command(flatten)]
    target: TargetFlags,
    /// How long the blocks take together at most [default: 20min]; with --continue, those of before included
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    time: Option<u64>,
    /// What counts: share (of the cycles within --limit), p99.9, missed (cycles) or max
    #[arg(long, default_value = "share")]
    judge: Judge,
    /// Limit of the share
    #[arg(long, value_name = "TIME", default_value = "3us", value_parser = flags::time)]
    limit: u64,
    /// A gain smaller than this is worth no setting: points of a share, or percent of a time [default: 0.1, of missed
    /// cycles 0.01, of times 5]
    #[arg(long, value_name = "PERCENT", value_parser = candidates::percent)]
    smallest: Option<f64>,
    /// Period of the job, as a time or a rate
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = flags::interval)]
    interval: u64,
    /// How the job waits
    #[arg(long, default_value = "hybrid")]
    method: Method,
    /// Scheduling of the job: other, fifo:PRIORITY or rr:PRIORITY
    #[arg(long, default_value = "fifo:99")]
    policy: Policy,
    /// Length of a block [default: 500ms, or as long as what counts needs]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    block: Option<u64>,
    /// Load to run during the search: none, cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND
    #[arg(long, default_value = "none")]
    load: Load,
    /// A quartet counts for no side if the hypervisor took more of the CPUs' time than this in one of its blocks
    #[arg(long, value_name = "PERCENT", default_value = "5%", value_parser = flags::share)]
    steal: f64,
    /// Seed of the order of blocks [default: by chance; the result states it]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Undo a candidate with which the search gets no turn for so long, and go on without it
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = watchdog::undo_after)]
    undo_after: u64,
    /// Search kernel arguments, by restarting the machine
    #[arg(long, conflicts_with_all = ["time", "undo_after", "journal", "apply"])]
    boot: bool,
    /// Begin, and restart the machine until the search has ended; without it, what would be done is shown
    #[arg(long, requires = "boot", conflicts_with_all = ["goes_on", "give_up", "status"])]
    restart: bool,
    /// Boots at most [default: twice as many as an effect of any size needs]; with --continue, those of before included
    #[arg(long, value_name = "N", requires = "boot", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    boots: Option<u64>,
    /// Blocks in each boot [default: 20]
    #[arg(long, value_name = "N", requires = "boot", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    blocks: Option<u64>,
    /// Measure a boot this long after its start [default: 30s]
    #[arg(long, value_name = "TIME", requires = "boot", value_parser = flags::time)]
    settle: Option<u64>,
    /// Show what a search by restarts has found so far; change nothing
    #[arg(long, requires = "boot", conflicts_with_all = ["candidates", "goes_on", "give_up"])]
    status: bool,
    #[command(flatten)]
    root: RootFlag,
    /// Keep what was measured in this file, from which --continue goes on
    #[arg(long, value_name = "FILE", default_value = "ontick-search.journal")]
    journal: PathBuf,
    /// Go on with the search of the journal, by its options
    #[arg(
        long = "continue",
        conflicts_with_all = ["candidates", "judge", "limit", "smallest", "interval", "method", "policy", "block", "load", "steal", "seed", "undo_after", "cpu", "profile", "blocks", "settle"]
    )]
    goes_on: bool,
    /// Put back what a killed search left, remove the journal, and end
    #[arg(long, conflicts_with_all = ["candidates", "goes_on", "apply", "out"])]
    give_up: bool,
    /// Write the set that was found as a profile, which `tune apply --profile FILE` takes
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Apply the set at the end, as `tune apply` does
    #[arg(long)]
    apply: bool,
    /// Print the record as JSON instead of the table
    #[arg(long)]
    json: bool,
    /// Write the record to this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Write an HTML report to this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    pictures: PictureFlags,
}

impl Search {
    pub fn run(self) -> Result<Outcome, Failure> {
        if self.boot {
            return boots::search(&self);
        }
        if !self.root.words().is_empty() {
            return Err(Failure::new("--root is for a search by restarts (--boot): others are of the running machine"));
        }
        if self.give_up {
            return searching::give_up(&self.journal);
        }
        searching::search(&self)
    }
}
