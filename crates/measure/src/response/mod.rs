//! `latency response`: a line's change answered on another line, and how long that takes (source 001).
//!
//! The timed thread makes an output follow an input. What times it from outside is a second thread of this program
//! on another CPU, a second board that speaks [`latmon`]'s protocol, or somebody's oscilloscope.

mod alone;
mod answerer;
mod follow;
pub mod latmon;
mod leave;
mod method;
mod responder;
mod scope;
pub mod table;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ontick_gpio::OnExit;
use ontick_record::run::Series;
use ontick_rt::thread::{Policy, ThreadSetup};

pub use follow::{Pair, has_irq_thread};
pub use method::Method;
pub use scope::Ends;

use crate::edge::{Wiring, named_once};
use crate::{Error, Length, Limits, Observer, Placement, session};
use alone::Alone;
use responder::Responder;
use scope::Shared;

/// What is measured.
#[derive(Debug, Clone)]
pub struct Job {
    /// The lines of the thread that answers.
    pub pair: Pair,
    /// The lines of the thread that observes.
    pub ends: Ends,
    /// How a change is seen.
    pub method: Method,
    /// The policy of the thread that handles the input's interrupt; `None`: the kernel's.
    pub irq_policy: Option<Policy>,
    /// Mean time between changes, in ns; each is up to half of it earlier or later.
    pub interval_ns: u64,
    /// CPU of the observing thread; `None`: the first other one.
    pub observer_cpu: Option<u32>,
}

/// Shortest and longest time between changes, in ns.
const INTERVALS_NS: std::ops::RangeInclusive<u64> = 200_000..=1_000_000_000;

/// Measures how long a thread at `placement` takes to answer a line's change on another line: from just before the
/// change to the first reading of the observer's clock after the answer was seen. A stimulus stays until it is
/// answered; intervals that pass meanwhile are missed.
pub fn measure(
    name: &str,
    job: &Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    check_interval(job.interval_ns)?;
    let observer_placement = observer_placement(job, placement)?;
    try_out(job)?;
    let shared = Arc::new(Shared::with_log(observer.intervals()));
    let prepare = |_: &ThreadSetup| Responder::start(job, placement, observer_placement, shared.clone());
    let mut series = session::run(name, placement, limits, prepare, observer)?;
    series.uncertainty = shared.uncertainty();
    series.state_uncertainty();
    shared.notes(name).into_iter().for_each(|note| observer.note(note));
    Ok(series)
}

/// Answers changes until `limit_ns` has passed or the observer of the run ends it, and measures nothing: the series
/// has no samples. The second value is how many were answered.
pub fn respond(
    method: Method,
    pair: &Pair,
    interval_ns: u64,
    placement: Placement,
    limit_ns: Option<u64>,
    observer: &mut Observer,
) -> Result<(Series, u64), Error> {
    check_interval(interval_ns)?;
    named_once(&[&pair.input, &pair.output])?;
    let answers = Arc::new(AtomicU64::new(0));
    let prepare = |_: &ThreadSetup| Alone::start(method, pair, interval_ns, placement, answers.clone());
    let limits = Limits::new(Length::Duration(limit_ns.unwrap_or(u64::MAX)));
    let series = session::run(method.name(), placement, limits, prepare, observer)?;
    Ok((series, answers.load(Relaxed)))
}

fn check_interval(interval_ns: u64) -> Result<(), Error> {
    match INTERVALS_NS.contains(&interval_ns) {
        true => Ok(()),
        false => Err(Error::Impossible("the interval of changes must be from 200us to 1s".into())),
    }
}

/// The observer must see everything, whatever the thread that it observes is allowed.
fn observer_placement(job: &Job, placement: Placement) -> Result<Placement, Error> {
    // The kernel keeps a deadline thread from being pinned, and lets it come first everywhere.
    if placement.cpu.is_none() && !matches!(placement.policy, Policy::Deadline { .. }) {
        let why = "the answering thread could share the observer's CPU, and be kept waiting by it (name its CPU)";
        return Err(Error::Impossible(why.into()));
    }
    let peer = placement
        .peer(job.observer_cpu.map(|cpu| (cpu, "--observer-cpu")), "an answer that is observed from another CPU")?;
    // Power states are all CPUs': they stay as the answering thread has them.
    Ok(Placement { policy: Policy::Fifo(99), prepared: true, ..peer })
}

fn try_out(job: &Job) -> Result<(), Error> {
    let joined = |drive: &_, see: &_, on_exit| Wiring { drive: Clone::clone(drive), see: Clone::clone(see), on_exit };
    named_once(&[&job.ends.stimulus, &job.pair.input, &job.pair.output, &job.ends.scope])?;
    joined(&job.ends.stimulus, &job.pair.input, OnExit::Low).try_out()?;
    joined(&job.pair.output, &job.ends.scope, job.pair.on_exit).try_out()
}

#[cfg(test)]
mod tests;
