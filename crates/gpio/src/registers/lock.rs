//! One at a time, where lines share a word.

use std::fs::File;
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Setting up a line takes microseconds; whoever holds the lock longer will not give it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Does `change` while no other line of any program of this library is being set up through the same device file.
/// The kernel's own drivers do not know of the lock. An error, and nothing done, when it cannot be had.
pub fn alone<T>(device: &File, change: impl FnOnce() -> T) -> io::Result<T> {
    let began = Instant::now();
    loop {
        match flock(device, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if began.elapsed() < PATIENCE => sleep(Duration::from_millis(1)),
            Err(error) => return Err(error.into()),
        }
    }
    let done = change();
    flock(device, FlockOperation::Unlock)?;
    Ok(done)
}
