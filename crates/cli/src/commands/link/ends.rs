//! The code of a link, and the threads at its ends.

use std::path::PathBuf;

use clap::Args;
use ontick_gpio::{Line, Name, OnExit, Request};
use ontick_link::{Code, Method, Receiver, Sender, Setting};
use ontick_measure::Placement;
use ontick_rt::cpus;
use ontick_rt::thread::{Policy, Setup};

use crate::failure::Failure;
use crate::{flags, privileges, terminal};

/// What both ends must agree on.
#[derive(Args, Debug, Clone)]
pub struct CodeFlags {
    /// Number of widths of a pulse and of a gap: powers of two up to 16. In 2x1 a short pulse is 0, a long one is 1
    #[arg(long, value_name = "PULSESxGAPS", default_value = "2x1")]
    code: String,
    /// The shortest pulse and gap
    #[arg(long, value_name = "TIME", default_value = "100us", value_parser = flags::time)]
    short: u64,
    /// Difference between neighbouring widths [default: as --short]
    #[arg(long, value_name = "TIME", value_parser = flags::time)]
    step: Option<u64>,
    /// Reed-Solomon parity in percent of the data: as many lost blocks of a frame are recovered. The sender chooses
    #[arg(long, value_name = "PERCENT", default_value = "10", value_parser = flags::whole_percent)]
    parity: u8,
    /// Bytes of data in a frame. The sender chooses [default: as many as take 20ms, in 32 blocks or more]
    #[arg(long, value_name = "BYTES")]
    payload: Option<usize>,
}

impl CodeFlags {
    pub fn setting(&self) -> Result<Setting, Failure> {
        let code = Code::new(&self.code, self.short, self.step.unwrap_or(self.short))?;
        let setting = Setting::new(code, self.parity)?;
        Ok(match self.payload {
            Some(payload) => setting.with_payload(payload)?,
            None => setting,
        })
    }

    /// With frames that are soon over unless their length was named, for who waits for an answer.
    pub fn brisk_setting(&self) -> Result<Setting, Failure> {
        let setting = self.setting()?;
        Ok(if self.payload.is_some() { setting } else { setting.brisk() })
    }

    pub fn parity(&self) -> u8 {
        self.parity
    }
}

/// A line to drive; low when it is released.
pub fn output(name: &Name) -> Result<Line, Failure> {
    Ok(Line::open(name, &Request::output(false).on_exit(OnExit::Low))?)
}

pub fn sender(name: &Name, setting: Setting, setup: Setup) -> Result<Sender, Failure> {
    let line = output(name)?;
    Sender::start(line, setting, setup).map_err(|e| Failure::new(format!("cannot start the sending thread: {e}")))
}

pub fn receiver(name: &Name, setting: Setting, method: Method, setup: Setup) -> Result<Receiver, Failure> {
    let line = Line::open(name, &method.request())?;
    let started = Receiver::start(line, setting, method, setup);
    started.map_err(|e| Failure::new(format!("cannot start the receiving thread: {e}")))
}

/// Gives up, for good, what neither lines nor threads of a link take. Call it before either is there.
pub fn settle<'n>(lines: impl IntoIterator<Item = &'n Name>) -> Result<(), Failure> {
    privileges::MEASURING.settle_but(privileges::of_lines(lines))
}

/// Refuses one line for both directions.
pub fn differ(output: &Name, input: &Name) -> Result<(), Failure> {
    match output == input {
        true => Err(Failure::new(format!("line {output} cannot be driven and watched at once: name two lines"))),
        false => Ok(()),
    }
}

/// Pulses shorter than this are over before a notification wakes anybody, in ns.
const SHORTEST_NOTIFIED_NS: u64 = 20_000;

/// How a return line is looked at: nothing notifies in time of short pulses.
pub fn by_of(name: &Name, setting: Setting) -> Method {
    let notified = notifies(name) && setting.code.shortest_ns >= SHORTEST_NOTIFIED_NS;
    if notified { Method::Interrupt } else { Method::Poll }
}

/// Whether anything tells of a line's edges; nothing does in registers.
pub fn notifies(name: &Name) -> bool {
    !matches!(name, Name::Register(_))
}

/// Refuses to spin where that would stop everything else.
pub fn may_poll(method: Method, placement: Placement) -> Result<(), Failure> {
    if method == Method::Poll && placement.policy != Policy::Other {
        ontick_rt::watchdog::may_occupy(cpus::allowed().len())?;
    }
    Ok(())
}

/// Has the calling thread, which makes frames and reads them, go before other ordinary programs where the timed threads
/// are real-time ones: those leave it little time, and a busy machine would take that. No more than that, as the kernel
/// halts all real-time threads that together leave a CPU no rest.
pub fn attend(placement: Placement) {
    if placement.policy.is_real_time() {
        let _ = rustix::process::setpriority_process(None, MOST_FAVOURED);
    }
}

/// The nice value of who goes first (setpriority(2)).
const MOST_FAVOURED: i32 = -20;

/// A mark for the stream, so that its frames are not taken for those of another.
pub fn mark() -> u8 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    (now.subsec_nanos() >> 8) as u8 ^ std::process::id() as u8
}

/// Says on standard error what threads asked for and did not get.
pub fn report_refused(refused: &[String]) {
    for refusal in refused {
        say(&format!("note: {refusal}"));
    }
}

/// Says something while at work.
pub fn say(sentence: &str) {
    terminal::say(sentence);
}

/// Where what is sent comes from.
pub fn input(path: Option<&PathBuf>) -> Result<Box<dyn std::io::Read + Send>, Failure> {
    Ok(match path {
        None => Box::new(std::io::stdin()),
        Some(path) => {
            let file = std::fs::File::open(path);
            Box::new(file.map_err(|e| Failure::new(format!("cannot read {}: {e}", path.display())))?)
        }
    })
}
