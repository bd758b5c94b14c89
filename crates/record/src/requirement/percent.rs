//! Shares in percent, compared and shown as they were written: 2.3 % of 3000 are 69, though `2.3 * 3000.0` is
//! 6899.999999999999.

use super::Compare;

/// More decimals are beyond what a float holds, and what the products below hold.
const MOST_PLACES: usize = 16;

/// A percentage as a decimal: so many units, each of 10 to the power of minus `places`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Percent {
    units: u128,
    places: usize,
}

impl Percent {
    /// As the shortest decimal that is this number, which is the one that was written.
    pub fn of(percent: f64) -> Self {
        let text = percent.max(0.0).to_string();
        let (whole, part) = text.split_once('.').unwrap_or((&text, ""));
        let part = &part[..part.len().min(MOST_PLACES)];
        // What is above 0 stays so.
        let least = u128::from(percent > 0.0);
        Self {
            units: format!("{whole}{part}").parse().map_or(u128::MAX, |units: u128| units.max(least)),
            places: part.len(),
        }
    }

    /// Whether the share `part` of `whole` is so much, exactly.
    pub fn is_held(self, compare: Compare, part: u64, whole: u64) -> bool {
        let share = u128::from(part).saturating_mul(100 * 10u128.pow(self.places as u32));
        compare.holds(share, self.units.saturating_mul(u128::from(whole)))
    }

    /// The share in percent, cut to `least` decimals or as many more as show on which side of the limit it is: rounded up,
    /// it would be more than it is.
    pub fn shown(self, compare: Compare, part: u64, whole: u64, least: usize) -> String {
        let held = self.is_held(compare, part, whole);
        let from = self.places.max(least).min(MOST_PLACES);
        let cut = |places: usize| u128::from(part) * 100 * 10u128.pow(places as u32) / u128::from(whole.max(1));
        let agrees = |places: &usize| {
            let limit = self.units.saturating_mul(10u128.pow((places - self.places) as u32));
            compare.holds(cut(*places), limit) == held
        };
        let places = (from..=MOST_PLACES).find(agrees).unwrap_or(from);
        let (cut, one) = (cut(places), 10u128.pow(places as u32));
        format!("{}.{:0places$}", cut / one, cut % one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn decimals_are_as_they_were_written() {
        for (percent, units, places) in
            [(2.3, 23, 1), (100.0, 100, 0), (99.99995, 9_999_995, 5), (1e-18, 1, 16), (0.0, 0, 0)]
        {
            assert_eq!(Percent::of(percent), Percent { units, places }, "{percent}");
        }
        // Few of these are floats.
        for tenths in 1..=1_000u64 {
            let percent = Percent::of(tenths as f64 / 10.0);
            for of in [1, 3, 1 << 40] {
                let (part, whole) = (tenths * of, 1_000 * of);
                let held =
                    [Compare::Less, Compare::LessOrEqual, Compare::Equal, Compare::GreaterOrEqual, Compare::Greater]
                        .map(|compare| percent.is_held(compare, part, whole));
                assert_eq!(held, [false, true, true, true, false], "{tenths} of {whole}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_on_the_side_of_the_limit_where_it_is(
            part in 0u64..1 << 40,
            more in 0u64..1 << 40,
            millionths in 0u64..=100_000_000,
        ) {
            let (percent, whole) = (millionths as f64 / 1e6, part + more.max(1));
            for compare in [Compare::Less, Compare::LessOrEqual, Compare::GreaterOrEqual, Compare::Greater] {
                let shown = Percent::of(percent).shown(compare, part, whole, 4);
                let held = Percent::of(percent).is_held(compare, part, whole);
                prop_assert_eq!(compare.holds(shown.parse::<f64>().unwrap(), percent), held, "{} of {}: {}", part, whole, shown);
            }
        }
    }
}
