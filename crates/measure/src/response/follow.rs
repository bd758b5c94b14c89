//! The work itself: an output that follows an input.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use std::{io, thread};

use ontick_gpio::{Edges, Gone, Line, Name, OnExit, Request};
use ontick_machine::Root;
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::Policy;

use super::Method;
use crate::Error;

/// Reads between two looks at the clock: who polls does little else.
const READS: u32 = 32;

/// An input, and the output that follows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The line whose changes are answered.
    pub input: Name,
    /// The line that they are answered on.
    pub output: Name,
    /// The output is high while the input is low.
    pub inverse: bool,
    /// What the output is left at.
    pub on_exit: OnExit,
}

/// Which line is gone.
#[derive(Debug, Clone, Copy)]
pub enum Lost {
    Input(Gone),
    Output(Gone),
}

impl Lost {
    /// For the user.
    pub fn error(self, pair: &Pair) -> Error {
        let (line, gone) = match self {
            Lost::Input(gone) => (&pair.input, gone),
            Lost::Output(gone) => (&pair.output, gone),
        };
        Error::Gone { line: line.clone(), gone }
    }
}

/// The threads of interrupts that there are.
fn irq_threads() -> BTreeSet<String> {
    Root::live().matching("thread:irq/*").into_iter().collect()
}

/// Changes the policy of such a thread. It gives itself the kernel's usual one when it first runs, which may be later.
fn set_irq_policy(thread: &str, policy: &str) -> io::Result<()> {
    let root = Root::live();
    let began = Instant::now();
    while root.text(thread)? == "other" && began.elapsed() < Duration::from_secs(1) {
        thread::sleep(Duration::from_millis(1));
    }
    root.set(thread, policy)
}

/// Whether the kernel handles a line's interrupt in a thread, whose priority this process may change.
pub fn has_irq_thread(input: &Name) -> bool {
    let before = irq_threads();
    let Ok(_line) = Line::open(input, &Request::input().edges(Edges::Both)) else { return false };
    irq_threads().difference(&before).any(|thread| set_irq_policy(thread, "fifo:50").is_ok())
}

/// Makes the output follow the input.
pub struct Follower {
    pub clock: Clock,
    method: Method,
    pair: Pair,
    input: Line,
    output: Line,
    level: bool,
}

impl Follower {
    /// Takes both lines. The output has its right level from the start.
    pub fn open(method: Method, pair: &Pair, irq_policy: Option<Policy>) -> Result<Self, Error> {
        let edges = if method == Method::Poll { Edges::None } else { Edges::Both };
        let before = irq_threads();
        let mut input = Line::open(&pair.input, &Request::input().edges(edges))?;
        if let Some(policy) = irq_policy {
            // It ends with the line's request, so nothing is to be put back.
            for thread in irq_threads().difference(&before) {
                set_irq_policy(thread, &policy.to_string()).map_err(|e| {
                    Error::Impossible(format!("the thread of line {}'s interrupt stays as it is: {e}", pair.input))
                })?;
            }
        }
        let level = input.read().map_err(|gone| Lost::Input(gone).error(pair))?;
        let output = Line::open(&pair.output, &Request::output(level != pair.inverse).on_exit(pair.on_exit))?;
        let clock = Clock::new(ClockId::Monotonic);
        Ok(Self { clock, method, pair: pair.clone(), input, output, level })
    }

    /// The two lines.
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Whether it keeps the CPU while it waits.
    pub fn spins(&self) -> bool {
        matches!(self.method, Method::Poll | Method::InterruptBusy)
    }

    /// Waits for the input to change, until `until_ns` at most, and answers; `false` when there was nothing to answer.
    #[inline]
    pub fn follow(&mut self, until_ns: u64) -> Result<bool, Lost> {
        match self.method {
            Method::Poll => self.poll(until_ns),
            // The kernel answers without this.
            Method::Interrupt | Method::Kernel(_) => self.notified(until_ns),
            Method::InterruptBusy => self.ask(until_ns),
        }
    }

    /// As the program of source 001 does, except that it writes only where there is something new to write.
    #[inline]
    fn poll(&mut self, until_ns: u64) -> Result<bool, Lost> {
        loop {
            for _ in 0..READS {
                let level = self.input.read().map_err(Lost::Input)?;
                if level != self.level {
                    return self.answer(level).map(|()| true);
                }
            }
            if self.clock.now_ns() >= until_ns {
                return Ok(false);
            }
        }
    }

    /// As a handler of WiringPi does: an edge wakes it, and what it answers is what it then reads.
    fn notified(&mut self, until_ns: u64) -> Result<bool, Lost> {
        if self.input.edge(until_ns).map_err(Lost::Input)?.is_none() {
            return Ok(false);
        }
        let level = self.input.read().map_err(Lost::Input)?;
        self.answer(level).map(|()| true)
    }

    fn ask(&mut self, until_ns: u64) -> Result<bool, Lost> {
        loop {
            if self.notified(0)? {
                return Ok(true);
            }
            if self.clock.now_ns() >= until_ns {
                return Ok(false);
            }
        }
    }

    #[inline]
    fn answer(&mut self, level: bool) -> Result<(), Lost> {
        self.output.write(level != self.pair.inverse).map_err(Lost::Output)?;
        self.level = level;
        Ok(())
    }

    /// Writes down what only this knows.
    pub fn describe(&self, settings: &mut Settings) {
        settings.method = self.method.name().into();
        settings.clock = self.clock.name();
        settings.input_line = Some(self.pair.input.to_string());
        settings.output_line = Some(self.pair.output.to_string());
        settings.backend = Some(self.output.backend().to_string());
    }
}
