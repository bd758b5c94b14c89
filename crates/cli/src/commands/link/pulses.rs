//! `ontick link recv --widths`: each pulse as it arrives, without frames.

use std::io::{self, BufWriter, Write, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

use ontick_gpio::{Line, Name};
use ontick_link::Method;
use ontick_link::bare::{BareReceiver, ReceivedPulse};
use ontick_measure::Placement;
use ontick_rt::clock::ClockId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::failure::{Failure, Outcome};

/// The first line, printed when the line is listened on.
pub const HEAD: &str = "# rise_ns width_ns";
/// Pulses are printed when none comes for so long, in ns: writing while they come would delay them.
const QUIET_NS: u64 = 50_000_000;
/// More than this are printed while they come.
const MOST_KEPT: usize = 1 << 16;

/// Prints pulses until none came for `timeout_ns` after the first, until `stop`, or until nobody reads them.
pub fn print(input: &Name, placement: Placement, timeout_ns: u64, stop: &AtomicBool) -> Result<Outcome, Failure> {
    let mut line = Line::open(input, &Method::Interrupt.request())?;
    let _thread = placement.setup().best_effort();
    let mut receiver = BareReceiver::default();
    let (mut kept, mut count, mut newest_ns) = (Vec::new(), 0u64, None);
    write(&mut kept, Some(HEAD))?;
    while !stop.load(Ordering::Relaxed) && !nobody_reads() {
        match receiver.next(&mut line, ClockId::Monotonic.now_ns() + QUIET_NS)? {
            Some(pulse) => {
                kept.push(pulse);
                (count, newest_ns) = (count + 1, Some(ClockId::Monotonic.now_ns()));
                if kept.len() < MOST_KEPT {
                    continue;
                }
            }
            None if newest_ns.is_some_and(|ns| ClockId::Monotonic.now_ns() - ns > timeout_ns) => break,
            None => {}
        }
        write(&mut kept, None)?;
    }
    write(&mut kept, None)?;
    Ok(if count > 0 { Outcome::Met } else { Outcome::NotMet })
}

fn write(kept: &mut Vec<ReceivedPulse>, head: Option<&str>) -> Result<(), Failure> {
    let mut out = BufWriter::new(stdout().lock());
    let mut write = || {
        if let Some(head) = head {
            writeln!(out, "{head}")?;
        }
        kept.drain(..).try_for_each(|pulse| writeln!(out, "{} {}", pulse.rise_ns, pulse.width_ns))?;
        out.flush()
    };
    match write() {
        // Whoever read it has enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other.map_err(|e| Failure::new(format!("cannot write to standard output: {e}")))?),
    }
}

/// Whether standard output is a pipe that was closed at its other end.
fn nobody_reads() -> bool {
    let out = stdout();
    let mut polled = [PollFd::new(&out, PollFlags::empty())];
    poll(&mut polled, Some(&Timespec::default())).is_ok() && polled[0].revents().contains(PollFlags::ERR)
}

/// A pulse as [`print()`] prints it.
pub fn read(line: &str) -> Option<ReceivedPulse> {
    let (rise, width) = line.trim().split_once(' ')?;
    Some(ReceivedPulse { rise_ns: rise.parse().ok()?, width_ns: width.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pulses_read_back() {
        assert_eq!(read("120 30\n"), Some(ReceivedPulse { rise_ns: 120, width_ns: 30 }));
        assert_eq!([HEAD, "", "12", "12 x"].map(read), [None; 4]);
    }
}
