//! Lines of a character device that are read at once.

use std::fs::File;

use gpiocdev_uapi::v2::{self as uapi, LineFlags, LineValues};

use super::chip::Chip;
use super::errno;
use super::pin::{asked, gone, refusal};
use crate::{Backend, Error, Gone, Name, Request};

/// Lines of one chip, held by one request.
#[derive(Debug)]
pub struct Pins {
    file: File,
    mask: u64,
}

impl Pins {
    /// `lines` are those of `names`, asked for in terms of the wire.
    pub fn open(names: &[Name], chip_name: &str, lines: &[u32], request: &Request) -> Result<Self, Error> {
        request.check(&names[0], Backend::Chardev)?;
        let chip = Chip::open(chip_name).map_err(|refused| refused.about(&names[0]))?;
        if let Some((name, _)) = names.iter().zip(lines).find(|(_, line)| **line >= chip.info.num_lines) {
            let last = chip.info.num_lines.saturating_sub(1);
            return Err(Error::NoSuchLine { name: name.clone(), chip: chip_name.into(), last });
        }
        let taken = uapi::get_line(&chip.file, asked(lines, request)).map_err(errno::of);
        let file = taken.map_err(|errno| {
            // The kernel refuses all of them because of one: most likely the first that somebody has.
            let is_used = |line: u32| chip.line(line).is_ok_and(|info| info.flags.contains(LineFlags::USED));
            let culprit = lines.iter().position(|line| is_used(*line)).unwrap_or(0);
            refusal(&names[culprit], chip_name, &chip, lines[culprit], request, errno)
        })?;
        Ok(Self { file, mask: u64::MAX >> (u64::BITS as usize - lines.len()) })
    }

    /// One request of the kernel.
    #[inline]
    pub fn read(&mut self) -> Result<u64, Gone> {
        let mut values = LineValues { bits: 0, mask: self.mask };
        uapi::get_line_values(&self.file, &mut values).map_err(gone)?;
        Ok(values.bits & self.mask)
    }
}
