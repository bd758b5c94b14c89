//! Times as people write them (`100us`, `1.5ms`, `18h`) and as tables show them. Inside, every time
//! is an integer number of nanoseconds.

use crate::{UnitError, parse_frequency};

const UNITS: [(&str, u64); 9] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("d", 86_400_000_000_000),
];

/// 2^63 ns is 292 years: beyond that, arithmetic with deadlines could overflow.
const LONGEST_NS: u64 = 9_200_000_000_000_000_000;

/// Reads a time with its unit, in nanoseconds: `250ns`, `100us`, `1.5ms`, `2s`, `10min`, `18h`, `2d`.
///
/// ```
/// use ontick_units::parse_time;
/// assert_eq!(parse_time("1.5ms"), Ok(1_500_000));
/// assert!(parse_time("100").unwrap_err().to_string().contains("unit"));
/// ```
pub fn parse_time(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    if text
        .strip_prefix('-')
        .is_some_and(|rest| rest.trim_start().starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    {
        return Err(UnitError(format!("\"{text}\" is not a time: it is negative")));
    }
    let (number, unit) = split_unit(text);
    if unit.is_empty() {
        return Err(UnitError(format!("\"{text}\" has no unit (write {text}us, {text}ms or {text}s)")));
    }
    let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale).ok_or_else(|| {
        UnitError(format!("\"{text}\" is not a time: unknown unit \"{unit}\" (use ns, us, ms, s, min, h or d)"))
    })?;
    scaled(text, number, scale)
}

/// Reads how long something goes on, in nanoseconds: as [`parse_time`], and `10m` is minutes, as nobody runs for `m` of
/// anything else.
///
/// ```
/// use ontick_units::{parse_duration, parse_time};
/// assert_eq!(parse_duration("10m"), parse_time("10min"));
/// assert!(parse_time("10m").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<u64, UnitError> {
    match text.trim().strip_suffix('m') {
        Some(number) if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.') => {
            parse_time(&format!("{number}min"))
        }
        _ => parse_time(text),
    }
}

/// Reads an interval in nanoseconds, as a time (`1ms`) or as a rate (`1kHz`).
///
/// ```
/// use ontick_units::parse_interval;
/// assert_eq!(parse_interval("1kHz"), parse_interval("1ms"));
/// ```
pub fn parse_interval(text: &str) -> Result<u64, UnitError> {
    // Whoever writes khz means a rate, too.
    if text.trim_end().to_ascii_lowercase().ends_with("hz") {
        return limited(text, 1e9 / parse_frequency(text)?);
    }
    parse_time(text)
}

fn split_unit(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    (&text[..end], text[end..].trim())
}

fn scaled(text: &str, number: &str, scale: u64) -> Result<u64, UnitError> {
    // A whole number is read as one: a float would lose the last digits above 2^53 ns.
    if let Ok(whole) = number.parse::<u64>() {
        let ns = whole.checked_mul(scale).filter(|ns| *ns < LONGEST_NS);
        return ns.ok_or_else(|| UnitError(format!("\"{text}\" is too long a time")));
    }
    let value: f64 =
        number.parse().map_err(|_| UnitError(format!("\"{text}\" is not a time such as 100us or 1.5ms")))?;
    limited(text, value * scale as f64)
}

fn limited(text: &str, ns: f64) -> Result<u64, UnitError> {
    if !ns.is_finite() || ns >= LONGEST_NS as f64 {
        return Err(UnitError(format!("\"{text}\" is too long a time")));
    }
    Ok(ns.round() as u64)
}

/// A latency as a table shows it: three significant figures and a unit, as in `41us`, `1.90ms`.
///
/// ```
/// use ontick_units::show;
/// assert_eq!([show(87), show(412), show(1_234), show(41_250), show(1_900_000)],
///            ["87ns", "412ns", "1.23us", "41.2us", "1.90ms"]);
/// ```
pub fn show(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns}ns"),
        1_000..999_500 => (ns as f64 / 1e3, "us"),
        999_500..999_500_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}{unit}")
}

/// An exact time that reads back to the same value, in the largest unit of which it is at least one and that takes up to
/// three decimals (`100us`, `1.5ms`, `12.336us`, `5s`), or more where the number would have five figures before them.
///
/// ```
/// use ontick_units::{exact, parse_time};
/// assert_eq!([exact(1_500_000), exact(2_400_000_000)], ["1.5ms", "2.4s"]);
/// assert_eq!(parse_time(&exact(1_000_000_001)), Ok(1_000_000_001));
/// ```
pub fn exact(ns: u64) -> String {
    let whole = [("h", 3_600_000_000_000), ("min", 60_000_000_000)];
    if let Some((name, unit)) = whole.into_iter().find(|(_, unit)| ns > 0 && ns % unit == 0) {
        return format!("{}{name}", ns / unit);
    }
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let reads_well = |unit: u64| ns % (unit / 1_000).max(1) == 0 && (unit..10_000 * unit).contains(&ns);
    // Decimals are read as a float, which has all digits of times below 13 days.
    let has_digits = |unit: u64| ns >= unit && (ns < 1 << 50 || ns % unit == 0);
    let chosen = units.into_iter().find(|(_, unit)| reads_well(*unit));
    let Some((name, unit)) = chosen.or_else(|| units.into_iter().find(|(_, unit)| has_digits(*unit))) else {
        return "0s".into();
    };
    let width = unit.ilog10() as usize;
    let decimals = format!("{:0width$}", ns % unit);
    let number = format!("{}.{decimals}", ns / unit);
    format!("{}{name}", number.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_wrong_is_said() {
        for (text, word) in [
            ("", "unit"),
            ("5", "unit"),
            ("5 parsecs", "parsecs"),
            ("1.2.3ms", "not a time"),
            ("ms", "not a time"),
            ("999999999d", "too long"),
            ("106482d", "too long"),
            ("99999999999999999999ns", "too long"),
            ("99999999999999999999.9h", "too long"),
            ("0Hz", "above zero"),
            ("1khz", "not a rate such as 1kHz"),
            ("-1ms", "\"-1ms\" is not a time: it is negative"),
            (" - .5 ms", "negative"),
            ("-1", "negative"),
            ("-ms", "unknown unit"),
        ] {
            let error = parse_interval(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }

    #[test]
    fn minutes_are_short_where_something_goes_on() {
        assert_eq!((parse_duration(" 1.5m "), parse_duration("90s")), (Ok(90_000_000_000), Ok(90_000_000_000)));
        for text in ["m", "10 m", "xm", "10", "-10m"] {
            assert_eq!(parse_duration(text), parse_time(text));
        }
        // Of a period it may be thousandths of something.
        let error = parse_interval("1m").unwrap_err().to_string();
        assert!(error.contains("ms, s, min"), "{error}");
    }

    #[test]
    fn a_latency_is_shown_with_three_figures_and_its_unit() {
        for (ns, shown) in [
            (0, "0ns"),
            (999, "999ns"),
            (1_000, "1.00us"),
            (9_994, "9.99us"),
            (9_996, "10.0us"),
            (41_250, "41.2us"),
            (99_940, "99.9us"),
            (99_960, "100us"),
            (999_499, "999us"),
            (999_500, "1.00ms"),
            (1_900_000, "1.90ms"),
            (999_499_999, "999ms"),
            (999_500_000, "1.00s"),
            (12_340_000_000, "12.3s"),
            (4_321_000_000_000, "4321s"),
        ] {
            assert_eq!(show(ns), shown, "{ns}");
        }
    }

    #[test]
    fn an_exact_time_has_the_largest_unit_that_fits() {
        for (ns, shown) in [
            (0, "0s"),
            (7, "7ns"),
            (999, "999ns"),
            (1_000, "1us"),
            (1_001, "1.001us"),
            (12_340, "12.34us"),
            (9_999_999, "9999.999us"),
            (10_000_001, "10.000001ms"),
            (3_000_000, "3ms"),
            (1_500_000, "1.5ms"),
            (2_667_000, "2.667ms"),
            (1_234_567_000, "1234.567ms"),
            (12_345_678_000, "12.345678s"),
            (2_400_000_000, "2.4s"),
            (9_999_999_000_000, "9999.999s"),
            (10_000_001_000_000, "10000.001s"),
            (1_000_003_680, "1.00000368s"),
            (20_001_000_000_000, "20001s"),
            (1 << 50, "1125899906842624ns"),
            (5_000_000_000, "5s"),
            (5_400_000_000_000, "90min"),
            (61_000_000_000, "61s"),
            (120_000_000_000, "2min"),
            (3_660_000_000_000, "61min"),
            (7_200_000_000_000, "2h"),
        ] {
            assert_eq!(exact(ns), shown, "{ns}");
        }
    }

    #[test]
    fn each_unit_has_its_length_and_each_rate_its_period() {
        for (text, ns) in [
            ("3ns", 3),
            ("3us", 3_000),
            ("3µs", 3_000),
            (" 1.5 ms ", 1_500_000),
            ("2s", 2_000_000_000),
            ("2min", 120_000_000_000),
            ("2h", 7_200_000_000_000),
            ("2d", 172_800_000_000_000),
            ("0.4ns", 0),
            ("50Hz", 20_000_000),
            ("4kHz", 250_000),
            ("2.5MHz", 400),
        ] {
            assert_eq!(parse_interval(text), Ok(ns), "{text}");
        }
        // The last whole day before the longest time.
        assert!(parse_time("106481d").is_ok());
        assert!(parse_time("9199999999999999999ns").is_ok() && parse_time("9200000000000000000ns").is_err());
        assert!(parse_time("9200000000.0s").is_err() && parse_interval("0.0000000001Hz").is_err());
    }

    proptest! {
        #[test]
        fn exact_reads_back(ns in 0u64..LONGEST_NS, short in 0u64..20_000_000) {
            prop_assert_eq!(parse_time(&exact(ns)), Ok(ns));
            prop_assert_eq!(parse_time(&exact(short)), Ok(short));
            prop_assert_eq!(parse_time(&exact(ns % (1 << 50))), Ok(ns % (1 << 50)));
        }

        #[test]
        fn any_text_is_answered(text in ".{0,24}") {
            let _ = parse_interval(&text);
        }
    }
}
