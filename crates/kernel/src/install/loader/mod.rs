//! What each boot loader needs for one more kernel, and the texts of its files.

mod error;
mod extlinux;
mod grub;
mod pi;
mod systemd_boot;
mod uenv;

use ontick_machine::Facts;
use ontick_machine::Root;
use ontick_machine::boot::{Argument, BootFiles, Edit, grubenv};
use ontick_machine::root::FileError;
use serde::Serialize;

use super::Installed;
use super::package::{Kind, Package};

pub use error::{LoaderError, OnceError};
pub(in crate::install) use grub::{NEXT, environment};
pub(in crate::install) use systemd_boot::{once as firmware_once, waits};

/// Stands in everything that is written into a file of others.
const MARK: &str = "Written by ontick kernel; ontick kernel rollback takes it out again.";

/// As above, of an entry for one boot.
const TRIAL_MARK: &str = "Written by ontick tune search --boot; ontick tune revert takes it out again.";

/// What is to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// An entry that nobody boots by himself.
    Try,
    /// The entry that is booted from now on.
    Keep,
}

/// What was found out before anything is decided.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The kernel's own folder; the one in which it lies beside others where the loader wants that.
    pub folder: String,
    /// The name that the loader expects of the kernel's file.
    pub kernel: String,
    /// The name that it expects of the initramfs.
    pub initramfs: String,
    /// Whether this system boots with an initramfs.
    pub wants_initramfs: bool,
    /// How large that is now.
    pub initramfs_size: Option<u64>,
    /// The kernel's arguments, as far as they are known here.
    pub arguments: String,
    /// Files of its own that people edit.
    pub texts: Vec<(String, String)>,
    /// What a reader must know.
    pub notes: Vec<String>,
}

impl Survey {
    /// The kernel as it will be recorded.
    pub fn kernel(&self, package: &Package, name: &str, with_initramfs: bool) -> Installed {
        Installed {
            release: package.release.clone(),
            name: name.into(),
            folder: self.folder.clone(),
            kernel: self.kernel.clone(),
            initramfs: with_initramfs.then(|| self.initramfs.clone()),
            cmdline: self.texts.first().map(|(name, _)| name.clone()),
            dtbs: package.dtbs().map(str::to_owned).collect(),
            overlays: package.has(|k| matches!(k, Kind::Overlay(name) if name != "README")),
            wide: !matches!(package.image.architecture.or(package.modules_for), Some(a) if is_narrow(a)),
        }
    }
}

fn is_narrow(architecture: super::Architecture) -> bool {
    matches!(architecture, super::Architecture::Arm | super::Architecture::I386)
}

/// Edits, and what a reader must know about them.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub edits: Vec<Edit>,
    pub notes: Vec<String>,
}

impl Written {
    fn edit(&mut self, path: &str, before: Option<String>, after: String) {
        self.edits.extend(Edit::new(path, before, after));
    }
}

/// Looks at how this machine boots now.
pub(super) fn survey(
    root: &Root,
    facts: &Facts,
    place: &BootFiles,
    package: &Package,
    name: &str,
) -> Result<Survey, LoaderError> {
    match place {
        BootFiles::RaspberryPi { cmdline, config } => pi::survey(root, facts, (cmdline, config), package, name),
        BootFiles::Grub { .. } => grub::survey(root, facts, name),
        BootFiles::SystemdBoot { entries, .. } => systemd_boot::survey(root, facts, entries, name),
        BootFiles::Extlinux { file } => extlinux::survey(root, file, package, name),
        BootFiles::UEnv { file } => uenv::survey(root, file, package),
    }
}

/// The boot files as they will be.
pub(super) fn write(
    root: &Root,
    facts: &Facts,
    place: &BootFiles,
    kernel: &Installed,
    stage: Stage,
) -> Result<Written, LoaderError> {
    match place {
        BootFiles::RaspberryPi { config, .. } => pi::write(root, facts, config, kernel, stage),
        BootFiles::Grub { .. } => grub::write(root, facts, kernel, stage),
        BootFiles::SystemdBoot { entries, .. } => systemd_boot::write(root, facts, entries, kernel, stage),
        BootFiles::Extlinux { file } => extlinux::write(root, file, kernel, stage),
        BootFiles::UEnv { file } => uenv::write(root, file, kernel, stage),
    }
}

/// The boot files for one boot as the usual one, whose command line this is, with these arguments besides its own.
pub(super) fn again(
    root: &Root,
    place: &BootFiles,
    usual: &str,
    name: &str,
    arguments: &[Argument],
) -> Result<Written, LoaderError> {
    match place {
        BootFiles::RaspberryPi { .. } => pi::again(root, place, usual, name, arguments),
        BootFiles::Grub { .. } => grub::again(root, usual, name, arguments),
        BootFiles::SystemdBoot { entries, .. } => systemd_boot::again(root, entries, usual, name, arguments),
        BootFiles::Extlinux { file } | BootFiles::UEnv { file } => Err(OnceError::NoTrial(file.clone()).into()),
    }
}

/// Where systemd-boot reads the next boot's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Firmware {
    /// The variable's file.
    pub path: String,
    /// What it holds; none where it is not there.
    pub before: Option<Vec<u8>>,
    /// What it is to hold.
    pub wanted: Vec<u8>,
}

/// Where GRUB reads the next boot's entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Once {
    /// Its environment block.
    pub path: String,
    /// The entry.
    pub entry: String,
    /// The one that was to be booted next before; GRUB leaves the variable there, empty.
    pub before: Option<String>,
}

/// How the next boot, and only that, is made the new kernel's; an error where this loader cannot.
pub(super) fn once(
    root: &Root,
    place: &BootFiles,
    kernel: &Installed,
    asked: bool,
) -> Result<Option<Once>, LoaderError> {
    if !asked {
        return Ok(None);
    }
    match place {
        BootFiles::Grub { .. } => grub_once(root, &kernel.name).map(Some),
        BootFiles::RaspberryPi { .. } => Err(OnceError::AtRestart.into()),
        BootFiles::SystemdBoot { .. } => Err(OnceError::InFirmware(kernel.name.clone()).into()),
        BootFiles::Extlinux { .. } | BootFiles::UEnv { .. } => Err(OnceError::Never.into()),
    }
}

/// How GRUB takes this entry for the next boot.
pub(super) fn grub_once(root: &Root, entry: &str) -> Result<Once, LoaderError> {
    let path = environment(root)?;
    let text = root.text(&path).map_err(FileError::of(&path, "cannot be read"))?;
    grubenv::with(&text, NEXT, Some(entry)).map_err(|why| OnceError::Block { path: path.clone(), why })?;
    let before = grubenv::get(&text, NEXT).map(str::to_owned);
    Ok(Once { path, entry: entry.into(), before })
}

/// How it is tried.
pub(super) fn try_it(place: &BootFiles, kernel: &Installed, once: bool) -> Vec<String> {
    match place {
        BootFiles::RaspberryPi { .. } => vec!["sudo reboot '0 tryboot'".into()],
        BootFiles::Grub { .. } if once => vec!["sudo reboot".into()],
        BootFiles::Grub { .. } => vec![format!("sudo grub-reboot {}", kernel.name), "sudo reboot".into()],
        BootFiles::SystemdBoot { .. } => {
            vec![format!("sudo bootctl set-oneshot {}.conf", kernel.name), "sudo reboot".into()]
        }
        BootFiles::Extlinux { .. } | BootFiles::UEnv { .. } => Vec::new(),
    }
}

/// A path's folder, with its slash.
fn folder_of(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..=at])
}

/// A path's last part.
fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Where the machine keeps a file that its boot loader calls by a path of its own: loaders see the partition, the
/// machine the folder that it is mounted at.
fn at_boot(root: &Root, path: &str) -> Option<String> {
    const FOLDERS: [&str; 5] = ["/boot", "/boot/firmware", "/boot/efi", "/efi", ""];
    let at = |path: &str| FOLDERS.iter().map(move |folder| format!("{folder}/{path}")).collect::<Vec<_>>();
    let whole = path.trim_start_matches('/');
    // What leads out of the folder of the loader's file leads nowhere from these.
    let whole = if whole.split('/').any(|part| part == "..") { Vec::new() } else { at(whole) };
    // A name alone could be another file's in the same place.
    whole.into_iter().chain(at(name_of(path))).find(|candidate| root.exists(candidate))
}

/// The file that a loader's path leads to, beside which the new folder goes; an error names the loader's file.
fn beside(root: &Root, file: &str, path: &str) -> Result<String, LoaderError> {
    let found = at_boot(root, path).ok_or_else(|| LoaderError::NotFound { file: file.into(), path: path.into() })?;
    Ok(folder_of(&found).trim_end_matches('/').to_owned())
}

fn size_of(root: &Root, path: &str) -> Option<u64> {
    Some(std::fs::metadata(root.outside(&at_boot(root, path)?).ok()?).ok()?.len())
}

fn read(root: &Root, path: &str) -> Result<String, LoaderError> {
    let bytes = root.bytes(path).map_err(FileError::of(path, "cannot be read"))?;
    String::from_utf8(bytes).map_err(|_| LoaderError::NotText(path.into()))
}

/// A kernel for tests.
#[cfg(test)]
fn example() -> Installed {
    Installed {
        release: "6.12-rt".into(),
        name: "ontick-6.12-rt".into(),
        folder: "/boot/ontick-6.12-rt".into(),
        kernel: "vmlinuz".into(),
        initramfs: Some("initrd.img".into()),
        cmdline: None,
        dtbs: Vec::new(),
        overlays: false,
        wide: true,
    }
}
