//! The file that a PRU is started with: found, looked at, and put where the kernel finds it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ontick_undo::trust;

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
                None => first_of(candidates(host), &name, &Believed::of_this_process())?,
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

/// Whose files are believed that nobody named: what the PRU runs reaches all of memory.
enum Believed {
    /// Anybody's. The process may do no more than its user.
    All,
    /// Root's, and this user's, who called sudo.
    RootAnd(Option<u32>),
}

impl Believed {
    fn of_this_process() -> Self {
        match rustix::process::geteuid().is_root() {
            true => Self::RootAnd(std::env::var("SUDO_UID").ok().and_then(|number| number.parse().ok())),
            false => Self::All,
        }
    }

    fn check(&self, path: &Path) -> Result<(), String> {
        match self {
            Self::All => Ok(()),
            Self::RootAnd(user) => match trust::check_file_of(path, *user) {
                Ok(checked) => checked.map_err(|untrusted| untrusted.to_string()),
                Err(error) => Err(format!("{} cannot be looked at: {error}", path.display())),
            },
        }
    }
}

/// The first that is there, and that nobody else could have put there.
fn first_of(folders: Vec<PathBuf>, name: &str, believed: &Believed) -> Result<(PathBuf, Vec<u8>), Error> {
    let mut left_out = None;
    for path in folders.into_iter().map(|folder| folder.join(name)).filter(|path| path.exists()) {
        match believed.check(&path) {
            Ok(()) => return read(path),
            Err(why) => left_out = left_out.or(Some((path, why))),
        }
    }
    Err(match left_out {
        None => missing(name),
        Some((path, why)) => Error::Impossible(format!(
            "root does not take the firmware {} by itself: {why} (if it is yours, name its folder)",
            path.display()
        )),
    })
}

/// Where packages put it, and beside the program, where both were built in one tree.
fn candidates(host: &Host) -> Vec<PathBuf> {
    let program = std::env::current_exe().ok();
    let built =
        program.iter().flat_map(|path| path.ancestors().skip(1).take(4)).map(|folder| folder.join("pru/firmware"));
    [host.at(PACKAGED)].into_iter().chain(built).collect()
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::chown;

    use super::*;

    const NAME: &str = "ontick-pulse-pru0.elf";

    #[test]
    fn what_a_package_installed_comes_before_what_lies_beside_the_program() {
        let host = Host { root: "/nowhere".into(), firmware: None };
        assert_eq!(candidates(&host)[0], Path::new("/nowhere/usr/lib/ontick/pru"));
    }

    #[test]
    fn root_takes_no_firmware_that_another_user_put_above_the_program() {
        if !rustix::process::geteuid().is_root() {
            return ontick_skip::skipped!("only root can give a file to another user");
        }
        let folder = tempfile::tempdir().unwrap();
        let folders = ["planted", "own"].map(|name| folder.path().join(name));
        for folder in &folders {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(NAME), folder.as_os_str().as_encoded_bytes()).unwrap();
        }
        let chosen = |folders: &[PathBuf], believed| first_of(folders.to_vec(), NAME, &believed);
        // The folder would do: its owner can put another file there.
        chown(&folders[0], Some(65_534), None).unwrap();
        for (believed, taken) in
            [(Believed::RootAnd(None), 1), (Believed::RootAnd(Some(65_534)), 0), (Believed::All, 0)]
        {
            assert_eq!(chosen(&folders, believed).unwrap().0, folders[taken].join(NAME));
        }
        let error = chosen(&folders[..1], Believed::RootAnd(Some(65_533))).unwrap_err().to_string();
        assert!(error.contains("planted belongs to another user") && error.contains("name its folder"), "{error}");
        assert!(chosen(&[], Believed::All).unwrap_err().to_string().contains("is not there"));
    }
}
