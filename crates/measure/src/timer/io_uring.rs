//! io_uring(7): an absolute timeout operation.
#![allow(unsafe_code)]

use std::io;

use io_uring::{IoUring as Ring, opcode, types};
use ontick_rt::clock::Clock;
use ontick_rt::wait::Wait;

/// A ring with one timeout in flight.
pub struct IoUring {
    ring: Ring,
}

impl IoUring {
    pub fn new() -> io::Result<Self> {
        Ok(Self { ring: Ring::new(4)? })
    }
}

impl Wait for IoUring {
    fn until(&mut self, clock: &mut Clock, deadline_ns: u64) -> u64 {
        let at = types::Timespec::new().sec(deadline_ns / 1_000_000_000).nsec((deadline_ns % 1_000_000_000) as u32);
        let timeout = opcode::Timeout::new(&at).flags(types::TimeoutFlags::ABS).build();
        // SAFETY: the kernel copies the time when the operation is submitted, which happens before this
        // function returns.
        let queued = unsafe { self.ring.submission().push(&timeout) };
        if queued.is_ok() {
            while let Err(error) = self.ring.submit_and_wait(1) {
                if error.raw_os_error() != Some(libc::EINTR) {
                    // The ring is of no use any more: still be on time, and never spin on an error.
                    clock.id().sleep_until(deadline_ns);
                    break;
                }
            }
        }
        let now = clock.now_ns();
        self.ring.completion().for_each(drop);
        now
    }
}
