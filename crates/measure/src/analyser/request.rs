//! An analyser as a user names it: `sigrok:DRIVER[:OPTION=VALUE…][,KEY=VALUE…]`, in sigrok-cli's own words.

use std::fmt;
use std::str::FromStr;

/// What stands before the driver.
const SCHEME: &str = "sigrok:";

/// A logic analyser that sigrok-cli drives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Analyser {
    /// As `--driver` takes it.
    driver: String,
    channel: Option<String>,
    input: Option<String>,
    output: Option<String>,
    /// `--time=2s` or `--samples=1000`, where the instrument cannot record without an end.
    length: Option<String>,
    /// As `--config` takes them.
    config: Vec<String>,
}

/// Text that names no analyser, or not the channels that are needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AnalyserError {
    /// It begins otherwise, or has no driver.
    #[error("\"{0}\" is no analyser (such as sigrok:fx2lafw,channel=D0,samplerate=24MHz)")]
    NoDriver(String),
    /// Something after a comma is not a key and its value.
    #[error("\"{0}\" is not KEY=VALUE (such as channel=D0 or samplerate=24MHz)")]
    NoPair(String),
    /// A key that can stand once does so twice.
    #[error("\"{0}\" is given twice")]
    Twice(String),
    /// Pulses are on one channel.
    #[error("pulses are on one channel: name it, such as sigrok:{0},channel=D0")]
    NeedsChannel(String),
    /// A response is between two.
    #[error("a response is between two channels: name them, such as sigrok:{0},input=D0,output=D1")]
    NeedsTwo(String),
}

impl Analyser {
    /// The channel on which pulses are.
    pub fn of_pulses(&self) -> Result<Vec<String>, AnalyserError> {
        match (&self.channel, &self.input, &self.output) {
            (Some(channel), None, None) => Ok(vec![channel.clone()]),
            _ => Err(AnalyserError::NeedsChannel(self.driver.clone())),
        }
    }

    /// The channels of a response: the input's and the output's.
    pub fn of_response(&self) -> Result<Vec<String>, AnalyserError> {
        match (&self.channel, &self.input, &self.output) {
            (None, Some(input), Some(output)) if input != output => Ok(vec![input.clone(), output.clone()]),
            _ => Err(AnalyserError::NeedsTwo(self.driver.clone())),
        }
    }

    /// Whether the instrument ends by itself.
    pub fn has_length(&self) -> bool {
        self.length.is_some()
    }

    /// What sigrok-cli is called with. A value never stands where an option could.
    pub fn arguments(&self, channels: &[String]) -> Vec<String> {
        let config = self.config.iter().map(|config| format!("--config={config}"));
        let length = self.length.clone().unwrap_or_else(|| "--continuous".into());
        [format!("--driver={}", self.driver)]
            .into_iter()
            .chain(config)
            .chain([format!("--channels={}", channels.join(",")), length, "--output-format=vcd".into()])
            .collect()
    }
}

impl FromStr for Analyser {
    type Err = AnalyserError;

    fn from_str(text: &str) -> Result<Self, AnalyserError> {
        let no_driver = || AnalyserError::NoDriver(text.into());
        let mut parts = text.strip_prefix(SCHEME).ok_or_else(no_driver)?.split(',');
        let driver = parts.next().unwrap_or_default();
        if driver.is_empty() || text.chars().any(char::is_control) {
            return Err(no_driver());
        }
        let mut analyser =
            Self { driver: driver.into(), channel: None, input: None, output: None, length: None, config: Vec::new() };
        for part in parts {
            let pair = part.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
            let (key, value) = pair.ok_or_else(|| AnalyserError::NoPair(part.into()))?;
            let (once, value) = match key {
                "channel" => (&mut analyser.channel, value.to_string()),
                "input" => (&mut analyser.input, value.to_string()),
                "output" => (&mut analyser.output, value.to_string()),
                "time" | "samples" => (&mut analyser.length, format!("--{key}={value}")),
                _ => {
                    analyser.config.push(part.into());
                    continue;
                }
            };
            if once.replace(value).is_some() {
                return Err(AnalyserError::Twice(key.into()));
            }
        }
        Ok(analyser)
    }
}

impl fmt::Display for Analyser {
    /// Which instrument it is; what it is to do is shown by what it did.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.driver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Analyser, AnalyserError> {
        text.parse()
    }

    #[test]
    fn its_words_are_those_of_sigrok_cli() {
        let analyser =
            read("sigrok:fx2lafw:conn=1.6,channel=D0,samplerate=24MHz,channel_group=Logic:pattern=squid").unwrap();
        assert_eq!(analyser.to_string(), "sigrok:fx2lafw:conn=1.6");
        let channels = analyser.of_pulses().unwrap();
        assert_eq!(
            analyser.arguments(&channels),
            [
                "--driver=fx2lafw:conn=1.6",
                "--config=samplerate=24MHz",
                "--config=channel_group=Logic:pattern=squid",
                "--channels=D0",
                "--continuous",
                "--output-format=vcd"
            ]
        );
        let response = read("sigrok:demo,input=D0,output=D1,samples=500").unwrap();
        let arguments = response.arguments(&response.of_response().unwrap());
        assert_eq!(arguments[1..3], ["--channels=D0,D1", "--samples=500"]);
        assert!(response.has_length() && !analyser.has_length());
    }

    #[test]
    fn what_names_no_analyser_is_explained() {
        for text in ["", "sigrok:", "sigrok:,channel=D0", "fx2lafw", "sigrok:demo\n"] {
            assert_eq!(read(text), Err(AnalyserError::NoDriver(text.into())));
        }
        for part in ["channel", "channel=", "=D0", ""] {
            assert_eq!(read(&format!("sigrok:demo,{part}")), Err(AnalyserError::NoPair(part.into())));
        }
        assert_eq!(read("sigrok:demo,channel=D0,channel=D1"), Err(AnalyserError::Twice("channel".into())));
        assert_eq!(read("sigrok:demo,time=1s,samples=5"), Err(AnalyserError::Twice("samples".into())));
        let of_pulses = |text| read(text).unwrap().of_pulses().map_err(|error| error.to_string());
        for text in ["sigrok:demo", "sigrok:demo,input=D0,output=D1", "sigrok:demo,channel=D0,input=D1"] {
            assert!(of_pulses(text).unwrap_err().contains("such as sigrok:demo,channel=D0"), "{text}");
        }
        for text in ["sigrok:demo,channel=D0", "sigrok:demo,input=D0", "sigrok:demo,input=D0,output=D0"] {
            assert!(read(text).unwrap().of_response().is_err(), "{text}");
        }
    }
}
