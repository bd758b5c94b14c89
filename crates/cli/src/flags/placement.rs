//! Where and how the timed thread runs.

use clap::Args;
use ontick_measure::Placement;
use ontick_rt::thread::Policy;

/// Where and how the timed thread runs.
#[derive(Args, Debug, Clone)]
pub struct PlacementFlags {
    /// CPU of the timed thread, or "any" to leave it to the scheduler [default: one isolated, else one without fixed interrupts]
    #[arg(long, value_name = "N|any", value_parser = cpu)]
    cpu: Option<Cpu>,
    /// Scheduling: other, fifo:PRIORITY, rr:PRIORITY or deadline:RUNTIME/DEADLINE/PERIOD
    #[arg(long, default_value = "fifo:99")]
    policy: Policy,
    /// Leave memory unlocked and power states alone, as a stock program does
    #[arg(long)]
    stock: bool,
}

/// The CPU of a timed thread, as it is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Cpu {
    Any,
    One(u32),
}

impl Cpu {
    /// The one to pin to; `None` for any.
    pub fn choose(asked: Option<Self>, policy: Policy) -> Option<u32> {
        match asked {
            Some(Cpu::One(cpu)) => Some(cpu),
            Some(Cpu::Any) => None,
            // The kernel lets a deadline thread run anywhere in its root domain only.
            None if matches!(policy, Policy::Deadline { .. }) => None,
            None => Placement::dedicated(None).cpu,
        }
    }
}

/// Reads a CPU, or "any".
pub fn cpu(text: &str) -> Result<Cpu, String> {
    match text {
        "any" => Ok(Cpu::Any),
        number => {
            number.parse().map(Cpu::One).map_err(|_| format!("\"{text}\" is not the number of a CPU, nor \"any\""))
        }
    }
}

impl PlacementFlags {
    /// Why that CPU, where none was named and not simply the last was taken.
    pub fn note(&self) -> Option<String> {
        let placement = self.placement();
        placement.why_there().filter(|_| self.cpu.is_none())
    }

    /// For the other end of something: where no CPU is named, another than [`placement`](Self::placement) takes, if there is.
    pub fn place_beside(&self) -> Placement {
        let placement = self.placement();
        match self.cpu {
            None => placement.peer(None, "the other end").unwrap_or(placement),
            Some(_) => placement,
        }
    }

    pub fn placement(&self) -> Placement {
        Placement { cpu: Cpu::choose(self.cpu, self.policy), policy: self.policy, prepared: !self.stock }
    }
}
