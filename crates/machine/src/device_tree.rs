//! A board's device tree as its boot loader reads it from a file (`*.dtb`): which board, and how many CPUs it has.
//!
//! The format is that of the Devicetree Specification, chapter 5. A file on somebody's card can hold anything: what does
//! not fit is an error, nothing is read outside of the file, and no depth of nodes uses the stack.

use ontick_units::CpuList;

/// What is read of a device tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceTree {
    /// The board's name.
    pub model: String,
    /// What it is compatible with, the board first, separated by spaces.
    pub compatible: String,
    /// What its first CPU is compatible with (`arm,cortex-a72`).
    pub processor: String,
    /// Its CPUs, as Linux numbers them: from 0 on, without those that are disabled.
    pub cpus: CpuList,
}

/// Why a file is no device tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceTreeError {
    /// It begins with something else.
    #[error("it is not a device tree")]
    Magic,
    /// It ends, or names a place outside of itself, before all was read.
    #[error("it is cut off or damaged")]
    Damaged,
}

const MAGIC: u32 = 0xd00d_feed;
const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOTHING: u32 = 4;
const END: u32 = 9;

/// More CPUs than Linux can be built for.
const MOST_CPUS: u32 = 8192;

impl DeviceTree {
    /// Reads a file.
    pub fn parse(blob: &[u8]) -> Result<Self, DeviceTreeError> {
        if number(blob, 0) != Ok(MAGIC) {
            return Err(DeviceTreeError::Magic);
        }
        let part = |from: usize| {
            let from = usize::try_from(number(blob, from)?).map_err(|_| DeviceTreeError::Damaged)?;
            blob.get(from..).ok_or(DeviceTreeError::Damaged)
        };
        let strings = part(12)?;
        let mut structure = Structure { rest: part(8)? };
        let mut tree = Self::default();
        let mut walk = Walk::default();
        loop {
            match structure.number()? {
                BEGIN_NODE => walk.enter(structure.text()?),
                END_NODE => walk.leave(&mut tree)?,
                PROPERTY => {
                    let (length, name) = (structure.number()?, structure.number()?);
                    let value = structure.take(length)?;
                    let name = usize::try_from(name).ok().and_then(|at| strings.get(at..));
                    walk.property(&mut tree, until_zero(name.ok_or(DeviceTreeError::Damaged)?)?, value);
                }
                NOTHING => {}
                END => break,
                _ => return Err(DeviceTreeError::Damaged),
            }
        }
        tree.cpus = (0..walk.enabled).collect();
        Ok(tree)
    }
}

/// Where the reading is: how deep, and what the CPU's node that it is in has said.
#[derive(Default)]
struct Walk {
    depth: u64,
    /// In `/cpus`.
    in_cpus: bool,
    is_cpu: bool,
    disabled: bool,
    enabled: u32,
}

impl Walk {
    fn enter(&mut self, name: &[u8]) {
        self.depth += 1;
        match self.depth {
            2 => self.in_cpus = name == b"cpus",
            3 => (self.is_cpu, self.disabled) = (name.starts_with(b"cpu@"), false),
            _ => {}
        }
    }

    fn leave(&mut self, tree: &mut DeviceTree) -> Result<(), DeviceTreeError> {
        if self.depth == 3 && self.in_cpus && self.is_cpu && !self.disabled && self.enabled < MOST_CPUS {
            self.enabled += 1;
        }
        if self.depth == 3 && self.in_cpus && (!self.is_cpu || self.disabled) && self.enabled == 0 {
            tree.processor.clear();
        }
        self.depth = self.depth.checked_sub(1).ok_or(DeviceTreeError::Damaged)?;
        Ok(())
    }

    fn property(&mut self, tree: &mut DeviceTree, name: &[u8], value: &[u8]) {
        match (self.depth, name) {
            (1, b"model") => tree.model = words(value),
            (1, b"compatible") => tree.compatible = words(value),
            (3, b"device_type") if self.in_cpus => self.is_cpu = value == b"cpu\0",
            (3, b"status") if self.in_cpus => self.disabled = !(value == b"okay\0" || value == b"ok\0"),
            (3, b"compatible") if self.in_cpus && tree.processor.is_empty() => tree.processor = words(value),
            _ => {}
        }
    }
}

/// The structure block that is not read yet.
struct Structure<'a> {
    rest: &'a [u8],
}

impl<'a> Structure<'a> {
    fn number(&mut self) -> Result<u32, DeviceTreeError> {
        let value = number(self.rest, 0)?;
        self.rest = &self.rest[4..];
        Ok(value)
    }

    /// This many bytes, and the zeros after them up to a multiple of four.
    fn take(&mut self, length: u32) -> Result<&'a [u8], DeviceTreeError> {
        let length = usize::try_from(length).map_err(|_| DeviceTreeError::Damaged)?;
        let padded = length.checked_next_multiple_of(4).ok_or(DeviceTreeError::Damaged)?;
        let (value, rest) = self.rest.split_at_checked(padded).ok_or(DeviceTreeError::Damaged)?;
        self.rest = rest;
        Ok(&value[..length])
    }

    fn text(&mut self) -> Result<&'a [u8], DeviceTreeError> {
        let text = until_zero(self.rest)?;
        self.take(u32::try_from(text.len() + 1).map_err(|_| DeviceTreeError::Damaged)?)?;
        Ok(text)
    }
}

fn number(bytes: &[u8], at: usize) -> Result<u32, DeviceTreeError> {
    let four = at.checked_add(4).and_then(|end| bytes.get(at..end)).ok_or(DeviceTreeError::Damaged)?;
    Ok(u32::from_be_bytes(four.try_into().expect("four bytes")))
}

fn until_zero(bytes: &[u8]) -> Result<&[u8], DeviceTreeError> {
    bytes.iter().position(|b| *b == 0).map(|end| &bytes[..end]).ok_or(DeviceTreeError::Damaged)
}

/// Strings that each end with a zero byte, separated by spaces.
fn words(value: &[u8]) -> String {
    String::from_utf8_lossy(value).trim_matches('\0').replace('\0', " ")
}

#[cfg(test)]
#[path = "../tests/machine/blob.rs"]
mod blob;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::blob::{STRINGS, board as written};
    use super::*;

    fn board(cpus: u32, disabled: u32) -> Vec<u8> {
        written("Raspberry Pi 4 Model B", "raspberrypi,4-model-b\0brcm,bcm2711", cpus, disabled)
    }

    #[test]
    fn a_board_and_its_cpus_are_read() {
        let tree = DeviceTree::parse(&board(4, 0)).unwrap();
        assert_eq!(tree.cpus.to_string(), "0-3");
        assert_eq!((tree.model.as_str(), tree.processor.as_str()), ("Raspberry Pi 4 Model B", "arm,cortex-a72"));
        assert_eq!(tree.compatible, "raspberrypi,4-model-b brcm,bcm2711");
        assert_eq!(DeviceTree::parse(&board(4, 2)).unwrap().cpus.to_string(), "0-1");
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_refused() {
        assert_eq!(DeviceTree::parse(b"a device tree"), Err(DeviceTreeError::Magic));
        let whole = board(4, 0);
        let strings = whole.len() - STRINGS.len();
        for end in 4..strings {
            assert_eq!(DeviceTree::parse(&whole[..end]), Err(DeviceTreeError::Damaged), "{end}");
        }
        let mut wild = whole;
        wild[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(DeviceTree::parse(&wild), Err(DeviceTreeError::Damaged));
    }

    proptest! {
        /// Whatever a card holds: an answer or an error, never a panic.
        #[test]
        fn damaged_bytes_are_survived(at in 0usize..600, with: u8, end in 0usize..700) {
            let mut bytes = board(3, 1);
            let at = at % bytes.len();
            bytes[at] = with;
            bytes.truncate(end.max(1));
            let _ = DeviceTree::parse(&bytes);
        }
    }
}
