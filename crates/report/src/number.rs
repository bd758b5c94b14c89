//! Counts and shares as people read them. A share is always rounded down: 999 999 of 1 000 000 is
//! never shown as 100 %.

use ontick_units::show;
pub(crate) use ontick_units::{count, counted};

/// A time without the zeros that a table needs: `61us`, `5s`, `1.5ms`.
pub(crate) fn plain(ns: u64) -> String {
    let shown = show(ns);
    let unit = shown.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(shown.len());
    let (number, unit) = shown.split_at(unit);
    let number = if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
    format!("{number}{unit}")
}

/// `part` of `whole` in percent with so many decimals, rounded down and without the sign: `99.91`.
pub(crate) fn percent_down(part: u64, whole: u64, decimals: u32) -> String {
    let scale = 10u128.pow(decimals);
    let scaled = u128::from(part) * 100 * scale / u128::from(whole.max(1));
    match decimals {
        0 => scaled.to_string(),
        _ => format!("{}.{:0width$}", scaled / scale, scaled % scale, width = decimals as usize),
    }
}

/// Decimals at which `part` of `whole` does not look like 100 percent, two at least and six at most.
pub(crate) fn decimals_needed(part: u64, whole: u64) -> u32 {
    let missing = u128::from(whole.saturating_sub(part));
    (2..6).find(|d| missing * 100 * 10u128.pow(*d) >= u128::from(whole)).unwrap_or(if missing == 0 { 2 } else { 6 })
}

/// A share from 0 to 1 in percent, rounded down: `99.90`.
pub(crate) fn probability_down(p: f64, decimals: u32) -> String {
    let scale = 10f64.powi(decimals as i32);
    format!("{:.*}", decimals as usize, (p.clamp(0.0, 1.0) * 100.0 * scale).floor() / scale)
}

/// How many times as large, in up to three figures: `×0.0003`, `×0.006`, `×1.25`, `×48.0`, `×1200`.
pub(crate) fn times(ratio: f64) -> String {
    let decimals = match ratio {
        r if !r.is_finite() => return "—".into(),
        r if r >= 99.95 => 0,
        r if r >= 9.995 => 1,
        r if r >= 0.0995 => 2,
        r if r >= 0.00095 || r <= 0.0 => 3,
        r => (-r.log10()).ceil() as usize,
    };
    format!("×{ratio:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nearly_all_is_not_all() {
        let shown = |part, whole| percent_down(part, whole, decimals_needed(part, whole));
        assert_eq!(shown(99_991, 100_000), "99.991");
        assert_eq!(shown(999_976, 1_000_000), "99.997");
        assert_eq!(shown(u64::MAX - 1, u64::MAX), "99.999999");
        assert_eq!(shown(7, 7), "100.00");
        assert_eq!(shown(0, 0), "0.00");
        assert_eq!(probability_down(0.99999999, 2), "99.99");
    }

    #[test]
    fn ratios_keep_three_figures() {
        let ratios = [0.0061, 0.25, 1.0, 12.34, 1234.0, f64::INFINITY].map(times);
        assert_eq!(ratios, ["×0.006", "×0.25", "×1.00", "×12.3", "×1234", "—"]);
        let small = [0.000_94, 0.000_31, 0.000_049, 1e-9, 0.0].map(times);
        assert_eq!(small, ["×0.0009", "×0.0003", "×0.00005", "×0.000000001", "×0.000"]);
    }

    proptest! {
        #[test]
        fn a_share_is_never_flattered(part in 0u64..1 << 50, more in 1u64..1 << 50) {
            let whole = part + more;
            let text = percent_down(part, whole, decimals_needed(part, whole));
            prop_assert!(text.parse::<f64>().unwrap() < 100.0);
            prop_assert!(text.parse::<f64>().unwrap() <= part as f64 / whole as f64 * 100.0 + 1e-9);
        }
    }
}
