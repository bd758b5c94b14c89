//! `ontick link test`

use clap::Args;
use ontick_link::{Code, Method, Setting};
use ontick_measure::restrict_affinity::Cpus;
use ontick_units::show;
use serde::Serialize;

use super::bench::{Bench, BenchFlags, Row};
use super::ends::{self, CodeFlags};
use super::{eye, render, tune};
use crate::commands::gpio;
use crate::failure::{Failure, Outcome};
use crate::{stop, terminal};

/// Measure bit and frame errors of a wire with pseudo-random data, and its rate; both ends in this process.
///
/// Exit status: 0 every frame arrived, 1 some did not, 2 measuring was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick link test\n  sudo ontick link test --code 4x4 --short 10us --parity 25 --frames 200\n  sudo ontick link test --output GPIO22 --input GPIO27 --method poll\n  sudo ontick link test --table"
)]
pub struct Test {
    #[command(flatten)]
    code: CodeFlags,
    /// How many frames to send
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    frames: u32,
    /// Measure source 002's setting and the fastest that loses no frame (polled: one in five, which a return line bears),
    /// confined to 1 CPU and with all
    #[arg(long, conflicts_with_all = ["code", "short", "step"])]
    table: bool,
    #[command(flatten)]
    bench: BenchFlags,
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

#[derive(Serialize)]
struct Table {
    source_002_bits_per_s: f64,
    rows: Vec<Row>,
}

impl Test {
    pub fn run(self) -> Result<Outcome, Failure> {
        let setting = self.code.setting()?;
        let bench = self.bench.bench()?;
        if self.table { self.run_table(&bench) } else { self.run_one(&bench, setting) }
    }

    fn run_one(&self, bench: &Bench, setting: Setting) -> Result<Outcome, Failure> {
        let stop = stop::on_signal()?;
        let (row, trial) = bench.run(bench.method(), setting, self.frames, Cpus::All, &stop)?;
        ends::tell(&trial.refused);
        let lost = row.frames_lost;
        if self.json {
            gpio::document(&Document { row, eye: eye::bins(&trial) })?;
        } else {
            let note = render::note(&bench.lines());
            terminal::print(&(lines(&row, bench, note) + &eye::drawn(&trial, setting, note)))?;
        }
        Ok(if lost == 0 { Outcome::Met } else { Outcome::NotMet })
    }

    fn run_table(&self, bench: &Bench) -> Result<Outcome, Failure> {
        let stop = stop::on_signal()?;
        let mut rows = Vec::new();
        let parity = self.code.parity();
        for cpus in [Cpus::Some(1), Cpus::All] {
            for method in bench.ways() {
                if cpus == Cpus::Some(1) && method == Method::Poll {
                    ends::say("note: not polled on 1 CPU: two threads that spin would block each other");
                    continue;
                }
                if method == Method::Interrupt || bench.ways().len() == 1 {
                    rows.push(
                        bench.run(method, Setting::new(Code::SOURCE_002, parity)?.brisk(), self.frames, cpus, &stop)?.0,
                    );
                }
                let search = tune::Search { wanted: tune::bearable(method), frames: self.frames, parity, cpus };
                rows.extend(search.fastest(bench, method, &stop, |_| {})?.map(|(row, _)| row));
            }
        }
        if self.json {
            gpio::document(&Table { source_002_bits_per_s: 4_000.0, rows })?;
        } else {
            let note = render::note(&bench.lines());
            let mut text = format!("{}\n", tune::HEAD);
            text += &format!(
                "{:<26}{:<5}{:>8}{:>8}{:>13}{:>9}{:>10}\n",
                "source 002's article", "2x1", "100us", "100us", "4.0 kb/s", "-", "-"
            );
            text.extend(rows.iter().map(|row| {
                let name = format!("{}, by {}", row.cpus, row.method);
                format!("{name:<26}{}{note}\n", tune::columns(row))
            }));
            terminal::print(&text)?;
        }
        Ok(Outcome::Met)
    }
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
        "sender       held up {} at worst; {} symbols and {} blocks sent again as it was late\n",
        show(row.held_up_ns),
        row.symbols_sent_again,
        row.blocks_sent_again
    )
}
