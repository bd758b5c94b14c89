//! Lines of a character device that are read or driven at once.

use std::fs::File;

use gpiocdev_uapi::v2::{self as uapi, LineConfig, LineFlags, LineRequest, LineValues};

use super::chip::Chip;
use super::errno;
use super::pin::{asked, bias, gone, refusal};
use crate::{Backend, Direction, Error, Gone, Name, Request};

/// Takes lines of one chip by one request.
fn take(names: &[&Name], chip_name: &str, lines: &[u32], request: &Request, asked: LineRequest) -> Result<File, Error> {
    let chip = Chip::open(chip_name).map_err(|refused| refused.about(names[0]))?;
    if let Some((name, _)) = names.iter().zip(lines).find(|(_, line)| **line >= chip.info.num_lines) {
        let last = chip.info.num_lines.saturating_sub(1);
        return Err(Error::NoSuchLine { name: Name::clone(name), chip: chip_name.into(), last });
    }
    let taken = uapi::get_line(&chip.file, asked).map_err(errno::of);
    taken.map_err(|errno| {
        // The kernel refuses all of them because of one: most likely the first that somebody has.
        let is_used = |line: u32| chip.line(line).is_ok_and(|info| info.flags.contains(LineFlags::USED));
        let culprit = lines.iter().position(|line| is_used(*line)).unwrap_or(0);
        refusal(names[culprit], chip_name, &chip, lines[culprit], request, errno)
    })
}

/// The bits of so many lines.
fn mask(lines: usize) -> u64 {
    u64::MAX >> (u64::BITS as usize - lines)
}

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
        let names: Vec<&Name> = names.iter().collect();
        let file = take(&names, chip_name, lines, request, asked(lines, request))?;
        Ok(Self { file, mask: mask(lines.len()) })
    }

    /// One request of the kernel.
    #[inline]
    pub fn read(&mut self) -> Result<u64, Gone> {
        let mut values = LineValues { bits: 0, mask: self.mask };
        uapi::get_line_values(&self.file, &mut values).map_err(gone)?;
        Ok(values.bits & self.mask)
    }
}

/// Lines of one chip that are driven, held by one request.
#[derive(Debug)]
pub struct OutputPins {
    file: File,
    bias: LineFlags,
}

impl OutputPins {
    /// `lines` are those of `names`; `request` is that of an output. Bit n of `levels` is the first level of the nth.
    pub fn open(
        names: &[&Name],
        chip_name: &str,
        lines: &[u32],
        levels: u64,
        request: &Request,
    ) -> Result<Self, Error> {
        let mut wanted = asked(lines, &Request { direction: Direction::AsIs, ..*request });
        wanted.config.flags |= LineFlags::OUTPUT;
        wanted.config.add_values(&LineValues { bits: levels, mask: mask(lines.len()) });
        Ok(Self { file: take(names, chip_name, lines, request, wanted)?, bias: bias(request) })
    }

    /// One request of the kernel.
    #[inline]
    pub fn write(&mut self, levels: u64, changed: u64) -> Result<(), Gone> {
        uapi::set_line_values(&self.file, &LineValues { bits: levels, mask: changed }).map_err(gone)
    }

    /// Drives them no more.
    pub fn let_go(&mut self) -> Result<(), Gone> {
        let config = LineConfig { flags: LineFlags::INPUT | self.bias, ..LineConfig::default() };
        uapi::set_line_config(&self.file, config).map_err(gone)
    }
}
