//! The ioctl behind ethtool(8), for what no netlink program of a stock machine tells: offloads by name, interrupt
//! coalescing, rings, energy-efficient Ethernet, channels, speed and the driver's own counters. Frame preemption has no ioctl,
//! and goes by ethtool's own netlink messages.
//!
//! An interface is that of this name in the calling thread's network namespace.
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod features;
pub mod mac_merge;
mod netlink;
mod request;
pub mod values;

use std::io;

use request::{Request, ask};

const GSSET_INFO: u32 = 0x37;
const GSTRINGS: u32 = 0x1b;
const NAME: usize = 32;

/// Room for `count` things, and for more should there be more of them by the time the request is answered: many kernels
/// write as many as there are then, whatever number the request names.
fn room(count: usize) -> usize {
    2 * count + 1024
}

/// Whether a request about `asked` things was answered for as many. Their number may have changed since it was asked for; then
/// newer kernels answer for none, and what others answer does not fit the names.
fn as_asked(asked: u32, answered: u32) -> io::Result<()> {
    if asked == answered { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EAGAIN)) }
}

/// Asks again where the number of things changed meanwhile, a few times.
fn settled<T>(mut ask: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 0..4 {
        match ask() {
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => {}
            answered => return answered,
        }
    }
    ask()
}

/// The names in a set of strings of the driver.
fn names(port: &str, set: u32) -> io::Result<Vec<String>> {
    let mut info = Request::new(GSSET_INFO, 20);
    info.set(2 + (set / 32) as usize, 1 << (set % 32));
    ask(port, &mut info)?;
    let count = match info.long(2) {
        0 => 0,
        _ => info.word(4) as usize,
    };
    let mut strings = Request::new(GSTRINGS, 12 + room(count) * NAME);
    strings.set(1, set);
    strings.set(2, count as u32);
    ask(port, &mut strings)?;
    as_asked(count as u32, strings.word(2))?;
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
    driver_and_bus(port).map(|(driver, _)| driver)
}

/// The name of the port's driver, and where the port is: `0000:02:00.1`.
pub fn driver_and_bus(port: &str) -> Option<(String, String)> {
    const GDRVINFO: u32 = 0x03;
    let mut info = Request::new(GDRVINFO, 196);
    ask(port, &mut info).ok()?;
    // Behind the command: driver, version, firmware and place, of 32 octets each.
    let octets = info.octets(1);
    let field = |n: usize| text(octets.get(n * NAME..(n + 1) * NAME).unwrap_or_default());
    Some((field(0), field(3)))
}

/// What stamps frames: `SOF_TIMESTAMPING_…` (linux/net_tstamp.h), and the number of the port's PTP clock.
pub fn time_stamping(port: &str) -> Option<(u32, Option<u32>)> {
    const GET_TS_INFO: u32 = 0x41;
    let mut info = Request::new(GET_TS_INFO, 44);
    ask(port, &mut info).ok()?;
    // Minus one where there is none.
    Some((info.word(1), i32::try_from(info.word(2)).ok().filter(|index| *index >= 0).map(|index| index as u32)))
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
    settled(|| counters_once(port))
}

fn counters_once(port: &str) -> io::Result<Vec<(String, u64)>> {
    const GSTATS: u32 = 0x1d;
    const SET: u32 = 1;
    let names = names(port, SET)?;
    let mut stats = Request::new(GSTATS, 8 + room(names.len()) * 8);
    stats.set(1, names.len() as u32);
    ask(port, &mut stats)?;
    as_asked(names.len() as u32, stats.word(1))?;
    Ok(names.into_iter().enumerate().map(|(i, name)| (name, stats.long(2 + 2 * i))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_about_another_number_of_things_is_asked_for_again() {
        assert!(as_asked(3, 3).is_ok() && as_asked(0, 0).is_ok());
        for answered in [0, 2, 4] {
            assert_eq!(as_asked(3, answered).unwrap_err().raw_os_error(), Some(libc::EAGAIN));
        }
        let asked = |answers: &[u32]| {
            let mut answers = answers.iter();
            let answer = settled(|| as_asked(3, *answers.next().unwrap()));
            (answer.is_ok(), answers.len())
        };
        assert_eq!((asked(&[3, 9]), asked(&[4, 0, 3, 9])), ((true, 1), (true, 1)));
        assert_eq!(asked(&[4; 9]), (false, 4));
        let mut refused = 0;
        let answer = settled(|| {
            refused += 1;
            Err::<(), _>(io::Error::from_raw_os_error(libc::EOPNOTSUPP))
        });
        assert!(answer.is_err() && refused == 1);
    }

    /// The loopback and virtual Ethernet have few counters, or none.
    #[test]
    fn the_counters_of_an_interface_have_names() {
        for port in std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten() {
            let port = port.file_name().into_string().unwrap();
            if let Ok(counters) = counters(&port) {
                assert!(counters.iter().all(|(name, _)| !name.is_empty()), "{port}: {counters:?}");
            }
        }
    }
}
