//! Why a kernel is not installed, or not kept.

use ontick_machine::boot::BootError;
use ontick_machine::journal::JournalError;
use ontick_machine::root::FileError;
use ontick_machine::tree::TreeError;
use ontick_units::mebibytes;

use super::image::Architecture;
use super::loader::LoaderError;
use super::package::PackageError;

/// Why a kernel is not installed. Each sentence says what would mend it; which command does so is the caller's to say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// How this machine boots.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The boot loader's files.
    #[error(transparent)]
    Loader(#[from] LoaderError),
    /// The package.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// The kernel's own files.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Another file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A name that could do harm in file names and boot entries.
    #[error("the name \"{0}\" cannot be a boot entry's: use letters, digits and . _ + ~ - (64 of them at most)")]
    BadName(String),
    /// The journal holds steps that were not finished.
    #[error("an earlier install was interrupted: clear it away first, then install again")]
    Interrupted,
    /// One kernel at a time.
    #[error("ontick has installed {0} already: go back first, then install another one")]
    AlreadyInstalled(String),
    /// Files of this release are there.
    #[error(
        "{path} is there already, from {}: this release is installed; give the kernel another release",
        owner.as_ref().map_or_else(|| "somebody else".to_owned(), |package| format!("the package {package}"))
    )]
    ReleaseTaken {
        /// Which, or their folder.
        path: String,
        /// The package that they belong to, where that is known.
        owner: Option<String>,
    },
    /// Modules that a rollback left to the kernel that ran.
    #[error("{0} is ontick's own, of a kernel that was rolled back while it ran: restart, then roll back once more")]
    ModulesLeft(String),
    /// Something of this name is there.
    #[error("{0} is there already and not from ontick: choose another name")]
    NameTaken(String),
    /// It could not run what is there.
    #[error("the kernel is for {}, the system there is for {}: take one that was built for it", kernel.name(), system.name())]
    OtherArchitecture {
        /// The kernel's.
        kernel: Architecture,
        /// The system's.
        system: Architecture,
    },
    /// A 64-bit kernel on a board that has no 64-bit processor.
    #[error("the kernel is for 64-bit ARM, this board ({0}) is not: take a 32-bit one")]
    NarrowBoard(&'static str),
    /// The firmware would refuse it.
    #[error(
        "Secure Boot is on and this kernel carries no signature, so it would be refused at boot: sign it (sbsign, with a key that mokutil has enrolled) or switch Secure Boot off"
    )]
    Unsigned,
    /// No program here makes an initramfs.
    #[error(
        "this system boots with an initramfs, and none of mkinitramfs, dracut and mkinitcpio is there to make one for the new kernel: install initramfs-tools"
    )]
    NoInitramfsMaker,
    /// The system does not run, so none of its programs does.
    #[error(
        "the system there boots with an initramfs, which only the running machine can make: install it on the machine itself, or put boot/initrd.img-RELEASE into the package"
    )]
    NoInitramfs,
    /// Nothing can be written.
    #[error("the file system of {0} is read-only: mount it writable first (mount -o remount,rw)")]
    ReadOnly(String),
    /// Too little room.
    #[error(
        "{folder} needs {} and its file system has {} free: make room first, for instance by removing kernels that are not used",
        mebibytes(*needed), mebibytes(*free)
    )]
    NoRoom {
        /// Where.
        folder: String,
        /// How much, in bytes.
        needed: u64,
        /// How much there is.
        free: u64,
    },
    /// A program that is needed is not there.
    #[error("{0} is needed and not installed (package kmod)")]
    NoProgram(String),
    /// A program of the system failed.
    #[error("{program} {why}")]
    Program {
        /// Which.
        program: String,
        /// How.
        why: String,
    },
    /// The boot files were not written.
    #[error("{0}")]
    BootFiles(String),
    /// The caller ended it.
    #[error("it was ended")]
    Stopped,
    /// It failed on the way and was taken back.
    #[error("{0}; everything is as it was before")]
    TakenBack(Box<Self>),
    /// It failed on the way and some of it is still there.
    #[error("{problem}; not all of it could be taken back ({left})")]
    Left {
        /// Why it failed.
        problem: Box<Self>,
        /// What is still there.
        left: String,
    },
}

/// Why a kernel does not become the one that is booted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeepError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// How this machine boots.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// The boot loader's files.
    #[error(transparent)]
    Loader(#[from] LoaderError),
    /// Another file.
    #[error(transparent)]
    File(#[from] FileError),
    /// There is none to keep.
    #[error("ontick has installed no kernel here")]
    NotInstalled,
    /// The journal holds steps that were not finished.
    #[error("an install was interrupted: clear it away first, then install again")]
    Interrupted,
    /// The kernel of this release was never seen to boot.
    #[error("{0} does not run now, so nobody knows that it comes up: try it first, or keep it untried")]
    Untried(String),
    /// Whatever is written now, the way back would not be clear.
    #[error(
        "{0} was edited where ontick had written into it: take your edit out, or go back by force, which restores the file as it was"
    )]
    Edited(String),
    /// The journal and the files disagree.
    #[error("{0} is no folder of ontick's")]
    ForeignFolder(String),
    /// The boot files were not written.
    #[error("{0}")]
    BootFiles(String),
}
