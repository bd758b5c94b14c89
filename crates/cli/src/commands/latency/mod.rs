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
use ontick_measure::Limits;
use ontick_record::{Measurement as Kind, Series};

use super::measuring::Measurement;
use crate::failure::{Failure, Outcome};
use crate::flags::MeasuringFlags;
use crate::lazily::Lazily;
use crate::privileges;

/// Measure one kind of latency.
#[derive(Subcommand)]
pub enum Latency {
    Timer(Lazily<timer::Timer>),
    Wakeup(Lazily<wakeup::Wakeup>),
    Edge(Lazily<edge::Edge>),
    Response(Lazily<response::Response>),
    Roundtrip(Lazily<roundtrip::RoundTrip>),
    Wallclock(Lazily<wallclock::Wallclock>),
    Delay(Lazily<delay::Delay>),
    Dip(Lazily<dip::Dip>),
    Noise(Lazily<noise::Noise>),
}

impl Latency {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Latency::Timer(Lazily(timer)) => timer.run(),
            Latency::Wakeup(Lazily(wakeup)) => wakeup.run(),
            Latency::Edge(Lazily(edge)) => edge.run(),
            Latency::Response(Lazily(response)) => response.run(),
            Latency::Roundtrip(Lazily(roundtrip)) => roundtrip.run(),
            Latency::Wallclock(Lazily(wallclock)) => wallclock.run(),
            Latency::Delay(Lazily(delay)) => delay.run(),
            Latency::Dip(Lazily(dip)) => dip.run(),
            Latency::Noise(Lazily(noise)) => noise.run(),
        }
    }
}

/// A measurement with GPIO lines, which may be simulated.
fn with_lines<'a>(
    flags: &'a MeasuringFlags,
    limits: Limits,
    kind: Kind,
    series: impl IntoIterator<Item: Into<Series>>,
    lines: &[&Name],
) -> Measurement<'a> {
    let asked = Measurement::asked(flags, limits, kind, series);
    Measurement {
        simulated: ontick_gpio::simulation_note(lines),
        keeps: asked.keeps.map(|more| more | privileges::of_lines(lines.iter().copied())),
        ..asked
    }
}
