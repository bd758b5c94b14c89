//! The file that a PRU is started with: found, looked at, and put where the kernel finds it.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::host::Host;
use super::layout::Kind;
use crate::Error;

/// Where Linux takes firmware from.
const INSTALLED: &str = "lib/firmware";
/// Where a package may leave it.
const PACKAGED: &str = "usr/lib/ontick/pru";
/// `EM_TI_PRU` of the ELF specification's list of machines.
const PRU: u16 = 144;

/// A program of a PRU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Firmware {
    /// The name by which the kernel knows it.
    pub name: String,
    /// Where the kernel looks for it.
    pub place: PathBuf,
    /// What is to be put there; `None` where it is there.
    content: Option<Vec<u8>>,
}

impl Firmware {
    /// Finds it, and makes sure that it is one.
    pub fn find(host: &Host, kind: Kind, pru: u32) -> Result<Self, Error> {
        let name = kind.file(pru);
        let place = host.at(INSTALLED).join(&name);
        let installed = fs::read(&place).ok();
        let (path, content) = match &host.firmware {
            Some(folder) => read(folder.join(&name))?,
            None => match &installed {
                Some(content) => (place.clone(), content.clone()),
                None => candidates(host)
                    .into_iter()
                    .find_map(|folder| read(folder.join(&name)).ok())
                    .ok_or_else(|| missing(&name))?,
            },
        };
        if !is_firmware(&content) {
            return Err(Error::Impossible(format!("{} is no program of a PRU", path.display())));
        }
        match installed {
            Some(installed) if installed == content => Ok(Self { name, place, content: None }),
            Some(_) => Err(Error::Impossible(format!(
                "{} is another file than {}: remove the one that is not wanted",
                place.display(),
                path.display()
            ))),
            None => Ok(Self { name, place, content: Some(content) }),
        }
    }

    /// Whether it must be put there, and be taken away again.
    pub fn is_to_be_placed(&self) -> bool {
        self.content.is_some()
    }

    /// Puts it there, if it is not.
    pub fn place(&self) -> Result<(), Error> {
        let Some(content) = &self.content else { return Ok(()) };
        fs::write(&self.place, content).map_err(|error| {
            let _ = fs::remove_file(&self.place);
            let why = match error.kind() {
                io::ErrorKind::PermissionDenied => "only root may (sudo)".into(),
                io::ErrorKind::ReadOnlyFilesystem => {
                    "the file system is read-only: copy it there when it is not".into()
                }
                _ => error.to_string(),
            };
            Error::Impossible(format!("the firmware cannot be put at {}: {why}", self.place.display()))
        })
    }
}

fn read(path: PathBuf) -> Result<(PathBuf, Vec<u8>), Error> {
    match fs::read(&path) {
        Ok(content) => Ok((path, content)),
        Err(error) => Err(Error::Impossible(format!("the firmware {} cannot be read: {error}", path.display()))),
    }
}

/// Beside the program, where both were built in one tree, and where packages put it.
fn candidates(host: &Host) -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let built =
        program.iter().flat_map(|path| path.ancestors().skip(1).take(4)).map(|folder| folder.join("pru/firmware"));
    built.chain([host.at(PACKAGED)]).collect()
}

fn missing(name: &str) -> Error {
    Error::Impossible(format!(
        "the PRU's firmware {name} is not there: build it in ontick's source (packaging/pru-tools && make -C pru, on any \
         machine), copy target/pru/firmware to the BeagleBone and name that folder"
    ))
}

/// A 32-bit little-endian ELF file for this machine.
fn is_firmware(content: &[u8]) -> bool {
    let machine = content.get(18..20).map(|bytes| u16::from_le_bytes([bytes[0], bytes[1]]));
    content.starts_with(b"\x7fELF\x01\x01") && machine == Some(PRU)
}
