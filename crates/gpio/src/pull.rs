//! The world outside a simulated chip of the kernel (gpio-sim): what pulls its inputs up and down.
//!
//! gpio-sim lets user space play the circuit around a chip: the attribute `pull` of a line takes `pull-up` and
//! `pull-down` and makes an edge on an input, which the kernel then handles as it does one from outside
//! (Documentation/admin-guide/gpio/gpio-sim.rst).

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use crate::{Backend, Direction, Edges, Error, Gone, Name, Request};

/// A line of gpio-sim, driven from outside.
#[derive(Debug)]
pub struct Pull {
    pull: File,
    value: File,
}

impl Pull {
    pub fn open(name: &Name, chip: &str, line: u32, request: &Request) -> Result<Self, Error> {
        let wrong = |why: String| Error::NotFound { name: name.clone(), why };
        if request.edges != Edges::None {
            let what = "report edges from outside (read it, or name the line itself)".into();
            return Err(Error::Unsupported { name: name.clone(), backend: Backend::GpioSim, what });
        }
        let instead = "what pulls a line is no input (name the line itself)";
        request.check_not_debounced(name, Backend::GpioSim, instead)?;
        request.check(name, Backend::GpioSim)?;
        let attributes = attributes(chip).ok_or_else(|| wrong(format!("{chip} is no chip of gpio-sim")))?;
        let attributes = attributes.join(format!("sim_gpio{line}"));
        let open = |attribute: &str, write: bool| {
            let path = attributes.join(attribute);
            OpenOptions::new().read(!write).write(write).open(&path).map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => wrong(format!("{chip} has no such line")),
                io::ErrorKind::PermissionDenied => {
                    Error::Permission { name: name.clone(), path, remedy: "use sudo".into() }
                }
                _ => Error::System { name: name.clone(), doing: format!("opening {}", path.display()), error },
            })
        };
        let mut pull = Self { pull: open("pull", true)?, value: open("value", false)? };
        if let Direction::Output(value) = request.direction {
            pull.write(value).map_err(|gone| wrong(gone.to_string()))?;
        }
        Ok(pull)
    }

    #[inline]
    pub fn write(&mut self, level: bool) -> Result<(), Gone> {
        let text: &[u8] = if level { b"pull-up" } else { b"pull-down" };
        self.pull.write_all_at(text, 0).map_err(gone)
    }

    pub fn read(&mut self) -> Result<bool, Gone> {
        let mut level = [0];
        self.value.read_exact_at(&mut level, 0).map_err(gone)?;
        Ok(level == *b"1")
    }
}

fn gone(error: io::Error) -> Gone {
    Gone(Errno::from_io_error(&error).unwrap_or(Errno::IO))
}

/// The device of a simulated chip; `None` for any other's.
pub fn simulated(chip: &str) -> Option<PathBuf> {
    // …/gpio-sim.0/gpiochip1, or …/gpio-sim.0/gpio-sim.0:node0/gpiochip1
    let device = fs::canonicalize(Path::new("/sys/bus/gpio/devices").join(chip)).ok()?;
    let of_gpio_sim = device.components().any(|part| part.as_os_str().to_string_lossy().starts_with("gpio-sim."));
    of_gpio_sim.then_some(device)
}

/// Where gpio-sim keeps a chip's attributes; `None` for a chip that is not one of its.
pub fn attributes(chip: &str) -> Option<PathBuf> {
    let device = simulated(chip)?;
    device.ancestors().map(|folder| folder.join(chip)).find(|folder| folder.join("sim_gpio0").is_dir())
}
