//! `ontick link pty`

use std::path::PathBuf;

use clap::Args;
use ontick_gpio::Name;
use ontick_link::Method;
use ontick_link::transfer::both_ways::{self, Passed};
use ontick_measure::Placement;
use ontick_units::{count, counted};

use super::bench::below;
use super::ends::{self, CodeFlags};
use super::render;
use super::terminal::{Link, Terminal};
use crate::failure::{Failure, Outcome};
use crate::flags::PlacementFlags;
use crate::{stop, terminal};

/// Open a terminal whose bytes are transferred over two lines, in both directions at once, without loss.
///
/// Prints the terminal's path; picocom, minicom, cat and any other user of a serial line can open it, and close and
/// open it again. It works until Ctrl-C. Exit status: 1 ended by Ctrl-C or a signal, 2 the terminal could not be
/// opened.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  sudo ontick link pty --output GPIO22 --input GPIO27 --link /tmp/wire\n  ontick link pty --output sim:bench/4 --input sim:bench/18 --short 50us\n\nThe other end has the lines the other way round: its --input is joined to this end's --output."
)]
pub struct Pty {
    /// The line that is driven
    #[arg(long, value_name = "LINE")]
    output: Name,
    /// The line that is watched
    #[arg(long, value_name = "LINE")]
    input: Name,
    /// Make a symbolic link to the terminal here; it is removed at the end
    #[arg(long, value_name = "PATH")]
    link: Option<PathBuf>,
    /// How edges are detected: poll (reading again and again, which occupies a CPU) or interrupt (notified)
    #[arg(long, default_value = "interrupt")]
    method: Method,
    #[command(flatten)]
    code: CodeFlags,
    #[command(flatten)]
    placement: PlacementFlags,
}

impl Pty {
    pub fn run(self) -> Result<Outcome, Failure> {
        let setting = self.code.brisk_setting()?;
        let placement = self.placement.placement();
        placement.check()?;
        ends::may_poll(self.method, placement)?;
        ends::differ(&self.output, &self.input)?;
        let stop = stop::on_signal()?;
        ends::settle([&self.output, &self.input])?;
        let mut own = Terminal::open()?;
        let path = own.path.clone();
        let _link = self.link.as_deref().map(|at| Link::lay(at, &path)).transpose()?;
        let mut sender = ends::sender(&self.output, setting, placement.setup())?;
        // A sender keeps one that polls from its CPU, and is itself kept from it by one that is notified: that has time.
        let beside = placement.peer(None, "two ends").unwrap_or(placement);
        let policy = if self.method == Method::Poll { placement.policy } else { below(placement.policy) };
        let beside = Placement { policy, ..beside };
        let mut receiver = ends::receiver(&self.input, setting, self.method, beside.setup())?;
        ends::report_refused(sender.refused());
        terminal::print(&format!("{}\n", path.display()))?;
        let lines = [Some(&self.output), Some(&self.input)];
        ends::say(&format!(
            "{} to {} by the terminal {}{}; Ctrl-C ends.",
            self.input,
            self.output,
            path.display(),
            render::note(&lines)
        ));
        ends::attend(placement);
        let anew = || ends::say("the other end was restarted");
        let ends = (&mut sender, &mut receiver);
        let passed = both_ways::run(ends, setting, session(), &mut own, &stop, anew)?;
        ends::say(&said(&passed, render::note(&lines)));
        Ok(Outcome::NotMet)
    }
}

fn said(passed: &Passed, note: &str) -> String {
    let Passed { sent, received, repeated, damaged, noise, anew } = *passed;
    let counts = [
        (repeated, "frames sent again"),
        (damaged, "frames damaged"),
        (noise, "times noise"),
        (anew, "restarts of the other end"),
    ];
    let counts: String =
        counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!(", {} {what}", count(*n))).collect();
    format!("sent {}, received {}{counts}{note}", counted(sent, "byte"), count(received))
}

/// Another one than any process at this wire had before, nor has at its other end.
fn session() -> u32 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let ns = now.as_nanos() as u64 ^ u64::from(std::process::id()) << 40;
    (ns.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}
