//! Records of fixed length, little-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `ontickSA` |
//! | 4 | version, now 1 |
//! | 4 | length of the description, n |
//! | n | the description: JSON, the channels with name, unit, scale and offset |
//! | 8 (4 + channels) each | records |
//!
//! A record is the sample's number, monotonic ns, TAI ns, latency ns (u64 each), then one raw value per channel
//! (i64); value = raw * scale + offset. A gap has the number 2^64 - 1, then how many samples were missed and why
//! (0 late, 1 ring full, 2 slow client), then zeros.

use std::io::{self, Read};

use serde::Deserialize;

use super::{Encode, Gap, TimedSample, Why, ndjson};
use crate::Channel;

pub(crate) const MAGIC: &[u8; 8] = b"ontickSA";
const VERSION: u32 = 1;
/// The number that marks a gap.
const GAP: u64 = u64::MAX;
/// Longest description that is read, in bytes.
const LONGEST: u32 = 1 << 20;
/// Words before the values.
const HEADER: usize = 4;

/// Encodes binary records.
#[derive(Debug)]
pub struct Binary {
    description: Vec<u8>,
    channels: usize,
}

impl Binary {
    /// For samples of these channels.
    pub fn new(channels: &[Channel]) -> Self {
        Self { description: ndjson::description(channels).to_string().into_bytes(), channels: channels.len() }
    }
}

fn put(out: &mut Vec<u8>, words: impl IntoIterator<Item = u64>) {
    words.into_iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
}

impl Encode for Binary {
    fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&(self.description.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.description);
    }

    fn sample(&self, sample: &TimedSample, out: &mut Vec<u8>) {
        put(out, [sample.number, sample.monotonic_ns, sample.tai_ns, sample.latency_ns]);
        put(out, sample.raw.iter().map(|raw| *raw as u64));
    }

    fn gap(&self, gap: Gap, out: &mut Vec<u8>) {
        put(out, [GAP, gap.missed, gap.why as u64, 0]);
        put(out, std::iter::repeat_n(0, self.channels));
    }
}

/// Why bytes are no recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// They begin otherwise.
    #[error("this is no recording of ontick in the binary or the Arrow format")]
    Foreign,
    /// They are of a version that is not known.
    #[error("version {0} of the binary format is not known to this ontick, which reads version 1")]
    Version(u32),
    /// The description is damaged.
    #[error("its description is damaged: {0}")]
    Description(String),
    /// They are in a format that this program was built without.
    #[error("this program was built without Arrow (its feature `arrow`)")]
    Missing,
    /// They are damaged in the midst.
    #[error("it is damaged: {0}")]
    Damaged(String),
    /// They could not be read.
    #[error("{0}")]
    Io(#[from] io::Error),
}

#[derive(Deserialize)]
struct Description {
    channels: Vec<Described>,
}

#[derive(Deserialize)]
struct Described {
    name: String,
    unit: String,
    scale: f64,
    offset: f64,
}

/// A recording that is read.
#[derive(Debug)]
pub struct Recording<R> {
    /// Its channels.
    pub channels: Vec<Channel>,
    from: R,
    record: Vec<u8>,
    raw: Vec<i64>,
}

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A sample.
    Sample(TimedSample<'a>),
    /// A gap before the next one.
    Gap(Gap),
}

/// Reads the beginning of a recording.
pub fn read<R: Read>(mut from: R) -> Result<Recording<R>, ReadError> {
    let mut start = [0; 16];
    from.read_exact(&mut start).map_err(|_| ReadError::Foreign)?;
    let word = |at: usize| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
    let (version, length) = (word(8), word(12));
    if start[..8] != *MAGIC {
        return Err(ReadError::Foreign);
    }
    if version != VERSION {
        return Err(ReadError::Version(version));
    }
    if length > LONGEST {
        return Err(ReadError::Description(format!("it would be {length} bytes long")));
    }
    let mut description = vec![0; length as usize];
    from.read_exact(&mut description).map_err(|error| ReadError::Description(error.to_string()))?;
    let channels = described(&description)?;
    let (record, raw) = (vec![0; record_bytes(channels.len())], vec![0; channels.len()]);
    Ok(Recording { channels, from, record, raw })
}

/// The channels that a description names.
pub(crate) fn described(description: &[u8]) -> Result<Vec<Channel>, ReadError> {
    let description: Description =
        serde_json::from_slice(description).map_err(|error| ReadError::Description(error.to_string()))?;
    let channel = |Described { name, unit, scale, offset }| Channel { name, unit, scale, offset };
    Ok(description.channels.into_iter().map(channel).collect())
}

impl<R: Read> Recording<R> {
    /// The next record; `None` at the end. A record that a killed writer left half-written is not one.
    #[allow(clippy::should_implement_trait)] // what is handed on is lent
    pub fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        match self.from.read_exact(&mut self.record) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        Ok(Some(entry(&self.record, &mut self.raw)))
    }
}

/// Length of a record of so many channels.
pub(crate) fn record_bytes(channels: usize) -> usize {
    8 * (HEADER + channels)
}

/// What a whole record says.
pub(crate) fn entry<'a>(record: &[u8], values: &'a mut [i64]) -> Entry<'a> {
    let word = |at: usize| {
        let bytes = &record[8 * at..8 * at + 8];
        bytes.iter().rev().fold(0u64, |word, byte| word << 8 | u64::from(*byte))
    };
    if word(0) == GAP {
        let why = usize::try_from(word(2)).ok().and_then(|why| Why::ALL.get(why)).copied().unwrap_or(Why::Late);
        return Entry::Gap(Gap { missed: word(1), why });
    }
    for (channel, raw) in values.iter_mut().enumerate() {
        *raw = word(HEADER + channel) as i64;
    }
    let (number, monotonic_ns, tai_ns, latency_ns) = (word(0), word(1), word(2), word(3));
    Entry::Sample(TimedSample { number, monotonic_ns, tai_ns, latency_ns, raw: values })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn channel(name: &str) -> Channel {
        Channel { name: name.into(), unit: "V".into(), scale: 0.1, offset: -1.0 }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(
            samples in proptest::collection::vec((0u64..u64::MAX, any::<u64>(), any::<[i64; 3]>()), 0..20),
            missed in any::<u64>(),
            cut in 0usize..56,
        ) {
            let channels = [channel("a"), channel("b"), channel("c, d")];
            let binary = Binary::new(&channels);
            let mut bytes = Vec::new();
            binary.begin(&mut bytes);
            binary.gap(Gap { missed, why: Why::Full }, &mut bytes);
            for (number, time, raw) in &samples {
                let sample = TimedSample { number: *number, monotonic_ns: *time, tai_ns: 1, latency_ns: 2, raw };
                binary.sample(&sample, &mut bytes);
            }
            // The beginning of another record, which its writer did not live to end.
            bytes.extend(vec![1; cut.min(8 * 7 - 1)]);
            let mut recording = read(&bytes[..]).unwrap();
            prop_assert_eq!(&recording.channels, &channels);
            prop_assert_eq!(recording.next().unwrap(), Some(Entry::Gap(Gap { missed, why: Why::Full })));
            for (number, time, raw) in &samples {
                let wanted = TimedSample { number: *number, monotonic_ns: *time, tai_ns: 1, latency_ns: 2, raw };
                prop_assert_eq!(recording.next().unwrap(), Some(Entry::Sample(wanted)));
            }
            prop_assert_eq!(recording.next().unwrap(), None);
        }

        #[test]
        fn anything_is_answered(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut whole = MAGIC.to_vec();
            whole.extend(bytes);
            if let Ok(mut recording) = read(&whole[..]) {
                while let Ok(Some(_)) = recording.next() {}
            }
        }
    }

    #[test]
    fn what_is_no_recording_is_reported() {
        assert!(matches!(read(&b"number,monotonic"[..]), Err(ReadError::Foreign)));
        assert!(matches!(read(&b"ontickSA\x02\0\0\0\0\0\0\0"[..]), Err(ReadError::Version(2))));
        let long = read(&b"ontickSA\x01\0\0\0\xff\xff\xff\xff"[..]).unwrap_err().to_string();
        assert!(long.contains("would be 4294967295 bytes"), "{long}");
    }
}
