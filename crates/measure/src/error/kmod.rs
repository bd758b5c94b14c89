//! Why the kernel module cannot be used, and what to do.

use std::io;

use ontick_gpio::Name;

/// Why the module did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is not installed for the running kernel, and could not have been built either.
    #[error(
        "the kernel module ontick is not installed for kernel {release}, whose headers are missing, too: install linux-headers-{release}, then `sudo dkms install ontick/0.1.0` (docs/kernel-module.md)"
    )]
    NoHeaders {
        /// The running kernel.
        release: String,
    },
    /// It is not installed for the running kernel.
    #[error(
        "the kernel module ontick is not installed for kernel {release}: `sudo dkms install ontick/0.1.0` builds and installs it (docs/kernel-module.md)"
    )]
    NotInstalled {
        /// The running kernel.
        release: String,
    },
    /// It is there but not loaded, and this user may not load it.
    #[error("the kernel module ontick is not loaded, and only root may load it: sudo modprobe ontick")]
    NotLoaded,
    /// The kernel wants modules to be signed.
    #[error(
        "the kernel refuses the module {file}, as its signature is none that this machine trusts (Secure Boot): enrol the key that DKMS signs with (sudo mokutil --import /var/lib/dkms/mok.pub, then reboot), or switch Secure Boot off"
    )]
    Untrusted {
        /// The module's file.
        file: String,
    },
    /// It was built for another kernel.
    #[error(
        "the module {file} was built for another kernel than {release}: build it again with `sudo dkms install --force ontick/0.1.0 -k {release}`"
    )]
    OtherKernel {
        /// The module's file.
        file: String,
        /// The running kernel.
        release: String,
    },
    /// The kernel did not take it for another reason.
    #[error("the kernel does not load the module {file}: {error} (`sudo dmesg | tail` may say more)")]
    LoadFailed {
        /// The module's file.
        file: String,
        /// What it said.
        error: io::Error,
    },
    /// The user may not use it.
    #[error("no permission to open /dev/ontick: use sudo")]
    Permission,
    /// The device does not answer as it should.
    #[error("/dev/ontick: {0}")]
    Device(io::Error),
    /// Program and module are of different versions.
    #[error(
        "the loaded kernel module ontick {module} speaks version {theirs} of its interface, and this program version {ours}: install the module that came with this program and load it anew (sudo modprobe -r ontick && sudo modprobe ontick)"
    )]
    OtherVersion {
        /// The module's own version.
        module: String,
        /// The interface it speaks.
        theirs: u32,
        /// The one spoken here.
        ours: u32,
    },
    /// It has no access to such a line.
    #[error("line {line}: the kernel module uses lines of a chip of the kernel only (gpiochip0:17)")]
    NotOfKernel {
        /// The line.
        line: Name,
    },
    /// The line cannot be used.
    #[error("line {line}: {why}")]
    Line {
        /// The line.
        line: Name,
        /// What is wrong, and what to do.
        why: String,
    },
    /// A combination that the module refuses.
    #[error("{0}")]
    Refused(String),
}
