//! `ontick switch demo`

use clap::Args;
use ontick_switch::verify::offered::OfferedLoad;
use ontick_switch::verify::source_004_test;
use ontick_tsn::config;
use ontick_tsn::model::Guard;
use ontick_tsn::schedule::guard_ns;
use ontick_tsn::wire::{LARGEST_SDU, largest_frame_ns};
use ontick_units::exact;

use super::proving::{Asked, ProvingFlags};
use crate::failure::{Failure, Outcome};
use crate::{flags, privileges};

/// Run source 004's test in one command, without hardware: two senders, a switch with gates, two receivers.
///
/// It runs in network namespaces of this machine, which are removed afterwards. Blue frames (UDP to port 6666) have
/// four fifths of each cycle, red ones (UDP to port 7777) the last fifth.
///
/// 95% of the frames asked for must be sent, and 95% of those that the windows carry must arrive; --require
/// "sent > 99%" and "delivered > 99%" ask for other shares.
///
/// Exit status: 0 every frame was accounted for and within its window, 1 some were not or too many were dropped, 2 the
/// test was not possible, 3 nothing is proven, as too few frames could be sent.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick switch demo --svg switch.svg\n  sudo ontick switch demo --cycle 10ms --duration 10s --html switch.html\n  sudo ontick switch demo --plane bridge"
)]
pub struct Demo {
    /// Length of the gates' cycle
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = cycle)]
    cycle: u64,
    /// How many frames: a share of what each class's windows carry (above 100% some must be dropped), frames per second
    /// and class, or max
    #[arg(long, value_name = "RATE", default_value = "75%")]
    rate: OfferedLoad,
    /// How long nothing is sent before a gate closes: none, a time, or largest-frame (12.3 us). The kernel needs one,
    /// as it checks the gate some time before a frame leaves
    #[arg(long, value_name = "TIME", default_value = "none", value_parser = config::guard_band)]
    guard_band: Guard,
    #[command(flatten)]
    proving: ProvingFlags,
}

/// A largest frame takes 12.3 us, and must fit into a fifth; a second has all that a person wants to see.
const CYCLES: std::ops::RangeInclusive<u64> = 100_000..=1_000_000_000;

fn cycle(text: &str) -> Result<u64, String> {
    match flags::time(text)? {
        ns if CYCLES.contains(&ns) => Ok(ns),
        _ => Err("a cycle of the demo is from 100us to 1s long".into()),
    }
}

impl Demo {
    pub fn run(self) -> Result<Outcome, Failure> {
        let (guard_ns, red_ns) =
            (guard_ns(self.guard_band, LARGEST_SDU, source_004_test::RATE), self.cycle / source_004_test::RED);
        if guard_ns + largest_frame_ns(LARGEST_SDU, source_004_test::RATE) > red_ns {
            return Err(Failure::new(format!(
                "a guard band of {} leaves no room for a frame in the {} that red has: make it shorter, or --cycle longer",
                exact(guard_ns),
                exact(red_ns)
            )));
        }
        privileges::NAMESPACES.require("switch demo")?;
        self.proving.prove(Asked {
            measurement: "switch demo",
            switch: source_004_test::switch(self.cycle, self.guard_band),
            ports: (0, 1),
            classes: vec![0, 1],
            offered: self.rate,
            outside: None,
        })
    }
}
