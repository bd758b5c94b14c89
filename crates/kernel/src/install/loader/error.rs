//! Why a boot loader's files cannot name one more kernel.

use ontick_machine::boot::grubenv::BlockError;
use ontick_machine::boot::{ArgumentsError, BootError};
use ontick_machine::root::FileError;

/// Why a boot loader's files cannot name one more kernel.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoaderError {
    /// A file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file that cannot be edited as text.
    #[error("{0} is not text: look at it before it is edited")]
    NotText(String),
    /// The kernel that is booted now cannot be found.
    #[error("{file} boots {path}, which is not found under /boot: is the boot partition mounted?")]
    NotFound {
        /// The loader's file.
        file: String,
        /// The kernel, as the loader names it.
        path: String,
    },
    /// `extlinux.conf` without a usable default.
    #[error("{0} has no default entry with a kernel that could serve as a pattern: add the new one by hand")]
    NoDefaultEntry(String),
    /// A GRUB menu without a usable entry.
    #[error(
        "{0} holds no menu entry for Linux that could serve as a pattern (some distributions keep them elsewhere): add the kernel by hand"
    )]
    NoMenuEntry(String),
    /// systemd-boot without an entry.
    #[error(
        "no entry of systemd-boot could serve as a pattern (unified kernel images have none): add the new kernel by hand"
    )]
    NoEntry,
    /// Several entries, and none is known to be the one that is booted.
    #[error(
        "the entry of systemd-boot that is booted now is unknown: name it in loader.conf (default NAME.conf) first"
    )]
    UnknownEntry,
    /// An entry of something else.
    #[error("{0} starts no Linux kernel by itself (a unified image?): add the new kernel by hand")]
    NoLinux(String),
    /// An entry whose arguments stand elsewhere.
    #[error("the entry that is booted now takes its options from a variable: add the new kernel by hand")]
    Variable,
    /// The new entry would be booted before anyone tried it.
    #[error(
        "{settings} says default {default}, so the new entry would be booted at once and again: name the entry that is booted now ({entry}) there first"
    )]
    DefaultMatches {
        /// `loader.conf`.
        settings: String,
        /// The pattern that it names.
        default: String,
        /// The entry that is booted now.
        entry: String,
    },
    /// `loader.conf` would say in vain what is booted.
    #[error(
        "the firmware's variable LoaderEntryDefault names {default}, which counts before loader.conf: sudo bootctl set-default {entry}.conf, or sudo bootctl set-default '' first"
    )]
    DefaultInFirmware {
        /// What the variable names.
        default: String,
        /// The entry that is to be kept.
        entry: String,
    },
    /// `uEnv.txt` without a release.
    #[error("{0} names no kernel (uname_r=): add the new one by hand")]
    NoRelease(String),
    /// The loader takes a device tree and the package brings none.
    #[error(
        "the package has no device trees, and this machine's boot loader is configured to take one beside the kernel"
    )]
    NoDeviceTrees,
    /// The kernel that is booted now has device trees of its own.
    #[error("the package has no device trees, and the kernel that is booted now has its own ({0})")]
    NoOwnDeviceTrees(String),
    /// A Raspberry Pi's firmware needs one for this board.
    #[error(
        "the package has no device tree for {board} ({file}): the Raspberry Pi's firmware starts no kernel without one"
    )]
    NoTreeForBoard {
        /// The board.
        board: String,
        /// The file.
        file: String,
    },
    /// The entry that is the pattern names one.
    #[error("the package has no device tree {tree}, which {entry} names")]
    NoDeviceTree {
        /// Its file.
        tree: String,
        /// The entry, in words.
        entry: &'static str,
    },
    /// `config.txt` names several.
    #[error("{0} names several initramfs files: give the new kernel its own by hand")]
    SeveralInitramfs(String),
    /// `config.txt` names one that all kernels would get.
    #[error(
        "{0} names its initramfs with a / first, so that every kernel gets that one, whatever os_prefix is: name it without"
    )]
    SharedInitramfs(String),
    /// `config.txt` names one that would not be there.
    #[error(
        "{0} names an initramfs, which the new kernel does not have: build it with one (boot/initrd.img-RELEASE in the package)"
    )]
    NoInitramfs(String),
    /// An entry of this name is somebody else's.
    #[error("{0} is there already and not from ontick: choose another name")]
    NameTaken(String),
    /// A trial of the firmware's settings is going on.
    #[error("{0} is there already: end that trial first")]
    TrialGoesOn(String),
    /// No GRUB menu.
    #[error("/boot/grub/grub.cfg is not there: is /boot mounted?")]
    NoMenu,
    /// A menu that reads no other file.
    #[error(
        "{0} does not read custom.cfg, in which the entry would stand: make the menu anew (update-grub) with /etc/grub.d/41_custom executable"
    )]
    NoCustomEntries(String),
    /// No entry boots the running kernel as it was booted.
    #[error("{0} has no entry by which the running kernel was booted, with the arguments that it has")]
    NotInMenu(String),
    /// The arguments of the usual boot were edited since.
    #[error("{0} has other arguments than the running kernel was booted with: restart the machine first")]
    NotAsBooted(String),
    /// The files of a trial cannot be made.
    #[error(transparent)]
    Boot(#[from] BootError),
    /// Arguments that cannot be added to an entry's.
    #[error("{file}: the line of the kernel's arguments {why}")]
    Arguments {
        /// The file of the entry.
        file: String,
        /// Why.
        why: ArgumentsError,
    },
    /// The loader cannot boot an entry once.
    #[error(transparent)]
    Once(#[from] OnceError),
}

/// Why the next boot alone cannot be the new kernel's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OnceError {
    /// GRUB's menu ignores the choice.
    #[error("{menu} does not look at {variable}: choose the entry in GRUB's menu instead")]
    Ignored {
        /// The menu.
        menu: String,
        /// The variable.
        variable: &'static str,
    },
    /// No environment block.
    #[error("{0} is not there (grub-editenv {0} create makes it)")]
    NoBlock(String),
    /// An environment block that cannot hold the choice.
    #[error("{path} {why}")]
    Block {
        /// The block.
        path: String,
        /// Why.
        why: BlockError,
    },
    /// GRUB cannot write there.
    #[error(
        "GRUB cannot write on {0}, so it could not forget a choice for one boot: choose the entry in its menu instead"
    )]
    Unwritable(String),
    /// The firmware is asked at the restart itself.
    #[error("the firmware is asked for one boot when the machine restarts (reboot '0 tryboot')")]
    AtRestart,
    /// systemd-boot keeps the choice in the firmware; this is the entry.
    #[error(
        "systemd-boot keeps the next boot's entry in the firmware: once the kernel is installed, sudo bootctl set-oneshot {0}.conf"
    )]
    InFirmware(String),
    /// systemd-boot did not boot this machine, or an old one did.
    #[error(
        "{0} does not say that the boot loader boots an entry once: this machine must be booted by systemd-boot 239 or later, with efivarfs mounted (a PREEMPT_RT kernel needs the argument efi=runtime for that)"
    )]
    NoFeature(String),
    /// The firmware's variables cannot be written.
    #[error("{0} is mounted read-only, and the next boot's entry is named there: sudo mount -o remount,rw {0}")]
    ReadOnly(&'static str),
    /// U-Boot, with the arguments of the running kernel.
    #[error("{0}: U-Boot and syslinux boot no entry once, so that arguments cannot be tried by restarts")]
    NoTrial(String),
    /// U-Boot.
    #[error("U-Boot has no way to boot an entry once (docs/kernel-install.md says how to try it)")]
    Never,
}
