//! `ontick link recv`

use std::io::{self, Write, stdout};

use clap::Args;
use ontick_gpio::Name;
use ontick_link::Method;
use ontick_link::transfer::{Broken, Warning, one_way, repeated};

use super::ends::{self, CodeFlags};
use super::{pulses, render};
use crate::failure::{Failure, Outcome};
use crate::flags::{self, PlacementFlags};
use crate::stop;

/// Receive, and write what arrives to standard output.
///
/// Exit status: 0 everything arrived, 1 something is missing, 2 receiving was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick link recv --input GPIO27 > file\n  ontick link recv --input sim:bench/17 --return-output sim:bench/5 \\\n      --code 2x2 --short 20us > file"
)]
pub struct Recv {
    /// The line that is watched
    #[arg(long, value_name = "LINE")]
    input: Name,
    /// A line to drive with acknowledgements
    #[arg(long, value_name = "LINE")]
    return_output: Option<Name>,
    /// How edges are detected: poll (reading again and again, which occupies a CPU) or interrupt (notified)
    #[arg(long, default_value = "interrupt")]
    method: Method,
    #[command(flatten)]
    code: CodeFlags,
    /// Print each pulse instead of decoding: the time of its rise, and its width by this program's clock, in ns. Its
    /// exit status is 1 if none arrived
    #[arg(long, conflicts_with_all = ["return_output", "method", "code", "short", "step", "parity", "payload"])]
    widths: bool,
    /// After data has arrived, how long to wait for more
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = flags::time)]
    timeout: u64,
    #[command(flatten)]
    placement: PlacementFlags,
}

impl Recv {
    pub fn run(self) -> Result<Outcome, Failure> {
        let setting = self.code.setting()?;
        let placement = self.placement.place_beside();
        placement.check()?;
        ends::may_poll(self.method, placement)?;
        self.return_output.iter().try_for_each(|back| ends::differ(back, &self.input))?;
        let stop = stop::on_signal()?;
        ends::settle([&self.input].into_iter().chain(&self.return_output))?;
        if self.widths {
            return pulses::print(&self.input, placement, self.timeout, &stop);
        }
        let mut receiver = ends::receiver(&self.input, setting, self.method, placement.setup())?;
        let mut back = match &self.return_output {
            Some(back) => Some(ends::sender(back, setting, placement.setup())?),
            None => None,
        };
        ends::report_refused(receiver.refused());
        ends::say(&format!("Listening on {}{}; Ctrl-C ends.", self.input, render::note(&[Some(&self.input)])));
        ends::attend(placement);
        let received = match &mut back {
            None => one_way::receive(&mut receiver, self.timeout, &stop, write, report),
            // What is damaged comes again.
            Some(back) => repeated::receive(&mut receiver, back, setting, self.timeout, &stop, write, |_| {}),
        };
        let got = match received {
            // Whoever read it has enough.
            Err(Broken::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Outcome::NotMet),
            other => other?,
        };
        ends::say(&render::got(&got, &[Some(&self.input), self.return_output.as_ref()]));
        Ok(if got.complete() { Outcome::Met } else { Outcome::NotMet })
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

fn report(warning: Warning) {
    ends::say(&render::warning(warning));
}
