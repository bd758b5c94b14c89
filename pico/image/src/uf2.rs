//! A UF2 file (https://github.com/microsoft/uf2): blocks of 512 bytes, each with 256 bytes of flash and where they belong.

use crate::elf::Segment;

/// Where flash begins.
pub const FLASH: u32 = 0x1000_0000;
const PART: usize = 256;
/// There is a family.
const FLAGS: u32 = 0x2000;
const RP2040: u32 = 0xe48b_ff56;

/// All of flash from its beginning to the end of the last segment.
pub fn image(segments: &[Segment]) -> Vec<u8> {
    let end = |segment: &Segment| (segment.address - FLASH) as usize + segment.bytes.len();
    let length = segments.iter().map(end).max().unwrap_or(0);
    let mut flash = vec![0; length.next_multiple_of(PART)];
    for segment in segments {
        flash[end(segment) - segment.bytes.len()..end(segment)].copy_from_slice(segment.bytes);
    }
    let count = (flash.len() / PART) as u32;
    flash.chunks(PART).zip(0..).flat_map(|(part, number)| block(part, number, count)).collect()
}

fn block(part: &[u8], number: u32, count: u32) -> Vec<u8> {
    let address = FLASH + number * PART as u32;
    let header = [0x0a32_4655, 0x9e5d_5157, FLAGS, address, PART as u32, number, count, RP2040];
    let mut block: Vec<u8> = header.into_iter().flat_map(u32::to_le_bytes).chain(part.iter().copied()).collect();
    block.resize(508, 0);
    block.extend(0x0ab1_6f30_u32.to_le_bytes());
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_its_part_of_flash() {
        let segments = [
            Segment { address: FLASH, at: 0, bytes: &[1; 256] },
            Segment { address: FLASH + 0x200, at: 0, bytes: &[2; 3] },
        ];
        let image = image(&segments);
        assert_eq!(image.len(), 3 * 512);
        let last = &image[1024..];
        assert_eq!(last[..4], *b"UF2\n");
        assert_eq!(last[12..16], (FLASH + 0x200).to_le_bytes());
        assert_eq!((&last[20..24], &last[24..28]), (&[2, 0, 0, 0][..], &[3, 0, 0, 0][..]));
        assert_eq!((&last[32..36], &last[508..]), (&[2, 2, 2, 0][..], &[0x30, 0x6f, 0xb1, 0x0a][..]));
    }
}
