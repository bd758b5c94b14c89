//! A kernel's source tree: its version, the configurations that it brings, whether it can be built from.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::options::Arch;

/// The version of a source tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// 6 of 6.12.95-rc1.
    pub major: u32,
    /// 12.
    pub minor: u32,
    /// 95.
    pub patch: u32,
    /// `-rc1`.
    pub extra: String,
}

impl Version {
    /// Major and minor.
    pub fn series(&self) -> (u32, u32) {
        (self.major, self.minor)
    }

    /// Reads the head of the tree's `Makefile`.
    pub fn parse(makefile: &str) -> Option<Self> {
        let value = |name: &str| {
            makefile.lines().take(20).find_map(|line| {
                let (key, value) = line.split_once('=')?;
                (key.trim() == name).then(|| value.trim().to_owned())
            })
        };
        let number = |name: &str| value(name)?.parse().ok();
        Some(Self {
            major: number("VERSION")?,
            minor: number("PATCHLEVEL")?,
            patch: number("SUBLEVEL").unwrap_or(0),
            extra: value("EXTRAVERSION").unwrap_or_default(),
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}.{}.{}{}", self.major, self.minor, self.patch, self.extra)
    }
}

/// A tree that a kernel can be built from.
#[derive(Debug, Clone)]
pub struct Source {
    /// Where it lies.
    pub folder: PathBuf,
    /// Its version.
    pub version: Version,
}

/// Why a folder cannot be built from.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// It is something else.
    #[error("{0} is no source tree of a kernel: it has no Makefile with a VERSION beside a Kconfig")]
    NotATree(PathBuf),
    /// Somebody built in it, which the kernel's makefiles do not let be built from elsewhere.
    #[error(
        "{folder} is not clean: it has {what}, and then nothing can be built from it into another folder. Run \
         make mrproper there (it removes the configuration, too), or name a fresh tree"
    )]
    Dirty {
        /// The tree.
        folder: PathBuf,
        /// What somebody's build left.
        what: &'static str,
    },
    /// A patch's leavings: half of it may be missing.
    #[error("{0} has rejected patches (*.rej): it is not what it should be. Name a fresh tree")]
    Rejected(PathBuf),
}

impl Source {
    /// Looks at a folder.
    pub fn open(folder: &Path) -> Result<Self, SourceError> {
        let not = || SourceError::NotATree(folder.to_owned());
        let folder = folder.canonicalize().map_err(|_| not())?;
        let makefile = fs::read_to_string(folder.join("Makefile")).map_err(|_| not())?;
        let version = Version::parse(&makefile).filter(|_| folder.join("Kconfig").is_file()).ok_or_else(not)?;
        Ok(Self { folder, version })
    }

    /// Refuses a tree that was built in.
    pub fn clean(&self) -> Result<(), SourceError> {
        let leavings = [".config", "include/config", "include/generated/autoconf.h"];
        let what = leavings.into_iter().find(|what| self.folder.join(what).exists());
        match what {
            Some(what) => Err(SourceError::Dirty { folder: self.folder.clone(), what }),
            None if self.has_rejects() => Err(SourceError::Rejected(self.folder.clone())),
            None => Ok(()),
        }
    }

    /// Those that `patch` leaves lie beside what they are for; the folders that the real-time series touches are enough.
    fn has_rejects(&self) -> bool {
        ["", "kernel", "kernel/sched", "kernel/printk", "kernel/locking", "kernel/rcu", "init"].iter().any(|folder| {
            let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|e| e == "rej"))
        })
    }

    /// Whether PREEMPT_RT can be had without more: since 6.12, and later on 32-bit ARM; or the series is in already.
    pub fn has_real_time(&self, arch: Arch) -> bool {
        let kconfig = self.folder.join("arch").join(arch.name()).join("Kconfig");
        fs::read_to_string(kconfig).is_ok_and(|text| text.contains("select ARCH_SUPPORTS_RT"))
    }

    /// The first of these configurations that it brings.
    pub fn brings(&self, arch: Arch, configurations: &[&'static str]) -> Option<&'static str> {
        let folder = self.folder.join("arch").join(arch.name()).join("configs");
        configurations.iter().find(|name| folder.join(name).is_file()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(makefile: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Makefile"), makefile).unwrap();
        fs::write(folder.path().join("Kconfig"), "").unwrap();
        folder
    }

    const HEAD: &str = "# SPDX\nVERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 170\nEXTRAVERSION =\nNAME = x\n";

    #[test]
    fn a_tree_tells_its_version_and_what_it_brings() {
        let folder = tree(HEAD);
        let source = Source::open(folder.path()).unwrap();
        assert_eq!((source.version.to_string().as_str(), source.has_real_time(Arch::Arm64)), ("6.1.170", false));
        let configs = folder.path().join("arch/arm64/configs");
        fs::create_dir_all(&configs).unwrap();
        fs::write(configs.join("defconfig"), "").unwrap();
        assert_eq!(source.brings(Arch::Arm64, &["bcm2711_defconfig", "defconfig"]), Some("defconfig"));
        assert_eq!(source.brings(Arch::Arm, &["defconfig"]), None);
        fs::write(folder.path().join("arch/arm64/Kconfig"), "config ARM64\n\tselect ARCH_SUPPORTS_RT\n").unwrap();
        assert!(source.has_real_time(Arch::Arm64) && !source.has_real_time(Arch::Arm));
    }

    #[test]
    fn what_cannot_be_built_from_is_refused() {
        assert!(matches!(Source::open(Path::new("/nowhere")), Err(SourceError::NotATree(_))));
        assert!(matches!(Source::open(tree("all:\n").path()), Err(SourceError::NotATree(_))));
        let folder = tree(HEAD);
        let source = Source::open(folder.path()).unwrap();
        assert!(source.clean().is_ok());
        fs::create_dir(folder.path().join("kernel")).unwrap();
        fs::write(folder.path().join("kernel/fork.c.rej"), "").unwrap();
        assert!(matches!(source.clean(), Err(SourceError::Rejected(_))));
        fs::write(folder.path().join(".config"), "").unwrap();
        assert!(matches!(source.clean(), Err(SourceError::Dirty { what: ".config", .. })));
    }
}
