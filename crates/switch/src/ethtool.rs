//! The ioctl behind ethtool(8), for what no netlink program of a stock machine tells: offloads by name, channels, speed
//! and the driver's own counters.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketType, socket};

const SIOCETHTOOL: u32 = 0x8946;

/// A buffer that begins with the command's number (ETHTOOL_…), read and written by the kernel.
pub(crate) struct Request {
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
/// The kernel writes no more than the command's own structure: `request` must be as long as that.
pub(crate) fn ask(port: &str, request: &mut Request) -> io::Result<i32> {
    let socket: OwnedFd = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut ifreq = IfReq { name: [0; libc::IFNAMSIZ], data: request.words.as_mut_ptr(), rest: [0; 16] };
    if port.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    ifreq.name[..port.len()].copy_from_slice(port.as_bytes());
    // SAFETY: `ifreq` is a struct ifreq with its name ended by a zero; its data point to a buffer that lives through the
    // call and is as long as the command's structure, as all callers in this crate see to.
    let status = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, std::ptr::from_mut(&mut ifreq)) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(status) }
}

const GSSET_INFO: u32 = 0x37;
const GSTRINGS: u32 = 0x1b;
const NAME: usize = 32;

/// The names in a set of strings of the driver.
pub(crate) fn names(port: &str, set: u32) -> io::Result<Vec<String>> {
    let mut info = Request::new(GSSET_INFO, 20);
    info.set(2 + (set / 32) as usize, 1 << (set % 32));
    ask(port, &mut info)?;
    let count = match info.long(2) {
        0 => 0,
        _ => info.word(4) as usize,
    };
    let mut strings = Request::new(GSTRINGS, 12 + count * NAME);
    strings.set(1, set);
    strings.set(2, count as u32);
    ask(port, &mut strings)?;
    let octets = strings.octets(3);
    let text =
        |name: &[u8]| String::from_utf8_lossy(name.split(|octet| *octet == 0).next().unwrap_or(&[])).into_owned();
    Ok(octets.chunks_exact(NAME).take(count).map(text).collect())
}

/// Transmit queues that are in use, where the driver tells.
pub fn transmit_queues(port: &str) -> Option<u32> {
    const GCHANNELS: u32 = 0x3c;
    let mut channels = Request::new(GCHANNELS, 36);
    ask(port, &mut channels).ok()?;
    let (transmit, combined) = (channels.word(6), channels.word(8));
    (transmit + combined > 0).then_some(transmit + combined)
}

/// The name of the port's driver.
pub fn driver(port: &str) -> Option<String> {
    const GDRVINFO: u32 = 0x03;
    let mut info = Request::new(GDRVINFO, 196);
    ask(port, &mut info).ok()?;
    Some(text(&info.octets(1)[..NAME]))
}

fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets.split(|octet| *octet == 0).next().unwrap_or(&[])).into_owned()
}

/// Bits per second of the link, where the driver tells and there is one.
pub fn rate(port: &str) -> Option<u64> {
    const GSET: u32 = 0x01;
    let mut settings = Request::new(GSET, 44);
    ask(port, &mut settings).ok()?;
    let octets = settings.octets(0);
    let low = u16::from_ne_bytes([octets[12], octets[13]]);
    let high = u16::from_ne_bytes([octets[28], octets[29]]);
    let mega = u32::from(high) << 16 | u32::from(low);
    // SPEED_UNKNOWN is all ones, in 16 or 32 bits.
    (mega != 0 && mega != u32::MAX && mega != 0xffff).then(|| u64::from(mega) * 1_000_000)
}

/// The driver's own counters, by name (`ethtool -S`).
pub fn counters(port: &str) -> io::Result<Vec<(String, u64)>> {
    const GSTATS: u32 = 0x1d;
    const SET: u32 = 1;
    let names = names(port, SET)?;
    let mut stats = Request::new(GSTATS, 8 + names.len() * 8);
    stats.set(1, names.len() as u32);
    ask(port, &mut stats)?;
    Ok(names.into_iter().enumerate().map(|(i, name)| (name, stats.long(2 + 2 * i))).collect())
}
