//! The ioctl itself.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};

const SIOCETHTOOL: u32 = 0x8946;

/// A buffer that begins with the command's number (ETHTOOL_…), read and written by the kernel.
pub struct Request {
    words: Vec<u32>,
}

impl Request {
    /// Room for `octets` in all, zeroed behind the command.
    pub fn new(command: u32, octets: usize) -> Self {
        let mut words = vec![0; octets.div_ceil(4).max(1)];
        words[0] = command;
        Self { words }
    }

    pub fn set(&mut self, word: usize, value: u32) {
        self.words[word] = value;
    }

    pub fn word(&self, word: usize) -> u32 {
        self.words.get(word).copied().unwrap_or(0)
    }

    /// Two words as the machine stores a 64-bit number.
    pub fn long(&self, word: usize) -> u64 {
        let (a, b) = (self.word(word).to_ne_bytes(), self.word(word + 1).to_ne_bytes());
        u64::from_ne_bytes([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]])
    }

    /// The octets from a word on.
    pub fn octets(&self, from_word: usize) -> Vec<u8> {
        self.words.iter().skip(from_word).flat_map(|word| word.to_ne_bytes()).collect()
    }
}

#[repr(C)]
struct IfReq {
    name: [u8; libc::IFNAMSIZ],
    data: *mut u32,
    // The kernel copies the whole union.
    rest: [u8; 16],
}

/// Asks the driver of `port`; the answer is in `request`, and what the ioctl returned.
///
/// `request` must be as long as the command's own structure, and as all that the kernel writes behind it: of names and
/// counters that is, in many kernels, as many as the driver has by then, whatever number the request names.
pub fn ask(port: &str, request: &mut Request) -> io::Result<i32> {
    let socket: OwnedFd = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut ifreq = IfReq { name: [0; libc::IFNAMSIZ], data: request.words.as_mut_ptr(), rest: [0; 16] };
    if port.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    ifreq.name[..port.len()].copy_from_slice(port.as_bytes());
    // SAFETY: `ifreq` is a struct ifreq with its name ended by a zero; its data point to a buffer that lives through the
    // call and is as long as the command's structure, as all callers in this crate see to. For names and counters they leave
    // room for more than twice as many as the driver had a moment ago, in case that their number changes meanwhile.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, std::ptr::from_mut(&mut ifreq)) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}
