//! The board's records as a series.

use ontick_record::histogram::Bucket;
use ontick_record::{Histogram, Series};

use super::board::BoardReport;
use crate::track::Track;

/// Width of a cell, in ns.
const CELL_NS: u64 = 1_000;

/// The series with what the board reported.
pub fn of(reported: &BoardReport, series: Series) -> Series {
    let mut track = Track::default();
    reported.bulks.iter().for_each(|bulk| track.push(bulk.max_ns.into()));
    Series {
        latency: latency(reported),
        missed: reported.bulks.iter().map(|bulk| u64::from(bulk.overruns)).sum(),
        maxima: track.into_maxima(),
        ..series
    }
}

/// The cells, with the exact figures of the records. The board counts the samples of its first second in the cells
/// only, so a cell may lie outside what the records tell.
fn latency(reported: &BoardReport) -> Histogram {
    let samples: u64 = reported.bulks.iter().map(|bulk| u64::from(bulk.samples)).sum();
    let sum_ns: u64 = reported.bulks.iter().fold(0, |sum, bulk| sum.saturating_add(bulk.sum_ns));
    let min_ns = reported.bulks.iter().map(|bulk| u64::from(bulk.min_ns)).min();
    let max_ns = reported.bulks.iter().map(|bulk| u64::from(bulk.max_ns)).max();
    let mean_ns = (samples > 0).then(|| sum_ns as f64 / samples as f64);

    // The last cell has all that were longer.
    let (last, cells) = reported.cells.split_last().map_or((0, &[][..]), |(last, cells)| (*last, cells));
    let ends_ns = cells.len() as u64 * CELL_NS;
    let rows = (0..).map(|i| i * CELL_NS).zip(cells);
    let mut latency =
        Histogram::from_buckets(rows.map(|(low_ns, n)| Bucket { low_ns, width_ns: CELL_NS, count: u64::from(*n) }));
    // Without cells, of a board that fell silent, only the records' figures are known.
    latency.overflow = if reported.cells.is_empty() { samples } else { last.into() };
    let (lowest, highest) = (latency.buckets().first().copied(), latency.buckets().last().copied());
    latency.min_ns = match (min_ns, lowest) {
        (Some(min_ns), Some(lowest)) if lowest.high_ns() < min_ns => Some(lowest.low_ns),
        (min_ns, _) => min_ns,
    };
    latency.max_ns = match (max_ns, highest) {
        (Some(max_ns), _) if last > 0 && max_ns < ends_ns => None,
        (Some(max_ns), Some(highest)) if highest.low_ns > max_ns => Some(highest.high_ns()),
        (max_ns, _) => max_ns,
    };
    latency.mean_ns = mean_ns;
    latency
}

#[cfg(test)]
mod tests {
    use super::super::message::Bulk;
    use super::*;

    fn reported(cells: &[(usize, u32)], bulks: &[Bulk]) -> BoardReport {
        let mut all = vec![0; 10];
        cells.iter().for_each(|(i, n)| all[*i] = *n);
        BoardReport { bulks: bulks.to_vec(), cells: all, problem: None }
    }

    const BULK: Bulk = Bulk { sum_ns: 9_300, min_ns: 2_100, max_ns: 3_900, overruns: 1, samples: 3 };

    #[test]
    fn exact_figures_stand_where_the_cells_agree() {
        let series = of(&reported(&[(2, 1), (3, 2)], &[BULK, BULK]), Series::default());
        let latency = &series.latency;
        assert_eq!((latency.min_ns, latency.max_ns, latency.mean_ns), (Some(2_100), Some(3_900), Some(3_100.0)));
        assert_eq!((latency.count(), series.missed, series.maxima.max_ns.len()), (3, 2, 2));
        assert_eq!(latency.quantile(0.3), Some(2_999));
    }

    #[test]
    fn what_only_the_cells_know_is_not_hidden() {
        let warm = of(&reported(&[(1, 1), (3, 2), (7, 1)], &[BULK]), Series::default()).latency;
        assert_eq!((warm.min_ns, warm.max_ns), (Some(1_000), Some(7_999)));
        let beyond = of(&reported(&[(3, 2), (9, 1)], &[BULK]), Series::default()).latency;
        assert_eq!((beyond.overflow, beyond.max_ns, beyond.count()), (1, None, 3));
        let long = Bulk { max_ns: 800_000, sum_ns: 900_000, ..BULK };
        assert_eq!(of(&reported(&[(3, 2), (9, 1)], &[long]), Series::default()).latency.max_ns, Some(800_000));
    }

    #[test]
    fn without_cells_there_are_no_percentiles() {
        let silent = BoardReport { bulks: vec![BULK], cells: Vec::new(), problem: Some("gone".into()) };
        let latency = of(&silent, Series::default()).latency;
        assert_eq!((latency.count(), latency.max_ns, latency.quantile(0.5)), (3, Some(3_900), None));
    }
}
