//! Socket calls that no safe library wraps, each as one small function.
#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
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
plain!(u32, i32, libc::tpacket_req, libc::tpacket_stats, libc::packet_mreq, libc::sockaddr_ll, libc::sockaddr_xdp);

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
    /// The three stamps, as the kernel writes them: software, unused, hardware.
    type Stamps = [[libc::c_long; 2]; 3];
    let mut control = [0u64; 64];
    // SAFETY: zero is a valid msghdr: null pointers with lengths of zero.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the control buffer is as long as is said, aligned for its headers, and lives through the call.
    if unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &mut message, flags) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has filled the buffer with headers that lie within it, which these walk along.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(&message).as_ref() };
    while let Some(header) = next {
        if (header.cmsg_level, header.cmsg_type) == (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) {
            // SAFETY: behind a header of this kind are the three stamps.
            let stamps: Stamps = unsafe { libc::CMSG_DATA(header).cast::<Stamps>().read_unaligned() };
            let [seconds, ns] = stamps[0].map(|number| number as u64);
            return Ok((seconds > 0).then_some(seconds * 1_000_000_000 + ns));
        }
        // SAFETY: as above.
        next = unsafe { libc::CMSG_NXTHDR(&message, header).as_ref() };
    }
    Ok(None)
}

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
