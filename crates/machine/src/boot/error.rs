//! Why boot files cannot be planned or written.

use crate::journal::JournalError;
use crate::root::FileError;

const EDITED: &str = "was edited where ontick had changed it: revert first (what is left is named there)";

/// Why a boot file's text cannot take kernel arguments; the sentence follows the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// What comes after the mark would be part of a value.
    #[error("has a quotation mark that is not closed: look at it before it is edited")]
    OpenQuotation,
    /// No arguments at all.
    #[error("is empty: the kernel would have no root to boot from")]
    Empty,
    /// Some loaders use the first line only, others join all.
    #[error("has more than one line: join them into one")]
    SeveralLines,
    /// An `extlinux.conf` whose default entry has no arguments.
    #[error("has no append line in its default entry: add one first")]
    NoAppend,
    /// A systemd-boot entry without arguments.
    #[error("has no options line: it is not an entry that can be edited")]
    NoOptions,
    /// A systemd-boot entry whose arguments stand elsewhere.
    #[error("takes its options from a variable: use grubby --args instead")]
    Variable,
    /// GRUB's defaults are a shell script; this line of it is more than an assignment.
    #[error("sets {0} in a way that cannot be edited safely: add the arguments by hand")]
    Shell(&'static str),
}

/// Why no plan of the boot files can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BootError {
    /// None of the known loaders.
    #[error(
        "no boot loader's files were found (cmdline.txt, extlinux.conf, uEnv.txt, GRUB, systemd-boot): \
         is /boot mounted? Otherwise give the arguments to the kernel by hand"
    )]
    NoLoader,
    /// The firmware's folder without the kernel's arguments.
    #[error("{0} is not there: is the boot partition mounted?")]
    Missing(String),
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that no editor here understands.
    #[error("{0} is not text: look at it before it is edited")]
    NotText(String),
    /// A file that cannot take the arguments.
    #[error("{path} {why}")]
    Arguments {
        /// The file.
        path: String,
        /// Why.
        why: ArgumentsError,
    },
    /// GRUB with entries that no editor here changes; these arguments are wanted.
    #[error(
        "GRUB takes the kernel's arguments from /boot/loader/entries here, which grub2-mkconfig does not change: \
         sudo grubby --update-kernel=ALL --args=\"{0}\""
    )]
    Bls(String),
    /// What ontick wrote there cannot be told from what others did.
    #[error("{0} {EDITED}")]
    Edited(String),
    /// What ontick wrote before is not known.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// Only a Raspberry Pi's firmware uses other files for one boot.
    #[error("only a Raspberry Pi can try a boot (tryboot)")]
    NoTrialHere,
    /// And only that of later ones.
    #[error("a boot can be tried (tryboot) on a Raspberry Pi 4 and later")]
    NoTrialOnThisPi,
    /// A trial of `ontick kernel`.
    #[error("{0} is that of a kernel on trial: keep it or go back first")]
    KernelTrial(String),
    /// Somebody else's trial.
    #[error("{0} is there already and not from ontick: remove it first")]
    ForeignTrial(String),
}

/// Why a boot file was not written; it is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BootWriteError {
    /// The journal.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A file or folder.
    #[error(transparent)]
    File(#[from] FileError),
    /// What is written there would not be a file where the link says.
    #[error("{path} is a link to {target}, which is not there: make that file or remove the link first")]
    DanglingLink {
        /// The link.
        path: String,
        /// Where it points.
        target: String,
    },
    /// It is not the file that the plan was made of.
    #[error("{0} changed since the plan was made: make the plan again")]
    Changed(String),
    /// What ontick wrote there cannot be told from what others did.
    #[error("{0} {EDITED}")]
    Edited(String),
}
