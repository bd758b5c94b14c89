//! `ontick link test`

use std::sync::atomic::{AtomicBool, Ordering};

use clap::Args;

use ontick_link::trial::Extent;
use ontick_link::{Code, Setting};
use ontick_measure::Load;
use ontick_measure::restrict_affinity::Cpus;
use ontick_units::show;
use serde::Serialize;

use super::bench::{Bench, BenchFlags, Row};
use super::ends::{self, CodeFlags};
use super::picture::{self, Received, ReceivedFlags};
use super::{bare, eye, render, table, tune};
use crate::commands::gpio;
use crate::failure::{Failure, Outcome};
use crate::{flags, stop, terminal};

/// Measure bit and frame errors of a wire with pseudo-random data, and its rate; both ends in this process.
///
/// Exit status: 0 every frame arrived, 1 some did not, 2 measuring was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick link test\n  sudo ontick link test --code 4x4 --short 10us --parity 25 --frames 200\n  sudo ontick link test --output GPIO22 --input GPIO27 --method poll\n  ontick link test --source-002 --load cpu --html pulses.html\n  sudo ontick link test --table --duration 2min"
)]
pub struct Test {
    #[command(flatten)]
    code: CodeFlags,
    /// How many frames to send
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    frames: u32,
    /// Send bare bits by source 002's own method: usleep, shortened by its overhead; a receiver of its own process that
    /// takes interrupts; normal scheduling; no frames. 400 bits count as a frame
    #[arg(long = "source-002", conflicts_with_all = ["code", "short", "step", "parity", "payload", "method", "cpu", "policy", "stock", "keep_awake", "wake_within"])]
    source_002: bool,
    /// Measure source 002's method, its setting, and the fastest setting that loses no frame (polled: one in five, which
    /// a return line bears), confined to 1 CPU and with all
    #[arg(long, conflicts_with_all = ["code", "short", "step", "payload", "frames", "source_002"])]
    table: bool,
    /// How long the table takes on the clock, or as long as its trials need at least
    #[arg(long, value_name = "TIME", default_value = "2min", value_parser = flags::duration, requires = "table")]
    duration: u64,
    #[command(flatten)]
    bench: BenchFlags,
    /// Measure again beside this load: cpu, memory, io, fork, net, cpu+net, all or cmd:COMMAND [default: none]
    #[arg(long, conflicts_with = "table")]
    load: Option<Load>,
    #[command(flatten)]
    files: ReceivedFlags,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    row: Row,
    eye: Vec<eye::Bin>,
}

impl Test {
    pub fn run(self) -> Result<Outcome, Failure> {
        let setting = self.code.setting()?;
        self.files.check()?;
        let bench = self.bench.bench()?;
        let stop = stop::on_signal()?;
        if !self.load.as_ref().is_some_and(Load::needs_rights) {
            ends::settle(bench.lines().into_iter().flatten())?;
        }
        if self.table {
            return table::run(&bench, self.code.parity(), self.duration, self.json, &stop);
        }
        if self.source_002 { self.run_bare(&bench, &stop) } else { self.run_one(&bench, setting, &stop) }
    }

    /// The loads, in turn: none, and the one that was asked for.
    fn loads(&self) -> Vec<&Load> {
        std::iter::once(&Load::None).chain(self.load.iter().filter(|load| **load != Load::None)).collect()
    }

    fn run_one(&self, bench: &Bench, setting: Setting, stop: &AtomicBool) -> Result<Outcome, Failure> {
        let (extent, note) = (Extent::frames(self.frames), render::note(&bench.lines()));
        let measure = |_: &Load| {
            let (row, trial) = bench.run(bench.method(), setting, extent, Cpus::All, stop)?;
            ends::report_refused(&trial.refused);
            let received = Received::of_frames(&trial, setting);
            let text = lines(&row, bench, note) + &eye::drawn(&trial, setting, note);
            let lost = row.frames_lost;
            Ok(Side { document: Document { row, eye: eye::bins(&trial) }, text, received, whole: lost == 0 })
        };
        self.sides(bench, (bench.method().name(), setting.code), stop, measure)
    }

    fn run_bare(&self, bench: &Bench, stop: &AtomicBool) -> Result<Outcome, Failure> {
        let (ends, bits) = ((&bench.from, &bench.to), u64::from(self.frames) * bare::BITS_OF_FRAME);
        let note = render::note(&bench.lines());
        let measure = |_: &Load| {
            let (row, trial) = bare::run(ends, bits, u64::MAX, Cpus::All.to_string(), stop)?;
            let received = Received::of_bits(&trial, Code::SOURCE_002);
            let text = bare::lines(&row, ends, &trial, note);
            Ok(Side { document: row, text, received, whole: trial.missed + trial.wrong == 0 })
        };
        self.sides(bench, ("usleep, interrupts", Code::SOURCE_002), stop, measure)
    }

    /// Measures without a load and beside it; shows and draws both.
    fn sides<D: Serialize>(
        &self,
        bench: &Bench,
        (method, code): (&str, Code),
        stop: &AtomicBool,
        mut measure: impl FnMut(&Load) -> Result<Side<D>, Failure>,
    ) -> Result<Outcome, Failure> {
        let loads = self.loads();
        let (mut documents, mut received, mut whole) = (Vec::new(), Vec::new(), true);
        for load in loads.iter().copied().take_while(|_| !stop.load(Ordering::Relaxed)) {
            let running = load.start()?;
            let side = measure(load)?;
            if let Some(status) = running.ended() {
                ends::say(&format!("warning: the load ended before the trial did ({status})"));
            }
            if !self.json {
                let head = if loads.len() > 1 { format!("load: {load}\n") } else { String::new() };
                terminal::print(&(head + &side.text))?;
            }
            documents.push(side.document);
            received.push((load, side.received));
            whole &= side.whole;
        }
        self.files.write(&picture::run(bench, method, code, &received))?;
        if self.json {
            let mut documents = documents.into_iter();
            match documents.next() {
                Some(idle) => gpio::document(&WithLoad { idle, loaded: documents.next() })?,
                None => return Err(Failure::new("the trial was ended before anything was sent")),
            }
        }
        Ok(if whole { Outcome::Met } else { Outcome::NotMet })
    }
}

/// What was measured under one load.
struct Side<D> {
    document: D,
    text: String,
    received: Received,
    /// Nothing was lost.
    whole: bool,
}

#[derive(Serialize)]
struct WithLoad<D> {
    #[serde(flatten)]
    idle: D,
    #[serde(skip_serializing_if = "Option::is_none")]
    loaded: Option<D>,
}

fn lines(row: &Row, bench: &Bench, note: &str) -> String {
    let Row { alphabet, short_ns, step_ns, parity_percent, .. } = row;
    let (from, to, method) = (&bench.from, &bench.to, row.method);
    let (short, step) = (show(*short_ns), show(*step_ns));
    let mut text = format!("{from} to {to} by {method}{note}\n");
    text += &format!("code         {alphabet} from {short} in steps of {step}, parity {parity_percent} %\n");
    text += &format!("raw rate     {}\n", tune::rate(row.raw_bits_per_s));
    text += &format!("net rate     {}{note}\n", tune::rate(row.net_bits_per_s));
    text += &format!(
        "frames       {} sent, {} lost ({:.2} %)\n",
        row.frames,
        row.frames_lost,
        row.frame_error_rate * 100.0
    );
    text += &format!(
        "blocks       {} sent, {} lost ({:.2} %), {} replaced by parity\n",
        row.blocks,
        row.blocks_lost,
        row.block_error_rate * 100.0,
        row.blocks_restored
    );
    text += &format!("bits         {} compared, {} wrong before parity\n", row.bits, row.wrong_bits);
    text += &format!("wrong frames {} taken for right\n", row.false_frames);
    text + &format!(
        "sender       held up {} at worst\nsent again   {} symbols and {} blocks, as the sender was late\n",
        show(row.held_up_ns),
        row.symbols_sent_again,
        row.blocks_sent_again
    )
}
