//! Times of a table, all in one unit and with as many decimals.

use ontick_record::Histogram;

use crate::number::count;

/// The unit of a table's times, and their decimals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    /// What it is called.
    pub unit: &'static str,
    ns: u64,
    digits: usize,
}

/// From fine to coarse.
const FORMS: [Times; 10] = [
    Times { unit: "us", ns: 1_000, digits: 3 },
    Times { unit: "us", ns: 1_000, digits: 2 },
    Times { unit: "us", ns: 1_000, digits: 1 },
    Times { unit: "ms", ns: 1_000_000, digits: 4 },
    Times { unit: "s", ns: 1_000_000_000, digits: 7 },
    Times { unit: "s", ns: 1_000_000_000, digits: 6 },
    Times { unit: "s", ns: 1_000_000_000, digits: 4 },
    Times { unit: "s", ns: 1_000_000_000, digits: 3 },
    Times { unit: "s", ns: 1_000_000_000, digits: 2 },
    Times { unit: "s", ns: 1_000_000_000, digits: 0 },
];

impl Times {
    /// So wide a time is at most, up to a million seconds.
    pub const WIDTH: usize = 10;

    /// Of the times of these, from the shortest to the longest: to the nanosecond if all are below 10 us, so fine that an error of
    /// tens of ns is seen of what is below 1 ms, and so coarse that the longest fits.
    pub fn of<'a>(all: impl Iterator<Item = &'a Histogram> + Clone) -> Self {
        let (shortest, longest) = (all.clone().filter_map(|of| of.min_ns).min(), all.filter_map(|of| of.max_ns).max());
        let from = match (shortest.or(longest), longest) {
            (Some(1_000_000..), _) => 2,
            (_, Some(..10_000)) => 0,
            _ => 1,
        };
        let fits = |form: &&Self| form.show(longest).len() <= form.room();
        *FORMS[from..].iter().find(fits).unwrap_or(&FORMS[FORMS.len() - 1])
    }

    /// The same in us however long they are: `100.31`, or `10 005.2`.
    pub fn micros<'a>(all: impl Iterator<Item = &'a Histogram> + Clone) -> Self {
        let of = Self::of(all);
        if FORMS[..2].contains(&of) { of } else { FORMS[2] }
    }

    /// Characters that the longest may have; beyond 100 ms nobody reads the second decimal of microseconds.
    fn room(self) -> usize {
        if self == FORMS[1] { Self::WIDTH - 1 } else { Self::WIDTH }
    }

    /// A time of the table, rounded; a dash where it is not known.
    pub fn show(self, ns: Option<u64>) -> String {
        ns.map_or_else(|| "—".into(), |ns| self.shown(ns))
    }

    fn shown(self, ns: u64) -> String {
        let per_unit = 10u64.pow(self.digits as u32);
        let step_ns = self.ns / per_unit;
        let steps = ns / step_ns + u64::from(ns % step_ns >= step_ns.div_ceil(2));
        match self.digits {
            0 => count(steps),
            digits => format!("{}.{:0digits$}", count(steps / per_unit), steps % per_unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times_ns: &[u64]) -> Times {
        let mut all = Histogram::default();
        times_ns.iter().for_each(|ns| all.add(*ns, 1, 1));
        Times::of([all].iter())
    }

    #[test]
    fn a_table_shows_what_matters_of_its_times() {
        let shown = [9, 9_999, 10_004, 99_995, 100_309, 999_994, 999_995, 10_005_249, 999_999_949]
            .map(|ns| of(&[ns]).shown(ns));
        assert_eq!(
            shown,
            ["0.009", "9.999", "10.00", "100.00", "100.31", "999.99", "1 000.00", "10 005.2", "999 999.9"]
        );
        // All have as many decimals.
        assert_eq!([999_996, 1_000_950].map(|ns| of(&[999_996, 1_000_950]).shown(ns)), ["1 000.00", "1 000.95"]);
        assert_eq!((of(&[]).show(None), of(&[10, 100_000_000]).shown(10)), ("—".into(), "0.0".into()));
    }

    #[test]
    fn long_times_take_a_longer_unit() {
        for (ns, shown, unit) in [
            (999_999_950, "1 000.0000", "ms"),
            (1_000_000_123, "1 000.0001", "ms"),
            (60_000_000_000, "60.0000000", "s"),
            (3_600_000_000_000, "3 600.0000", "s"),
            (86_400_000_000_000, "86 400.000", "s"),
            (1_000_000_000_000_000, "1 000 000", "s"),
        ] {
            assert_eq!((of(&[ns]).shown(ns).as_str(), of(&[ns]).unit), (shown, unit));
            assert!(shown.len() <= Times::WIDTH);
        }
        assert_eq!(of(&[u64::MAX]).shown(u64::MAX), "18 446 744 074");
    }
}
