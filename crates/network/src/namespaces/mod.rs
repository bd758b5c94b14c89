//! The network on this machine, with real frames: stations and switches in network namespaces, joined by virtual Ethernet.
//!
//! One core serves all switches, by turns, or the kernel each of them; one thread sends for all stations: machines have few
//! CPUs. Links take no time here, and lose nothing. What the emulation itself needs is measured first, with all gates open.
//!
//! Nothing of it is left behind: the namespaces are held by this process alone, and end with it, whatever ends it.

mod carrier;
mod emulation;
mod outcome;
mod place;
mod silence;
mod testbed;
mod trial;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_rt::clock::ClockId;
use ontick_switch::user::CorePlacement;
use ontick_switch::user::open::OpenError;
use ontick_switch::user::serve::ServeError;
use ontick_switch::verify::namespace::NamespaceError;
use ontick_switch::verify::under_test::{CountersError, KernelPlaneError};
use ontick_tsn::egress::DataPlane;
use ontick_tsn::network::{Network, Overhead};
use ontick_tsn::planning::Timetable;
use ontick_tsn::planning::nodes::NodesError;
use ontick_tsn::validate::Schedule;

use crate::endpoint::RunError;

pub use carrier::Carrier;
pub use emulation::Emulation;
pub use outcome::Outcome;
pub use place::beside;
use testbed::Testbed;
use trial::{Gates, Trial};

/// Cables at most: each port has a ring of 8 MiB.
pub const MOST_CABLES: usize = 64;
/// Talkers begin so long after everything is set up, in ns: they lock the memory of this process first, rings included.
const LEAD_NS: u64 = 500_000_000;

/// How it is run.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// For how long messages are sent, in ns.
    pub duration_ns: u64,
    /// And for how long before that with all gates open, to learn what the emulation needs, in ns.
    pub open_ns: u64,
    /// What carries frames from port to port.
    pub carrier: Carrier,
    /// Where the talkers run: [`beside`] the core, if one carries them.
    pub talkers: CorePlacement,
    /// A frame that comes this much before its window or after it is within, in ns.
    pub guard_ns: u64,
}

/// Why it was not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NamespacesError {
    /// A namespace or a cable could not be made.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// No files of its switches can be made.
    #[error(transparent)]
    Nodes(#[from] NodesError),
    /// The switches do not run.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The kernel does not carry them.
    #[error(transparent)]
    Kernel(#[from] KernelPlaneError),
    /// What the kernel dropped is not known.
    #[error(transparent)]
    Counters(#[from] CountersError),
    /// A station's interface cannot be used.
    #[error(transparent)]
    Port(#[from] OpenError),
    /// The talkers do not run.
    #[error(transparent)]
    Talkers(#[from] RunError),
    /// Frames could not be taken in.
    #[error("frames could not be received: {0}")]
    Receive(std::io::Error),
    /// There are no frames in its model.
    #[error(
        "messages count as their payload alone (overhead = \"payload\"), which is no length of a frame; real frames need overhead = \"wire\""
    )]
    PayloadOnly,
    /// A cable is an interface at both ends.
    #[error("link {0} has no direction back, and a cable of virtual Ethernet has two: add {1}")]
    OneWay(String, String),
    /// It is too large for one machine.
    #[error("the network has {0} cables, and this machine emulates {MOST_CABLES} at most: run it in simulated time")]
    TooLarge(usize),
}

/// What is shown while it goes on: in what it is, and which part of that is done.
pub type LookFn<'a> = dyn FnMut(&str, f64) + Send + 'a;

/// A network with its plan.
#[derive(Debug, Clone)]
pub struct Planned {
    /// With the timing that the plan reckons with.
    pub network: Network,
    /// Where the schedule comes from.
    pub table: Timetable,
    /// What is carried out.
    pub schedule: Schedule,
    /// Arrivals of a stretch of this length are kept, to be drawn; a whole number of all cycles.
    pub trace_ns: u64,
}

/// Makes another plan for the same streams, stations and cables, once it is known what the emulation needs.
pub type ReplanFn<'a> = dyn FnMut(&Emulation) -> Option<Planned> + Send + 'a;

/// Runs a planned network. `stop` ends it with what was measured so far.
pub fn prove(
    planned: &Planned,
    options: &Options,
    stop: &AtomicBool,
    look: &mut LookFn<'_>,
) -> Result<Outcome, NamespacesError> {
    Ok(prove_replanned(planned, &mut |_| None, options, stop, look)?.1)
}

/// As [`prove`], by another plan where `replan` makes one; it is returned, too.
pub fn prove_replanned(
    planned: &Planned,
    replan: &mut ReplanFn<'_>,
    options: &Options,
    stop: &AtomicBool,
    look: &mut LookFn<'_>,
) -> Result<(Option<Planned>, Outcome), NamespacesError> {
    if planned.network.overhead == Overhead::PayloadOnly {
        return Err(NamespacesError::PayloadOnly);
    }
    // The CPU of the core is left to it, by the thread that does this and all that it starts.
    let work = || {
        if let Carrier::User(core) = options.carrier {
            place::leave(core);
        }
        let plane = options.carrier.plane();
        let bed = Testbed::new(&planned.network, plane)?;
        let trial = Trial::new(planned, &bed, options);
        look("with gates open", 0.0);
        let open = trial.run(Gates::Open, options.open_ns, stop, &mut |done| look("with gates open", done))?;
        let emulation = Emulation::of(&open);
        if stop.load(Relaxed) {
            return Ok((None, Outcome::interrupted(emulation)));
        }
        let better = replan(&emulation);
        let planned = better.as_ref().unwrap_or(planned);
        let held = Gates::Planned { late_ns: emulation.most_ns() };
        // The kernel's switches are as they were set up until their namespaces are gone.
        let bed = match plane {
            DataPlane::User => bed,
            _ => Testbed::new(&planned.network, plane)?,
        };
        let trial = Trial::new(planned, &bed, options);
        let gated = trial.run(held, options.duration_ns, stop, &mut |done| look("as planned", done))?;
        let outcome = Outcome::of(&planned.network, emulation, gated, stop.load(Relaxed));
        Ok((better, outcome))
    };
    let done = std::thread::scope(|scope| scope.spawn(work).join());
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// A time of TAI soon after everything is set up.
fn soon_ns() -> u64 {
    ClockId::Tai.now_ns() + LEAD_NS
}
