//! What is kept of a stretch of time of one series: 40 bytes, with a checksum.

use ontick_record::Histogram;

use crate::series::SeriesId;

/// Bytes of a row in a file.
pub const LENGTH: usize = 40;

/// What a stretch of time brought of one series.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Row {
    /// When it began, in seconds since 1970.
    pub at: u32,
    /// The series.
    pub series: SeriesId,
    /// Samples.
    pub samples: u32,
    /// Periods that passed without a sample.
    pub missed: u32,
    /// The latency that half of the samples do not exceed, in ns; at most 4.29 s.
    pub p50_ns: u32,
    /// The latency that 99 % of the samples do not exceed, in ns; at most 4.29 s.
    pub p99_ns: u32,
    /// The largest latency, in ns.
    pub max_ns: u64,
    /// What the hypervisor took from all CPUs meanwhile, in ms.
    pub steal_ms: u32,
}

impl Row {
    /// The figures of a histogram.
    pub fn of(at: u32, series: SeriesId, latency: &Histogram, missed: u64, steal_ns: u64) -> Self {
        let quantile = |q| latency.quantile(q).map_or(0, clamped);
        Self {
            at,
            series,
            samples: clamped(latency.count()),
            missed: clamped(missed),
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            max_ns: latency.max_ns.unwrap_or(0),
            steal_ms: clamped(steal_ns / 1_000_000),
        }
    }

    /// One row for two. A percentile is the larger of both: it is never better than it was.
    pub fn joined(self, other: Self) -> Self {
        Self {
            at: self.at.min(other.at),
            series: self.series,
            samples: self.samples.saturating_add(other.samples),
            missed: self.missed.saturating_add(other.missed),
            p50_ns: self.p50_ns.max(other.p50_ns),
            p99_ns: self.p99_ns.max(other.p99_ns),
            max_ns: self.max_ns.max(other.max_ns),
            steal_ms: self.steal_ms.saturating_add(other.steal_ms),
        }
    }

    /// As it is in a file.
    pub fn bytes(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[0..4].copy_from_slice(&self.at.to_le_bytes());
        bytes[4..6].copy_from_slice(&self.series.code().to_le_bytes());
        bytes[8..12].copy_from_slice(&self.samples.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.missed.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.p50_ns.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.p99_ns.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.max_ns.to_le_bytes());
        bytes[32..36].copy_from_slice(&self.steal_ms.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..36]);
        bytes[36..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// A row out of a file; none if its checksum is wrong.
    pub fn read(bytes: &[u8; LENGTH]) -> Option<Self> {
        let word = |from: usize| u32::from_le_bytes(bytes[from..from + 4].try_into().expect("four bytes"));
        (crc32fast::hash(&bytes[..36]) == word(36)).then(|| Self {
            at: word(0),
            series: SeriesId::of_code(u16::from_le_bytes([bytes[4], bytes[5]])),
            samples: word(8),
            missed: word(12),
            p50_ns: word(16),
            p99_ns: word(20),
            max_ns: u64::from(word(24)) | u64::from(word(28)) << 32,
            steal_ms: word(32),
        })
    }
}

fn clamped(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_is_read_as_it_was_written(
            (at, code, samples, missed) in any::<(u32, u16, u32, u32)>(),
            (p50_ns, p99_ns, max_ns, steal_ms) in any::<(u32, u32, u64, u32)>(),
            damaged in 0..LENGTH,
            by in 1u8..,
        ) {
            let series = SeriesId::of_code(code);
            let row = Row { at, series, samples, missed, p50_ns, p99_ns, max_ns, steal_ms };
            let mut bytes = row.bytes();
            prop_assert_eq!(Row::read(&bytes), Some(row));
            bytes[damaged] ^= by;
            prop_assert_eq!(Row::read(&bytes), None);
        }
    }

    #[test]
    fn of_two_rows_the_worse_figures_count() {
        let a = Row {
            at: 60,
            series: SeriesId::Cpu(1),
            samples: 5,
            missed: 1,
            p50_ns: 9,
            p99_ns: 20,
            max_ns: 50,
            steal_ms: 1,
        };
        let b = Row {
            at: 30,
            series: SeriesId::Cpu(1),
            samples: 7,
            missed: 2,
            p50_ns: 3,
            p99_ns: 40,
            max_ns: 40,
            steal_ms: 2,
        };
        let both = Row {
            at: 30,
            series: SeriesId::Cpu(1),
            samples: 12,
            missed: 3,
            p50_ns: 9,
            p99_ns: 40,
            max_ns: 50,
            steal_ms: 3,
        };
        assert_eq!((a.joined(b), b.joined(a)), (both, both));
    }
}
