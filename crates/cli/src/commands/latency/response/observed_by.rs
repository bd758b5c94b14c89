//! Who observes responses from outside.

use std::str::FromStr;

use ontick_measure::analyser::Analyser;
use ontick_measure::response::latmon::Address;

/// A board that also stimulates, or an analyser that records what this program stimulates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedBy {
    Board(Address),
    Analyser(Analyser),
}

impl FromStr for ObservedBy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.starts_with("sigrok:") {
            true => text.parse().map(Self::Analyser).map_err(|error: <Analyser as FromStr>::Err| error.to_string()),
            false => text.parse().map(Self::Board).map_err(|error: <Address as FromStr>::Err| {
                format!("{error}, nor an analyser (such as sigrok:fx2lafw,input=D0,output=D1,samplerate=24MHz)")
            }),
        }
    }
}
