//! Samples on their way into a batch, column by column.

use ontick_arrow::Column;
use ontick_rt::clock::ClockId;

use super::{FIXED, MISSED, is_plain, table};
use crate::Channel;
use crate::format::{Entry, entry, record_bytes};

/// Samples that are not written yet.
#[derive(Debug)]
pub struct Rows {
    channels: Vec<Channel>,
    columns: Vec<Column>,
    /// Missed since the last sample, by reason.
    missed: [u64; 3],
    /// TAI minus UTC.
    leap_ns: u64,
    raw: Vec<i64>,
}

impl Rows {
    /// None yet, of these channels.
    pub fn new(channels: &[Channel]) -> Self {
        let (columns, raw) = (table(channels).columns(), vec![0; channels.len()]);
        Self { channels: channels.to_vec(), columns, missed: [0; 3], leap_ns: leap_ns(), raw }
    }

    /// How many.
    #[allow(clippy::len_without_is_empty)] // `len() == 0` reads as well
    pub fn len(&self) -> usize {
        self.columns[0].len()
    }

    /// Their values, a column for each of the [`table`]'s.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Bytes of one.
    pub fn row_bytes(&self) -> u64 {
        8 * self.columns.len() as u64
    }

    /// Bytes of a record that a row is made of.
    pub fn record_bytes(&self) -> usize {
        record_bytes(self.channels.len())
    }

    /// Adds whole records of the binary format.
    pub fn add(&mut self, records: &[u8]) {
        for record in records.chunks_exact(self.record_bytes()) {
            let sample = match entry(record, &mut self.raw) {
                Entry::Gap(gap) => {
                    self.missed[gap.why as usize] += gap.missed;
                    continue;
                }
                Entry::Sample(sample) => sample,
            };
            let [late, full, slow] = std::mem::take(&mut self.missed);
            let time = sample.tai_ns.saturating_sub(self.leap_ns);
            let fixed = [sample.number, time, sample.tai_ns, sample.monotonic_ns, sample.latency_ns, late, full, slow];
            let values = self.channels.iter().zip(sample.raw).map(|(channel, raw)| match is_plain(channel) {
                true => *raw as u64,
                false => channel.value(*raw).to_bits(),
            });
            self.columns.iter_mut().zip(fixed.into_iter().chain(values)).for_each(|(column, word)| column.word(word));
        }
    }

    /// Forgets them: they are written.
    pub fn clear(&mut self) {
        self.columns.iter_mut().for_each(Column::clear);
        self.leap_ns = leap_ns();
    }
}

const _: () = assert!(MISSED + 3 == FIXED.len());

/// TAI minus UTC: whole seconds, as the kernel has them, or 0.
fn leap_ns() -> u64 {
    let utc_ns = ClockId::Realtime.now_ns();
    let apart_ns = ClockId::Tai.now_ns().saturating_sub(utc_ns);
    (apart_ns + 500_000_000) / 1_000_000_000 * 1_000_000_000
}
