//! Keeps the other end of a virtual Ethernet pair from joining frames.
//!
//! What a station there sends by TCP comes as frames of up to 64 KiB, which nobody forwards, as its interface promises to
//! cut them (TSO, GSO). The kernel takes that promise back while a program stands in the driver of the interface here:
//! one that lets everything pass. It goes with the port, whatever ends that.

use std::io;

use ontick_bpf::instruction::{EXIT, SET};
use ontick_bpf::{Instruction, instruction};

use crate::user::bpf::{Attached, Purpose, XdpMode, load};

/// Has single frames come in from now on.
pub fn keep_whole(index: u32) -> io::Result<Attached> {
    const PASS: i32 = 2;
    let program: [Instruction; 2] = [instruction(SET, 0, 0, 0, PASS), instruction(EXIT, 0, 0, 0, 0)];
    // Without the promise to take long frames, some MTUs are refused; before Linux 5.18 nobody made it.
    let program = load(&program, Purpose { long_frames: true, ..Purpose::default() })
        .or_else(|_| load(&program, Purpose::default()))?;
    Attached::attach(&program, index, XdpMode::Driver)
}
