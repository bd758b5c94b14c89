//! HdrHistogram's encoding of a histogram, version 2: a header, and counts in the order of their buckets as numbers of
//! variable length, in which a negative one stands for so many empty buckets; compressed by zlib.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::Bucket;

const COOKIE: u32 = 0x1c84_9313;
const COMPRESSED: u32 = 0x1c84_9314;
const HEADER: usize = 40;
/// Buckets to 0.1 %: what is written.
const DIGITS: u32 = 3;
/// A histogram of three digits over the whole range has half as many bytes; what comes from others must not fill the memory.
const LARGEST: u64 = 1 << 20;

/// Why bytes are no histogram.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EncodingError {
    /// Another kind, or an earlier version.
    #[error("the histogram is in another encoding than version 2, compressed")]
    Version,
    /// It ends too early, or what is compressed is damaged.
    #[error("the histogram is damaged or cut off")]
    Damaged,
    /// A header that no histogram has.
    #[error("the histogram's header is unsound: {0}")]
    Header(&'static str),
}

/// Where values lie: so many buckets to an octave, from a unit on.
#[derive(Debug, Clone, Copy)]
struct Layout {
    /// Binary logarithm of half the buckets of the first octave.
    half_bits: u32,
    /// Binary logarithm of the smallest bucket's width.
    unit_bits: u32,
}

impl Layout {
    fn new(digits: u32, lowest: u64) -> Result<Self, EncodingError> {
        if digits > 5 {
            return Err(EncodingError::Header("it has more than 5 digits"));
        }
        let buckets = 2 * 10u64.pow(digits);
        let half_bits = buckets.next_power_of_two().trailing_zeros().max(1) - 1;
        let unit_bits = lowest.max(1).ilog2();
        if half_bits + unit_bits > 61 {
            return Err(EncodingError::Header("its smallest value is too large"));
        }
        Ok(Self { half_bits, unit_bits })
    }

    /// The bucket of a value.
    fn index(self, value: u64) -> usize {
        let (value, half) = (value >> self.unit_bits, 1u64 << self.half_bits);
        if value < half {
            return value as usize;
        }
        let shift = value.ilog2() - self.half_bits;
        ((u64::from(shift) + 1) * half + ((value >> shift) - half)) as usize
    }

    /// A bucket's smallest value and width; nothing beyond 64 bits.
    fn range(self, index: u64) -> Option<(u64, u64)> {
        let half = 1u64 << self.half_bits;
        let (octave, within) = (index >> self.half_bits, index & (half - 1));
        let (low, width_bits) = if octave == 0 { (within, 0) } else { (half + within, octave - 1) };
        let bits = u32::try_from(width_bits).ok()? + self.unit_bits;
        let fits = bits < 64 && low.leading_zeros() >= bits;
        fits.then(|| (low << bits, 1u64 << bits))
    }
}

/// The compressed form of these buckets: each count stands at its bucket's largest value.
pub fn encode(buckets: &[Bucket]) -> Vec<u8> {
    let layout = Layout::new(DIGITS, 1).expect("three digits from 1 are a layout");
    let mut counts = std::collections::BTreeMap::<usize, u64>::new();
    for bucket in buckets {
        let count = counts.entry(layout.index(bucket.high_ns())).or_default();
        // Counts have a sign there.
        *count = count.saturating_add(bucket.count).min(i64::MAX as u64);
    }
    let (mut payload, mut next) = (Vec::new(), 0);
    for (index, count) in counts {
        if index > next {
            put(&mut payload, -((index - next) as i64));
        }
        put(&mut payload, count as i64);
        next = index + 1;
    }
    let highest = buckets.iter().map(Bucket::high_ns).max().unwrap_or(2).clamp(2, i64::MAX as u64);
    let mut plain = Vec::with_capacity(HEADER + payload.len());
    for word in [COOKIE, payload.len() as u32, 0, DIGITS] {
        plain.extend(word.to_be_bytes());
    }
    plain.extend(1u64.to_be_bytes());
    plain.extend(highest.to_be_bytes());
    plain.extend(1.0f64.to_be_bytes());
    plain.extend(payload);
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = encoder.write_all(&plain).and_then(|()| encoder.finish()).expect("memory takes whatever is written");
    [&COMPRESSED.to_be_bytes()[..], &(packed.len() as u32).to_be_bytes(), &packed].concat()
}

/// The buckets of a compressed histogram, and how many bytes it was before it was compressed.
pub fn decode(bytes: &[u8]) -> Result<(Vec<Bucket>, usize), EncodingError> {
    let word =
        |bytes: &[u8], at: usize| -> Option<u32> { Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?)) };
    if word(bytes, 0) != Some(COMPRESSED) {
        return Err(EncodingError::Version);
    }
    let length = word(bytes, 4).ok_or(EncodingError::Damaged)? as usize;
    let packed = bytes.get(8..).and_then(|rest| rest.get(..length)).ok_or(EncodingError::Damaged)?;
    let mut plain = Vec::new();
    let unpacked = ZlibDecoder::new(packed).take(LARGEST).read_to_end(&mut plain);
    unpacked.map_err(|_| EncodingError::Damaged)?;
    if word(&plain, 0) != Some(COOKIE) {
        return Err(EncodingError::Version);
    }
    let long = |at: usize| plain.get(at..at + 8).and_then(|b| b.try_into().ok()).map(u64::from_be_bytes);
    let (Some(length), Some(offset), Some(digits)) = (word(&plain, 4), word(&plain, 8), word(&plain, 12)) else {
        return Err(EncodingError::Damaged);
    };
    let (Some(lowest), Some(ratio)) = (long(16), long(32)) else { return Err(EncodingError::Damaged) };
    if offset != 0 || f64::from_bits(ratio) != 1.0 {
        return Err(EncodingError::Header("its values are shifted or scaled"));
    }
    let payload = plain.get(HEADER..).and_then(|rest| rest.get(..length as usize)).ok_or(EncodingError::Damaged)?;
    Ok((counts(payload, Layout::new(digits, lowest)?)?, plain.len()))
}

fn counts(mut payload: &[u8], layout: Layout) -> Result<Vec<Bucket>, EncodingError> {
    let (mut buckets, mut index) = (Vec::new(), 0u64);
    while !payload.is_empty() {
        match get(&mut payload).ok_or(EncodingError::Damaged)? {
            empty @ ..0 => index = index.checked_add(empty.unsigned_abs()).ok_or(EncodingError::Damaged)?,
            count => {
                if count > 0 {
                    let (low_ns, width_ns) = layout.range(index).ok_or(EncodingError::Damaged)?;
                    buckets.push(Bucket { low_ns, width_ns, count: count as u64 });
                }
                index = index.checked_add(1).ok_or(EncodingError::Damaged)?;
            }
        }
    }
    Ok(buckets)
}

/// Zigzag, then seven bits to a byte, the lowest first; a ninth byte has eight.
fn put(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    for _ in 0..8 {
        if rest < 0x80 {
            return bytes.push(rest as u8);
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn get(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0u64;
    for n in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if n == 8 {
            number |= u64::from(*byte) << 56;
            break;
        }
        number |= u64::from(byte & 0x7f) << (7 * n);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some((number >> 1) as i64 ^ -((number & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_read_back(number in any::<i64>(), shift in 0u32..64) {
            let mut bytes = Vec::new();
            put(&mut bytes, number >> shift);
            prop_assert!(bytes.len() <= 9);
            let mut rest = &bytes[..];
            prop_assert_eq!((get(&mut rest), rest.len()), (Some(number >> shift), 0));
        }

        #[test]
        fn a_value_lies_in_its_bucket(value in any::<u64>(), shift in 0u32..64, digits in 0u32..6, lowest in 1u64..5_000) {
            let (value, layout) = (value >> shift >> 1, Layout::new(digits, lowest).unwrap());
            let (low, width) = layout.range(layout.index(value) as u64).unwrap();
            prop_assert!(low <= value && value - low < width);
        }

        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
            let mut plain = COOKIE.to_be_bytes().to_vec();
            plain.extend(&bytes);
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&plain).unwrap();
            let packed = encoder.finish().unwrap();
            let _ = decode(&[&COMPRESSED.to_be_bytes()[..], &(packed.len() as u32).to_be_bytes(), &packed].concat());
        }
    }
}
