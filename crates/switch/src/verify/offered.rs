//! How many frames of each flow to send.

use std::str::FromStr;

use super::flow::Flow;
use super::sender::Rate;
use ontick_tsn::schedule::Schedule;
use ontick_tsn::wire;

/// How many frames are offered to a switch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OfferedLoad {
    /// Of each class this share of what its windows carry; above 1 they are always full.
    Share(f64),
    /// As many as the sender can.
    All,
    /// So many per second of each class.
    PerSecond(u64),
}

impl OfferedLoad {
    /// The rate of each flow. Classes that are open at the same time share the link evenly.
    pub fn rates(self, flows: &[Flow], schedule: &Schedule, link: u64) -> Vec<Rate> {
        let share = match self {
            OfferedLoad::All => return vec![Rate::Saturating; flows.len()],
            OfferedLoad::PerSecond(frames) => return vec![Rate::PerSecond(frames); flows.len()],
            OfferedLoad::Share(share) => share,
        };
        let of = |flow: &Flow| {
            let frame_ns = wire::wire_time_ns(flow.octets(), link);
            let per_cycle = share * own_ns(flow, flows, schedule) / frame_ns as f64;
            let frames = per_cycle * 1e9 / schedule.cycle_ns() as f64;
            Rate::PerSecond((frames as u64).max(1))
        };
        flows.iter().map(of).collect()
    }
}

/// How long of each cycle is a flow's own, in ns.
fn own_ns(flow: &Flow, flows: &[Flow], schedule: &Schedule) -> f64 {
    let (base_ns, cycle_ns) = (schedule.base_ns(), schedule.cycle_ns());
    let (mut at_ns, mut own_ns) = (0, 0.0);
    while at_ns < cycle_ns {
        let view = schedule.at(base_ns + at_ns);
        let until_ns = view.until_ns.saturating_sub(base_ns).min(cycle_ns);
        let open = |flow: &Flow| view.open & (1 << flow.queue) != 0;
        if open(flow) {
            let among = flows.iter().filter(|flow| open(flow)).count();
            own_ns += (until_ns - at_ns) as f64 / among as f64;
        }
        at_ns = until_ns.max(at_ns + 1);
    }
    own_ns
}

/// What was not understood.
#[derive(Debug, thiserror::Error)]
#[error(
    "\"{0}\" is not a rate: write a share of what each class's windows carry (75%), frames per second and class (20000), or max"
)]
pub struct OfferedError(String);

impl FromStr for OfferedLoad {
    type Err = OfferedError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || OfferedError(text.into());
        if text == "max" {
            return Ok(OfferedLoad::All);
        }
        if let Some(percent) = text.strip_suffix('%') {
            let percent: f64 = percent.trim().parse().map_err(|_| wrong())?;
            return if percent > 0.0 && percent <= 1_000.0 {
                Ok(OfferedLoad::Share(percent / 100.0))
            } else {
                Err(wrong())
            };
        }
        match text.parse() {
            Ok(frames) if (1..=10_000_000).contains(&frames) => Ok(OfferedLoad::PerSecond(frames)),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::flow::{self, Nonce};
    use crate::verify::source_004_test;
    use ontick_tsn::model::Guard;

    #[test]
    fn shares_are_of_the_windows() {
        let switch = source_004_test::switch(1_000_000, Guard::None);
        let schedule = Schedule::new(0, &switch.ports[1].gates.as_ref().unwrap().entries);
        let (mut flows, _) = flow::of_all_classes(&switch, 1518, Nonce::new());
        // 1514 octets and 24 of overhead take 12 304 ns: 65 frames in 800 us.
        let rates = OfferedLoad::Share(0.5).rates(&flows, &schedule, source_004_test::RATE);
        assert_eq!(rates, [32_509, 4_063, 4_063].map(Rate::PerSecond));
        flows.truncate(2);
        let rates = OfferedLoad::Share(0.5).rates(&flows, &schedule, source_004_test::RATE);
        assert_eq!(rates, [32_509, 8_127].map(Rate::PerSecond));
    }

    #[test]
    fn as_people_write_it() {
        assert_eq!("75%".parse::<OfferedLoad>().unwrap(), OfferedLoad::Share(0.75));
        assert_eq!("max".parse::<OfferedLoad>().unwrap(), OfferedLoad::All);
        assert_eq!("20000".parse::<OfferedLoad>().unwrap(), OfferedLoad::PerSecond(20_000));
        for wrong in ["", "0", "0%", "-5%", "NaN%", "inf%", "fast", "99999999999"] {
            assert!(wrong.parse::<OfferedLoad>().is_err(), "{wrong}");
        }
    }
}
