//! `ontick network base-time`

use clap::Args;
use ontick_network::endpoint::{self, EndpointError, Planned, QuietBase, outgoing, quiet_base};
use ontick_rt::thread::Policy;
use ontick_switch::user::CorePlacement;
use ontick_units::show;

use super::planned::PlannedFlags;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, Cpu};
use crate::terminal;

/// Find a base time from which a station's messages lie apart from what recurs on its CPU.
///
/// The CPU is watched for half a second: the timer's tick, foremost, holds up the message that it falls on and those close
/// behind it. Printed is a time in ns of TAI, for --base-time of all stations and switches, from which it falls into gaps
/// between this station's messages, as far as there are any. It holds until the machine restarts or its clock is set.
///
/// Exit status: 0 a base time was printed, 2 the CPU could not be watched, or the periods are too long together.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick network base-time network.toml plan.json --station camera --cpu 3\n  base=$(sudo ontick network base-time network.toml plan.json --station camera)\n  sudo ontick network talk network.toml plan.json --station camera \\\n      --interface eth0 --base-time $base"
)]
pub struct BaseTime {
    #[command(flatten)]
    planned: PlannedFlags,
    /// The station of the network that this machine is
    #[arg(long, value_name = "NAME")]
    station: String,
    /// CPU of the thread that will send [default: as `network talk` chooses it]
    #[arg(long, value_name = "N|any", value_parser = flags::cpu)]
    cpu: Option<Cpu>,
    /// Its scheduling
    #[arg(long, default_value = "fifo:99")]
    policy: Policy,
    /// How far ahead the base time is to be at least, so that all others can be started until then
    #[arg(long, value_name = "TIME", value_parser = flags::time, default_value = "10s")]
    ahead: u64,
}

impl BaseTime {
    pub fn run(self) -> Result<Outcome, Failure> {
        let Planned { network, schedule, .. } = self.planned.read_for_node()?;
        let node = endpoint::station(&network, &self.station).map_err(Failure::new)?;
        let streams = outgoing(&network, &schedule, node);
        if streams.is_empty() {
            return Err(Failure::new(EndpointError::SendsNothing(self.station)));
        }
        if matches!(self.policy, Policy::Deadline { .. }) {
            return Err(Failure::new(
                "a thread of policy deadline is held up by its own budget, and cannot watch what else holds its CPU up: name \
                 another (--policy fifo:99)",
            ));
        }
        let cpu = Cpu::choose(self.cpu, self.policy);
        let place = CorePlacement { cpu, policy: self.policy, never_rest: false };
        let base = quiet_base(&streams, place, self.ahead).map_err(Failure::new)?;
        for refused in &base.refused {
            terminal::say(&format!("ontick: {refused}"));
        }
        terminal::say(&format!("ontick: {}", said(&base, cpu)));
        terminal::print(&format!("{}\n", base.base_ns))?;
        Ok(Outcome::Met)
    }
}

/// What was seen, and what the base time is worth.
fn said(base: &QuietBase, cpu: Option<u32>) -> String {
    let which = cpu.map_or("the CPU".into(), |cpu| format!("CPU {cpu}"));
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let watched = show(base.watched_ns);
    match base.hold_ups {
        0 => format!("nothing held {which} up in {watched}: any base time will do"),
        times if base.is_better() => format!(
            "{which} was held up {times} times in {watched}: from this base time on {} of the messages are due meanwhile, \
             from one by chance {}",
            percent(base.held_up),
            percent(base.held_up_by_chance)
        ),
        times => format!(
            "{which} was held up {times} times in {watched}, at no place of the cycle more than at others: no base time is \
             better than another"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_time_is_said_with_what_it_is_worth() {
        let base = QuietBase {
            base_ns: 1,
            hold_ups: 127,
            watched_ns: 450_000_000,
            held_up: 0.00012,
            held_up_by_chance: 0.0034,
            as_good: 0.04,
            refused: Vec::new(),
        };
        assert_eq!(
            said(&base, Some(3)),
            "CPU 3 was held up 127 times in 450ms: from this base time on 0.01 % of the messages are due meanwhile, from one \
             by chance 0.34 %"
        );
        let none = said(&QuietBase { as_good: 0.3, ..base.clone() }, Some(3));
        assert!(
            none.ends_with(
                "no base time is \
             better than another"
            ),
            "{none}"
        );
        let quiet = said(&QuietBase { hold_ups: 0, ..base }, None);
        assert_eq!(quiet, "nothing held the CPU up in 450ms: any base time will do");
    }
}
