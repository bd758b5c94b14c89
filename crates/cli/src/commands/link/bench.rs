//! Both ends of a link in this process, for `test` and `tune`.

use std::sync::atomic::AtomicBool;

use clap::Args;
use ontick_gpio::{Line, Name, sim};
use ontick_link::trial::{self, Ends, Extent, Trial};
use ontick_link::{Method, Setting};
use ontick_measure::Placement;
use ontick_measure::restrict_affinity::{Cpus, RestrictedAffinity};
use ontick_rt::thread::Policy;
use serde::Serialize;

use super::ends;
use crate::failure::Failure;
use crate::flags::PlacementFlags;

/// Two lines that are joined, and how the threads at them run.
#[derive(Args, Debug, Clone)]
pub struct BenchFlags {
    /// The line that is driven [default: a simulated one]
    #[arg(long, value_name = "LINE", requires = "input")]
    output: Option<Name>,
    /// The line that is watched, joined to the other by a cable or by `ontick gpio wire`
    #[arg(long, value_name = "LINE", requires = "output")]
    input: Option<Name>,
    /// How edges are detected: poll (reading again and again, which occupies a CPU) or interrupt (notified) [default:
    /// interrupt; tune and test --table try both]
    #[arg(long)]
    method: Option<Method>,
    #[command(flatten)]
    placement: PlacementFlags,
}

/// The bench; simulated lines of its own are gone with it.
pub struct Bench {
    pub from: Name,
    pub to: Name,
    /// As was asked.
    method: Option<Method>,
    placement: Placement,
    own_chip: Option<String>,
}

/// What a trial came to.
#[derive(Clone, Serialize)]
pub struct Row {
    pub method: &'static str,
    pub alphabet: String,
    pub short_ns: u64,
    pub step_ns: u64,
    pub parity_percent: u8,
    pub cpus: String,
    pub frames: u64,
    pub frames_lost: u64,
    pub frame_error_rate: f64,
    pub bits: u64,
    pub wrong_bits: u64,
    pub bit_error_rate: f64,
    pub blocks: u64,
    pub blocks_lost: u64,
    pub block_error_rate: f64,
    pub blocks_restored: u64,
    pub symbols_sent_again: u64,
    pub blocks_sent_again: u64,
    pub false_frames: u64,
    pub raw_bits_per_s: f64,
    pub net_bits_per_s: f64,
    pub held_up_ns: u64,
    pub backend: &'static str,
}

impl BenchFlags {
    pub fn bench(&self) -> Result<Bench, Failure> {
        let placement = self.placement.placement();
        placement.check()?;
        ends::may_poll(self.method.unwrap_or(Method::Interrupt), placement)?;
        let (from, to, own_chip) = match (&self.output, &self.input) {
            (Some(from), Some(to)) => (from.clone(), to.clone(), None),
            _ => {
                let chip = format!("link-{}", std::process::id());
                let line = |line| Name::Sim { chip: chip.clone(), line };
                sim::wire(&line(4), &line(17), sim::Wire::default())?;
                (line(4), line(17), Some(chip.clone()))
            }
        };
        Ok(Bench { from, to, method: self.method, placement, own_chip })
    }
}

impl Bench {
    /// How edges are seen where it can be one way only.
    pub fn method(&self) -> Method {
        self.method.unwrap_or(Method::Interrupt)
    }

    /// The ways to see edges that can be tried.
    pub fn ways(&self) -> Vec<Method> {
        match self.method {
            Some(method) => vec![method],
            None => {
                let may = |method: &Method| {
                    ends::may_poll(*method, self.placement).is_ok()
                        && (*method == Method::Poll || ends::notifies(&self.to))
                };
                [Method::Interrupt, Method::Poll].into_iter().filter(may).collect()
            }
        }
    }

    /// Sends frames with this setting, on so many CPUs.
    pub fn run(
        &self,
        method: Method,
        setting: Setting,
        extent: Extent,
        cpus: Cpus,
        stop: &AtomicBool,
    ) -> Result<(Row, Trial), Failure> {
        let confined = RestrictedAffinity::to(cpus, self.placement.cpu)?;
        let to = self.placement;
        let from = match (confined.is_some(), to.peer(None, "two ends")) {
            (false, Ok(peer)) => peer,
            // On one CPU the receiver goes first, or it would see nothing until a frame is over.
            _ => Placement { policy: below(to.policy), ..to },
        };
        let line = ends::output(&self.from)?;
        let backend = line.backend().name();
        let ends =
            Ends { from: (line, from.setup()), to: (Line::open(&self.to, &method.request())?, to.setup()), method };
        ends::attend(to);
        let trial = trial::run(ends, setting, extent, stop)??;
        Ok((Row::of(&trial, method, setting, cpus, backend), trial))
    }

    /// The CPU of the receiving thread, where it has one.
    pub fn cpu(&self) -> Option<u32> {
        self.placement.cpu
    }

    pub fn lines(&self) -> [Option<&Name>; 2] {
        [Some(&self.from), Some(&self.to)]
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if let Some(chip) = &self.own_chip {
            let _ = sim::remove(chip);
        }
    }
}

pub fn below(policy: Policy) -> Policy {
    match policy {
        Policy::Fifo(priority) if priority > 1 => Policy::Fifo(priority - 1),
        other => other,
    }
}

impl Row {
    pub fn of(trial: &Trial, method: Method, setting: Setting, cpus: Cpus, backend: &'static str) -> Self {
        Self {
            method: method.name(),
            alphabet: setting.code.alphabet(),
            short_ns: setting.code.shortest_ns,
            step_ns: setting.code.step_ns,
            parity_percent: setting.parity,
            cpus: cpus.to_string(),
            frames: trial.sent,
            frames_lost: trial.sent - trial.arrived.min(trial.sent),
            frame_error_rate: trial.frame_errors(),
            bits: trial.bits,
            wrong_bits: trial.wrong_bits,
            bit_error_rate: trial.bit_errors(),
            blocks: trial.blocks,
            blocks_lost: trial.blocks_lost,
            block_error_rate: trial.block_errors(),
            blocks_restored: trial.mended,
            symbols_sent_again: trial.cancelled,
            blocks_sent_again: trial.again,
            false_frames: trial.false_frames,
            raw_bits_per_s: setting.code.raw_rate(),
            net_bits_per_s: trial.net_rate(),
            held_up_ns: trial.held_up_ns,
            backend,
        }
    }
}
