//! Widths of pulses as people read them.

use ontick_record::{Run, Series};

use crate::headline::plain;
use crate::number::count;

/// Whether a run made pulses.
pub(crate) fn has_pulses(run: &Run) -> bool {
    run.series.iter().any(|series| series.pulse.is_some())
}

/// A width in µs, so fine that an error of tens of ns is seen, and so coarse that it can be read: `100.31`,
/// `10 005.2`.
pub(crate) fn micros(ns: u64) -> String {
    let (digits, step_ns) = if ns < 1_000_000 { (2, 10) } else { (1, 100) };
    let steps = (ns + step_ns / 2) / step_ns;
    let per_us = 1_000 / step_ns;
    format!("{}.{:0digits$}", count(steps / per_us), steps % per_us)
}

/// What calibration subtracted from a series.
pub(crate) fn subtracted(series: &Series) -> Option<String> {
    let ns = series.pulse.as_ref()?.subtracted_ns?;
    let sign = if ns < 0 { "added" } else { "subtracted" };
    Some(format!("{}: {} {sign}.", series.name, plain(ns.unsigned_abs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_show_what_matters_of_them() {
        let shown = [0, 99_995, 100_309, 999_994, 10_005_249, 1_000_000_000].map(micros);
        assert_eq!(shown, ["0.00", "100.00", "100.31", "999.99", "10 005.2", "1 000 000.0"]);
    }
}
