//! Frequencies (`50Hz`) and rates of a link (`2.5Gbit`).

use crate::UnitError;

const FREQUENCIES: [(&str, f64); 3] = [("MHz", 1e6), ("kHz", 1e3), ("Hz", 1.0)];

/// Units of a link's rate.
const BIT_RATES: [(&str, u64); 4] = [("Gbit", 1_000_000_000), ("Mbit", 1_000_000), ("kbit", 1_000), ("bit", 1)];
/// No link is faster, in bits per second: terabit Ethernet is far away.
pub const FASTEST_LINK: u64 = 10_000_000_000_000;

/// Reads a frequency above zero, in hertz: `50Hz`, `1.5kHz`, `1MHz`.
///
/// ```
/// use ontick_units::parse_frequency;
/// assert_eq!(parse_frequency("1.5kHz"), Ok(1_500.0));
/// assert!(parse_frequency("0Hz").is_err());
/// ```
pub fn parse_frequency(text: &str) -> Result<f64, UnitError> {
    let wrong = || UnitError(format!("\"{text}\" is not a rate such as 1kHz"));
    let trimmed = text.trim();
    let unit = FREQUENCIES.iter().find_map(|(unit, factor)| Some((trimmed.strip_suffix(unit)?, factor)));
    let (number, factor) = unit.ok_or_else(wrong)?;
    let number: f64 = number.trim_end().parse().map_err(|_| wrong())?;
    match number * factor {
        hertz if hertz.is_finite() && hertz > 0.0 => Ok(hertz),
        _ => Err(UnitError(format!("\"{text}\" is not a rate above zero"))),
    }
}

/// Reads the rate of a link, in bits per second: `1Gbit`, `2.5Gbit`, `100Mbit`.
///
/// ```
/// use ontick_units::{parse_bit_rate, show_bit_rate};
/// assert_eq!(parse_bit_rate("2.5Gbit"), Ok(2_500_000_000));
/// assert_eq!(show_bit_rate(2_500_000_000), "2.5Gbit");
/// ```
pub fn parse_bit_rate(text: &str) -> Result<u64, UnitError> {
    let wrong = || UnitError(format!("\"{text}\" is not a rate such as 100Mbit, 1Gbit or 2.5Gbit"));
    let unit = BIT_RATES.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?.trim_end(), *scale)));
    let (number, scale) = unit.ok_or_else(wrong)?;
    match decimal(number, scale).ok_or_else(wrong)? {
        0 => Err(UnitError(format!("\"{text}\": a rate is above zero"))),
        bits if bits > FASTEST_LINK => Err(UnitError(format!("\"{text}\" is faster than any link"))),
        bits => Ok(bits),
    }
}

/// A decimal fraction times a power of ten, where that is a whole number.
fn decimal(number: &str, scale: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return None;
    }
    let parts = fraction.parse::<u64>().ok()?.checked_mul(scale)?;
    let divisor = 10u64.pow(fraction.len() as u32);
    let parts = (parts % divisor == 0).then_some(parts / divisor)?;
    whole.parse::<u64>().ok()?.checked_mul(scale)?.checked_add(parts)
}

/// A rate of a link in its shortest exact form, which [`parse_bit_rate`] reads: `2.5Gbit`.
pub fn show_bit_rate(bits: u64) -> String {
    let half = |scale: u64| bits > scale && bits % (scale / 10) == 0;
    match bits {
        n if n % 1_000_000_000 == 0 => format!("{}Gbit", n / 1_000_000_000),
        n if half(1_000_000_000) => format!("{}.{}Gbit", n / 1_000_000_000, n % 1_000_000_000 / 100_000_000),
        n if n % 1_000_000 == 0 => format!("{}Mbit", n / 1_000_000),
        n if n % 1_000 == 0 => format!("{}kbit", n / 1_000),
        n => format!("{n}bit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frequency_has_a_unit_and_is_above_zero() {
        assert_eq!([" 50 Hz ", "1.5kHz", "1MHz"].map(parse_frequency), [Ok(50.0), Ok(1_500.0), Ok(1e6)]);
        for (text, word) in [
            ("", "not a rate such as"),
            ("50", "not a rate such as"),
            ("kHz", "not a rate such as"),
            ("fastHz", "not a rate such as"),
            ("0Hz", "above zero"),
            ("-1kHz", "above zero"),
            ("infMHz", "above zero"),
            ("nanHz", "above zero"),
            ("1e308MHz", "above zero"),
        ] {
            let error = parse_frequency(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_bit_rate_is_a_whole_number_of_bits_up_to_the_fastest() {
        for (text, bits) in [
            ("1bit", 1),
            ("9.6kbit", 9_600),
            ("100Mbit", 100_000_000),
            ("2.5 Gbit", 2_500_000_000),
            ("0.000000001Gbit", 1),
            ("10000Gbit", FASTEST_LINK),
        ] {
            assert_eq!(parse_bit_rate(text), Ok(bits), "{text}");
        }
        for (text, word) in [
            ("", "not a rate"),
            ("100", "not a rate"),
            ("1Gb", "not a rate"),
            ("1.Gbit", "not a rate"),
            (".5Gbit", "not a rate"),
            ("-1Mbit", "not a rate"),
            ("1e3Mbit", "not a rate"),
            ("0.5bit", "not a rate"),
            ("0.0000000001Gbit", "not a rate"),
            ("99999999999999999999Gbit", "not a rate"),
            ("0Mbit", "above zero"),
            ("10000.1Gbit", "faster than any link"),
        ] {
            let error = parse_bit_rate(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }

    #[test]
    fn a_bit_rate_is_shown_with_the_largest_unit_that_is_exact() {
        for (bits, shown) in [
            (1, "1bit"),
            (9_600, "9600bit"),
            (64_000, "64kbit"),
            (1_000_000, "1Mbit"),
            (100_000_000, "100Mbit"),
            (900_000_000, "900Mbit"),
            (2_500_000_000, "2.5Gbit"),
            (2_550_000_000, "2550Mbit"),
            (10_000_000_000, "10Gbit"),
        ] {
            assert_eq!(show_bit_rate(bits), shown);
        }
    }

    proptest! {
        #[test]
        fn a_bit_rate_reads_back(bits in 1..=FASTEST_LINK, tenths in 1u64..100_000) {
            prop_assert_eq!(parse_bit_rate(&show_bit_rate(bits)), Ok(bits));
            prop_assert_eq!(parse_bit_rate(&show_bit_rate(tenths * 100_000_000)), Ok(tenths * 100_000_000));
        }

        #[test]
        fn any_text_is_answered(text in "[0-9.eE+-]{0,12} ?(bit|kbit|Mbit|Gbit|Hz|kHz|MHz)?|.{0,16}") {
            let _ = parse_bit_rate(&text);
            let _ = parse_frequency(&text);
        }
    }
}
