//! The functions of an ELF file: enough of the format to name an address, within bounds that hold for any bytes.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// A table that is larger is not read: those of large programs have some ten MiB.
const LARGEST_TABLE: u64 = 128 << 20;
/// A file with more functions than this is not read further.
const MOST_FUNCTIONS: usize = 1 << 21;
/// Names are cut to so many bytes; mangled ones can be long.
const LONGEST_NAME: usize = 512;

const TABLE_OF_SYMBOLS: u32 = 2;
const TABLE_OF_DYNAMIC_SYMBOLS: u32 = 11;
const LOADED_SEGMENT: u32 = 1;
const FUNCTION: u8 = 2;
const INDIRECT_FUNCTION: u8 = 10;

/// A file, or bytes in its place.
pub trait Bytes {
    /// So many bytes from here; `None` if not all of them are there.
    fn at(&self, offset: u64, length: usize) -> Option<Vec<u8>>;
}

impl Bytes for File {
    fn at(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        // Not more room than the file could fill.
        let size = self.metadata().ok()?.len();
        offset.checked_add(length as u64).filter(|end| *end <= size)?;
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    }
}

impl Bytes for &[u8] {
    fn at(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        let offset = usize::try_from(offset).ok()?;
        self.get(offset..offset.checked_add(length)?).map(<[u8]>::to_vec)
    }
}

/// A function: where it begins, its length (0 if the file does not say), and where its name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Function {
    address: u64,
    size: u64,
    name: u32,
}

/// A part of the file that is in memory when the program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Segment {
    offset: u64,
    size: u64,
    address: u64,
}

/// The functions of a file, in the order of their addresses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Functions {
    functions: Vec<Function>,
    names: Vec<u8>,
    segments: Vec<Segment>,
}

impl Functions {
    /// Reads them; `None` if this is no ELF file in this machine's byte order. A file without symbols has no functions.
    pub fn read(file: &impl Bytes) -> Option<Self> {
        let start = file.at(0, 20)?;
        let little = if cfg!(target_endian = "little") { 1 } else { 2 };
        if start[..4] != *b"\x7fELF" || start[5] != little {
            return None;
        }
        let layout = match start[4] {
            1 => Layout::NARROW,
            2 => Layout::WIDE,
            _ => return None,
        };
        let header = file.at(0, layout.header)?;
        let mut found = Self { segments: segments(file, &header, layout)?, ..Self::default() };
        let sections = sections(file, &header, layout).unwrap_or_default();
        let of_type = |wanted| sections.iter().find(|section| section.kind == wanted);
        // What strip(1) leaves are the functions that other files call.
        for table in [TABLE_OF_SYMBOLS, TABLE_OF_DYNAMIC_SYMBOLS].into_iter().filter_map(of_type) {
            let Some(names) = sections.get(table.link as usize).and_then(|names| names.content(file)) else { continue };
            let Some(symbols) = table.content(file) else { continue };
            let functions = symbols.chunks_exact(layout.symbol).filter_map(|symbol| layout.function(symbol));
            found.functions = functions.take(MOST_FUNCTIONS).collect();
            found.names = names;
            if !found.functions.is_empty() {
                break;
            }
        }
        found.functions.sort_by_key(|function| (function.address, function.size));
        Some(found)
    }

    /// Whether the file names any.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// The function that is at this place of the file, in which the program's code is loaded from it.
    pub fn at_offset(&self, offset: u64) -> Option<String> {
        let inside = |segment: &Segment| {
            let within = offset.checked_sub(segment.offset).filter(|within| *within < segment.size)?;
            Some(segment.address.wrapping_add(within))
        };
        self.at(self.segments.iter().find_map(inside)?)
    }

    fn at(&self, address: u64) -> Option<String> {
        let after = self.functions.partition_point(|function| function.address <= address);
        // Of several names for one place, the last is as good as any; one that ends before is none.
        let function = self.functions[..after].last()?;
        let within = address - function.address < function.size.max(1) || function.size == 0;
        within.then(|| self.name(function.name)).flatten()
    }

    fn name(&self, at: u32) -> Option<String> {
        let bytes = self.names.get(at as usize..)?;
        let name = bytes.split(|byte| *byte == 0).next().filter(|name| !name.is_empty())?;
        Some(String::from_utf8_lossy(&name[..name.len().min(LONGEST_NAME)]).into_owned())
    }
}

/// Where the fields are, in files of 32 and of 64 bits.
#[derive(Clone, Copy)]
struct Layout {
    header: usize,
    segment: usize,
    section: usize,
    symbol: usize,
    wide: bool,
}

impl Layout {
    const NARROW: Self = Self { header: 52, segment: 32, section: 40, symbol: 16, wide: false };
    const WIDE: Self = Self { header: 64, segment: 56, section: 64, symbol: 24, wide: true };

    /// A number of the width of an address.
    fn word(self, bytes: &[u8], narrow: usize, wide: usize) -> Option<u64> {
        match self.wide {
            true => long(bytes, wide),
            false => int(bytes, narrow).map(u64::from),
        }
    }

    fn function(self, symbol: &[u8]) -> Option<Function> {
        let kind = symbol.get(if self.wide { 4 } else { 12 })? & 0xf;
        let section = short(symbol, if self.wide { 6 } else { 14 })?;
        let function =
            Function { address: self.word(symbol, 4, 8)?, size: self.word(symbol, 8, 16)?, name: int(symbol, 0)? };
        // One in no section is another file's.
        ([FUNCTION, INDIRECT_FUNCTION].contains(&kind) && section != 0).then_some(function)
    }
}

struct Section {
    kind: u32,
    link: u32,
    offset: u64,
    size: u64,
}

impl Section {
    fn content(&self, file: &impl Bytes) -> Option<Vec<u8>> {
        let size = usize::try_from(self.size).ok().filter(|size| *size as u64 <= LARGEST_TABLE)?;
        file.at(self.offset, size)
    }
}

fn sections(file: &impl Bytes, header: &[u8], layout: Layout) -> Option<Vec<Section>> {
    let offset = layout.word(header, 32, 40)?;
    let (size, count) = match layout.wide {
        true => (short(header, 58)?, short(header, 60)?),
        false => (short(header, 46)?, short(header, 48)?),
    };
    let table = table(file, offset, size, count, layout.section)?;
    let section = |bytes: &[u8]| {
        Some(Section {
            kind: int(bytes, 4)?,
            link: int(bytes, if layout.wide { 40 } else { 24 })?,
            offset: layout.word(bytes, 16, 24)?,
            size: layout.word(bytes, 20, 32)?,
        })
    };
    table.chunks_exact(size.into()).map(section).collect()
}

fn segments(file: &impl Bytes, header: &[u8], layout: Layout) -> Option<Vec<Segment>> {
    let offset = layout.word(header, 28, 32)?;
    let (size, count) = match layout.wide {
        true => (short(header, 54)?, short(header, 56)?),
        false => (short(header, 42)?, short(header, 44)?),
    };
    if count == 0 {
        return Some(Vec::new());
    }
    let table = table(file, offset, size, count, layout.segment)?;
    let loaded = table.chunks_exact(size.into()).filter(|bytes| int(bytes, 0) == Some(LOADED_SEGMENT));
    let segment = |bytes: &[u8]| {
        Some(Segment {
            offset: layout.word(bytes, 4, 8)?,
            address: layout.word(bytes, 8, 16)?,
            size: layout.word(bytes, 16, 32)?,
        })
    };
    loaded.map(segment).collect()
}

/// Entries may be longer than what is known of them, not shorter.
fn table(file: &impl Bytes, offset: u64, size: u16, count: u16, least: usize) -> Option<Vec<u8>> {
    if usize::from(size) < least || count == 0 {
        return None;
    }
    file.at(offset, usize::from(size) * usize::from(count))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// This very program, whose tests have symbols.
    fn own() -> Vec<u8> {
        std::fs::read(std::env::current_exe().unwrap()).unwrap()
    }

    /// nm(1) judges in the process tests; here a function of this file is found again under its own name.
    #[test]
    fn every_function_is_found_at_its_beginning_and_its_end() {
        let bytes = own();
        let functions = Functions::read(&bytes.as_slice()).unwrap();
        assert!(functions.functions.len() > 500, "{}", functions.functions.len());
        let (function, next) = functions
            .functions
            .windows(2)
            .map(|pair| (pair[0], pair[1]))
            .find(|(function, next)| {
                let name = functions.name(function.name).unwrap_or_default();
                name.contains("every_function_is_found") && next.address > function.address + function.size
            })
            .expect("this test is a function");
        let offset = |address: u64| {
            let segment = functions.segments.iter().find(|s| address.wrapping_sub(s.address) < s.size).unwrap();
            address - segment.address + segment.offset
        };
        let name = functions.name(function.name);
        assert_eq!(functions.at_offset(offset(function.address)), name);
        assert_eq!(functions.at_offset(offset(function.address + function.size - 1)), name);
        assert_ne!(functions.at_offset(offset(function.address + function.size)), name);
        assert_eq!(functions.at_offset(offset(next.address)), functions.at(next.address));
        assert_eq!(functions.at_offset(u64::MAX), None);
    }

    #[test]
    fn what_is_no_elf_file_is_refused_and_one_without_sections_has_no_functions() {
        assert_eq!(Functions::read(&&b"#!/bin/sh\nexit 0\n    "[..]), None);
        assert_eq!(Functions::read(&&b"\x7fELF"[..]), None);
        let mut bytes = own();
        bytes[5] = 3 - bytes[5];
        assert_eq!(Functions::read(&bytes.as_slice()), None, "another byte order");
        let mut bytes = own();
        bytes[60..62].fill(0);
        let read = Functions::read(&bytes.as_slice()).unwrap();
        assert!(read.is_empty() && !read.segments.is_empty());
    }

    /// A damaged file may have a segment that is as large as can be.
    #[test]
    fn what_comes_before_a_segment_is_in_no_function() {
        let segment = Segment { offset: 100, address: 0, size: u64::MAX };
        let functions = Functions { segments: vec![segment], ..Functions::default() };
        assert_eq!(functions.at_offset(99), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// Any change of any byte of the header, and any cut, gives an answer.
        #[test]
        fn damaged_files_are_answered(at in 0usize..64, byte: u8, cut in 0usize..4096, offset: u64) {
            let whole = own();
            let mut bytes = whole[whole.len().saturating_sub(1 << 16)..].to_vec();
            bytes[..64].copy_from_slice(&whole[..64]);
            bytes[at] = byte;
            bytes.truncate(bytes.len() - cut);
            if let Some(functions) = Functions::read(&bytes.as_slice()) {
                let _ = functions.at_offset(offset);
            }
        }
    }
}
