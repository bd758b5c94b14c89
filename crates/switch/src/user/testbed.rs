//! Where the tests of ports run: a network namespace of their own with two interfaces, joined like by a cable.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::apply::{Lock, SwitchDir};
use crate::verify::namespace::{Namespace, NamespaceError};

#[path = "../../tests/testbed/namespace.rs"]
mod namespace;

pub use namespace::namespace;

/// Does `test` in a fresh namespace with `left` and `right`, joined and up; says so and does nothing without root.
pub fn with_cable(test: impl FnOnce() + Send) {
    in_namespace(|| {
        ip("link add left type veth peer name right");
        ip("link set left up");
        ip("link set right up");
        test();
    });
}

/// Does `test` in a fresh namespace; says so and does nothing without root.
pub fn in_namespace(test: impl FnOnce() + Send) {
    if let Some(namespace) = namespace() {
        namespace.within(test).unwrap();
    }
}

/// Runs `ip` with these words, which must succeed; what it prints.
pub fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().expect("ip runs");
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until something is so; tests may be slow, but not for ever.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "{what}: not so after 30 s");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The lock of what is known of switches. A program that another test starts holds it for a moment after it was let go.
pub fn locked(folder: &SwitchDir) -> Lock {
    let mut lock = None;
    until("the lock is free", || {
        lock = folder.lock().ok();
        lock.is_some()
    });
    lock.expect("it is there")
}

/// A frame of so many octets, with a tag if its length has room and `tag` says so, and contents that differ from one
/// `number` to the next.
pub fn frame(number: u32, octets: usize, tag: Option<u16>) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa];
    if let Some(control) = tag {
        frame.extend([0x81, 0x00]);
        frame.extend(control.to_be_bytes());
    }
    frame.extend([0x88, 0xb5]);
    let contents = number.to_be_bytes().into_iter().cycle().zip(0u8..=255).cycle();
    frame.extend(contents.map(|(digit, place)| digit ^ place.wrapping_mul(7)).take(octets - frame.len()));
    frame
}

/// A TAP interface: a driver whose queue is emptied only when somebody reads.
#[derive(Debug)]
pub struct Tap(File);

impl Tap {
    #[allow(unsafe_code)]
    pub fn new(name: &str) -> io::Result<Self> {
        const TUNSETIFF: libc::Ioctl = 0x4004_54ca_u32 as libc::Ioctl;
        let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open("/dev/net/tun")?;
        // SAFETY: zero is a valid ifreq.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        request.ifr_name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from as libc::c_char);
        request.ifr_ifru.ifru_flags = (libc::IFF_TAP | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: the request is of the kind that TUNSETIFF takes.
        let made = unsafe { libc::ioctl(file.as_raw_fd(), TUNSETIFF, &mut request) };
        if made == 0 { Ok(Self(file)) } else { Err(io::Error::last_os_error()) }
    }

    pub fn take(&self) -> Vec<u8> {
        let mut frame = [0; 2048];
        let mut octets = 0;
        until("the driver's queue has a frame", || match (&self.0).read(&mut frame) {
            Err(nothing) if nothing.kind() == io::ErrorKind::WouldBlock => false,
            read => {
                octets = read.unwrap();
                true
            }
        });
        frame[..octets].to_vec()
    }
}
