//! The machine around the PRUs: whether it is one that has them, and how its pads are set.

use std::fs;
use std::path::{Path, PathBuf};

use super::pin::{Direction, Pad, Pin};
use crate::Error;

/// A machine, and where its firmware is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Where the system's files are: another folder than `/` in tests.
    pub root: PathBuf,
    /// The folder of the firmware's files; `None`: where it is installed, or built.
    pub firmware: Option<PathBuf>,
}

impl Default for Host {
    fn default() -> Self {
        Self { root: "/".into(), firmware: None }
    }
}

impl Host {
    /// A path of this machine.
    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Refuses a machine without PRUs.
    pub fn check(&self) -> Result<(), Error> {
        let tree = ["sys/firmware/devicetree/base", "proc/device-tree"].map(|folder| self.at(folder));
        let Some(tree) = tree.iter().find(|folder| folder.is_dir()) else {
            return Err(none("this machine, which has no device tree,"));
        };
        let compatible = fs::read(tree.join("compatible")).unwrap_or_default();
        let names: Vec<&[u8]> = compatible.split(|&byte| byte == 0).collect();
        if names.contains(&b"ti,am33xx".as_slice()) {
            return Ok(());
        }
        let model = fs::read_to_string(tree.join("model")).unwrap_or_default();
        let model = model.trim_end_matches('\0');
        match names.contains(&b"brcm,bcm2712".as_slice()) {
            true => Err(Error::Impossible(format!(
                "this {model} has no PRU. Its counterpart is the PIO of the RP1, which ontick does not drive yet \
                 (hardware that times pulses here: PWM and SPI)"
            ))),
            false => Err(none(&format!("this machine ({model})"))),
        }
    }

    /// Refuses a pin whose pad is set to something else; a sentence where nobody can tell.
    pub(super) fn check_pad(&self, pin: &Pin, way: Direction) -> Result<Option<String>, Error> {
        pin.check(way).map_err(|e| Error::Impossible(e.to_string()))?;
        let Some(pad) = pin.pad(way) else {
            return Ok(Some(format!(
                "whether a pin is set to be {pin} was not looked at: name it by its header, P9_31 say"
            )));
        };
        let Some(value) = self.pad_register(pad) else {
            return Ok(Some(format!(
                "whether {pin} is set to be the PRU's could not be looked at: /sys/kernel/debug/pinctrl cannot be read"
            )));
        };
        let (mode, receives) = (value & 0b111, value & 1 << 5 != 0);
        if mode == pad.mode && (receives || !pad.receives) {
            return Ok(None);
        }
        let word = if way == Direction::Output { "pruout" } else { "pruin" };
        let now = if mode == pad.mode { "its receiver is off".into() } else { format!("it is in mode {mode}") };
        Err(Error::Impossible(format!(
            "{pin} is not set to be the PRU's: {now}, and must be in mode {}{} (config-pin {pin} {word}, or an overlay: \
             docs/pru.md)",
            pad.mode,
            if pad.receives { " with its receiver on" } else { "" }
        )))
    }

    /// What `pinctrl-single` shows: `pin 100 (PIN100) 44e10990 00000025 pinctrl-single`, with more words in between since
    /// Linux 5.9.
    fn pad_register(&self, pad: Pad) -> Option<u32> {
        let drivers = fs::read_dir(self.at("sys/kernel/debug/pinctrl")).ok()?;
        let is_pads = |path: &PathBuf| name_of(path).is_some_and(|name| name.starts_with("44e10800"));
        let folder = drivers.flatten().map(|entry| entry.path()).find(is_pads)?;
        let text = fs::read_to_string(folder.join("pins")).ok()?;
        let address = format!("{:08x}", pad.address);
        text.lines().find_map(|line| {
            let mut words = line.split_whitespace().skip_while(|word| *word != address);
            words.next()?;
            u32::from_str_radix(words.next()?, 16).ok()
        })
    }
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

fn none(machine: &str) -> Error {
    Error::Impossible(format!("a PRU is part of a BeagleBone (AM335x), and {machine} has none"))
}
