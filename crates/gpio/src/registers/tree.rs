//! What the device tree says of the machine.

use std::fs;
use std::path::{Path, PathBuf};

/// The device tree of a running system.
#[derive(Debug)]
pub struct Tree(PathBuf);

impl Tree {
    /// That of the system whose files are under `root`; `None` for a machine without one, such as a PC.
    pub fn under(root: &Path) -> Option<Self> {
        let folders = ["sys/firmware/devicetree/base", "proc/device-tree"];
        folders.into_iter().map(|folder| root.join(folder)).find(|folder| folder.is_dir()).map(Self)
    }

    /// The root's property of this name; empty when there is none.
    pub fn compatible(&self) -> Vec<u8> {
        fs::read(self.0.join("compatible")).unwrap_or_default()
    }

    /// What the board calls itself.
    pub fn model(&self) -> String {
        let model = fs::read_to_string(self.0.join("model")).unwrap_or_default();
        model.trim_end_matches('\0').to_owned()
    }

    /// Where the processors see what is at this address of the `soc` node's bus.
    pub fn behind_soc(&self, bus_address: u64) -> Option<u64> {
        let soc = self.0.join("soc");
        let cells = |folder: &Path, name| number(&fs::read(folder.join(name)).ok()?);
        let widths = [cells(&soc, "#address-cells")?, cells(&self.0, "#address-cells")?, cells(&soc, "#size-cells")?];
        let ranges = fs::read(soc.join("ranges")).ok()?;
        translate(&ranges, widths.map(|cells| cells as usize), bus_address)
    }
}

/// Looks the address up in a `ranges` property: triples of child address, parent address and length, each of so many
/// 32-bit cells (*Devicetree Specification* 0.4, section 2.3.8).
fn translate(ranges: &[u8], [child, parent, size]: [usize; 3], address: u64) -> Option<u64> {
    let widths = [child, parent, size].map(|cells| 4 * cells);
    if widths.iter().any(|&bytes| bytes == 0 || bytes > 8) {
        return None;
    }
    ranges.chunks_exact(widths.iter().sum()).find_map(|range| {
        let (child, rest) = range.split_at(widths[0]);
        let (parent, size) = rest.split_at(widths[1]);
        let inside =
            address.checked_sub(number(child)?).filter(|&inside| number(size).is_some_and(|size| inside < size));
        number(parent)?.checked_add(inside?)
    })
}

/// A number of one or two cells, the high one first.
fn number(cells: &[u8]) -> Option<u64> {
    matches!(cells.len(), 4 | 8).then(|| cells.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(cells: &[u32]) -> Vec<u8> {
        cells.iter().flat_map(|cell| cell.to_be_bytes()).collect()
    }

    #[test]
    fn the_peripherals_of_every_raspberry_pi_are_found() {
        let gpio = 0x7e20_0000;
        let pi1 = cells(&[0x7e00_0000, 0x2000_0000, 0x0200_0000]);
        assert_eq!(translate(&pi1, [1, 1, 1], gpio), Some(0x2020_0000));
        let pi3 = cells(&[0x7e00_0000, 0x3f00_0000, 0x0100_0000, 0x4000_0000, 0x4000_0000, 0x1000]);
        assert_eq!(translate(&pi3, [1, 1, 1], gpio), Some(0x3f20_0000));
        let pi4 = [
            [0x7e00_0000, 0x0, 0xfe00_0000, 0x0180_0000],
            [0x7c00_0000, 0x0, 0xfc00_0000, 0x0200_0000],
            [0x4000_0000, 0x0, 0xff80_0000, 0x0080_0000],
        ];
        assert_eq!(translate(&cells(pi4.as_flattened()), [1, 2, 1], gpio), Some(0xfe20_0000));
        let high = cells(&[0x7e00_0000, 0x4, 0x7e00_0000, 0x0180_0000]);
        assert_eq!(translate(&high, [1, 2, 1], gpio), Some(0x4_7e20_0000));
    }

    #[test]
    fn an_address_outside_every_range_is_nowhere() {
        let pi3 = cells(&[0x7e00_0000, 0x3f00_0000, 0x0020_0000]);
        assert_eq!(translate(&pi3, [1, 1, 1], 0x7e20_0000), None);
        assert_eq!(translate(&pi3, [1, 1, 1], 0x7dff_ffff), None);
        assert_eq!(translate(&pi3[..8], [1, 1, 1], 0x7e00_0000), None);
        assert_eq!(translate(&pi3, [0, 1, 1], 0x7e00_0000), None);
        assert_eq!(translate(&pi3, [3, 1, 1], 0x7e00_0000), None);
        let last = cells(&[0, u32::MAX, u32::MAX, 4]);
        assert_eq!(translate(&last, [1, 2, 1], 0), Some(u64::MAX));
        assert_eq!(translate(&last, [1, 2, 1], 1), None, "past the last address");
    }
}
