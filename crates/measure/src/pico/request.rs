//! A Pico as a user names it: `pico:DEVICE[,KEY=VALUE…]`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use ontick_pico::LINES;
use ontick_units::parse_duration;

/// What stands before the device.
const SCHEME: &str = "pico:";
/// How long a Pico may get no further, unless the user says otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A Pico, and which of its lines are joined to which of the run's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pico {
    path: PathBuf,
    channel: Option<u8>,
    input: Option<u8>,
    output: Option<u8>,
    wire: Option<u8>,
    timeout: Option<Duration>,
}

/// Text that names no Pico, or not the lines that are needed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PicoError {
    /// It begins otherwise, or has no device.
    #[error("\"{0}\" is no Pico (such as pico:/dev/ttyACM0,channel=0)")]
    NoDevice(String),
    /// Something after a comma is not one of the keys and a line.
    #[error("\"{0}\" is not channel, input, output or wire with a line from 0 to 7 (such as channel=0)")]
    NoLine(String),
    /// The timeout is no time, or none at all.
    #[error("\"{0}\" is no time to wait for an answer (such as timeout=30s)")]
    NoTimeout(String),
    /// A key stands twice.
    #[error("\"{0}\" is given twice")]
    Twice(String),
    /// Pulses are on one line.
    #[error("pulses are on one line: name it, such as {0},channel=0")]
    NeedsChannel(String),
    /// A response is between two.
    #[error("a response is between two lines: name them, such as {0},input=0,output=1")]
    NeedsTwo(String),
}

impl Pico {
    /// Its serial port.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The line that a wire joins to the pin which makes pulses, if there is one to test it by.
    pub fn wire(&self) -> Option<u8> {
        self.wire
    }

    /// How long it may get no further before it is taken to be gone: 5 s unless the user says otherwise.
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// The line on which pulses are.
    pub fn of_pulses(&self) -> Result<Vec<u8>, PicoError> {
        match (self.channel, self.input, self.output) {
            (Some(channel), None, None) => Ok(vec![channel]),
            _ => Err(PicoError::NeedsChannel(self.to_string())),
        }
    }

    /// The lines of a response: the input's and the output's.
    pub fn of_response(&self) -> Result<Vec<u8>, PicoError> {
        match (self.channel, self.input, self.output) {
            (None, Some(input), Some(output)) if input != output => Ok(vec![input, output]),
            _ => Err(PicoError::NeedsTwo(self.to_string())),
        }
    }
}

impl FromStr for Pico {
    type Err = PicoError;

    fn from_str(text: &str) -> Result<Self, PicoError> {
        let no_device = || PicoError::NoDevice(text.into());
        let mut parts = text.strip_prefix(SCHEME).ok_or_else(no_device)?.split(',');
        let path = parts.next().unwrap_or_default();
        if path.is_empty() || text.chars().any(char::is_control) {
            return Err(no_device());
        }
        let mut pico = Self { path: path.into(), channel: None, input: None, output: None, wire: None, timeout: None };
        for part in parts {
            let no_line = || PicoError::NoLine(part.into());
            let (key, line) = part.split_once('=').ok_or_else(no_line)?;
            if key == "timeout" {
                let ns = parse_duration(line).ok().filter(|ns| *ns > 0);
                let timeout = ns.map(Duration::from_nanos).ok_or_else(|| PicoError::NoTimeout(part.into()))?;
                if pico.timeout.replace(timeout).is_some() {
                    return Err(PicoError::Twice(key.into()));
                }
                continue;
            }
            let line = line.strip_prefix("GP").unwrap_or(line).parse().ok().filter(|line| *line < LINES);
            let place = match key {
                "channel" => &mut pico.channel,
                "input" => &mut pico.input,
                "output" => &mut pico.output,
                "wire" => &mut pico.wire,
                _ => return Err(no_line()),
            };
            if place.replace(line.ok_or_else(no_line)?).is_some() {
                return Err(PicoError::Twice(key.into()));
            }
        }
        Ok(pico)
    }
}

impl fmt::Display for Pico {
    /// Which Pico it is.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{SCHEME}{}", self.path.display())
    }
}

/// A line as the Pico's pins are called.
pub fn name(line: u8) -> String {
    format!("GP{line}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Pico, PicoError> {
        text.parse()
    }

    #[test]
    fn lines_are_numbers_or_names_of_pins() {
        let pico = read("pico:/dev/ttyACM0,input=3,output=GP4,wire=7").unwrap();
        assert_eq!((pico.path(), pico.wire()), (Path::new("/dev/ttyACM0"), Some(7)));
        assert_eq!(pico.of_response(), Ok(vec![3, 4]));
        assert_eq!(pico.to_string(), "pico:/dev/ttyACM0");
        assert_eq!(read("pico:a,channel=0").unwrap().of_pulses(), Ok(vec![0]));
    }

    #[test]
    fn the_timeout_is_five_seconds_or_what_the_user_says() {
        assert_eq!(read("pico:a,channel=0").unwrap().timeout(), Duration::from_secs(5));
        assert_eq!(read("pico:a,timeout=1.5min,channel=0").unwrap().timeout(), Duration::from_secs(90));
        for text in ["pico:a,timeout=0s", "pico:a,timeout=GP4", "pico:a,timeout="] {
            assert!(matches!(read(text), Err(PicoError::NoTimeout(_))), "{text}");
        }
        assert_eq!(read("pico:a,timeout=1s,timeout=1s"), Err(PicoError::Twice("timeout".into())));
    }

    #[test]
    fn what_is_wrong_is_one_sentence() {
        for text in ["pico:", "sigrok:a", "pico:,channel=1", "pico:a\n"] {
            assert!(matches!(read(text), Err(PicoError::NoDevice(_))), "{text}");
        }
        for text in ["pico:a,channel", "pico:a,channel=8", "pico:a,channel=D0", "pico:a,rate=1"] {
            assert!(matches!(read(text), Err(PicoError::NoLine(_))), "{text}");
        }
        assert_eq!(read("pico:a,channel=1,channel=2"), Err(PicoError::Twice("channel".into())));
        assert!(matches!(read("pico:a,input=1,output=1").unwrap().of_response(), Err(PicoError::NeedsTwo(_))));
        assert!(matches!(read("pico:a,input=1,output=2").unwrap().of_pulses(), Err(PicoError::NeedsChannel(_))));
    }
}
