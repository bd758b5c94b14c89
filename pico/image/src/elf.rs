//! What a linked program has in memory: the loaded segments of an ELF file of 32 bits, by their addresses in flash.

/// A part of the program.
#[derive(Debug, PartialEq, Eq)]
pub struct Segment<'f> {
    /// Where it lies in flash.
    pub address: u32,
    /// Where it lies in the file.
    pub at: usize,
    pub bytes: &'f [u8],
}

const LOADED: u32 = 1;

pub fn segments(file: &[u8]) -> Result<Vec<Segment<'_>>, String> {
    if !file.starts_with(b"\x7fELF\x01\x01") {
        return Err("it is no ELF file of 32 bits".into());
    }
    let (table, size, count) = (word(file, 28)? as usize, half(file, 42)? as usize, half(file, 44)? as usize);
    let mut segments = Vec::new();
    for number in 0..count {
        let header = table.saturating_add(number * size);
        let [kind, at, address, length] =
            [0, 4, 12, 16].map(|field| word(file, header.saturating_add(field))).map(|value| value.unwrap_or(0));
        if kind == LOADED && length > 0 {
            let at = at as usize;
            let bytes = file.get(at..at.saturating_add(length as usize)).ok_or("a segment is not in the file")?;
            segments.push(Segment { address, at, bytes });
        }
    }
    Ok(segments)
}

fn word(file: &[u8], at: usize) -> Result<u32, String> {
    let bytes = file.get(at..at.saturating_add(4)).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u32::from_le_bytes).ok_or_else(|| "its header is cut off".into())
}

fn half(file: &[u8], at: usize) -> Result<u16, String> {
    let bytes = file.get(at..at.saturating_add(2)).and_then(|bytes| bytes.try_into().ok());
    bytes.map(u16::from_le_bytes).ok_or_else(|| "its header is cut off".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_segments_are_found_by_their_address_in_flash() {
        let mut file = vec![0; 200];
        file[..6].copy_from_slice(b"\x7fELF\x01\x01");
        file[28] = 52;
        file[42] = 32;
        file[44] = 2;
        // The second is loaded: 10 bytes at 150, for RAM at 0x20000000 and flash at 0x10000400.
        let header = 52 + 32;
        for (field, value) in [(0, 1_u32), (4, 150), (8, 0x2000_0000), (12, 0x1000_0400), (16, 10)] {
            file[header + field..header + field + 4].copy_from_slice(&value.to_le_bytes());
        }
        let found = segments(&file).unwrap();
        assert_eq!(found, [Segment { address: 0x1000_0400, at: 150, bytes: &[0; 10] }]);
        assert!(segments(&file[..155]).is_err() && segments(&file[..40]).is_err() && segments(b"MZ").is_err());
    }
}
