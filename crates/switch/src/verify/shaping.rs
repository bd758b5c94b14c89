//! What the shaped classes of a port are held to while frames are sent through it.

use ontick_tsn::model::{Base, Entry, Gates, Guard, Port, Switch};
use ontick_tsn::schedule::Schedule;
use ontick_tsn::shaper::shaped;
use ontick_tsn::wire;

use super::analysis::Limit;
use super::flow::Flow;
use crate::qdisc::Cbs;
use crate::user::rest::LATE_NS;

/// When a frame begins on the link is known to so much, in ns: at some time while it is handed over.
const HAND_OVER_NS: u64 = 5_000;
/// Arrivals by a port without gates are folded onto this, in ns.
const FOLD_NS: u64 = 1_000_000;

/// Gates that are always open, for a port that has none.
pub fn always_open() -> Gates {
    let entries = vec![Entry { open: u16::MAX, for_ns: FOLD_NS }];
    Gates { base: Base::NextSecond, cycle_ns: FOLD_NS, guard: Guard::None, entries }
}

/// What carries the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shaper {
    /// Nothing shapes.
    None,
    /// The standard's credits, to the bit; without gates the core may be late.
    Exact,
    /// The kernel's cbs, whose hiCredit is larger ([`Cbs::of`]).
    Cbs,
}

impl Shaper {
    /// That of a plane by its name.
    pub fn of(plane: &str) -> Self {
        match plane {
            "bridge" => Self::None,
            "kernel" => Self::Cbs,
            _ => Self::Exact,
        }
    }

    /// For each flow, what its class is held to; cycles begin at `base_ns`, and a frame may come `early_ns` too early.
    pub fn limits(
        self,
        switch: &Switch,
        port: &Port,
        (rate, base_ns): (u64, u64),
        flows: &[Flow],
        early_ns: u64,
    ) -> Vec<Option<Limit>> {
        let classes = if self == Self::None { Vec::new() } else { shaped(switch, port, rate) };
        let gates = Schedule::of(switch, port, base_ns, rate);
        let limit = |flow: &Flow| {
            let (_, slopes) = classes.iter().find(|(class, _)| *class == flow.class)?;
            let hi_credit = match self {
                Self::Cbs => Cbs::of(slopes).hi_credit * 8,
                Self::Exact if port.gates.is_none() => slopes.hi_credit + gained(slopes.idle, LATE_NS),
                Self::None | Self::Exact => slopes.hi_credit,
            };
            let frame_bits = wire::frame_bits(flow.octets());
            Some(Limit {
                gates: gates.clone(),
                queue: usize::from(flow.queue),
                oper_slope: port.idle_slopes.get(flow.class).copied().flatten().unwrap_or(slopes.idle),
                idle_slope: slopes.idle,
                burst_bits: hi_credit + frame_bits + gained(slopes.idle, HAND_OVER_NS + early_ns),
                frame_bits,
            })
        };
        flows.iter().map(limit).collect()
    }
}

/// Bits that a class gains in so long, rounded up.
fn gained(idle_slope: u64, for_ns: u64) -> u64 {
    (u128::from(idle_slope) * u128::from(for_ns)).div_ceil(1_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::flow::{Nonce, of_all_classes};
    use ontick_tsn::config;

    /// The burst of `audio` at 20 of 100 Mbit/s, with frames of 1 522 octets and a tolerance of 1 us.
    fn burst_bits(plane: &str) -> Option<u64> {
        let text = "[switch]\nname = \"s\"\n[[class]]\nname = \"audio\"\nqueue = 1\nmatch = [{ pcp = 3 }]\n\
                    [[class]]\nname = \"rest\"\nqueue = 0\n[[port]]\nname = \"in\"\n[[port]]\nname = \"out\"\n\
                    idle-slope = { audio = \"20Mbit\" }\n";
        let switch = config::read(text).unwrap_or_else(|errors| panic!("{errors}")).switch;
        let (flows, _) = of_all_classes(&switch, |_| 1518, Nonce::new());
        let limits = Shaper::of(plane).limits(&switch, &switch.ports[1], (100_000_000, 0), &flows, 1_000);
        assert!(limits[1].is_none(), "`rest` is not shaped");
        limits[0].as_ref().map(|limit| limit.burst_bits)
    }

    #[test]
    fn each_plane_has_its_own_bound() {
        // hiCredit is 12336 x 20 / 100, and a frame and what 106 us gain come on top.
        assert_eq!(burst_bits("user"), Some(2_467 + 12_336 + 2_120));
        // The kernel's counts octets, and has 100 us of the slope more, too.
        assert_eq!(burst_bits("kernel"), Some((2_467u64 + 2_000).div_ceil(8) * 8 + 12_336 + 120));
        assert_eq!(burst_bits("bridge"), None);
    }
}
