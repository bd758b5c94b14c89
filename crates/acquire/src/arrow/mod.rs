//! Samples as Arrow IPC, which pandas, polars and many others open.
//!
//! One row per sample. Gaps are reported in the row after them, as counts by reason, so that nothing is lost silently
//! and no row is made up:
//!
//! | column | type |
//! |---|---|
//! | `number` | uint64 |
//! | `time` | timestamp in ns, UTC: TAI less the leap seconds that the kernel knew of |
//! | `tai_ns`, `monotonic_ns`, `latency_ns` | uint64 |
//! | `missed_late`, `missed_ring_full`, `missed_slow_client` | uint64: samples missing right before this one |
//! | each channel | float64 in its unit; int64 where the value is a plain number (scale 1, offset 0) |
//!
//! The unit, scale and offset of a channel are in its field's metadata, all of them as JSON in the schema's.

mod read;
mod rows;
mod schema;

pub use read::{Recording, read};
pub use rows::Rows;
pub use schema::table;

use crate::Channel;

/// The columns before the channels.
const FIXED: [&str; 8] =
    ["number", "time", "tai_ns", "monotonic_ns", "latency_ns", "missed_late", "missed_ring_full", "missed_slow_client"];
/// Of these, the first that counts missing samples; they are in the order of [`Why::ALL`](crate::format::Why::ALL).
const MISSED: usize = 5;
/// The schema's metadata that has the channels as JSON.
const DESCRIPTION: &str = "ontick";

/// Whether a channel's values are what was read, which a float need not hold.
fn is_plain(channel: &Channel) -> bool {
    channel.scale == 1.0 && channel.offset == 0.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::format::{Binary, Encode, Entry, Gap, TimedSample, Why};

    fn channels() -> Vec<Channel> {
        let channel = |name: &str, scale, offset| Channel { name: name.into(), unit: "V".into(), scale, offset };
        vec![channel("a", 1e-9, 0.0), channel("time", 0.125, -1.0), channel("count", 1.0, 0.0)]
    }

    /// Everything that a recording says.
    fn all(bytes: &[u8]) -> Vec<Said> {
        let mut recording = read(bytes).unwrap();
        assert_eq!(recording.channels, channels());
        let mut entries = Vec::new();
        while let Some(entry) = recording.next().unwrap() {
            entries.push(match entry {
                Entry::Sample(s) => (vec![s.number, s.monotonic_ns, s.tai_ns, s.latency_ns], s.raw.to_vec()),
                Entry::Gap(gap) => (vec![gap.missed, gap.why as u64], vec![]),
            });
        }
        entries
    }

    /// The numbers of a record, and its values.
    type Said = (Vec<u64>, Vec<i64>);

    /// Records in the binary format, and what they say.
    fn records(count: u64) -> (Vec<u8>, Vec<Said>) {
        let (binary, mut bytes, mut said) = (Binary::new(&channels()), Vec::new(), Vec::new());
        for number in 0..count {
            if number % 3 == 1 {
                let gap = Gap { missed: number, why: Why::ALL[number as usize % 2 * 2] };
                binary.gap(gap, &mut bytes);
                said.push((vec![gap.missed, gap.why as u64], vec![]));
            }
            let raw = [number as i64 - 5, 1 << 40, i64::MAX - number as i64];
            let stamped =
                TimedSample { number, monotonic_ns: 10 * number, tai_ns: (1 << 60) + number, latency_ns: 7, raw: &raw };
            binary.sample(&stamped, &mut bytes);
            said.push((vec![number, stamped.monotonic_ns, stamped.tai_ns, 7], raw.to_vec()));
        }
        (bytes, said)
    }

    #[test]
    fn what_was_written_is_read_back_as_file_and_as_stream() {
        let (bytes, said) = records(100);
        let table = table(&channels());
        let mut rows = Rows::new(&channels());
        let (mut stream, mut whole, mut blocks) = (table.begin_stream().to_vec(), table.begin_file(), Vec::new());
        for part in bytes.chunks(7 * 8 * 30) {
            rows.add(part);
            blocks.push(table.batch(rows.columns(), whole.len() as u64, &mut whole));
            table.batch(rows.columns(), 0, &mut stream);
            rows.clear();
        }
        assert_eq!(all(&stream), said, "a stream without its end");
        assert_eq!(all(&whole), said, "a file without its footer");
        table.end_file(&blocks, &mut whole);
        assert_eq!(all(&whole), said);
        assert_eq!(&whole[whole.len() - 6..], b"ARROW1");
    }

    #[test]
    fn a_file_that_ends_anywhere_is_read_up_to_its_last_whole_batch() {
        let (bytes, said) = records(9);
        let table = table(&channels());
        let (mut rows, mut whole, mut ends) = (Rows::new(&channels()), table.begin_file(), Vec::new());
        for part in bytes.chunks(7 * 8) {
            rows.add(part);
            if rows.len() > 0 {
                table.batch(rows.columns(), 0, &mut whole);
                ends.push((whole.len(), rows.len()));
                rows.clear();
            }
        }
        for cut in table.begin_file().len()..whole.len() {
            let samples: usize = ends.iter().filter(|(end, _)| *end <= cut).map(|(_, rows)| rows).sum();
            let found = all(&whole[..cut]);
            assert_eq!(found, said[..found.len()]);
            assert_eq!(found.iter().filter(|(_, raw)| !raw.is_empty()).count(), samples);
        }
    }

    #[test]
    fn every_column_has_a_name_of_its_own() {
        let names = schema::names(&channels());
        assert_eq!(names[8..], ["a", "time.channel", "count"]);
    }

    proptest! {
        #[test]
        fn anything_is_answered(at in 0usize..2000, byte in any::<u8>(), cut in 0usize..2000) {
            let table = table(&channels());
            let (mut rows, mut whole) = (Rows::new(&channels()), table.begin_file());
            rows.add(&records(5).0);
            let block = table.batch(rows.columns(), whole.len() as u64, &mut whole);
            table.end_file(&[block], &mut whole);
            let length = whole.len();
            whole[at % length] = byte;
            whole.truncate(length - cut % length);
            if let Ok(mut recording) = read(&whole[..]) {
                while let Ok(Some(_)) = recording.next() {}
            }
        }
    }
}
