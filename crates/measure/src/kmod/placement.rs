//! Where a thread of the kernel runs, and how urgently.

use ontick_rt::thread::Policy;

use super::Error;
use crate::Placement;

/// CPU and FIFO priority in the module's terms.
pub fn placement(place: Placement) -> Result<(i32, u32), Error> {
    let cpu = place.cpu.map_or(-1, |cpu| cpu as i32);
    match place.policy {
        Policy::Other => Ok((cpu, 0)),
        Policy::Fifo(priority) => Ok((cpu, priority.into())),
        Policy::RoundRobin(_) | Policy::Deadline { .. } => Err(Error::Refused(format!(
            "the kernel module's threads run under policy other or fifo, not {}",
            place.policy
        ))),
    }
}
