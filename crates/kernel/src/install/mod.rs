//! A kernel beside the one that is there, never over it: files of its own, a boot entry of its own, and a way
//! back.
//!
//! Everything is planned first, which changes nothing and refuses what could go wrong. Then, each step journaled:
//! modules, the kernel's own folder under `/boot`, and last the boot entry. Until somebody keeps it
//! ([`keep`]), the machine boots by itself what it booted before.

mod apply;
mod error;
mod fit;
pub mod image;
mod initramfs;
mod keep;
mod loader;
pub mod package;
mod rollback;
mod space;
pub mod trial;

use ontick_machine::boot::{self, BootFiles, Edit};
use ontick_machine::journal::{Journal, JournalKind, Undo};
use ontick_machine::{Facts, Root, tree};
use serde::{Deserialize, Serialize};

pub use apply::{Applied, apply};
pub use error::{InstallError, KeepError};
pub use image::Architecture;
pub use initramfs::Initramfs;
pub use keep::{Keeping, keep, keeping};
pub use loader::{LoaderError, OnceError};
pub use package::Package;
pub use rollback::{RolledBack, rollback};
pub use space::Space;

/// How a package is to be installed.
#[derive(Debug, Clone, Default)]
pub struct InstallOptions {
    /// Name of the boot entry and of the folder under `/boot`; `ontick-RELEASE` unless given.
    pub name: Option<String>,
    /// Let the boot loader take it for the next boot, and only that.
    pub once: bool,
}

/// A kernel that was, or will be, installed. Its record lies beside its modules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Installed {
    /// Its release.
    pub release: String,
    /// Name of its boot entry.
    pub name: String,
    /// The folder under `/boot` that is its own; its parent where the boot loader wants files side by side.
    pub folder: String,
    /// The kernel's file there.
    pub kernel: String,
    /// Its initramfs there, where it has one.
    pub initramfs: Option<String>,
    /// Its command line's file there, where it has its own (Raspberry Pi).
    pub cmdline: Option<String>,
    /// Its device trees, as they lie in its folder of them.
    pub dtbs: Vec<String>,
    /// Whether it brings overlays of its own.
    pub overlays: bool,
    /// Whether it is a 64-bit kernel.
    pub wide: bool,
}

impl Installed {
    /// Where the modules of a release belong.
    pub fn modules_of(release: &str) -> String {
        format!("/lib/modules/{release}")
    }

    fn marker(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record is always representable as JSON") + "\n"
    }

    /// The kernel that the journal says is installed: the newest. Modules of an earlier one stay as long as that one runs.
    pub fn find(root: &Root, journal: &Journal) -> Option<Self> {
        let marker = |undo: &Undo| match undo {
            Undo::Tree { path, .. } => root.text(&format!("{path}/{}", tree::MARKER)).ok(),
            _ => None,
        };
        journal.entries().rev().find_map(|entry| serde_json::from_str(&marker(&entry.undo)?).ok())
    }

    /// As above, without holding the journal.
    pub fn standing(root: &Root) -> Option<Self> {
        Self::find(root, &Journal::read_kind(root, JournalKind::Kernel).ok()?)
    }
}

/// What `install` would do.
#[derive(Debug, Clone, Serialize)]
pub struct InstallPlan {
    /// The kernel as it will lie there.
    pub kernel: Installed,
    /// The boot loader's files.
    pub place: BootFiles,
    /// Where its modules go.
    pub modules: String,
    /// How it comes by an initramfs.
    pub initramfs: Initramfs,
    /// Files that people edit, in its own folder.
    pub texts: Vec<(String, String)>,
    /// Boot files that will change. None of them changes what is booted by itself.
    pub edits: Vec<Edit>,
    /// Where GRUB reads the next boot's entry, if one is set.
    pub once: Option<loader::Once>,
    /// What it needs and what there is, for each file system.
    pub space: Vec<Space>,
    /// Commands with which it is tried; where there are none, the reader chooses it in a menu.
    pub try_it: Vec<String>,
    /// What a reader must know.
    pub notes: Vec<String>,
    /// Whether the package says where modules find one another.
    modules_known: bool,
}

impl InstallPlan {
    /// Plans an installation, or says why it must not be made.
    pub fn make(root: &Root, facts: &Facts, package: &Package, options: &InstallOptions) -> Result<Self, InstallError> {
        let journal = Journal::read_kind(root, JournalKind::Kernel)?;
        refuse_second(root, &journal)?;
        let mut notes = Vec::new();
        fit::check(root, facts, package, &mut notes)?;
        let name = options.name.clone().unwrap_or_else(|| format!("ontick-{}", package.release));
        if !package::is_release(&name) {
            return Err(InstallError::BadName(name));
        }
        let place = boot::find(root)?;
        let seen = loader::survey(root, facts, &place, package, &name)?;
        let initramfs = initramfs::decide(root, package, &seen, &mut notes)?;
        let kernel = seen.kernel(package, &name, initramfs != Initramfs::None);
        refuse_taken(root, &journal, &place, &kernel)?;
        let space = space::check(root, package, (&kernel, &place), &seen, &initramfs)?;
        let written = loader::write(root, facts, &place, &kernel, loader::Stage::Try)?;
        let once = loader::once(root, &place, &kernel, options.once)?;
        notes.extend(seen.notes);
        notes.extend(written.notes);
        if package.firmware {
            notes.push("the firmware in the package is left out: the system's own stays".into());
        }
        Ok(Self {
            modules: Installed::modules_of(&package.release),
            modules_known: package.has(|k| matches!(k, package::Kind::Module { name, .. } if name == "modules.dep")),
            try_it: loader::try_it(&place, &kernel, once.is_some()),
            texts: seen.texts,
            edits: written.edits,
            kernel,
            place,
            initramfs,
            once,
            space,
            notes,
        })
    }
}

/// One kernel at a time: the way back is then never in doubt.
fn refuse_second(root: &Root, journal: &Journal) -> Result<(), InstallError> {
    let boot = |undo: &Undo| !matches!(undo, Undo::Tree { path, .. } if path.starts_with("/lib/modules/"));
    if journal.entries().any(|e| !e.done) {
        return Err(InstallError::Interrupted);
    }
    match Installed::find(root, journal) {
        Some(kernel) if journal.entries().any(|e| boot(&e.undo)) => Err(InstallError::AlreadyInstalled(kernel.release)),
        _ => Ok(()),
    }
}

/// Nothing that is there is written over.
fn refuse_taken(root: &Root, journal: &Journal, place: &BootFiles, kernel: &Installed) -> Result<(), InstallError> {
    let beside_others = lies_beside_others(place);
    let file = |name: &String| format!("{}/{name}", kernel.folder);
    let files: Vec<String> = [&kernel.kernel].into_iter().chain(&kernel.initramfs).map(file).collect();
    let own = (!beside_others).then(|| kernel.folder.clone());
    let modules = Installed::modules_of(&kernel.release);
    if journal.entry(&modules).is_some() && root.exists(&format!("{modules}/{}", tree::MARKER)) {
        return Err(InstallError::ModulesLeft(modules));
    }
    // Another name would not help where the release is part of it.
    let (by_release, by_name): (Vec<String>, Vec<String>) = match beside_others {
        true => ([modules].into_iter().chain(trees_of(place, kernel)).chain(files).collect(), Vec::new()),
        false => (vec![modules], files.into_iter().chain(own).collect()),
    };
    let taken = |places: Vec<String>| places.into_iter().find(|place| root.exists(place));
    if let Some(path) = taken(by_release) {
        return Err(InstallError::ReleaseTaken { owner: fit::owner(root, &path), path });
    }
    taken(by_name).map_or(Ok(()), |path| Err(InstallError::NameTaken(path)))
}

/// Whether this boot loader takes each kernel by its name from a folder that holds all of them.
fn lies_beside_others(place: &BootFiles) -> bool {
    matches!(place, BootFiles::UEnv { .. })
}

/// Where the device trees of a kernel belong that lies beside others.
fn trees_of(place: &BootFiles, kernel: &Installed) -> Option<String> {
    (lies_beside_others(place) && !kernel.dtbs.is_empty()).then(|| format!("/boot/dtbs/{}", kernel.release))
}
