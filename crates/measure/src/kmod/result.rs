//! What a job recorded in the kernel.

use std::fs::File;

use ontick_record::Histogram;
use ontick_record::histogram::Bucket;

use super::{Error, abi, call};

/// What a job recorded in the kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// Widths of pulses, or from an interrupt to its answer.
    pub histogram: Histogram,
    /// Pulses left out, or edges that had no answer of their own.
    pub missed: u64,
    /// Why it ended before its time, as an errno.
    pub error: Option<i32>,
}

pub fn summary(file: &File) -> Result<Summary, Error> {
    let mut cells = Box::new([0; abi::CELLS]);
    let result = call::result(file, &mut cells).map_err(Error::Device)?;
    Ok(of(&result, &cells))
}

fn of(result: &abi::Result, cells: &[u64; abi::CELLS]) -> Summary {
    let filled = (0..).zip(cells).filter(|(_, count)| **count > 0);
    let mut histogram = Histogram::from_buckets(filled.map(|(cell, count)| Bucket { count: *count, ..bucket(cell) }));
    if result.count > 0 {
        histogram.min_ns = Some(result.min_ns);
        histogram.max_ns = Some(result.max_ns);
        histogram.mean_ns = Some(result.sum_ns as f64 / result.count as f64);
    }
    let error = (result.error > 0).then_some(result.error as i32);
    Summary { histogram, missed: result.missed, error }
}

/// The values of a cell (`kmod/uapi/ontick.h`).
fn bucket(cell: u64) -> Bucket {
    const OCTAVE: u64 = 32;
    match cell.checked_sub(OCTAVE) {
        None => Bucket { low_ns: cell, width_ns: 1, count: 0 },
        Some(above) => {
            let shift = above / OCTAVE;
            Bucket { low_ns: (OCTAVE + cell % OCTAVE) << shift, width_ns: 1 << shift, count: 0 }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_follow_one_another_without_a_gap() {
        let all: Vec<Bucket> = (0..abi::CELLS as u64).map(bucket).collect();
        assert_eq!((all[0].low_ns, all[31].low_ns, all[32].low_ns, all[63].low_ns), (0, 31, 32, 63));
        assert_eq!((all[64].low_ns, all[64].width_ns), (64, 2));
        assert!(all.windows(2).all(|pair| pair[0].low_ns + pair[0].width_ns == pair[1].low_ns));
        // The header's own words.
        for (cell, bucket) in (32..).zip(&all[32..]) {
            for value in [bucket.low_ns, bucket.low_ns + bucket.width_ns - 1] {
                assert_eq!(value >> (cell / 32 - 1), 32 + cell % 32);
            }
        }
    }

    #[test]
    fn counters_are_a_histogram_with_exact_ends() {
        let mut cells = [0; abi::CELLS];
        (cells[5], cells[64], cells[70]) = (1, 2, 1);
        let result = abi::Result { count: 4, missed: 3, min_ns: 5, max_ns: 77, sum_ns: 212, ..abi::Result::default() };
        let summary = of(&result, &cells);
        assert_eq!((summary.histogram.count(), summary.missed, summary.error), (4, 3, None));
        assert_eq!((summary.histogram.min_ns, summary.histogram.max_ns), (Some(5), Some(77)));
        assert_eq!(summary.histogram.mean_ns, Some(53.0));
        let failed = abi::Result { error: 19, ..abi::Result::default() };
        assert_eq!(of(&failed, &[0; abi::CELLS]).error, Some(19));
    }
}
