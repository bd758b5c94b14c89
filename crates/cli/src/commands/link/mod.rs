//! `ontick link …`

mod bare;
mod bench;
mod ends;
mod eye;
mod picture;
mod pty;
mod pulses;
mod recv;
mod render;
mod send;
mod table;
mod terminal;
mod test;
mod tune;

use clap::Subcommand;

use crate::failure::{Failure, Outcome};

/// Transfer bytes over a wire, from one line to another: pulse widths carry the bits.
///
/// Both ends need the same --code, --short and --step. Frames carry a checksum: damaged data is never passed on. With a
/// return line all data arrives; without one, missing data is reported.
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
