//! A row of a table: its cells, and its time.

use super::{CaptureError, Rate};

/// Times in seconds are read to a picosecond, counted from the first.
pub(super) const TICK_FS: u128 = 1_000;
const DIGITS: usize = 12;

/// Where a row's time comes from.
#[derive(Debug, Clone)]
pub(super) enum Times {
    /// A row is a sample.
    Rows,
    /// A column counts whole periods of the sample clock, cut to whole units before they are added up: 41 ns, 82 ns and
    /// 123 ns at 24 MHz. So libsigrok has it.
    Periods,
    /// A column has seconds.
    Seconds,
}

impl Times {
    /// By the label of the first column, if that is one of times.
    pub fn of_label(label: &str) -> Option<Self> {
        let label = label.to_ascii_lowercase();
        let word = label.split(['[', ' ']).next().unwrap_or_default();
        let seconds = label.replace(' ', "") == "time[s]";
        match word {
            "time" if seconds => Some(Self::Seconds),
            "time" | "milliseconds" | "microseconds" | "nanoseconds" | "picoseconds" => Some(Self::Periods),
            _ => None,
        }
    }

    /// The program that writes such tables.
    pub fn tool(&self) -> &'static str {
        match self {
            Self::Seconds => "Logic 2",
            Self::Rows | Self::Periods => "sigrok",
        }
    }

    /// The tick of a row, which is number `samples` of them.
    pub fn tick(&mut self, row: &[u8], samples: u64, rate: Option<Rate>, line: u64) -> Result<u64, CaptureError> {
        let time = || cell(row, 0).unwrap_or_default();
        let wrong = |why: &str| {
            let found = String::from_utf8_lossy(&time()[..time().len().min(32)]).into_owned();
            CaptureError::line(line, format!("\"{found}\" is no time: {why}"))
        };
        match self {
            Self::Rows => Ok(samples),
            Self::Periods => {
                let period = rate.map_or(1, period);
                let units = std::str::from_utf8(time()).ok().and_then(|time| time.parse::<u64>().ok());
                let units = units.ok_or_else(|| wrong("a whole number, from one period on"))?;
                match (units / period, units % period) {
                    (periods @ 1.., 0) => Ok(periods - 1),
                    _ => Err(wrong("no whole number of periods of the sample rate")),
                }
            }
            Self::Seconds => {
                picoseconds(time()).ok_or_else(|| wrong("seconds, such as 0.001250000, from -100 days on"))
            }
        }
    }
}

/// A sample's period in the unit in which libsigrok counts it, cut to a whole number.
fn period(rate: Rate) -> u64 {
    let units = [1_000, 1_000_000, 1_000_000_000].into_iter().find(|units| rate.hertz() <= *units);
    (units.unwrap_or(1_000_000_000_000) / rate.hertz()).max(1)
}

/// Before the trigger times are negative: they are counted from a moment that is before any capture.
const LONG_BEFORE_S: u64 = 100 * 86_400;

fn picoseconds(text: &[u8]) -> Option<u64> {
    let (negative, text) = text.strip_prefix(b"-").map_or((false, text), |rest| (true, rest));
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let (whole, fraction) = (&text[..point], text.get(point + 1..).unwrap_or_default());
    if whole.is_empty() || whole.len() > 7 {
        return None;
    }
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0u64, |number, digit| {
            let digit = digit.wrapping_sub(b'0');
            (digit < 10).then(|| number * 10 + u64::from(digit))
        })
    };
    let fine = &fraction[..fraction.len().min(DIGITS)];
    number(&fraction[fine.len()..fraction.len().min(30)])?;
    let scale = 10u64.pow((DIGITS - fine.len()) as u32);
    let (whole, fine) = (number(whole)?, number(fine)? * scale);
    let ps = whole.checked_mul(1_000_000_000_000)?.checked_add(fine)?;
    let zero = LONG_BEFORE_S * 1_000_000_000_000;
    if negative { zero.checked_sub(ps) } else { zero.checked_add(ps) }
}

/// How fine the time of a row is.
pub(super) fn step_fs(row: &[u8]) -> u128 {
    let time = cell(row, 0).unwrap_or_default();
    let digits = time.iter().position(|byte| *byte == b'.').map_or(0, |at| (time.len() - at - 1).min(DIGITS));
    TICK_FS * 10u128.pow((DIGITS - digits) as u32)
}

/// The names of the columns, which may be quoted.
pub(super) fn labels(row: &str) -> Vec<String> {
    let (mut labels, mut label, mut quoted) = (Vec::new(), String::new(), false);
    let mut rest = row.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            // Two of them within quotes are one that is meant.
            '"' if quoted && rest.next_if_eq(&'"').is_some() => label.push('"'),
            '"' if quoted || label.trim().is_empty() => quoted = !quoted,
            ',' if !quoted => labels.push(std::mem::take(&mut label).trim().to_owned()),
            other => label.push(other),
        }
    }
    labels.push(label.trim().to_owned());
    labels
}

/// A cell of a row.
#[inline]
pub(super) fn cell(row: &[u8], place: usize) -> Option<&[u8]> {
    row.split(|byte| *byte == b',').nth(place).map(<[u8]>::trim_ascii)
}

/// A line as text; what is none is shown as such.
pub(super) fn text(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_to_a_picosecond() {
        let zero = picoseconds(b"0").unwrap();
        for (text, ps) in [
            ("0.000000000", 0),
            ("0.000012625", 12_625_000),
            ("289.692741059", 289_692_741_059_000),
            ("1", 1_000_000_000_000),
            ("1.5", 1_500_000_000_000),
            ("0.0000000000015", 1),
        ] {
            assert_eq!(picoseconds(text.as_bytes()).map(|at| at - zero), Some(ps), "{text}");
        }
        assert_eq!(picoseconds(b"-0.000001"), Some(zero - 1_000_000));
        for text in ["", "-", ".5", "1e-3", "0x1", "1,5", "99999999", "1.2.3", "--1", "1.0000000000000x"] {
            assert_eq!(picoseconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_digits_of_a_time_say_how_fine_it_is() {
        assert_eq!(
            ["0.000000000,1", "1.5", "7", "0.0123456789123456"].map(|row| step_fs(row.as_bytes())),
            [1_000_000, 100_000_000_000_000, 1_000_000_000_000_000, 1_000]
        );
    }

    #[test]
    fn names_may_be_quoted() {
        assert_eq!(labels("\"Time [s]\", \"a, \"\"b\"\"\",c"), ["Time [s]", "a, \"b\"", "c"]);
        assert_eq!(labels("5\" disk,D1,"), ["5\" disk", "D1", ""]);
    }

    #[test]
    fn a_period_is_counted_as_libsigrok_does() {
        let of = |hertz| period(Rate::new(hertz));
        assert_eq!([100, 1_000, 3_000, 1_000_000].map(of), [10, 1, 333, 1]);
        assert_eq!([3_000_000, 24_000_000, 1_000_000_000, 2_000_000_000].map(of), [333, 41, 1, 500]);
    }

    #[test]
    fn a_label_says_what_a_time_is() {
        let of = |label| Times::of_label(label);
        assert!(matches!(of("Time [s]"), Some(Times::Seconds)) && matches!(of("Time[s]"), Some(Times::Seconds)));
        assert!(matches!(of("Time"), Some(Times::Periods)) && matches!(of("nanoseconds"), Some(Times::Periods)));
        assert!(of("logic").is_none() && of("D0").is_none());
    }
}
