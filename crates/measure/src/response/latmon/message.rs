//! What goes over the wire. All numbers are big-endian.
//!
//! | who | bytes | fields |
//! |---|---|---|
//! | to the board | 8 | period in µs (u32; 0: stop), cells of the histogram (u32) |
//! | from the board | 24 | sum of latencies in ns (i64), least and largest in ns (i32 each), overruns (u32), samples (u32) |
//! | at the end | 4 × cells | samples of each µs (u32); the last cell has all that were longer |

/// Cells of the largest histogram that the board keeps, each of 1 µs.
pub const CELLS: u32 = 1000;

/// Asks the board to measure every `period_us`, and to keep a histogram.
pub fn start(period_us: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&period_us.to_be_bytes());
    bytes[4..].copy_from_slice(&CELLS.to_be_bytes());
    bytes
}

/// Asks it to stop and to send its histogram.
pub const STOP: [u8; 8] = [0; 8];

/// What the board saw in about a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bulk {
    pub sum_ns: u64,
    pub min_ns: u32,
    pub max_ns: u32,
    /// Answers that did not come in time.
    pub overruns: u32,
    pub samples: u32,
}

impl Bulk {
    pub const BYTES: usize = 24;

    /// Reads one; `None` where its figures contradict each other, so that it cannot be one.
    pub fn read(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let word = |i: usize| u32::from_be_bytes([bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]]);
        let sum_ns = u64::from(word(0)) << 32 | u64::from(word(4));
        let bulk = Self { sum_ns, min_ns: word(8), max_ns: word(12), overruns: word(16), samples: word(20) };
        bulk.holds().then_some(bulk)
    }

    fn holds(&self) -> bool {
        let least = u64::from(self.min_ns) * u64::from(self.samples);
        let most = u64::from(self.max_ns) * u64::from(self.samples);
        self.is_last() || (self.min_ns <= self.max_ns && (least..=most).contains(&self.sum_ns))
    }

    /// After this comes the histogram.
    pub fn is_last(&self) -> bool {
        self.samples == 0
    }
}

/// The histogram's cells.
pub fn cells(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|cell| u32::from_be_bytes([cell[0], cell[1], cell[2], cell[3]])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_stand_where_the_board_puts_them() {
        assert_eq!(start(1000), [0, 0, 0x03, 0xe8, 0, 0, 0x03, 0xe8]);
        let mut bytes = [0; Bulk::BYTES];
        for (field, value) in [(0, 1u32), (1, 705_032_704), (2, 5_000_000), (3, 6_000_000), (4, 7), (5, 1000)] {
            bytes[field * 4..field * 4 + 4].copy_from_slice(&value.to_be_bytes());
        }
        let bulk = Bulk::read(&bytes).unwrap();
        let wanted = Bulk { sum_ns: 5_000_000_000, min_ns: 5_000_000, max_ns: 6_000_000, overruns: 7, samples: 1000 };
        assert_eq!(bulk, wanted);
        assert_eq!(cells(&[0, 0, 0, 9, 0, 0, 1, 0]), [9, 256]);
    }

    #[test]
    fn what_contradicts_itself_is_no_bulk() {
        assert_eq!(Bulk::read(b"HTTP/1.1 400 Bad Request"), None);
        assert!(Bulk::read(&[0; 24]).unwrap().is_last());
        let mut over = [0; 24];
        (over[7], over[11], over[15], over[23]) = (100, 1, 9, 10);
        assert_eq!(Bulk::read(&over), None, "ten of at most 9 ns are not 100 ns");
    }
}
