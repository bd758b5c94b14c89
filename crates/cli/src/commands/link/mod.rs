//! `ontick link …`

mod bench;
mod ends;
mod eye;
mod pty;
mod recv;
mod send;
mod shown;
mod terminal;
mod test;
mod tune;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// Bytes over a wire: pulses whose widths carry the bits, from one line to another.
///
/// Both ends must be given the same --code, --short, --step. Frames carry a checksum: nothing wrong is ever handed on.
/// With a return line everything arrives; without one, what did not is told.
#[derive(Subcommand)]
pub enum Link {
    Send(send::Send),
    Recv(recv::Recv),
    Pty(pty::Pty),
    Test(test::Test),
    Tune(tune::Tune),
}

impl Link {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Link::Send(send) => send.run(),
            Link::Recv(recv) => recv.run(),
            Link::Pty(pty) => pty.run(),
            Link::Test(test) => test.run(),
            Link::Tune(tune) => tune.run(),
        }
    }
}
