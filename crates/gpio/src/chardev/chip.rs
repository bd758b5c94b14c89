//! A chip's device file: opened, or why not.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use gpiocdev_uapi::v2::{self as uapi, ChipInfo, LineInfo};
use rustix::io::Errno;

use super::errno;
use crate::rights::remedy;
use crate::{Error, Name};

/// An open chip.
#[derive(Debug)]
pub struct Chip {
    pub file: File,
    pub info: ChipInfo,
}

/// Why a chip cannot be used, before it is known which line was wanted.
#[derive(Debug)]
pub enum Refused {
    /// There is none.
    Missing,
    /// The user may not.
    Permission(PathBuf),
    /// The file is something else, or the kernel refuses.
    System(PathBuf, Errno),
}

/// Why no chip is found where there is none.
pub const NO_CHIP: &str = "this machine has no GPIO chip in /dev (simulated lines work everywhere: sim:bench/4)";

impl Chip {
    /// Opens `/dev/CHIP`.
    pub fn open(chip: &str) -> Result<Self, Refused> {
        let path = Path::new("/dev").join(chip);
        let file = File::open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Refused::Missing,
            io::ErrorKind::PermissionDenied => Refused::Permission(path.clone()),
            _ => Refused::System(path.clone(), Errno::from_io_error(&error).unwrap_or(Errno::IO)),
        })?;
        let info = uapi::get_chip_info(&file).map_err(|error| Refused::System(path, errno::of(error)))?;
        Ok(Self { file, info })
    }

    /// What the kernel tells about a line to everybody.
    pub fn line(&self, line: u32) -> Result<LineInfo, Errno> {
        uapi::get_line_info(&self.file, line).map_err(errno::of)
    }
}

/// The names of the chips under `/dev`, in the order of their numbers.
pub fn names() -> Vec<String> {
    let is_chip = |name: &String| name.starts_with("gpiochip") && crate::name::is_chip(name);
    let number = |name: &str| name["gpiochip".len()..].parse::<u32>().unwrap_or(u32::MAX);
    let entries = fs::read_dir("/dev").into_iter().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).filter(is_chip).collect();
    names.sort_by(|a, b| (number(a), a).cmp(&(number(b), b)));
    names
}

impl Refused {
    /// As an error of the line that was wanted.
    pub fn about(self, name: &Name) -> Error {
        let name = name.clone();
        match self {
            Refused::Missing => match names() {
                there if there.is_empty() => Error::NotFound { name, why: NO_CHIP.into() },
                there => Error::NoSuchChip { name, there },
            },
            Refused::Permission(path) => Error::Permission { name, remedy: remedy(&path), path },
            Refused::System(path, errno) => {
                Error::System { name, doing: format!("{} as a GPIO chip", path.display()), error: errno.into() }
            }
        }
    }

    /// As a sentence about the chip.
    pub fn sentence(&self) -> String {
        match self {
            Refused::Missing => match &names()[..] {
                [] => NO_CHIP.into(),
                there => format!("there is no such chip, only {}", there.join(", ")),
            },
            Refused::Permission(path) => format!("no permission to open {} ({})", path.display(), remedy(path)),
            Refused::System(path, errno) => {
                format!("{} as a GPIO chip: {}", path.display(), io::Error::from(*errno))
            }
        }
    }
}
