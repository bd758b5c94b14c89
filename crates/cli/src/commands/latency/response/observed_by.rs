//! Who observes responses from outside.

use std::str::FromStr;

use ontick_measure::response::latmon::Address;

use crate::commands::beside::Instrument;

/// A board that also stimulates, or an instrument that records what this program stimulates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedBy {
    Board(Address),
    Instrument(Instrument),
}

impl FromStr for ObservedBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.starts_with("sigrok:") || text.starts_with("pico:") {
            true => text.parse().map(Self::Instrument),
            false => text.parse().map(Self::Board).map_err(|error: <Address as FromStr>::Err| {
                format!("{error}, nor an analyser (such as sigrok:fx2lafw,input=D0,output=D1,samplerate=24MHz)")
            }),
        }
    }
}
