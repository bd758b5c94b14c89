//! What a run measured.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a run measured; in records, its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
#[non_exhaustive]
pub enum Measurement {
    /// A periodic job's lateness.
    Timer,
    /// How well a kernel keeps time, by every timer that it has.
    KernelEvaluate,
    /// From waking a thread on another CPU to its running.
    Wakeup,
    /// A job at times of day.
    Wallclock,
    /// How long delays take, beyond what was asked for.
    Delay,
    /// The shortest dip of an input that is detected.
    Dip,
    /// Gaps in a thread that spins.
    Noise,
    /// From an edge of a line to the program that waits for it.
    Edge,
    /// From a line's change to the answer on another.
    Response,
    /// From a request to another station to its answer.
    RoundTrip,
    /// The same job the stock way and ontick's.
    Prove,
    /// Widths of pulses.
    Pulse,
    /// Source 003's whole table of pulses.
    PulseTable,
    /// How late the changes of a file were made on lines.
    GpioPlay,
    /// Times between edges of a line, of which none was asked for.
    Intervals,
    /// How far the edges of a line are apart.
    Period,
    /// Widths of pulses received over a wire, with and without a load.
    LinkTest,
    /// How late samples were taken.
    Sample,
    /// A switch's first frames after openings, on a network made for it.
    SwitchDemo,
    /// The same of a switch that is configured.
    SwitchVerify,
    /// What became of the streams of a network.
    NetworkProve,
    /// How late a station handed its messages over.
    NetworkTalk,
    /// What came to a station.
    NetworkListen,
    /// Which settings help.
    TuneSearch,
    /// Something that this version does not know.
    Other(String),
}

impl Measurement {
    const KNOWN: [Self; 24] = [
        Self::Timer,
        Self::KernelEvaluate,
        Self::Wakeup,
        Self::Wallclock,
        Self::Delay,
        Self::Dip,
        Self::Noise,
        Self::Edge,
        Self::Response,
        Self::RoundTrip,
        Self::Prove,
        Self::Pulse,
        Self::PulseTable,
        Self::GpioPlay,
        Self::Intervals,
        Self::Period,
        Self::LinkTest,
        Self::Sample,
        Self::SwitchDemo,
        Self::SwitchVerify,
        Self::NetworkProve,
        Self::NetworkTalk,
        Self::NetworkListen,
        Self::TuneSearch,
    ];

    /// Its name in records.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Timer => "timer",
            Self::KernelEvaluate => "kernel evaluate",
            Self::Wakeup => "wakeup",
            Self::Wallclock => "wallclock",
            Self::Delay => "delay",
            Self::Dip => "dip",
            Self::Noise => "noise",
            Self::Edge => "edge",
            Self::Response => "response",
            Self::RoundTrip => "roundtrip",
            Self::Prove => "prove",
            Self::Pulse => "pulse",
            Self::PulseTable => "pulse-table",
            Self::GpioPlay => "gpio play",
            Self::Intervals => "intervals",
            Self::Period => "period",
            Self::LinkTest => "link test",
            Self::Sample => "sample",
            Self::SwitchDemo => "switch demo",
            Self::SwitchVerify => "switch verify",
            Self::NetworkProve => "network prove",
            Self::NetworkTalk => "network talk",
            Self::NetworkListen => "network listen",
            Self::TuneSearch => "tune search",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<&str> for Measurement {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl From<String> for Measurement {
    fn from(name: String) -> Self {
        // As records of before have it.
        let name = if name == "day" { Self::Wallclock.as_str().into() } else { name };
        Self::KNOWN.into_iter().find(|known| known.as_str() == name).unwrap_or(Self::Other(name))
    }
}

impl From<Measurement> for String {
    fn from(measurement: Measurement) -> Self {
        measurement.as_str().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_unknown_ones_stay() {
        for known in Measurement::KNOWN {
            assert_eq!(Measurement::from(known.as_str()), known);
        }
        assert_eq!(Measurement::from("day"), Measurement::Wallclock);
        let later: Measurement = serde_json::from_str("\"tides\"").unwrap();
        assert_eq!(later, Measurement::Other("tides".into()));
        assert_eq!(serde_json::to_string(&later).unwrap(), "\"tides\"");
    }
}
