//! What can stand in the way of opening a port.

use std::io;

/// Why a port could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// No interface has this name in this network namespace.
    #[error("there is no interface {0} in this network namespace (`ip link` lists those there are)")]
    NoInterface(String),
    /// The caller may not send and receive raw frames.
    #[error("{0}: raw frames need root or CAP_NET_RAW (run it with sudo)")]
    NotPermitted(String),
    /// Its frames are not Ethernet frames.
    #[error("{0} does not carry Ethernet frames, so it cannot be a port of a switch; name a wired interface")]
    NotEthernet(String),
    /// Another program has what can be had once only.
    #[error(
        "{interface}: {what} is in use by another program; end that program or detach it (`ip link show {interface}` tells of XDP)"
    )]
    InUse {
        /// Name of the interface.
        interface: String,
        /// What is taken.
        what: &'static str,
    },
    /// Frames could come in without their VLAN tags, and so in the wrong class.
    #[error(
        "{interface}: AF_XDP would not see VLAN tags that this virtual interface keeps beside its frames ({source}); it \
         takes virtual Ethernet on Linux 6.8 or later with the kernel's types (/sys/kernel/btf/vmlinux), or socket = \
         \"packet\" in the file"
    )]
    HiddenTags {
        /// Name of the interface.
        interface: String,
        /// Why they cannot be put back.
        source: io::Error,
    },
    /// The kernel lets no XDP program into a virtual Ethernet pair whose other end has more transmit queues.
    #[error(
        "{0}: AF_XDP is not to be had, as the other end of this virtual Ethernet pair sends by more queues than {0} receives \
         by; let it use fewer (ethtool -L), make the pair with as many (ip link add, numrxqueues), or write socket = \
         \"packet\" in the file"
    )]
    FewReceiveQueues(String),
    /// The ring found no memory.
    #[error("{interface}: no memory for a ring of {frames} frames; ask for fewer, or free some memory")]
    NoMemory {
        /// Name of the interface.
        interface: String,
        /// Frames that were asked for.
        frames: u32,
    },
    /// The kernel cannot do it.
    #[error("{interface}: the kernel refused to {step} ({source}); it takes Linux {since} or later")]
    Kernel {
        /// Name of the interface.
        interface: String,
        /// What was being done, behind "to".
        step: &'static str,
        /// First version that can.
        since: &'static str,
        /// What it answered.
        source: io::Error,
    },
}

impl OpenError {
    /// What an errno says while a port is opened, in `step`, with a ring of so many frames.
    pub(crate) fn new(
        interface: &str,
        step: &'static str,
        since: &'static str,
        frames: u32,
        source: io::Error,
    ) -> Self {
        let interface = interface.to_owned();
        match source.raw_os_error() {
            Some(libc::ENODEV | libc::ENXIO) => Self::NoInterface(interface),
            Some(libc::EPERM | libc::EACCES) => Self::NotPermitted(interface),
            Some(libc::ENOMEM | libc::ENOBUFS) => Self::NoMemory { interface, frames },
            _ => Self::Kernel { interface, step, since, source },
        }
    }
}
