//! Socket calls that no safe library wraps, each as one small function.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

/// Structures of the kernel that are plain numbers: any bytes are a valid value, and there is no padding to leak.
///
/// # Safety
/// The type must be `repr(C)` (or a primitive integer), made of integers only, without padding.
pub unsafe trait Plain: Copy {}

macro_rules! plain {
    ($($kind:ty),* $(,)?) => { $(
        // SAFETY: `repr(C)` integers without padding, as the kernel's header has them.
        unsafe impl Plain for $kind {}
    )* };
}
plain!(
    u32,
    i32,
    [u32; 9],
    libc::tpacket_req,
    libc::tpacket_stats,
    libc::packet_mreq,
    libc::sockaddr_ll,
    libc::sockaddr_xdp
);

/// Which clock launch times are on, and what the kernel does about them: `struct sock_txtime` (linux/net_tstamp.h).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct LaunchClock {
    /// A `CLOCK_…`.
    pub clock: i32,
    /// `SOF_TXTIME_…`.
    pub flags: u32,
}
// SAFETY: two integers of four octets, as the kernel's header has them.
unsafe impl Plain for LaunchClock {}

/// `setsockopt(2)`.
pub fn set_option<T: Plain>(socket: impl AsFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let (value, length) = (std::ptr::from_ref(value).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: value is valid for reads of `length` bytes during the call.
    check(unsafe { libc::setsockopt(socket.as_fd().as_raw_fd(), level, option, value, length) })
}

/// `getsockopt(2)` of a value of known size.
pub fn option<T: Plain>(socket: impl AsFd, level: i32, option: i32) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut length = size_of::<T>() as libc::socklen_t;
    let (fd, to) = (socket.as_fd().as_raw_fd(), value.as_mut_ptr().cast());
    // SAFETY: value is valid for writes of `length` bytes during the call.
    check(unsafe { libc::getsockopt(fd, level, option, to, &mut length) })?;
    // SAFETY: any bytes are a valid T, and all were set, by zeroed() if not by the kernel.
    Ok(unsafe { value.assume_init() })
}

/// `bind(2)` to an address that begins with its family.
pub fn bind<T: Plain>(socket: impl AsFd, address: &T) -> io::Result<()> {
    let (address, length) = (std::ptr::from_ref(address).cast(), size_of::<T>() as libc::socklen_t);
    // SAFETY: address is valid for reads of `length` bytes during the call.
    check(unsafe { libc::bind(socket.as_fd().as_raw_fd(), address, length) })
}

/// Flags of an interface (`SIOCGIFFLAGS`), by any socket.
pub fn interface_flags(socket: impl AsFd, interface: &str) -> io::Result<i32> {
    let mut request = request(interface)?;
    // SAFETY: the kernel reads the name and writes the flags, both within the structure.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCGIFFLAGS as _, &mut request) })?;
    // SAFETY: the kernel has set the flags.
    Ok(i32::from(unsafe { request.ifr_ifru.ifru_flags }))
}

/// Kind of an interface's addresses, `ARPHRD_…` (`SIOCGIFHWADDR`), by any socket.
pub fn interface_kind(socket: impl AsFd, interface: &str) -> io::Result<u16> {
    let mut request = request(interface)?;
    // SAFETY: the kernel reads the name and writes the address, both within the structure.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCGIFHWADDR as _, &mut request) })?;
    // SAFETY: the kernel has set the address.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr }.sa_family)
}

/// Its own address (`SIOCGIFHWADDR`), by any socket.
pub fn interface_address(socket: impl AsFd, interface: &str) -> io::Result<[u8; 6]> {
    let mut request = request(interface)?;
    // SAFETY: the kernel reads the name and writes the address, both within the structure.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCGIFHWADDR as _, &mut request) })?;
    // SAFETY: the kernel has set the address.
    let address = unsafe { request.ifr_ifru.ifru_hwaddr }.sa_data;
    Ok(std::array::from_fn(|octet| address[octet] as u8))
}

/// The largest packet that an interface takes (`SIOCGIFMTU`), by any socket.
pub fn interface_mtu(socket: impl AsFd, interface: &str) -> io::Result<u32> {
    let mut request = request(interface)?;
    // SAFETY: the kernel reads the name and writes the number, both within the structure.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::SIOCGIFMTU as _, &mut request) })?;
    // SAFETY: the kernel has set the number.
    Ok(unsafe { request.ifr_ifru.ifru_mtu } as u32)
}

/// What the hardware of an interface stamps (`SIOCGHWTSTAMP`), by any socket.
pub fn hardware_stamps(socket: impl AsFd, interface: &str) -> io::Result<libc::hwtstamp_config> {
    let mut reported = libc::hwtstamp_config { flags: 0, tx_type: 0, rx_filter: 0 };
    stamp_request(socket, interface, libc::SIOCGHWTSTAMP as _, &mut reported)?;
    Ok(reported)
}

/// Has the hardware of an interface stamp (`SIOCSHWTSTAMP`); it may choose to stamp more, which `wanted` tells then.
pub fn set_hardware_stamps(socket: impl AsFd, interface: &str, wanted: &mut libc::hwtstamp_config) -> io::Result<()> {
    stamp_request(socket, interface, libc::SIOCSHWTSTAMP as _, wanted)
}

/// When a frame of this socket left, by its stamp in the error queue, in ns since 1970 (`SCM_TIMESTAMPING`, the kernel's
/// Documentation/networking/timestamping.rst); an error if there is none yet.
pub fn sent_stamp(socket: impl AsFd) -> io::Result<Option<u64>> {
    receive_with_control(socket, &mut [], None, libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT, stamp).map(|(_, stamp)| stamp)
}

/// A datagram and when it came, by the kernel's stamp, in ns since 1970; an error if there is none yet.
pub fn receive_stamped(socket: impl AsFd, to: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    receive_with_control(socket, to, None, libc::MSG_DONTWAIT, stamp)
}

/// As above, and who sent it.
pub fn receive_from(socket: impl AsFd, to: &mut [u8]) -> io::Result<(usize, Option<SocketAddr>, Option<u64>)> {
    // SAFETY: zero is a valid address: integers, of no family.
    let mut from: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let (octets, stamp_ns) = receive_with_control(socket, to, Some(&mut from), libc::MSG_DONTWAIT, stamp)?;
    Ok((octets, internet_address(&from), stamp_ns))
}

/// An address of the internet protocols.
fn internet_address(of: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let place = std::ptr::from_ref(of);
    match i32::from(of.ss_family) {
        libc::AF_INET => {
            // SAFETY: the storage is aligned and large enough for every kind, and the family says which it is.
            let address = unsafe { &*place.cast::<libc::sockaddr_in>() };
            let octets = address.sin_addr.s_addr.to_ne_bytes();
            Some((octets, u16::from_be(address.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let address = unsafe { &*place.cast::<libc::sockaddr_in6>() };
            let (octets, port) = (address.sin6_addr.s6_addr, u16::from_be(address.sin6_port));
            Some(SocketAddrV6::new(octets.into(), port, 0, address.sin6_scope_id).into())
        }
        _ => None,
    }
}

/// Whether the error queue had a frame that was taken and not sent at its launch time; an error if it is empty.
pub fn missed_launch(socket: impl AsFd) -> io::Result<bool> {
    let is_missed = |header: &libc::cmsghdr| {
        if (header.cmsg_level, header.cmsg_type) != (libc::SOL_PACKET, PACKET_TX_TIMESTAMP) {
            return None;
        }
        // SAFETY: behind a header of this kind is a sock_extended_err.
        let error = unsafe { libc::CMSG_DATA(header).cast::<libc::sock_extended_err>().read_unaligned() };
        is_of_a_taken_frame(&error).then_some(())
    };
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    receive_with_control(socket, &mut [], None, flags, is_missed).map(|(_, missed)| missed.is_some())
}

/// Whether a report is of a frame that the kernel took and then dropped, as its time had passed. One whose time has passed
/// as it is handed over is reported, too (`SO_EE_CODE_TXTIME_INVALID_PARAM`); but its send fails (`ENOBUFS`), so that
/// whoever sent it has counted it as not taken.
fn is_of_a_taken_frame(error: &libc::sock_extended_err) -> bool {
    (error.ee_origin, error.ee_code) == (SO_EE_ORIGIN_TXTIME, SO_EE_CODE_TXTIME_MISSED)
}

/// Where an error in a socket's queue comes from, and which it is: linux/errqueue.h.
const SO_EE_ORIGIN_TXTIME: u8 = 6;
const SO_EE_CODE_TXTIME_MISSED: u8 = 2;
/// linux/if_packet.h.
const PACKET_TX_TIMESTAMP: i32 = 16;

/// The kernel's stamp of a frame, by the software.
fn stamp(header: &libc::cmsghdr) -> Option<u64> {
    /// The three stamps, as the kernel writes them: software, unused, hardware.
    type Stamps = [[libc::c_long; 2]; 3];
    if (header.cmsg_level, header.cmsg_type) != (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
        return None;
    }
    // SAFETY: behind a header of this kind are the three stamps.
    let stamps: Stamps = unsafe { libc::CMSG_DATA(header).cast::<Stamps>().read_unaligned() };
    let [seconds, ns] = stamps[0].map(|number| number as u64);
    (seconds > 0).then_some(seconds * 1_000_000_000 + ns)
}

/// `recvmsg(2)`: how long the message is, and the first thing that `find` finds in what the kernel says of it; who sent it
/// is left in `from`.
fn receive_with_control<T>(
    socket: impl AsFd,
    to: &mut [u8],
    from: Option<&mut libc::sockaddr_storage>,
    flags: libc::c_int,
    find: impl Fn(&libc::cmsghdr) -> Option<T>,
) -> io::Result<(usize, Option<T>)> {
    let mut control = [0u64; 64];
    let mut room = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    // SAFETY: zero is a valid msghdr: null pointers with lengths of zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut room, 1);
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    if let Some(from) = from {
        message.msg_namelen = size_of_val(from) as libc::socklen_t;
        message.msg_name = std::ptr::from_mut(from).cast();
    }
    // SAFETY: the buffers are as long as is said, that of control aligned for its headers, and live through the call.
    let octets = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &mut message, flags) };
    if octets < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has filled the buffer with headers that lie within it, which these walk along.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(&message).as_ref() };
    while let Some(header) = next {
        if let Some(found) = find(header) {
            return Ok((octets as usize, Some(found)));
        }
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(&message, header).as_ref() };
    }
    Ok((octets as usize, None))
}

/// Sends a frame that is to leave at `at_ns` on the clock of the socket's launch times (`SCM_TXTIME`), without waiting.
pub fn send_at(socket: impl AsFd, frame: &[u8], at_ns: u64) -> io::Result<usize> {
    let mut control = [0u64; 8];
    let mut part = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
    // SAFETY: zero is a valid msghdr: null pointers with lengths of zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    message.msg_control = control.as_mut_ptr().cast();
    // SAFETY: it computes a length.
    message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u64>() as u32) } as _;
    // SAFETY: the control buffer is aligned and has room for a header and the eight octets behind it.
    unsafe {
        let header = libc::CMSG_FIRSTHDR(&message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = SCM_TXTIME;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<u64>() as u32) as _;
        libc::CMSG_DATA(header).cast::<u64>().write_unaligned(at_ns);
    }
    // SAFETY: both buffers live through the call, and the kernel writes to neither.
    let sent = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &message, libc::MSG_DONTWAIT) };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(sent as usize) }
}

/// What queueing disciplines choose a class by: `SO_PRIORITY` (asm-generic/socket.h).
pub const SO_PRIORITY: i32 = 12;
/// `SO_TXTIME` and the header of the same number (asm-generic/socket.h; of these machines only MIPS, PA-RISC and SPARC
/// have others).
pub const SO_TXTIME: i32 = 61;
const SCM_TXTIME: i32 = SO_TXTIME;

fn stamp_request(
    socket: impl AsFd,
    interface: &str,
    number: libc::Ioctl,
    config: &mut libc::hwtstamp_config,
) -> io::Result<()> {
    let mut request = request(interface)?;
    request.ifr_ifru.ifru_data = std::ptr::from_mut(config).cast();
    // SAFETY: the kernel reads the name, follows the pointer to a structure of the kind these requests take, and
    // reads or writes that; both live through the call.
    check(unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), number, &mut request) })
}

/// A request about an interface.
fn request(interface: &str) -> io::Result<libc::ifreq> {
    // SAFETY: zero is a valid ifreq: integers, and a pointer that may be null.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // One octet stays zero: the kernel wants the name to end.
    let room = &mut request.ifr_name[..libc::IFNAMSIZ - 1];
    if interface.len() > room.len() {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    for (to, from) in room.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(request)
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its send failed, which says so already.
    #[test]
    fn a_frame_that_was_too_late_to_be_taken_is_none_that_was_dropped_later() {
        let report = |origin, code| {
            // SAFETY: zero is a valid report: integers.
            let mut error: libc::sock_extended_err = unsafe { std::mem::zeroed() };
            (error.ee_origin, error.ee_code) = (origin, code);
            is_of_a_taken_frame(&error)
        };
        const SO_EE_CODE_TXTIME_INVALID_PARAM: u8 = 1;
        const SO_EE_ORIGIN_TXSTATUS: u8 = 4;
        assert!(report(SO_EE_ORIGIN_TXTIME, SO_EE_CODE_TXTIME_MISSED));
        assert!(!report(SO_EE_ORIGIN_TXTIME, SO_EE_CODE_TXTIME_INVALID_PARAM));
        assert!(!report(SO_EE_ORIGIN_TXSTATUS, SO_EE_CODE_TXTIME_MISSED));
    }
}
