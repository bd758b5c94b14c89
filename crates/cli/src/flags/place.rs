//! Where and how the timed thread runs.

use clap::Args;
use ontick_measure::Place;
use ontick_rt::thread::Policy;

/// Where and how the timed thread runs.
#[derive(Args, Debug, Clone)]
pub struct PlaceFlags {
    /// CPU of the timed thread, or "any" to leave it to the scheduler [default: the last isolated, else the last]
    #[arg(long, value_name = "N|any", value_parser = cpu)]
    cpu: Option<Cpu>,
    /// Scheduling: other, fifo:PRIORITY, rr:PRIORITY or deadline:RUNTIME/DEADLINE/PERIOD
    #[arg(long, default_value = "fifo:99")]
    policy: Policy,
    /// Leave memory unlocked and power states alone, as a stock program does
    #[arg(long)]
    unprepared: bool,
}

#[derive(Debug, Clone, Copy)]
enum Cpu {
    Any,
    One(u32),
}

fn cpu(text: &str) -> Result<Cpu, String> {
    match text {
        "any" => Ok(Cpu::Any),
        number => {
            number.parse().map(Cpu::One).map_err(|_| format!("\"{text}\" is not the number of a CPU, nor \"any\""))
        }
    }
}

impl PlaceFlags {
    pub fn place(&self) -> Place {
        let cpu = match self.cpu {
            Some(Cpu::One(cpu)) => Some(cpu),
            Some(Cpu::Any) => None,
            // The kernel lets a deadline thread run anywhere in its root domain only.
            None if matches!(self.policy, Policy::Deadline { .. }) => None,
            None => Place::dedicated(None).cpu,
        };
        Place { cpu, policy: self.policy, prepared: !self.unprepared }
    }
}
