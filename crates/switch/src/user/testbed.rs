//! Where the tests of ports run: a network namespace of their own with two interfaces, joined like by a cable.

use std::process::Command;
use std::time::{Duration, Instant};

/// Does `test` in a fresh namespace with `left` and `right`, joined and up; says so and does nothing without root.
#[allow(unsafe_code)]
pub fn with_cable(test: impl FnOnce() + Send) {
    in_namespace(|| {
        ip("link add left type veth peer name right");
        ip("link set left up");
        ip("link set right up");
        test();
    });
}

/// Does `test` in a fresh namespace; says so and does nothing without root.
#[allow(unsafe_code)]
pub fn in_namespace(test: impl FnOnce() + Send) {
    let inside = || {
        // SAFETY: a network namespace of its own takes nothing from under anybody: open files stay as they are.
        if unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) }.is_err() {
            eprintln!("skipped: network namespaces need root");
            return;
        }
        for of in ["all", "default"] {
            // A kernel without IPv6 has no such file.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6"), "1");
        }
        test();
    };
    // On a thread of its own, which takes its namespace away with it.
    if let Err(panic) = std::thread::scope(|scope| scope.spawn(inside).join()) {
        std::panic::resume_unwind(panic);
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
