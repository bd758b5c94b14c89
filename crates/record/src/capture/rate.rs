//! Sample rates as analysers write them: `24 MHz`, `1GHz`, `12.5 kHz`.

use std::fmt;
use std::str::FromStr;

use super::CaptureError;

const UNITS: [(&str, u64); 4] = [("GHz", 1_000_000_000), ("MHz", 1_000_000), ("kHz", 1_000), ("Hz", 1)];

/// Samples per second: a whole number of hertz above 0.
///
/// ```
/// use ontick_record::capture::Rate;
/// let rate: Rate = "24 MHz".parse().unwrap();
/// assert_eq!((rate.hertz(), rate.to_string().as_str()), (24_000_000, "24 MHz"));
/// assert!("0 Hz".parse::<Rate>().is_err() && "24".parse::<Rate>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate(u64);

impl Rate {
    /// So many samples per second; at least one.
    pub fn new(hertz: u64) -> Self {
        Self(hertz.max(1))
    }

    /// Samples per second.
    pub fn hertz(self) -> u64 {
        self.0
    }
}

impl FromStr for Rate {
    type Err = CaptureError;

    fn from_str(text: &str) -> Result<Self, CaptureError> {
        const WRONG: CaptureError = CaptureError::Lacking("a sample rate is a whole number of hertz, such as 24MHz");
        let trimmed = text.trim();
        let unit = UNITS.iter().find_map(|(unit, hertz)| Some((trimmed.strip_suffix(unit)?.trim_end(), *hertz)));
        let (number, unit) = unit.ok_or(WRONG)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let digits = |text: &str| text.len() <= 12 && text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(fraction) {
            return Err(WRONG);
        }
        let of = |digits: &str| digits.parse::<u128>().unwrap_or(0);
        let scale = 10u128.pow(fraction.len() as u32);
        let parts = (of(whole) * scale + of(fraction)) * u128::from(unit);
        match u64::try_from(parts / scale) {
            Ok(hertz) if parts % scale == 0 && hertz > 0 => Ok(Self(hertz)),
            _ => Err(WRONG),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let (unit, hertz) = UNITS.into_iter().find(|(_, hertz)| self.0 >= *hertz).unwrap_or(("Hz", 1));
        let fraction = format!("{:0width$}", self.0 % hertz, width = hertz.ilog10() as usize);
        match fraction.trim_end_matches('0') {
            "" => write!(f, "{} {unit}", self.0 / hertz),
            rest => write!(f, "{}.{rest} {unit}", self.0 / hertz),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_reads_back_as_it_is_shown() {
        for (text, hertz, shown) in [
            ("24 MHz", 24_000_000, "24 MHz"),
            ("12.5kHz", 12_500, "12.5 kHz"),
            (" 1 GHz ", 1_000_000_000, "1 GHz"),
            ("200 Hz", 200, "200 Hz"),
            ("0.001 kHz", 1, "1 Hz"),
            ("1000000.001 kHz", 1_000_000_001, "1.000000001 GHz"),
        ] {
            let rate: Rate = text.parse().unwrap();
            assert_eq!((rate.hertz(), rate.to_string().as_str()), (hertz, shown), "{text}");
            assert_eq!(shown.parse::<Rate>().unwrap(), rate);
        }
    }

    #[test]
    fn no_other_text_is_a_rate() {
        for text in ["", "24", "MHz", "-1 Hz", "0 Hz", "0.5 Hz", "1e3 Hz", "1. 5 Hz", ".5 kHz", "99999999999999 GHz"] {
            assert!(text.parse::<Rate>().is_err(), "{text:?}");
        }
    }
}
