//! `/dev/cpu_dma_latency`: no deep power states while it is held open.

use std::fs::{File, OpenOptions};
use std::io::Write;

use super::Refusal;

/// Holds all CPUs out of power states that take longer to leave than was asked, until it is dropped or the
/// process ends.
#[derive(Debug)]
pub struct LatencyRequest {
    us: i32,
    _held: File,
}

impl LatencyRequest {
    /// Asks for at most `us` microseconds (0: polling idle).
    pub fn hold(us: i32) -> Result<Self, Refusal> {
        let path = "/dev/cpu_dma_latency";
        let held = OpenOptions::new().write(true).open(path).and_then(|mut file| {
            file.write_all(&us.to_ne_bytes())?;
            Ok(file)
        });
        held.map(|file| Self { us, _held: file }).map_err(|error| {
            let remedy = match error.kind() {
                std::io::ErrorKind::NotFound => "this kernel manages no power states, so nothing needs to be done",
                _ => "run as root, or give your group write access to /dev/cpu_dma_latency by a udev rule",
            };
            Refusal::new(format!("power-state latency {us} us"), format!("{path}: {error}"), remedy)
        })
    }

    /// What was asked for, in microseconds.
    pub fn us(&self) -> i32 {
        self.us
    }
}
