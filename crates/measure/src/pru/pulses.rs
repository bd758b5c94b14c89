//! Pulses that a PRU makes, and measures with its own counter.

use ontick_gpio::OnExit;
use ontick_record::run::{Published, Pulse, Series, Settings};
use ontick_units::exact;

use super::host::Host;
use super::layout::{CYCLE_NS, Kind, at, flag};
use super::pin::{Direction, Pin};
use super::running::Running;
use super::watch::{count, watch};
use crate::{Error, Limits, Observer};

/// The narrowest pulse, in cycles: what the firmware's shortest way from rise to fall takes.
pub const NARROWEST: u32 = 4;
/// The shortest gap, in cycles: its bookkeeping fits in.
pub const SHORTEST_GAP: u32 = 120;
/// The longest of both, in ns: a run must be able to end.
const LONGEST_NS: u64 = 1_000_000_000;
/// Cells of the histogram below the width that is wanted.
const CELLS_BELOW: u32 = 128;

/// What measured the widths.
pub const MEASURED_BY: &str = "the PRU's own cycle counter (5 ns), read before and after each pulse";

/// What source 003 found.
fn published() -> Published {
    let (source, figure) = ("source 003".into(), "error on the order of 10s of ns".into());
    Published { source, figure, how: "pulses of 25us by a PRU of a BeagleBone Black, oscilloscope".into() }
}

/// A pin that a PRU makes pulses on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// The pin.
    pub pin: Pin,
    /// The machine, and where its firmware is.
    pub host: Host,
}

/// A train of pulses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Train {
    /// Where.
    pub output: Output,
    /// How wide each should be, in ns.
    pub width_ns: u64,
    /// From the end of a pulse to the next, in ns.
    pub gap_ns: u64,
    /// What the pin is left at.
    pub on_exit: OnExit,
}

impl Train {
    /// The nearest count of cycles.
    fn cycles(ns: u64) -> u32 {
        u32::try_from((ns + CYCLE_NS / 2) / CYCLE_NS).unwrap_or(u32::MAX)
    }

    fn check(&self) -> Result<(), Error> {
        let within = |ns, least: u32| (u64::from(least) * CYCLE_NS..=LONGEST_NS).contains(&ns);
        let wrong = |what, least: u32| {
            let least = exact(u64::from(least) * CYCLE_NS);
            Err(Error::Impossible(format!("{what} must be from {least} to 1s where a PRU makes the pulses")))
        };
        if !within(self.width_ns, NARROWEST) {
            return wrong("the width of a pulse", NARROWEST);
        }
        if !within(self.gap_ns, SHORTEST_GAP) {
            return wrong("the gap between pulses", SHORTEST_GAP);
        }
        Self::check_left(self.on_exit)
    }

    /// Refuses what a PRU cannot leave its pin at.
    pub fn check_left(on_exit: OnExit) -> Result<(), Error> {
        match on_exit {
            OnExit::Input => Err(Error::Impossible(
                "a PRU cannot let go of its pin: leave it low or high, or set the pin to something else".into(),
            )),
            OnExit::Keep | OnExit::Low | OnExit::High => Ok(()),
        }
    }

    /// What the firmware gets.
    fn words(&self, count: u32) -> [(usize, u32); 7] {
        let (width, gap) = (Self::cycles(self.width_ns), Self::cycles(self.gap_ns));
        let rest = u32::from(self.on_exit == OnExit::High) << flag::REST_HIGH;
        [
            (at::FLAGS, rest),
            (at::OUTPUT, self.output.pin.bit),
            (at::INPUT, 0),
            (at::COUNT, count),
            (at::WIDTH, width),
            (at::GAP, gap),
            (at::BASE, width.saturating_sub(CELLS_BELOW)),
        ]
    }

    /// Has the PRU make pulses until what is returned is dropped, for somebody else to look at.
    pub(crate) fn go_on(&self) -> Result<Running, Error> {
        self.start(0).map(|(running, _)| running)
    }

    /// Has the PRU make so many pulses; 0 goes on until it is stopped. The sentences are for the reader of the result.
    fn start(&self, count: u32) -> Result<(Running, Vec<String>), Error> {
        self.check()?;
        let Output { pin, host } = &self.output;
        host.check()?;
        let note = host.check_pad(pin, Direction::Output)?;
        let running = Running::start(host, pin.pru, Kind::Pulse, &self.words(count), self.width_ns + self.gap_ns)?;
        Ok((running, note.into_iter().collect()))
    }

    fn settings(&self, limits: Limits) -> Settings {
        Settings {
            method: "pru".into(),
            interval_ns: self.width_ns + self.gap_ns,
            line: Some(self.output.pin.to_string()),
            backend: Some(format!("PRU {}", self.output.pin.pru)),
            clock: "PRU cycle counter".into(),
            outlier_threshold_ns: limits.outlier_ns,
            ..Settings::default()
        }
    }

    /// Makes the train, and returns what the PRU measured of it. The latency of the series is by how much each pulse was
    /// too wide or too narrow.
    pub fn measure(&self, name: &str, limits: Limits, observer: &mut Observer) -> Result<Series, Error> {
        let (running, notes) = self.start(count(limits)?)?;
        observer.note_all(notes);
        let watched = watch(name, running, limits, observer, |found| found.errors(self.width_ns))?;
        if watched.found.late > 0 {
            observer.note(format!(
                "{name}: {} pulses came late: something kept the PRU's reads waiting",
                watched.found.late
            ));
        }
        let pulse = Pulse {
            first: Vec::new(),
            wanted_ns: self.width_ns,
            gap_ns: self.gap_ns,
            width: watched.found.histogram(),
            measured_by: MEASURED_BY.into(),
            subtracted_ns: None,
        };
        let published = Some(published());
        Ok(Series { settings: self.settings(limits), pulse: Some(pulse), published, ..watched.series })
    }
}
