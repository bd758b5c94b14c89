//! Files inside a ZIP archive: what a sigrok session needs of the format (APPNOTE 6.3.10), read in bounded memory.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::read::DeflateDecoder;

use super::CaptureError;

/// The longest end of an archive: its record, a comment, and what leads to larger numbers.
const LONGEST_END: u64 = 22 + 65_535 + 20;
/// The directory of more files than any session has.
const LARGEST_DIRECTORY: u64 = 16 << 20;

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;

/// A file in the archive.
#[derive(Debug, Clone, Copy)]
struct Entry {
    flags: u16,
    method: u16,
    crc: u32,
    compressed: u64,
    size: u64,
    offset: u64,
}

/// An archive, by its directory.
#[derive(Debug)]
pub(super) struct Archive<R> {
    input: R,
    length: u64,
    entries: BTreeMap<String, Entry>,
    /// Compressed bytes that may still be read. Files that lie over each other are how a small archive holds more than
    /// any disk does; of those that do not, none is more than 1032 times as large as what it takes.
    left: u64,
}

fn damaged(offset: u64, problem: &'static str) -> CaptureError {
    CaptureError::Archive { offset, problem }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

const NO_END: &str =
    "the archive has no directory at its end: the file is cut off, or no archive; save the capture again";
const NO_DIRECTORY: &str = "the archive's directory is damaged; save the capture again";

impl<R: Read + Seek> Archive<R> {
    /// Reads the directory.
    pub fn open(mut input: R) -> Result<Self, CaptureError> {
        let length = input.seek(SeekFrom::End(0))?;
        let from = length.saturating_sub(LONGEST_END);
        input.seek(SeekFrom::Start(from))?;
        let mut end = Vec::new();
        (&mut input).take(LONGEST_END).read_to_end(&mut end)?;
        let last = end.len().checked_sub(22).ok_or(damaged(0, NO_END))?;
        let is_end = |at: &usize| {
            end[*at..].starts_with(b"PK\x05\x06") && at + 22 + usize::from(u16_at(&end, at + 20)) == end.len()
        };
        let at = (0..=last).rev().find(is_end).ok_or(damaged(length, NO_END))?;
        let (mut size, mut offset) = (u64::from(u32_at(&end, at + 12)), u64::from(u32_at(&end, at + 16)));
        let further = at.checked_sub(20).filter(|at| end[*at..].starts_with(b"PK\x06\x07"));
        if let Some(locator) = further {
            let place = u64_at(&end, locator + 8);
            let record = read_at::<56>(&mut input, place).map_err(|e| at_offset(e, place))?;
            if !record.starts_with(b"PK\x06\x06") {
                return Err(damaged(place, NO_DIRECTORY));
            }
            (size, offset) = (u64_at(&record, 40), u64_at(&record, 48));
        }
        if size > LARGEST_DIRECTORY || offset.checked_add(size).is_none_or(|end| end > length) {
            return Err(damaged(offset, NO_DIRECTORY));
        }
        input.seek(SeekFrom::Start(offset))?;
        let mut directory = Vec::new();
        (&mut input).take(size).read_to_end(&mut directory)?;
        Ok(Self { input, length, entries: entries(&directory, offset)?, left: length })
    }

    /// The names of its files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// A file, from its beginning. Reading it fails at its end if it is not what was packed.
    pub fn file(&mut self, name: &str) -> Result<impl Read + use<'_, R>, CaptureError> {
        let Some(entry) = self.entries.get(name).copied() else {
            return Err(CaptureError::part(name, "is not in the archive: this is no sigrok session, or it is damaged"));
        };
        if entry.flags & ENCRYPTED != 0 {
            return Err(CaptureError::part(name, "is encrypted: save the capture without a password"));
        }
        if !matches!(entry.method, STORED | DEFLATED) {
            return Err(CaptureError::part(
                name,
                format!("is packed by method {}: only stored and deflated files are read", entry.method),
            ));
        }
        self.left = self.left.checked_sub(entry.compressed).ok_or(damaged(
            entry.offset,
            "files of the archive lie over each other: it was made to hold more than it can",
        ))?;
        let head = read_at::<30>(&mut self.input, entry.offset).map_err(|e| at_offset(e, entry.offset))?;
        if !head.starts_with(b"PK\x03\x04") {
            return Err(damaged(entry.offset, NO_DIRECTORY));
        }
        let begin = entry.offset + 30 + u64::from(u16_at(&head, 26)) + u64::from(u16_at(&head, 28));
        if begin.checked_add(entry.compressed).is_none_or(|end| end > self.length) {
            return Err(damaged(entry.offset, "a file of the archive is cut off; save the capture again"));
        }
        self.input.seek(SeekFrom::Start(begin))?;
        let packed = (&mut self.input).take(entry.compressed);
        let input = match entry.method {
            STORED => Unpacked::Stored(packed),
            _ => Unpacked::Deflated(Box::new(DeflateDecoder::new(packed))),
        };
        Ok(Checked { input, entry, crc: Crc::new(), read: 0 })
    }
}

fn read_at<const N: usize>(input: &mut (impl Read + Seek), at: u64) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    input.seek(SeekFrom::Start(at))?;
    input.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn at_offset(error: io::Error, offset: u64) -> CaptureError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput => damaged(offset, NO_DIRECTORY),
        _ => error.into(),
    }
}

/// The directory's entries; `offset` is where it begins.
fn entries(mut rest: &[u8], offset: u64) -> Result<BTreeMap<String, Entry>, CaptureError> {
    let (all, mut entries) = (rest.len(), BTreeMap::new());
    while !rest.is_empty() {
        let here = offset + (all - rest.len()) as u64;
        let wrong = damaged(here, NO_DIRECTORY);
        let [name, extra, comment] = [28, 30, 32].map(|at| usize::from(u16_at(rest, at)));
        let length = 46 + name + extra + comment;
        if !rest.starts_with(b"PK\x01\x02") || rest.len() < length {
            return Err(wrong);
        }
        let mut entry = Entry {
            flags: u16_at(rest, 8),
            method: u16_at(rest, 10),
            crc: u32_at(rest, 16),
            compressed: u32_at(rest, 20).into(),
            size: u32_at(rest, 24).into(),
            offset: u32_at(rest, 42).into(),
        };
        large(&mut entry, &rest[46 + name..46 + name + extra]);
        let name = String::from_utf8_lossy(&rest[46..46 + name]).into_owned();
        if entries.insert(name, entry).is_some() {
            return Err(damaged(here, "the archive has a file twice"));
        }
        rest = &rest[length..];
    }
    Ok(entries)
}

/// Numbers that have no room in 32 bits are in a field of their own.
fn large(entry: &mut Entry, mut extra: &[u8]) {
    while extra.len() >= 4 {
        let (id, length) = (u16_at(extra, 0), usize::from(u16_at(extra, 2)).min(extra.len() - 4));
        if id == 1 {
            let mut at = 4;
            for number in [&mut entry.size, &mut entry.compressed, &mut entry.offset] {
                if *number == u64::from(u32::MAX) && at + 8 <= 4 + length {
                    *number = u64_at(extra, at);
                    at += 8;
                }
            }
        }
        extra = &extra[4 + length..];
    }
}

enum Unpacked<R> {
    Stored(R),
    Deflated(Box<DeflateDecoder<R>>),
}

/// What comes out of a file, held against its length and checksum.
struct Checked<R> {
    input: Unpacked<R>,
    entry: Entry,
    crc: Crc,
    read: u64,
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = match &mut self.input {
            Unpacked::Stored(input) => input.read(buffer),
            Unpacked::Deflated(input) => input.read(buffer),
        }?;
        self.crc.update(&buffer[..n]);
        self.read += n as u64;
        let over = self.read > self.entry.size;
        let ended = n == 0 && !buffer.is_empty();
        if over || ended && (self.read != self.entry.size || self.crc.sum() != self.entry.crc) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "is damaged: its checksum or length is wrong"));
        }
        Ok(n)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::{Cursor, Write};

    use flate2::Compression;
    use flate2::write::DeflateEncoder;

    use super::*;

    /// An archive of files, deflated.
    pub fn packed(files: &[(&str, &[u8])]) -> Vec<u8> {
        let (mut archive, mut directory) = (Vec::new(), Vec::new());
        for (name, bytes) in files {
            let mut crc = Crc::new();
            crc.update(bytes);
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).unwrap();
            let packed = encoder.finish().unwrap();
            let mut common = vec![20, 0, 0, 0, 8, 0, 0, 0, 0, 0];
            for number in [crc.sum(), packed.len() as u32, bytes.len() as u32] {
                common.extend(number.to_le_bytes());
            }
            common.extend((name.len() as u16).to_le_bytes());
            common.extend([0, 0]);
            directory.extend([b"PK\x01\x02\x14\x00", &common[..], &[0; 10]].concat());
            directory.extend((archive.len() as u32).to_le_bytes());
            directory.extend(name.as_bytes());
            archive.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat());
        }
        let (offset, size, count) = (archive.len() as u32, directory.len() as u32, files.len() as u16);
        archive.extend(directory);
        archive.extend(b"PK\x05\x06\0\0\0\0");
        archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
        archive.extend([size.to_le_bytes(), offset.to_le_bytes()].concat());
        archive.extend([0, 0]);
        archive
    }

    fn content(archive: &[u8], name: &str) -> Result<Vec<u8>, String> {
        let mut archive = Archive::open(Cursor::new(archive)).map_err(|e| e.to_string())?;
        let mut bytes = Vec::new();
        archive.file(name).map_err(|e| e.to_string())?.read_to_end(&mut bytes).map_err(|e| e.to_string())?;
        Ok(bytes)
    }

    #[test]
    fn what_was_packed_comes_out() {
        let long = b"0123456789".repeat(50_000);
        let archive = packed(&[("version", b"2"), ("long", &long), ("empty", b"")]);
        assert_eq!(content(&archive, "version").unwrap(), b"2");
        assert_eq!(content(&archive, "long").unwrap(), long);
        assert_eq!(content(&archive, "empty").unwrap(), b"");
        assert!(content(&archive, "other").unwrap_err().contains("is not in the archive"));
    }

    #[test]
    fn an_archive_that_is_cut_off_or_changed_is_refused() {
        let archive = packed(&[("a", b"abcabcabcabc"), ("b", b"2")]);
        for end in 0..archive.len() {
            assert!(content(&archive[..end], "a").is_err(), "{end}");
        }
        let data = 30 + 1;
        for at in data..data + 4 {
            let mut changed = archive.clone();
            changed[at] ^= 0x10;
            assert!(content(&changed, "a").is_err(), "{at}");
        }
    }

    #[test]
    fn files_that_lie_over_each_other_are_refused() {
        // A directory whose entries all lead to the same bytes.
        let zeros = vec![0; 4_000_000];
        let mut archive = packed(&[("chunk-0", &zeros), ("chunk-1", b"")]);
        let second = archive.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
        let first = archive.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        archive.copy_within(first..first + 46, second);
        let mut archive = Archive::open(Cursor::new(&archive)).unwrap();
        let mut errors = Vec::new();
        for name in ["chunk-0", "chunk-1"] {
            match archive.file(name) {
                Ok(mut file) => assert_eq!(io::copy(&mut file, &mut io::sink()).unwrap(), 4_000_000),
                Err(error) => errors.push(error.to_string()),
            }
        }
        assert!(errors.len() == 1 && errors[0].contains("lie over each other"), "{errors:?}");
    }

    #[test]
    fn a_file_that_is_longer_than_it_says_is_refused_at_once() {
        let mut archive = packed(&[("a", &[0; 1_000_000])]);
        let entry = archive.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
        archive[entry + 24..entry + 28].copy_from_slice(&10u32.to_le_bytes());
        assert!(content(&archive, "a").unwrap_err().contains("is damaged"));
    }
}
