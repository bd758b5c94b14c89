//! What is wrong with a packed kernel.

use std::path::PathBuf;

use crate::install::image::{Architecture, ImageError};

/// A package that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", file.display())]
pub struct PackageError {
    /// Which.
    pub file: PathBuf,
    /// Why.
    pub why: PackageFault,
}

/// What is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PackageFault {
    /// The system cannot read it.
    #[error("{0}")]
    Unreadable(String),
    /// A folder, a device.
    #[error("it is not a file")]
    NotAFile,
    /// A program that unpacks it is not there.
    #[error("{0} is needed to unpack it and is not installed")]
    NoProgram(&'static str),
    /// A program did not unpack it.
    #[error("{program} {why}")]
    Program {
        /// Which.
        program: &'static str,
        /// How.
        why: String,
    },
    /// It is shorter than it says.
    #[error("it ends early: copy or build it again")]
    EndsEarly,
    /// Nothing that is known here.
    #[error("it is damaged, or no tar and no Debian package")]
    Damaged,
    /// A file with holes, by name where that is known.
    #[error("{} in it is stored with holes: pack it without them (tar without its option sparse)", .0.as_deref().unwrap_or("a file"))]
    Sparse(Option<String>),
    /// A link that the next file could follow.
    #[error("it is dangerous: {0} is a link, which no kernel needs")]
    Link(String),
    /// A device or a pipe.
    #[error("it is dangerous: {0} is no plain file")]
    NotPlain(String),
    /// A path that leads out.
    #[error("it is dangerous: \"{0}\" would be written outside its own folders")]
    Outside(String),
    /// A name that is no text.
    #[error("it holds a file whose name is not plain text")]
    BadPath,
    /// An announced name that no file system takes.
    #[error("it holds a name of {length} bytes; the longest that is read has {longest}")]
    LongName {
        /// Its length.
        length: u64,
        /// The longest.
        longest: u64,
    },
    /// A file whose length is announced apart.
    #[error("it holds a file that is larger than any of a kernel")]
    HugeFile,
    /// A file that is too large for its kind.
    #[error("{path} in it is larger than any such file of a kernel ({} MiB)", longest >> 20)]
    LargeFile {
        /// Which.
        path: String,
        /// The largest, in bytes.
        longest: u64,
    },
    /// A file that cannot be read.
    #[error("{path} in it cannot be read: {why}")]
    File {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// More files or bytes than any kernel has.
    #[error("it holds more than any kernel has")]
    TooMuch,
    /// No modules.
    #[error("it holds no modules (lib/modules/RELEASE): a kernel without them finds little of its hardware")]
    NoModules,
    /// Modules of several releases.
    #[error("it holds modules of several kernels ({0}): pack one")]
    SeveralReleases(String),
    /// A release that could do harm as a file's name.
    #[error("\"{0}\" is no name for a kernel's release")]
    BadRelease(String),
    /// No kernel.
    #[error("it holds no kernel (boot/vmlinuz-RELEASE, boot/Image, boot/kernel8.img)")]
    NoKernel,
    /// Several of them.
    #[error("it holds several kernels ({0}): pack the one for your board")]
    SeveralKernels(String),
    /// The kernel's image.
    #[error("{path} in it {why}")]
    Image {
        /// Its path.
        path: String,
        /// What is wrong.
        why: ImageError,
    },
    /// The kernel and the modules are of different releases.
    #[error("its kernel is {kernel}, its modules are of {modules}: the one could not load the other")]
    OtherRelease {
        /// The kernel's.
        kernel: String,
        /// The modules'.
        modules: String,
    },
    /// The kernel and the modules are for different machines.
    #[error("its kernel is for {}, its modules are for {}", kernel.name(), modules.name())]
    OtherArchitecture {
        /// The kernel's.
        kernel: Architecture,
        /// The modules'.
        modules: Architecture,
    },
}
