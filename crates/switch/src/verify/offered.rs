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
    /// The rate of each flow; `slopes` has the idle slope of those whose class is shaped. The other classes that are open at
    /// the same time share evenly what those leave.
    pub fn rates(self, flows: &[Flow], slopes: &[Option<u64>], schedule: &Schedule, link: u64) -> Vec<Rate> {
        let share = match self {
            OfferedLoad::All => return vec![Rate::Saturating; flows.len()],
            OfferedLoad::PerSecond(frames) => return vec![Rate::PerSecond(frames); flows.len()],
            OfferedLoad::Share(share) => share,
        };
        let link_of = Link { flows, slopes, schedule, rate: link };
        let of = |place: usize| {
            let frames = share * link_of.bits_per_second(place) / wire::frame_bits(flows[place].octets()) as f64;
            Rate::PerSecond((frames as u64).max(1))
        };
        (0..flows.len()).map(of).collect()
    }
}

/// A link that flows share.
struct Link<'a> {
    flows: &'a [Flow],
    slopes: &'a [Option<u64>],
    schedule: &'a Schedule,
    rate: u64,
}

impl Link<'_> {
    fn slope(&self, flow: usize) -> Option<u64> {
        self.slopes.get(flow).copied().flatten()
    }

    /// What a flow can have of it.
    fn bits_per_second(&self, flow: usize) -> f64 {
        let own = || self.rate as f64 * self.own_ns(flow) / self.schedule.cycle_ns() as f64;
        self.slope(flow).map_or_else(own, |slope| slope as f64)
    }

    /// How long of each cycle is a flow's own, in ns.
    fn own_ns(&self, flow: usize) -> f64 {
        let (base_ns, cycle_ns) = (self.schedule.base_ns(), self.schedule.cycle_ns());
        let (mut at_ns, mut own_ns) = (0, 0.0);
        while at_ns < cycle_ns {
            let view = self.schedule.at(base_ns + at_ns);
            let until_ns = view.until_ns.saturating_sub(base_ns).min(cycle_ns);
            let open = |flow: &usize| view.open & (1 << self.flows[*flow].queue) != 0;
            if open(&flow) {
                let all = || (0..self.flows.len()).filter(open);
                let among = all().filter(|flow| self.slope(*flow).is_none()).count().max(1);
                let taken: f64 = all().map(|flow| self.taken(flow)).sum();
                own_ns += (until_ns - at_ns) as f64 * (1.0 - taken).max(0.0) / among as f64;
            }
            at_ns = until_ns.max(at_ns + 1);
        }
        own_ns
    }

    /// The share of the link that a shaped class takes while its gate is open.
    fn taken(&self, flow: usize) -> f64 {
        let (Some(slope), shares) = (self.slope(flow), self.schedule.shares()) else { return 0.0 };
        let open_ns = shares.open_ns[usize::from(self.flows[flow].queue)].max(1);
        slope as f64 / self.rate.max(1) as f64 * shares.cycle_ns as f64 / open_ns as f64
    }
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
        let (mut flows, _) = flow::of_all_classes(&switch, |_| 1518, Nonce::new());
        // 1514 octets and 24 of overhead take 12 304 ns: 65 frames in 800 us.
        let rates = OfferedLoad::Share(0.5).rates(&flows, &[], &schedule, source_004_test::RATE);
        assert_eq!(rates, [32_509, 4_063, 4_063].map(Rate::PerSecond));
        flows.truncate(2);
        let rates = OfferedLoad::Share(0.5).rates(&flows, &[], &schedule, source_004_test::RATE);
        assert_eq!(rates, [32_509, 8_127].map(Rate::PerSecond));
    }

    #[test]
    fn a_shaped_class_is_offered_a_share_of_its_idle_slope_and_the_others_what_it_leaves() {
        let switch = source_004_test::switch(1_000_000, Guard::None);
        let schedule = Schedule::new(0, &switch.ports[1].gates.as_ref().unwrap().entries);
        let (flows, _) = flow::of_all_classes(&switch, |_| 1518, Nonce::new());
        let slopes = [None, Some(100_000_000), None];
        let rates = OfferedLoad::Share(0.5).rates(&flows, &slopes, &schedule, source_004_test::RATE);
        // 50 of 100 Mbit/s; the third has the other half of the 200 us that both are open for.
        assert_eq!(rates, [32_509, 4_063, 4_063].map(Rate::PerSecond));
        let rates = OfferedLoad::Share(3.0).rates(&flows, &[None, Some(1_000_000), None], &schedule, 1_000_000_000);
        assert_eq!(rates[1], Rate::PerSecond(243));
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
