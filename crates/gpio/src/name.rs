//! Names of lines, the same on every command.

use std::fmt;
use std::str::FromStr;

/// A line's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    /// `sim:CHIP/N`: a line of a simulated chip, made on first use.
    Sim {
        /// The chip's name.
        chip: String,
        /// The line on it.
        line: u32,
    },
    /// `gpiochip0:N`: a line of a character device.
    Chip {
        /// The device's name under `/dev`.
        chip: String,
        /// The line on it.
        line: u32,
    },
    /// `pull:gpiochip0:N`: what drives a line of the kernel's gpio-sim from outside.
    Pull {
        /// The device's name under `/dev`.
        chip: String,
        /// The line on it.
        line: u32,
    },
    /// `reg:N`: a line of the board's own registers.
    Register(u32),
    /// The name that the board's description gives to a line of a character device.
    Own(String),
}

/// Text that names no line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{text}\" names no line: {why} (lines are named sim:bench/4, gpiochip0:17, reg:17, or as the board calls them)"
)]
pub struct NameError {
    text: String,
    why: &'static str,
}

impl NameError {
    /// Of text that should have been a chip's name.
    pub(crate) fn no_chip(text: &str) -> Self {
        Self { text: text.into(), why: "a chip was expected, such as sim:bench or gpiochip0" }
    }

    /// Of text that should have been the name of a simulated chip.
    pub(crate) fn no_simulated_chip(text: &str) -> Self {
        Self { text: text.into(), why: NO_SIMULATED_CHIP }
    }
}

const NO_SIMULATED_CHIP: &str = "a simulated chip's name has 1 to 32 letters, digits, - or _";

/// Longest name of a simulated chip, and of a line.
const LONGEST: usize = 32;

/// Whether this can be the name of a simulated chip: it becomes part of a file's name.
pub(crate) fn is_chip(text: &str) -> bool {
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

impl FromStr for Name {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let wrong = |why| NameError { text: text.into(), why };
        let number = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten().ok_or(wrong("the line's number is missing or wrong"))
        };
        if let Some(rest) = text.strip_prefix("sim:") {
            let (chip, line) = rest.split_once('/').ok_or(wrong("a simulated line is sim:CHIP/NUMBER"))?;
            if !is_chip(chip) {
                return Err(wrong(NO_SIMULATED_CHIP));
            }
            return Ok(Name::Sim { chip: chip.into(), line: number(line)? });
        }
        if let Some(line) = text.strip_prefix("reg:") {
            return Ok(Name::Register(number(line)?));
        }
        if let Some(rest) = text.strip_prefix("pull:") {
            let chip_line = rest.rsplit_once(':').filter(|(chip, _)| is_chip(chip) && chip.starts_with("gpiochip"));
            let (chip, line) = chip_line.ok_or(wrong("what pulls a line of gpio-sim is pull:gpiochip0:NUMBER"))?;
            return Ok(Name::Pull { chip: chip.into(), line: number(line)? });
        }
        let chip_line = text.strip_prefix("/dev/").unwrap_or(text).rsplit_once(':');
        if let Some((chip, line)) = chip_line.filter(|(chip, _)| is_chip(chip) && chip.starts_with("gpiochip")) {
            return Ok(Name::Chip { chip: chip.into(), line: number(line)? });
        }
        let printable = text.chars().all(|c| !c.is_control() && c != '/');
        if text.is_empty() || text.len() > LONGEST || !printable || text.trim() != text {
            return Err(wrong("a line's own name has 1 to 32 printable characters"));
        }
        Ok(Name::Own(text.into()))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Name::Sim { chip, line } => write!(f, "sim:{chip}/{line}"),
            Name::Chip { chip, line } => write!(f, "{chip}:{line}"),
            Name::Pull { chip, line } => write!(f, "pull:{chip}:{line}"),
            Name::Register(line) => write!(f, "reg:{line}"),
            Name::Own(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_is_read_and_shown_again() {
        let forms = [
            ("sim:bench/4", Name::Sim { chip: "bench".into(), line: 4 }),
            ("gpiochip0:17", Name::Chip { chip: "gpiochip0".into(), line: 17 }),
            ("reg:17", Name::Register(17)),
            ("pull:gpiochip1:3", Name::Pull { chip: "gpiochip1".into(), line: 3 }),
            ("GPIO17", Name::Own("GPIO17".into())),
            ("P9_12 [eth]", Name::Own("P9_12 [eth]".into())),
        ];
        for (text, name) in forms {
            assert_eq!(text.parse(), Ok(name.clone()));
            assert_eq!(name.to_string(), text);
        }
        assert_eq!("/dev/gpiochip1:2".parse(), Ok(Name::Chip { chip: "gpiochip1".into(), line: 2 }));
    }

    #[test]
    fn what_is_no_name_is_explained() {
        for text in ["", "sim:", "sim:bench", "sim:bench/", "sim:/4", "sim:../x/4", "sim:a/4294967296", "sim:a/+4"] {
            assert!(text.parse::<Name>().unwrap_err().to_string().contains("names no line"), "{text}");
        }
        for text in [
            "reg:",
            "reg:x",
            "pull:",
            "pull:gpiochip1",
            "pull:bench:1",
            "gpiochip0:",
            "gpiochip0:one",
            " GPIO1",
            "a\nb",
            "/dev/x",
        ] {
            assert!(text.parse::<Name>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(text in "\\PC{0,40}|sim:[a-z]{1,4}/[0-9]{1,3}|gpiochip[0-9]:[0-9]{1,2}|reg:[0-9]{1,11}") {
            if let Ok(name) = text.parse::<Name>() {
                prop_assert_eq!(name.to_string().parse::<Name>(), Ok(name));
            }
        }
    }
}
