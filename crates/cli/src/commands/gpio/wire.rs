//! `ontick gpio wire` and `ontick gpio unwire`

use clap::Args;
use ontick_gpio::{Backend, Name, sim};
use ontick_units::exact;
use serde::Serialize;

use super::render;
use crate::failure::{Failure, Outcome};
use crate::flags;
use crate::terminal;

/// Join two lines of a simulated chip: what one drives the other reads.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  ontick gpio wire sim:bench/4 sim:bench/17\n  ontick gpio wire sim:bench/5 sim:bench/18 \\\n      --delay 1us --jitter 1us --dead-time 20us"
)]
pub struct WireCommand {
    /// One end
    from: Name,
    /// The other
    to: Name,
    /// Delay of each edge
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = short_time)]
    delay: u32,
    /// Largest random additional delay of an edge
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = short_time)]
    jitter: u32,
    /// No notification for an edge that follows another within this time (reading the line still shows it)
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = short_time)]
    dead_time: u32,
    /// Share of the pulses (times high) that are lost on the wire
    #[arg(long, value_name = "PERCENT", default_value = "0", value_parser = share)]
    loss: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Disconnect a line of a simulated chip from its wires.
#[derive(Args)]
#[command(after_help = "Example:\n  ontick gpio unwire sim:bench/17")]
pub struct Unwire {
    /// The line
    line: Name,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Wired {
    from: String,
    to: String,
    delay_ns: u32,
    jitter_ns: u32,
    dead_time_ns: u32,
    loss_ppm: u32,
    backend: &'static str,
}

#[derive(Serialize)]
struct Unwired {
    line: String,
    backend: &'static str,
}

impl WireCommand {
    pub fn run(self) -> Result<Outcome, Failure> {
        let wire = sim::Wire {
            delay_ns: self.delay,
            jitter_ns: self.jitter,
            dead_time_ns: self.dead_time,
            loss_ppm: self.loss,
        };
        sim::wire(&self.from, &self.to, wire)?;
        if self.json {
            let backend = Backend::Simulated.name();
            let sim::Wire { delay_ns, jitter_ns, dead_time_ns, loss_ppm } = wire;
            let (from, to) = (self.from.to_string(), self.to.to_string());
            render::document(&Wired { from, to, delay_ns, jitter_ns, dead_time_ns, loss_ppm, backend })?;
        } else {
            let note = render::note(Backend::Simulated.name());
            terminal::print(&format!("{} to {}{}{note}\n", self.from, self.to, properties(wire)))?;
        }
        Ok(Outcome::Met)
    }
}

impl Unwire {
    pub fn run(self) -> Result<Outcome, Failure> {
        sim::unwire(&self.line)?;
        if self.json {
            render::document(&Unwired { line: self.line.to_string(), backend: Backend::Simulated.name() })?;
        }
        Ok(Outcome::Met)
    }
}

/// What a wire does to edges, each with a comma before it.
pub fn properties(wire: sim::Wire) -> String {
    let all = [("delay", wire.delay_ns), ("jitter", wire.jitter_ns), ("dead time", wire.dead_time_ns)];
    let set = all.into_iter().filter(|(_, ns)| *ns > 0);
    let times: String = set.map(|(name, ns)| format!(", {name} {}", exact(ns.into()))).collect();
    let loss =
        if wire.loss_ppm > 0 { format!(", loss {} %", f64::from(wire.loss_ppm) / 10_000.0) } else { String::new() };
    times + &loss
}

/// A share in percent, in parts of a million.
pub fn share(text: &str) -> Result<u32, String> {
    let percent: Option<f64> = text.trim_end_matches('%').trim_end().parse().ok();
    let percent = percent.filter(|percent| (0.0..=100.0).contains(percent));
    percent
        .map(|percent| (percent * 10_000.0).round() as u32)
        .ok_or_else(|| format!("\"{text}\" is no share from 0 to 100 percent"))
}

fn short_time(text: &str) -> Result<u32, String> {
    let ns = flags::time(text)?;
    ns.try_into().map_err(|_| format!("\"{text}\" is too long for a wire (at most 4s)"))
}
