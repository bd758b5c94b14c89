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
use crate::lazily::Lazily;

/// Transfer bytes over a wire, from one line to another: pulse widths carry the bits.
///
/// Both ends need the same --code, --short and --step. Frames carry a checksum: damaged data is never passed on. With a
/// return line all data arrives; without one, missing data is reported.
#[derive(Subcommand)]
pub enum Link {
    Send(Lazily<send::Send>),
    Recv(Lazily<recv::Recv>),
    Pty(Lazily<pty::Pty>),
    Test(Lazily<test::Test>),
    Tune(Lazily<tune::Tune>),
}

impl Link {
    pub fn run(self) -> Result<Outcome, Failure> {
        match self {
            Link::Send(Lazily(send)) => send.run(),
            Link::Recv(Lazily(recv)) => recv.run(),
            Link::Pty(Lazily(pty)) => pty.run(),
            Link::Test(Lazily(test)) => test.run(),
            Link::Tune(Lazily(tune)) => tune.run(),
        }
    }
}
