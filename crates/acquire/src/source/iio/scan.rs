//! How a buffer's scans are laid out (*sysfs-bus-iio*, `scan_elements/*_type`).

use std::fmt;
use std::str::FromStr;

/// One value of a scan as it is stored: `le:s12/16>>4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanType {
    big_endian: bool,
    signed: bool,
    /// Bits that mean something.
    bits: u32,
    /// Bits that are stored: 8, 16, 32 or 64.
    stored: u32,
    /// How far the value is shifted up there.
    shift: u32,
    /// Values of this kind one after the other, of which the first counts.
    repeat: u32,
}

impl ScanType {
    /// Bytes of one value: what it is aligned to.
    fn size(self) -> usize {
        self.stored as usize / 8
    }

    /// Bytes of all of them.
    pub fn bytes(self) -> usize {
        self.size() * self.repeat as usize
    }

    /// The value in these bytes.
    #[inline]
    pub fn value(self, stored: &[u8]) -> i64 {
        let join = |word: u64, byte: &u8| word << 8 | u64::from(*byte);
        let own = &stored[..self.size()];
        let word = if self.big_endian { own.iter().fold(0, join) } else { own.iter().rev().fold(0, join) };
        let unused = u64::BITS - self.bits;
        let top = word >> self.shift << unused;
        if self.signed { top as i64 >> unused } else { (top >> unused) as i64 }
    }
}

/// A text that is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no scan type (such as le:s12/16>>4)")]
pub struct ScanTypeError(pub String);

impl FromStr for ScanType {
    type Err = ScanTypeError;

    /// `[be|le]:[s|u]BITS/STORED[XREPEAT]>>SHIFT`
    fn from_str(text: &str) -> Result<Self, ScanTypeError> {
        read(text.trim()).ok_or_else(|| ScanTypeError(text.trim().into()))
    }
}

fn read(text: &str) -> Option<ScanType> {
    let (endian, rest) = text.split_once(':')?;
    let big_endian = match endian {
        "be" => true,
        "le" => false,
        _ => return None,
    };
    let signed = match rest.get(..1)? {
        "s" => true,
        "u" => false,
        _ => return None,
    };
    let (bits, rest) = rest[1..].split_once('/')?;
    let (stored, shift) = rest.split_once(">>")?;
    let (stored, repeat) = stored.split_once('X').unwrap_or((stored, "1"));
    let (bits, stored, shift, repeat) = (number(bits)?, number(stored)?, number(shift)?, number(repeat)?);
    let fits = (1..=64).contains(&bits) && [8, 16, 32, 64].contains(&stored) && bits.checked_add(shift)? <= stored;
    (fits && (1..=64).contains(&repeat)).then_some(ScanType { big_endian, signed, bits, stored, shift, repeat })
}

fn number(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok()).flatten()
}

impl fmt::Display for ScanType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let endian = if self.big_endian { "be" } else { "le" };
        let sign = if self.signed { 's' } else { 'u' };
        write!(f, "{endian}:{sign}{}/{}", self.bits, self.stored)?;
        if self.repeat > 1 {
            write!(f, "X{}", self.repeat)?;
        }
        write!(f, ">>{}", self.shift)
    }
}

/// Where each of these values begins, which are in the order of a scan, and how long a scan is. Each is aligned to its
/// own size and the scan to its largest.
pub fn layout(types: &[ScanType]) -> (Vec<usize>, usize) {
    let (mut end, mut places) = (0usize, Vec::new());
    for kind in types {
        let start = end.next_multiple_of(kind.bytes().max(1));
        places.push(start);
        end = start + kind.bytes();
    }
    let largest = types.iter().map(|kind| kind.bytes()).max().unwrap_or(1);
    (places, end.next_multiple_of(largest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind(text: &str) -> ScanType {
        text.parse().unwrap()
    }

    #[test]
    fn values_are_what_drivers_store() {
        for (text, stored, value) in [
            ("le:u12/16>>0", &[0x34, 0x02][..], 0x234),
            ("be:s12/16>>4\n", &[0xff, 0xf0], -1),
            ("be:u12/16>>4", &[0x7f, 0xff], 0x7ff),
            ("le:s24/32>>8", &[0, 0, 0, 0x80], -8_388_608),
            ("le:s64/64>>0", &[1, 0, 0, 0, 0, 0, 0, 0], 1),
            ("le:u8/8>>0", &[200], 200),
            ("le:s16/16X3>>0", &[2, 0, 3, 0, 4, 0], 2),
        ] {
            assert_eq!(kind(text).value(stored), value, "{text}");
        }
    }

    #[test]
    fn a_scan_is_aligned_as_the_kernel_aligns_it() {
        let types = ["le:u12/16>>0", "le:u12/16>>0", "le:u12/16>>0", "le:s64/64>>0"].map(kind);
        assert_eq!(layout(&types), (vec![0, 2, 4, 8], 16));
        assert_eq!(layout(&types[..3]), (vec![0, 2, 4], 6));
        assert_eq!(layout(&["le:u8/8>>0", "be:s24/32>>8", "le:u8/8>>0"].map(kind)), (vec![0, 4, 8], 12));
        assert_eq!(layout(&[]), (vec![], 0));
    }

    #[test]
    fn what_is_no_scan_type_is_refused() {
        for text in ["", "le", "le:", "xe:s12/16>>4", "le:f12/16>>4", "le:s12/16", "le:s13/16>>4", "le:s0/16>>0"] {
            assert!(text.parse::<ScanType>().is_err(), "{text}");
        }
        for text in ["le:s12/12>>0", "le:s12/16X0>>4", "le:s+2/16>>0", "le:s12/16>>4294967295", "le:é12/16>>0"] {
            assert!(text.parse::<ScanType>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_shown_is_read_back(text in "[bl]e:[su][0-9]{1,2}/(8|16|32|64)(X[1-9])?>>[0-9]|\\PC{0,20}") {
            if let Ok(kind) = text.parse::<ScanType>() {
                prop_assert_eq!(kind.to_string().parse::<ScanType>(), Ok(kind));
            }
        }

        #[test]
        fn what_is_stored_is_the_value(
            big_endian in any::<bool>(), signed in any::<bool>(), size in 0u32..4, cut in any::<(u32, u32)>(),
            value in any::<u64>(), noise in any::<u64>(),
        ) {
            let stored = 8 << size;
            let bits = 1 + cut.0 % stored;
            let shift = cut.1 % (stored - bits + 1);
            let kind = ScanType { big_endian, signed, bits, stored, shift, repeat: 1 };
            let mask = u64::MAX >> (64 - bits);
            let word = (value & mask) << shift | noise & !(mask << shift);
            let bytes = if big_endian { word.to_be_bytes() } else { word.to_le_bytes() };
            let size = stored as usize / 8;
            let own = if big_endian { &bytes[8 - size..] } else { &bytes[..size] };
            let negative = signed && value >> (bits - 1) & 1 == 1;
            let wanted = if negative { (value | !mask) as i64 } else { (value & mask) as i64 };
            prop_assert_eq!(kind.value(own), wanted);
        }
    }
}
