//! The open device.

use std::fs::File;
use std::io;

use ontick_gpio::{Name, OnExit};

use super::{Error, abi, call, line, load};

const PATH: &str = "/dev/ontick";

/// An open `/dev/ontick`, which is one job. The kernel ends it, and releases its lines, when it is closed.
#[derive(Debug)]
pub struct Device(File);

/// Whether the module can be used with these lines here and now, loading it if it is installed.
pub fn usable(lines: &[&Name]) -> Result<(), Error> {
    lines.iter().try_for_each(|name| line::line(name, OnExit::Keep).map(drop))?;
    Device::open().map(drop)
}

impl Device {
    /// Opens the device of a module that speaks the same version; loads the module if it is not.
    pub fn open() -> Result<Self, Error> {
        let file = match open() {
            Err(Error::Device(error)) if error.kind() == io::ErrorKind::NotFound => {
                load::load()?;
                open()
            }
            opened => opened,
        }?;
        let version = call::version(&file).map_err(Error::Device)?;
        check(&version)?;
        Ok(Self(file))
    }

    pub(super) fn file(&self) -> &File {
        &self.0
    }
}

fn open() -> Result<File, Error> {
    File::options().read(true).write(true).open(PATH).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Permission,
        _ => Error::Device(error),
    })
}

fn check(version: &abi::Version) -> Result<(), Error> {
    if version.abi == abi::ABI {
        return Ok(());
    }
    let length = version.module.iter().position(|byte| *byte == 0).unwrap_or(version.module.len());
    let module = String::from_utf8_lossy(&version.module[..length]).into_owned();
    Err(Error::OtherVersion { module, theirs: version.abi, ours: abi::ABI })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_is_reported_with_both_numbers() {
        let mut version = abi::Version { abi: abi::ABI, ..abi::Version::default() };
        assert!(check(&version).is_ok());
        version.abi = 7;
        version.module[..5].copy_from_slice(b"9.8.7");
        let reported = check(&version).unwrap_err().to_string();
        assert!(
            reported.contains("ontick 9.8.7 speaks version 7") && reported.contains("this program version 1"),
            "{reported}"
        );
    }
}
