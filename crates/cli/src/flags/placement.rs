//! Where and how the timed thread runs.

use std::sync::OnceLock;

use clap::{Arg, Args};
use ontick_measure::Placement;
use ontick_rt::cpus::{self, Choice};
use ontick_rt::thread::Policy;
use ontick_units::CpuList;

use super::time;
use crate::failure::Failure;

/// Where and how the timed thread runs.
#[derive(Args, Debug, Clone)]
pub struct PlacementFlags {
    /// CPU of the timed thread, or "any" to leave it to the scheduler [default: one isolated, else one without fixed interrupts]
    #[arg(long, value_name = "N|any", value_parser = one)]
    cpu: Option<Cpus>,
    /// Scheduling: other, fifo:PRIORITY, rr:PRIORITY or deadline:RUNTIME/DEADLINE/PERIOD
    #[arg(long, default_value = "fifo:99")]
    policy: Policy,
    /// Leave memory unlocked and power states alone, as a stock program does
    #[arg(long)]
    stock: bool,
    /// Keep all CPUs out of power states that take longer than this to leave, or off to leave them alone [default: 0us, with
    /// --stock off]
    #[arg(long, value_name = "TIME|off", value_parser = wake_within)]
    wake_within: Option<WakeWithin>,
    /// Keep the CPU from idling, by a thread of the lowest policy: it is then back at once when a timer fires
    #[arg(long, conflicts_with = "stock")]
    keep_awake: bool,
}

/// How long a CPU may take to leave a power state, as it is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WakeWithin {
    Us(i32),
    Off,
}

impl WakeWithin {
    fn us(self) -> Option<i32> {
        match self {
            Self::Us(us) => Some(us),
            Self::Off => None,
        }
    }
}

/// The kernel counts microseconds: what is between two is the shorter one.
fn wake_within(text: &str) -> Result<WakeWithin, String> {
    match text {
        "off" => Ok(WakeWithin::Off),
        "0" => Ok(WakeWithin::Us(0)),
        text => {
            let us = time(text)? / 1_000;
            us.try_into()
                .map(WakeWithin::Us)
                .map_err(|_| format!("\"{text}\" is too long: at most {}s, or off", i32::MAX / 1_000_000))
        }
    }
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
            None => Some(unnamed().cpu),
        }
    }
}

/// The CPU where none is named. Others take CPUs and leave them meanwhile: it is chosen once, so that the CPU which is
/// claimed, used and reported is the same.
pub fn unnamed() -> &'static Choice {
    static CHOICE: OnceLock<Choice> = OnceLock::new();
    CHOICE.get_or_init(cpus::preference)
}

/// For a place whose CPU nobody named: why it is that one, if it is not the one that would be expected.
pub fn why_there(placement: &Placement) -> Option<String> {
    let choice = unnamed();
    let reported = placement.cpu == Some(choice.cpu) && choice.why.is_unexpected();
    reported.then(|| format!("CPU {} was taken, as none was named: {}", choice.cpu, choice.why))
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

/// The CPUs of timed threads, as they are asked for.
#[derive(Debug, Clone)]
pub enum Cpus {
    One(Cpu),
    Listed(CpuList),
    All,
    Isolated,
}

/// Where a command takes one.
fn one(text: &str) -> Result<Cpus, String> {
    cpu(text).map(Cpus::One).map_err(|why| match several(text) {
        Ok(_) => format!("\"{text}\" is several CPUs, and this takes the number of one, or \"any\""),
        Err(_) => why,
    })
}

/// For the option `--cpu` of a command that measures several at once.
pub fn of_several(arg: Arg) -> Arg {
    let help = "CPU of the timed thread; several, with a thread on each, as a list (1-3), isolated or all; or \"any\" to leave it to \
                the scheduler [default: one isolated, else one without fixed interrupts]";
    arg.value_name("LIST|all|isolated|any").value_parser(several).help(help)
}

/// Reads one CPU or several.
pub fn several(text: &str) -> Result<Cpus, String> {
    match text {
        "all" => Ok(Cpus::All),
        "isolated" => Ok(Cpus::Isolated),
        _ if text == "any" || text.parse::<u32>().is_ok() => cpu(text).map(Cpus::One),
        list => match list.parse::<CpuList>() {
            Ok(cpus) if cpus.iter().next().is_some() => Ok(Cpus::Listed(cpus)),
            _ => Err(format!("\"{text}\" is no CPU nor a list of them such as 1-3, all, isolated or any")),
        },
    }
}

/// CPUs ascending, and what is to be said of those that were left out.
pub type Together = (Vec<u32>, Option<String>);

impl Cpus {
    /// The one to pin to where one is meant; of several, the first.
    pub fn first(asked: Option<&Self>, policy: Policy) -> Option<u32> {
        match asked {
            None => Cpu::choose(None, policy),
            Some(Self::One(cpu)) => Cpu::choose(Some(*cpu), policy),
            Some(several) => several.together(false).ok().flatten().and_then(|(cpus, _)| cpus.first().copied()),
        }
    }

    /// The CPUs where several are measured at once, ascending; none where one is. `spins` leaves one of `all` to the rest of
    /// the system, and the second value says which.
    pub fn together(&self, spins: bool) -> Result<Option<Together>, Failure> {
        let cpus: Vec<u32> = match self {
            Self::One(_) => return Ok(None),
            Self::Listed(cpus) => cpus.iter().collect(),
            Self::All => {
                let online = cpus::online();
                let mut all = cpus::allowed();
                all.retain(|cpu| online.contains(cpu));
                match all.first().copied().filter(|_| spins && all.len() == online.len() && all.len() > 1) {
                    Some(first) => {
                        all.remove(0);
                        let note =
                            format!("CPU {first} was left to the rest of the system, as the loops of the others spin");
                        return Ok(Some((all, Some(note))));
                    }
                    None => all,
                }
            }
            Self::Isolated => match cpus::isolated() {
                none if none.is_empty() => {
                    return Err(Failure::new(
                        "no CPU of this machine is isolated: name CPUs (--cpu 1-3), or isolate some (`ontick tune plan --boot`)",
                    ));
                }
                isolated => isolated,
            },
        };
        Ok(Some((cpus, None)))
    }
}

impl PlacementFlags {
    /// As [`Cpus::together`]; none where no CPU is named.
    pub fn together(&self, spins: bool) -> Result<Option<Together>, Failure> {
        self.cpu.as_ref().map_or(Ok(None), |cpus| cpus.together(spins))
    }

    /// Why that CPU, where none was named and not simply the last was taken.
    pub fn note(&self) -> Option<String> {
        let placement = self.placement();
        why_there(&placement).filter(|_| self.cpu.is_none())
    }

    /// For the other end of something: where no CPU is named, another than [`placement`](Self::placement) takes, if there is.
    pub fn place_beside(&self) -> Placement {
        let placement = self.placement();
        match self.cpu {
            None => placement.peer(None, "the other end").unwrap_or(placement),
            Some(_) => placement,
        }
    }

    /// Of several CPUs, that of the first.
    pub fn placement(&self) -> Placement {
        let cpu = Cpus::first(self.cpu.as_ref(), self.policy);
        let usual = if self.stock { WakeWithin::Off } else { WakeWithin::Us(0) };
        let wake_within_us = self.wake_within.unwrap_or(usual).us();
        Placement { cpu, policy: self.policy, prepared: !self.stock, wake_within_us, awake: self.keep_awake }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        placement: PlacementFlags,
    }

    #[test]
    fn power_states_are_limited_as_asked_for_with_memory_locked_and_without() {
        let of = |words: &[&str]| {
            let words = [&["x", "--cpu", "any"], words].concat();
            let placement = Alone::try_parse_from(words).unwrap().placement.placement();
            (placement.prepared, placement.wake_within_us)
        };
        assert_eq!(of(&[]), (true, Some(0)));
        assert_eq!(of(&["--stock"]), (false, None));
        assert_eq!(of(&["--wake-within", "off"]), (true, None));
        assert_eq!(of(&["--wake-within", "50us"]), (true, Some(50)));
        assert_eq!(of(&["--stock", "--wake-within", "2ms"]), (false, Some(2_000)));
        assert_eq!(of(&["--stock", "--wake-within", "0"]), (false, Some(0)));
        assert_eq!(
            [wake_within("1900ns"), wake_within("1h")],
            [Ok(WakeWithin::Us(1)), Err("\"1h\" is too long: at most 2147s, or off".into())]
        );
        assert!(wake_within("50").unwrap_err().contains("unit"));
    }
}
