//! `[time.pps]`: a pulse each second, by which the first grandmaster's network card has its own time.

use toml::Spanned;

use crate::config::problem::{Report, Reported};
use crate::config::table::Table;
use crate::config::{ValueError, values};

/// Pins and channels of a card's clock; cards have a handful.
const INDEXES: std::ops::RangeInclusive<u64> = 0..=255;
/// Longest path of a serial port.
const LONGEST_PATH: usize = 255;
const LEAST_ACCURACY_NS: u64 = 25;

/// A pulse each second, which the clock of a network card stamps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulse {
    /// Which second it is that a pulse begins.
    pub source: PulseSource,
    /// The interface whose card stamps it; absent: the only one of the node.
    pub interface: Option<String>,
    /// The card's pin.
    pub pin: u8,
    /// The card's channel for external time stamps.
    pub channel: u8,
    /// How far it is from the true second at most, in ns; absent: nobody knows.
    pub accuracy_ns: Option<u64>,
}

/// From where the number of a second is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PulseSource {
    /// A satellite receiver says it by its RMC sentences (NMEA 0183), at this serial port.
    Nmea(String),
    /// The system's clock.
    Generic,
}

pub(super) fn read(mut table: Table, report: &mut Report) -> Result<Pulse, Reported> {
    let source = table.parsed("source", report, source);
    let source = table.require("source", "source = \"nmea:/dev/ttyS0\", or \"generic\"", source, report);
    let interface = table.text("interface", report);
    let pin = table.whole("pin", INDEXES, report);
    let channel = table.whole("channel", INDEXES, report);
    let accuracy = table.parsed("accuracy", report, |text| match values::time(text)? {
        ns if ns < LEAST_ACCURACY_NS => Err(ValueError::is_not(text, "25ns or more")),
        ns if ns > 1_000_000_000 => Err(ValueError::more_than(text, "1s")),
        ns => Ok(ns),
    });
    table.finish(report);
    let index = |at: Option<Spanned<u64>>| at.map_or(0, |at| at.into_inner() as u8);
    Ok(Pulse {
        source: source?.into_inner(),
        interface: interface?.map(|at| (*at.get_ref()).to_owned()),
        pin: index(pin?),
        channel: index(channel?),
        accuracy_ns: accuracy?.map(Spanned::into_inner),
    })
}

fn source(text: &str) -> Result<PulseSource, ValueError> {
    let is_path = |path: &str| {
        path.starts_with('/')
            && path.len() <= LONGEST_PATH
            && !path.contains(|c: char| c.is_whitespace() || c.is_control())
    };
    match text.strip_prefix("nmea:") {
        _ if text == "generic" => Ok(PulseSource::Generic),
        Some(port) if is_path(port) => Ok(PulseSource::Nmea(port.into())),
        _ => Err(ValueError::is_not(
            text,
            "\"generic\", or \"nmea:\" and the path of a serial port: \"nmea:/dev/ttyS0\"",
        )),
    }
}
