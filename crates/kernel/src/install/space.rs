//! Whether everything has room, asked of the file systems themselves.

use ontick_machine::boot::BootFiles;
use ontick_machine::root::{FileError, Root};
use serde::Serialize;

use super::loader::Survey;
use super::package::{Kind, Package};
use super::{Initramfs, InstallError, Installed};

/// One file system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Space {
    /// A folder on it.
    pub folder: String,
    /// Bytes that are needed there.
    pub needed: u64,
    /// Bytes that are free.
    pub free: u64,
}

/// Lists, folders, the journal and the backups of boot files.
const BESIDES: u64 = 2 << 20;
/// What an initramfs takes where no other is there to go by.
const USUAL_INITRAMFS: u64 = 48 << 20;

/// What is needed and what there is; an error if it is too little, or nothing can be written.
pub(super) fn check(
    root: &Root,
    package: &Package,
    (kernel, place): (&Installed, &BootFiles),
    seen: &Survey,
    initramfs: &Initramfs,
) -> Result<Vec<Space>, InstallError> {
    let with_trees = !matches!(place, BootFiles::Grub { .. });
    let sizes = |of: Folder| -> Vec<u64> {
        package.files.iter().filter(|(kind, _)| folder(kind, with_trees) == Some(of)).map(|(_, size)| *size).collect()
    };
    let made = match initramfs {
        // Modules of another kernel are not of the same length.
        Initramfs::Made(_) => seen.initramfs_size.map_or(USUAL_INITRAMFS, |size| size + size / 4),
        _ => 0,
    };
    let modules = Installed::modules_of(&kernel.release);
    let wanted: [(&str, Vec<u64>, u64); 2] =
        [(&kernel.folder, sizes(Folder::Kernel), made), (&modules, sizes(Folder::Modules), 0)];
    let mut found: Vec<(u64, Space)> = Vec::new();
    for (folder, files, besides) in wanted {
        let at = root.file_system(folder).map_err(FileError::of(folder, ""))?;
        if at.read_only {
            return Err(InstallError::ReadOnly(folder.into()));
        }
        let needed = files.iter().map(|size| size.div_ceil(at.block) * at.block).sum::<u64>() + besides + BESIDES;
        match found.iter_mut().find(|(device, _)| *device == at.device) {
            Some((_, space)) => space.needed += needed,
            None => found.push((at.device, Space { folder: folder.into(), needed, free: at.free })),
        }
    }
    let spaces: Vec<Space> = found.into_iter().map(|(_, space)| space).collect();
    match spaces.iter().find(|space| space.needed > space.free) {
        Some(space) => {
            let Space { folder, needed, free } = space.clone();
            Err(InstallError::NoRoom { folder, needed, free })
        }
        None => Ok(spaces),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Folder {
    Kernel,
    Modules,
}

/// Which of the two takes a file of the package; `None` for one that is left out.
fn folder(kind: &Kind, with_trees: bool) -> Option<Folder> {
    match kind {
        Kind::Kernel | Kind::Initramfs => Some(Folder::Kernel),
        Kind::Dtb(_) | Kind::Overlay(_) => with_trees.then_some(Folder::Kernel),
        Kind::Module { .. } | Kind::Config | Kind::SystemMap => Some(Folder::Modules),
        Kind::Firmware | Kind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_partition_is_not_asked_for_room_for_what_goes_elsewhere() {
        let trees = [Kind::Dtb("a.dtb".into()), Kind::Overlay("b.dtbo".into())];
        for (with_trees, of) in [(true, Some(Folder::Kernel)), (false, None)] {
            assert!(trees.iter().all(|kind| folder(kind, with_trees) == of));
            assert_eq!(folder(&Kind::Kernel, with_trees), Some(Folder::Kernel));
            assert_eq!(folder(&Kind::SystemMap, with_trees), Some(Folder::Modules));
            assert_eq!(folder(&Kind::Config, with_trees), Some(Folder::Modules));
            assert_eq!(folder(&Kind::Firmware, with_trees), None);
        }
    }
}
