//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use ontick_measure::{Load, Placement};
use ontick_rt::thread::Policy;
use ontick_units::{parse_interval, parse_time};

use crate::captures;
use crate::link;
use crate::netconf;
use crate::network;
use crate::part::Part;
use crate::planning;
use crate::switch;
use crate::watch;

/// ontick side by side with cyclictest and jitterdebugger, and what its parts cost.
///
/// Exit status: 0 done, 1 with --strict if a goal was not reached, 2 could not do it.
#[derive(Parser, Debug)]
#[command(name = "bench/run", after_help = "Example:\n  bench/run --quick --loads idle,cpu")]
pub struct Arguments {
    /// Pairs of blocks for each load and peer [default: 6, with --quick 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pairs: Option<u32>,
    /// Length of a block, in whole seconds [default: 5s, with --quick 1s]
    #[arg(long, value_name = "TIME", value_parser = whole_seconds)]
    block: Option<u64>,
    /// How long samples are taken at each rate, in whole seconds [default: 60, with --quick 2]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    sample_seconds: Option<u64>,
    /// Loads: idle, cpu, memory, io, fork, net, cpu+net, all
    #[arg(long, value_name = "LOAD,…", value_delimiter = ',', default_value = "idle,cpu,all", value_parser = load)]
    pub loads: Vec<Load>,
    /// Period of the job, in whole microseconds
    #[arg(long, value_name = "TIME|RATE", default_value = "1ms", value_parser = interval)]
    pub interval: u64,
    /// CPU of the timed thread, for all sides [default: the last isolated, else the last]
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// SCHED_FIFO priority, for all sides; jitterdebugger takes none above 98
    #[arg(long, value_name = "N", default_value_t = 98, value_parser = clap::value_parser!(u8).range(1..=98))]
    pub priority: u8,
    /// The steal-excluded figures leave out every pair in which either block saw more steal than this
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = time)]
    pub steal_limit: u64,
    /// About a minute: shows that all of it works, not how good it is
    #[arg(long, conflicts_with = "long")]
    pub quick: bool,
    /// Compare the memory of a run of an hour with that of a minute
    #[arg(long)]
    long: bool,
    /// Bytes that the link moves at its fastest setting, under all loads together [default: 12500000, with --quick 50000]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    link_bytes: Option<u64>,
    /// Frames that the switch forwards in one go [default: 100000000, with --quick 1000000]
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(10_000..=10_000_000_000))]
    switch_frames: Option<u64>,
    /// Measure these parts alone
    #[arg(long, value_name = "PART,…", value_delimiter = ',')]
    only: Vec<Part>,
    /// Leave these parts out
    #[arg(long, value_name = "PART,…", value_delimiter = ',', conflicts_with = "only")]
    without: Vec<Part>,
    /// How long each algorithm of tsnkit may take for a network; ls gets twice as long for 400 streams and more
    /// [default: 60s, with --quick 5s]
    #[arg(long, value_name = "TIME", value_parser = time)]
    planning_limit: Option<u64>,
    /// Leave out what runs in the lab's emulated machines
    #[arg(long)]
    no_lab: bool,
    /// Exit with status 1 if a goal that was measured was not reached
    #[arg(long)]
    pub strict: bool,
    /// Write the figures to this file; where it has the marks of docs/benchmarks.md, between them
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// The ontick to measure [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    ontick: Option<PathBuf>,
}

/// How much of everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Pairs of blocks for each load and peer.
    pub pairs: u32,
    /// Length of a block.
    pub block_ns: u64,
    /// The shorter of the runs whose memory is compared.
    pub short_ns: u64,
    /// The longer one.
    pub long_ns: u64,
    /// Length of the runs whose journal is measured.
    pub journal_ns: u64,
    /// How long samples are taken at each rate.
    pub sample_ns: u64,
}

const SECOND: u64 = 1_000_000_000;

impl Arguments {
    /// What is measured, in this order.
    pub fn parts(&self) -> Vec<Part> {
        let asked = |part: &Part| match self.only.is_empty() {
            true => *part != Part::Judge && !self.without.contains(part),
            false => self.only.contains(part),
        };
        Part::value_variants().iter().copied().filter(asked).collect()
    }

    /// How much of everything.
    pub fn scale(&self) -> Scale {
        let (pairs, block, short, long, journal, sample) = match (self.quick, self.long) {
            (true, _) => (2, 1, 1, 3, 3, 2),
            (_, true) => (6, 5, 60, 3600, 20, 60),
            _ => (6, 5, 5, 60, 20, 60),
        };
        Scale {
            pairs: self.pairs.unwrap_or(pairs),
            block_ns: self.block.unwrap_or(block * SECOND),
            short_ns: short * SECOND,
            long_ns: long * SECOND,
            journal_ns: journal * SECOND,
            sample_ns: self.sample_seconds.unwrap_or(sample) * SECOND,
        }
    }

    /// How much the link moves.
    pub fn link(&self) -> link::Size {
        let (fast, slow) = if self.quick { (50_000, 1_000) } else { (12_500_000, 20_000) };
        link::Size { fast: self.link_bytes.unwrap_or(fast), slow }
    }

    /// How much the switch has to do.
    pub fn switch(&self) -> switch::Size {
        let (frames, pairs, seconds, flaps) =
            if self.quick { (1_000_000, 1, 2, None) } else { (100_000_000, self.scale().pairs, 20, Some(1_000)) };
        let lab = cfg!(target_arch = "x86_64") && !self.no_lab;
        switch::Size { frames: self.switch_frames.unwrap_or(frames), pairs, seconds, flaps: flaps.filter(|_| lab) }
    }

    /// How long stations send and listen.
    pub fn network(&self) -> network::Size {
        match self.quick {
            true => network::Size { seconds: 2, turns: 1, simulated: 1 },
            // 10^8 frames on links.
            false => network::Size { seconds: 20, turns: 5, simulated: 80 },
        }
    }

    /// How often a managed switch is read and changed.
    pub fn netconf(&self) -> netconf::Size {
        match self.quick {
            true => netconf::Size { reads: 3, cycles: 20 },
            false => netconf::Size { reads: 30, cycles: 1_000 },
        }
    }

    /// How much of captures is imported.
    pub fn captures(&self) -> captures::Size {
        match self.quick {
            true => captures::Size { edges: 100_000, rounds: 1 },
            false => captures::Size { edges: 10_000_000, rounds: 3 },
        }
    }

    /// How long the service that watches is looked at.
    pub fn watch(&self) -> watch::Size {
        watch::Size { seconds: if self.quick { 5 } else { 120 }, pairs: self.scale().pairs }
    }

    /// How many networks are planned, and how large they are.
    pub fn planning(&self) -> planning::Size {
        let seconds = if self.quick { 5 } else { 60 };
        let limit = Duration::from_nanos(self.planning_limit.unwrap_or(seconds * SECOND));
        planning::Size { limit, whole: !self.quick }
    }

    /// Where every side's timed thread runs.
    pub fn place(&self) -> Placement {
        Placement { policy: Policy::Fifo(self.priority), ..Placement::dedicated(self.cpu) }
    }

    /// The ontick to measure.
    pub fn ontick(&self) -> Result<PathBuf, String> {
        let beside = || std::env::current_exe().ok().map(|this| this.with_file_name("ontick"));
        match self.ontick.clone().or_else(beside) {
            Some(path) if path.is_file() => Ok(path),
            Some(path) => Err(format!("there is no {} (make build makes target/release/ontick)", path.display())),
            None => Err("where this program is cannot be told; name the ontick to measure with --ontick".into()),
        }
    }

    /// What does not fit together, before anything is started.
    pub fn check(&self) -> Result<(), String> {
        if self.interval.saturating_mul(100) > self.scale().block_ns {
            return Err("a block holds fewer than 100 periods; make --block longer or --interval shorter".into());
        }
        self.place().check_for_others().map_err(|e| e.to_string())
    }
}

fn time(text: &str) -> Result<u64, String> {
    parse_time(text).map_err(|e| e.to_string())
}

fn whole_seconds(text: &str) -> Result<u64, String> {
    match time(text)? {
        ns if ns >= SECOND && ns % SECOND == 0 => Ok(ns),
        _ => Err("the peers take whole seconds, 1s at least".into()),
    }
}

fn interval(text: &str) -> Result<u64, String> {
    match parse_interval(text).map_err(|e| e.to_string())? {
        ns if ns > 0 && ns % 1_000 == 0 => Ok(ns),
        _ => Err("the peers take whole microseconds, 1us at least".into()),
    }
}

fn load(text: &str) -> Result<Load, String> {
    match text {
        "idle" => Ok(Load::None),
        name => name.parse().map_err(|e: ontick_measure::Error| e.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, String> {
        Arguments::try_parse_from([&["bench/run"], words].concat()).map_err(|e| e.to_string())
    }

    #[test]
    fn without_options_it_is_the_full_bench() {
        let arguments = read(&[]).unwrap();
        let scale = arguments.scale();
        assert_eq!((scale.pairs, scale.block_ns, scale.sample_ns), (6, 5 * SECOND, 60 * SECOND));
        assert_eq!(arguments.loads, [Load::None, Load::Mix("cpu"), Load::Mix("all")]);
        assert_eq!(arguments.check(), Ok(()));
    }

    #[test]
    fn parts_are_chosen_and_the_judge_only_by_name() {
        let parts = |words: &[&str]| read(words).unwrap().parts();
        assert!(parts(&[]).contains(&Part::Timing) && !parts(&[]).contains(&Part::Judge));
        assert_eq!(parts(&["--only", "switch,c"]), [Part::C, Part::Switch]);
        assert_eq!(parts(&["--only", "judge"]), [Part::Judge]);
        assert!(!parts(&["--without", "planning"]).contains(&Part::Planning));
        assert!(read(&["--only", "c", "--without", "switch"]).is_err());
    }

    #[test]
    fn what_is_named_wins_over_quick() {
        let scale = read(&["--quick", "--pairs", "7", "--block", "2s", "--sample-seconds", "9"]).unwrap().scale();
        assert_eq!((scale.pairs, scale.block_ns, scale.short_ns, scale.sample_ns), (7, 2 * SECOND, SECOND, 9 * SECOND));
        let long = read(&["--long"]).unwrap().scale();
        assert_eq!((long.short_ns, long.long_ns), (60 * SECOND, 3600 * SECOND));
    }

    #[test]
    fn nonsense_is_explained() {
        for (words, word) in [
            (&["--block", "1500ms"][..], "whole seconds"),
            (&["--block", "5"], "unit"),
            (&["--interval", "1500ns"], "whole microseconds"),
            (&["--loads", "idle,much"], "no such load"),
            (&["--priority", "99"], "98"),
            (&["--pairs", "0"], "0"),
            (&["--quick", "--long"], "cannot be used with"),
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(word), "{words:?}: {error}");
        }
        assert!(read(&["--interval", "1s"]).unwrap().check().unwrap_err().contains("fewer than 100"));
        assert!(read(&["--cpu", "1023"]).unwrap().check().unwrap_err().contains("CPU 1023"));
    }
}
