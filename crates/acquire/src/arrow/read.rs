//! Reads what ontick itself wrote as Arrow: files, also without the footer that a killed run may leave out, and
//! streams.

use std::io::{self, Read};

use polars_arrow_format::ipc::planus::{self, ReadAsRoot};
use polars_arrow_format::ipc::{MessageHeaderRef, MessageRef, RecordBatchRef, SchemaRef};

use ontick_arrow::{END, MAGIC};

use super::{DESCRIPTION, FIXED, MISSED, is_plain};
use crate::Channel;
use crate::format::{Entry, Gap, ReadError, TimedSample, Why, described};

/// Longest metadata of a message, in bytes: a batch's is a few hundred.
const LONGEST: u64 = 1 << 24;

/// A recording that is read.
#[derive(Debug)]
pub struct Recording<R> {
    /// Its channels.
    pub channels: Vec<Channel>,
    from: R,
    columns: Vec<Vec<u64>>,
    row: usize,
    /// Reasons for gaps before this row that were looked at.
    reported: usize,
    raw: Vec<i64>,
}

/// Reads the beginning of a file or a stream.
pub fn read<R: Read>(mut from: R) -> Result<Recording<R>, ReadError> {
    let mut start = [0; 8];
    from.read_exact(&mut start).map_err(|_| ReadError::Foreign)?;
    if start == *MAGIC {
        from.read_exact(&mut start).map_err(|_| ReadError::Foreign)?;
    }
    let metadata = match start[..4] == END[..4] {
        true => exactly(&mut from, length(&start))?.ok_or(ReadError::Foreign)?,
        false => return Err(ReadError::Foreign),
    };
    let header = MessageRef::read_as_root(&metadata).and_then(|message| message.header());
    let Ok(Some(MessageHeaderRef::Schema(schema))) = header else { return Err(ReadError::Foreign) };
    let text = description(&schema).map_err(damaged)?.ok_or(ReadError::Foreign)?;
    let channels = described(text.as_bytes())?;
    let columns = vec![Vec::new(); FIXED.len() + channels.len()];
    let raw = vec![0; channels.len()];
    Ok(Recording { channels, from, columns, row: 0, reported: 0, raw })
}

fn description<'a>(schema: &SchemaRef<'a>) -> planus::Result<Option<&'a str>> {
    for entry in schema.custom_metadata()?.into_iter().flatten() {
        let entry = entry?;
        if entry.key()? == Some(DESCRIPTION) {
            return entry.value();
        }
    }
    Ok(None)
}

impl<R: Read> Recording<R> {
    /// The next sample or gap; `None` at the end. A batch that a killed writer left half-written is not one.
    #[allow(clippy::should_implement_trait)] // what is handed on is lent
    pub fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        while self.row == self.columns[0].len() {
            if !self.batch()? {
                return Ok(None);
            }
        }
        let of = |column: usize| self.columns[column][self.row];
        while let Some(why) = Why::ALL.get(self.reported) {
            let missed = of(MISSED + self.reported);
            self.reported += 1;
            if missed > 0 {
                return Ok(Some(Entry::Gap(Gap { missed, why: *why })));
            }
        }
        for (index, (raw, channel)) in self.raw.iter_mut().zip(&self.channels).enumerate() {
            let word = of(FIXED.len() + index);
            *raw = match is_plain(channel) {
                true => word as i64,
                false => ((f64::from_bits(word) - channel.offset) / channel.scale).round() as i64,
            };
        }
        let (number, tai_ns, monotonic_ns, latency_ns) = (of(0), of(2), of(3), of(4));
        (self.row, self.reported) = (self.row + 1, 0);
        Ok(Some(Entry::Sample(TimedSample { number, monotonic_ns, tai_ns, latency_ns, raw: &self.raw })))
    }

    /// Reads the next batch; whether there was one.
    fn batch(&mut self) -> Result<bool, ReadError> {
        let Some(prefix) = exactly(&mut self.from, 8)? else { return Ok(false) };
        if prefix[..] == END {
            return Ok(false);
        }
        if prefix[..4] != END[..4] {
            return Err(ReadError::Damaged("no message begins where one should".into()));
        }
        let Some(metadata) = exactly(&mut self.from, length(&prefix))? else { return Ok(false) };
        let message = MessageRef::read_as_root(&metadata).map_err(damaged)?;
        let Some(MessageHeaderRef::RecordBatch(batch)) = message.header().map_err(damaged)? else {
            return Err(ReadError::Damaged("a message is no batch of samples".into()));
        };
        let body_length = message.body_length().map_err(damaged)?;
        let body_length = u64::try_from(body_length).map_err(|_| damaged("a batch has a negative length"))?;
        let Some(body) = exactly(&mut self.from, body_length)? else { return Ok(false) };
        self.take(&batch, &body)?;
        Ok(true)
    }

    /// The columns of a batch.
    fn take(&mut self, batch: &RecordBatchRef, body: &[u8]) -> Result<(), ReadError> {
        if batch.compression().map_err(damaged)?.is_some() {
            return Err(damaged("a batch is compressed, which ontick's are not"));
        }
        let rows = usize::try_from(batch.length().map_err(damaged)?).map_err(damaged)?;
        let buffers = batch.buffers().map_err(damaged)?.ok_or_else(|| damaged("a batch has no columns"))?;
        if buffers.len() != 2 * self.columns.len() {
            return Err(damaged("a batch has other columns than the schema"));
        }
        for (column, buffer) in self.columns.iter_mut().zip(buffers.iter().skip(1).step_by(2)) {
            let offset = usize::try_from(buffer.offset()).ok();
            let end = offset.zip(rows.checked_mul(8)).and_then(|(offset, bytes)| offset.checked_add(bytes));
            let words = offset.zip(end).and_then(|(offset, end)| body.get(offset..end));
            let words = words.ok_or_else(|| damaged("a column is not within its batch"))?;
            let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
            column.clear();
            column.extend(words.chunks_exact(8).map(word));
        }
        (self.row, self.reported) = (0, 0);
        Ok(())
    }
}

fn damaged(why: impl ToString) -> ReadError {
    ReadError::Damaged(why.to_string())
}

/// The length that a message's prefix tells.
fn length(prefix: &[u8]) -> u64 {
    let bytes: [u8; 4] = [prefix[4], prefix[5], prefix[6], prefix[7]];
    u64::from(u32::from_le_bytes(bytes)).min(LONGEST)
}

/// So many bytes; `None` where there are fewer. Memory is taken as they come: a damaged length costs none.
fn exactly(from: &mut impl Read, bytes: u64) -> Result<Option<Vec<u8>>, ReadError> {
    let mut read = Vec::new();
    match from.take(bytes).read_to_end(&mut read) {
        Ok(came) => Ok((came as u64 == bytes).then_some(read)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error.into()),
    }
}
