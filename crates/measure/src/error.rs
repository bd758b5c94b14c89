//! Why a measurement could not be made.

pub(crate) mod kmod;

use std::io;
use std::path::PathBuf;

use ontick_units::exact;

/// Why a measurement could not be made; each message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A CPU that is not there, or a setting that was asked for strictly.
    #[error("{0}")]
    Refused(#[from] ontick_rt::thread::Refusal),
    /// Spinning on the only CPU.
    #[error("{0}")]
    WouldStarve(#[from] ontick_rt::watchdog::WouldStarve),
    /// A measurement between two CPUs on a machine, or within a cpuset, that has one.
    #[error("{0} needs two CPUs, and this process may use one")]
    NeedsTwoCpus(&'static str),
    /// The same CPU for both ends, where there is another one.
    #[error("{what} needs two CPUs, and CPU {cpu} is both ends: name another one with {option}")]
    BothEnds {
        /// What was to be measured.
        what: &'static str,
        /// The CPU of both ends.
        cpu: u32,
        /// The option that names the other end's CPU.
        option: &'static str,
    },
    /// A combination of settings that measures nothing.
    #[error("{0}")]
    Impossible(String),
    /// A duration that is shorter than one cycle.
    #[error("no cycle of {} ends within {}", exact(*.cycle_ns), exact(*.within_ns))]
    NoCycle {
        /// How long a cycle takes.
        cycle_ns: u64,
        /// How long the run takes.
        within_ns: u64,
    },
    /// The kernel module did not do what it was asked for.
    #[error("{0}")]
    Kernel(#[from] kmod::Error),
    /// A line could not be had.
    #[error("{0}")]
    Line(#[from] ontick_gpio::Error),
    /// A line stopped answering.
    #[error("line {line}: {gone}")]
    Gone {
        /// The line.
        line: ontick_gpio::Name,
        /// What it answered.
        gone: ontick_gpio::Gone,
    },
    /// A line that must follow another stopped doing so.
    #[error(
        "line {output} did not answer line {input} for {seconds} s, as {scope} shows: a cable is off, or something else drives it"
    )]
    Unanswered {
        /// The line whose changes are to be answered.
        input: ontick_gpio::Name,
        /// The line that they are answered on.
        output: ontick_gpio::Name,
        /// The line that shows it.
        scope: ontick_gpio::Name,
        /// How long that was waited for.
        seconds: u64,
    },
    /// A board that should have observed did not.
    #[error("observer {board}: {problem}")]
    Board {
        /// Its address.
        board: String,
        /// What went wrong, and what to look at.
        problem: String,
    },
    /// An instrument that should have recorded the lines did not.
    #[error("observer {observer}: {problem}")]
    Analyser {
        /// The instrument as it was asked for.
        observer: String,
        /// What went wrong, and what to look at.
        problem: String,
    },
    /// The load could not be started.
    #[error("load \"{name}\": {problem}")]
    Load {
        /// The load as it was asked for.
        name: String,
        /// What went wrong, and what to do.
        problem: String,
    },
    /// The system refused something that the method needs.
    #[error("{what}: {error}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        error: io::Error,
    },
    /// The kernel does not tell of its timers and wake-ups.
    #[error(
        "latencies cannot be split into parts: the kernel's tracing cannot be used ({0}; it needs root and tracefs)"
    )]
    Unsplit(io::Error),
    /// The record or its journal could not be written.
    #[error("cannot record to {}: {error}", path.display())]
    Record {
        /// The record.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
}

impl Error {
    pub(crate) fn system(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Error::System { what, error }
    }
}
