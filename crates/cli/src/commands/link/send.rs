//! `ontick link send`

use std::path::PathBuf;

use clap::Args;
use ontick_gpio::Name;
use ontick_link::transfer::{Feed, one_way, repeated};

use super::ends::{self, CodeFlags};
use super::render;
use crate::failure::{Failure, Outcome};
use crate::flags::{self, PlacementFlags};
use crate::stop;

/// Send standard input.
///
/// Exit status: 0 everything was sent (with a return line: has arrived), 1 it was not, 2 sending was not possible.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick link send --output GPIO22 < file\n  ontick link send --output sim:bench/4 --return-input sim:bench/18 \\\n      --code 2x2 --short 20us < file\n\nStart the receiver first: without a return line the sender cannot detect that it is missing."
)]
pub struct Send {
    /// The line that is driven
    #[arg(long, value_name = "LINE")]
    output: Name,
    /// A line that brings acknowledgements back: lost frames are sent again
    #[arg(long, value_name = "LINE")]
    return_input: Option<Name>,
    #[command(flatten)]
    code: CodeFlags,
    /// Send this file instead of standard input
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// With a return line, how long to wait for an answer before giving up
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = flags::time)]
    timeout: u64,
    #[command(flatten)]
    placement: PlacementFlags,
}

impl Send {
    pub fn run(self) -> Result<Outcome, Failure> {
        let setting = self.code.setting()?;
        let placement = self.placement.placement();
        placement.check()?;
        self.return_input.iter().try_for_each(|back| ends::differ(&self.output, back))?;
        let stop = stop::on_signal()?;
        ends::settle([&self.output].into_iter().chain(&self.return_input))?;
        let mut feed = Feed::new(ends::input(self.file.as_ref())?)?;
        let mut sender = ends::sender(&self.output, setting, placement.setup())?;
        ends::report_refused(sender.refused());
        ends::attend(placement);
        let sent = match &self.return_input {
            None => one_way::send(&mut sender, setting, &mut feed, ends::mark(), &stop)?,
            Some(back) => {
                let method = ends::by_of(back, setting);
                ends::may_poll(method, placement)?;
                let mut back = ends::receiver(back, setting, method, placement.setup())?;
                let stream = (ends::mark(), self.timeout);
                repeated::send(&mut sender, &mut back, setting, &mut feed, stream, &stop)?
            }
        };
        ends::say(&render::sent(&sent, self.return_input.is_some(), &[Some(&self.output), self.return_input.as_ref()]));
        Ok(if sent.complete { Outcome::Met } else { Outcome::NotMet })
    }
}
