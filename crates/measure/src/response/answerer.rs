//! Whoever answers: a thread of this program, or the kernel module, which is only looked at.

use ontick_gpio::Gone;
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::Policy;
use ontick_units::show;
use rustix::io::Errno;

use super::Method;
use super::follow::{Follower, Lost, Pair};
use crate::kmod::{Context, Response, Summary};
use crate::{Error, Placement};

/// Whoever answers.
pub enum Answerer {
    Program(Box<Follower>),
    Kernel(InKernel),
}

impl Answerer {
    /// Takes both lines; `placement` is that of the answering thread.
    pub fn open(method: Method, pair: &Pair, placement: Placement, irq_policy: Option<Policy>) -> Result<Self, Error> {
        Ok(match method {
            Method::Kernel(context) => Answerer::Kernel(InKernel::start(context, pair, placement)?),
            _ => Answerer::Program(Box::new(Follower::open(method, pair, irq_policy)?)),
        })
    }

    pub fn clock(&mut self) -> &mut Clock {
        match self {
            Answerer::Program(follower) => &mut follower.clock,
            Answerer::Kernel(kernel) => &mut kernel.clock,
        }
    }

    /// The two lines.
    pub fn pair(&self) -> &Pair {
        match self {
            Answerer::Program(follower) => follower.pair(),
            Answerer::Kernel(kernel) => &kernel.pair,
        }
    }

    /// Whether this program's thread keeps the CPU while it waits.
    pub fn spins(&self) -> bool {
        match self {
            Answerer::Program(follower) => follower.spins(),
            Answerer::Kernel(_) => false,
        }
    }

    /// Waits for changes, until `until_ns` at most; how many were answered.
    #[inline]
    pub fn follow(&mut self, until_ns: u64) -> Result<u64, Lost> {
        match self {
            Answerer::Program(follower) => follower.follow(until_ns).map(u64::from),
            Answerer::Kernel(kernel) => kernel.look_on(until_ns),
        }
    }

    /// Sleeps this long, in ns.
    pub fn sleep(&mut self, ns: u64) {
        let clock = self.clock();
        let until_ns = clock.now_ns() + ns;
        clock.id().sleep_until(until_ns);
        clock.resync();
    }

    /// Writes down what only this knows.
    pub fn describe(&self, settings: &mut Settings) {
        match self {
            Answerer::Program(follower) => follower.describe(settings),
            Answerer::Kernel(kernel) => kernel.describe(settings),
        }
    }

    /// What the kernel saw of its own answers, for the reader.
    pub fn note(&self) -> Option<String> {
        match self {
            Answerer::Program(_) => None,
            Answerer::Kernel(kernel) => kernel.note(),
        }
    }
}

/// The kernel module at work.
pub struct InKernel {
    clock: Clock,
    pair: Pair,
    context: Context,
    response: Response,
    answered: u64,
}

impl InKernel {
    fn start(context: Context, pair: &Pair, placement: Placement) -> Result<Self, Error> {
        let response = Response::start(&pair.input, &pair.output, pair.inverse, pair.on_exit, context, placement)?;
        let clock = Clock::new(ClockId::Monotonic);
        Ok(Self { clock, pair: pair.clone(), context, response, answered: 0 })
    }

    /// Once, at the end of the wait: whoever looks more often keeps a CPU from what it looks at.
    fn look_on(&mut self, until_ns: u64) -> Result<u64, Lost> {
        self.clock.id().sleep_until(until_ns);
        self.clock.resync();
        let gone = |errno| Lost::Output(Gone(errno));
        let summary = self.response.summary().map_err(|_| gone(Errno::IO))?;
        if let Some(errno) = summary.error {
            return Err(gone(Errno::from_raw_os_error(errno)));
        }
        let answered = summary.histogram.count();
        let new = answered.saturating_sub(self.answered);
        self.answered = answered;
        Ok(new)
    }

    fn describe(&self, settings: &mut Settings) {
        settings.method = Method::Kernel(self.context).name().into();
        settings.clock = self.clock.name();
        settings.input_line = Some(self.pair.input.to_string());
        settings.output_line = Some(self.pair.output.to_string());
        settings.backend = Some(ontick_gpio::Backend::Chardev.to_string());
    }

    fn note(&self) -> Option<String> {
        let Summary { histogram, missed, .. } = self.response.summary().ok()?;
        let of = |q| histogram.quantile(q).map(show);
        let missed =
            if missed > 0 { format!("; {missed} edges came before the one ahead was answered") } else { String::new() };
        Some(format!(
            "in the kernel, from the interrupt to the answer: p50 {}, p99 {}, max {}{missed}",
            of(0.5)?,
            of(0.99)?,
            show(histogram.max_ns?)
        ))
    }
}
