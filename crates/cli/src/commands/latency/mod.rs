//! `ontick latency …`

mod delay;
mod dip;
mod edge;
mod mechanisms;
mod noise;
mod response;
pub mod roundtrip;
mod timer;
mod wakeup;
mod wallclock;

use clap::Subcommand;
use ontick_gpio::Name;
use ontick_record::{Measurement as Kind, Series};

use super::measuring::Measurement;
use crate::failure::{Failure, Outcome};
use crate::flags::MeasuringFlags;
use crate::privileges;

/// Measure one kind of latency.
#[derive(Subcommand)]
pub enum Latency {
    Timer(timer::Timer),
    Wakeup(wakeup::Wakeup),
    Edge(edge::Edge),
    Response(response::Response),
    Roundtrip(roundtrip::RoundTrip),
    Wallclock(wallclock::Wallclock),
    Delay(delay::Delay),
    Dip(dip::Dip),
    Noise(noise::Noise),
}

impl Latency {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Latency::Timer(timer) => timer.run(),
            Latency::Wakeup(wakeup) => wakeup.run(),
            Latency::Edge(edge) => edge.run(),
            Latency::Response(response) => response.run(),
            Latency::Roundtrip(roundtrip) => roundtrip.run(),
            Latency::Wallclock(wallclock) => wallclock.run(),
            Latency::Delay(delay) => delay.run(),
            Latency::Dip(dip) => dip.run(),
            Latency::Noise(noise) => noise.run(),
        }
    }
}

/// A measurement with GPIO lines, which may be simulated.
fn with_lines<'a>(
    flags: &'a MeasuringFlags,
    kind: Kind,
    series: impl IntoIterator<Item: Into<Series>>,
    lines: &[&Name],
) -> Measurement<'a> {
    let asked = Measurement::asked(flags, kind, series);
    Measurement {
        simulated: ontick_gpio::simulation_note(lines),
        keeps: asked.keeps.map(|more| more | privileges::of_lines(lines.iter().copied())),
        ..asked
    }
}
