//! Edges that the kernel answers.

use std::io;

use ontick_gpio::{Name, OnExit};

use super::{Device, Error, Summary, abi, call, line, placement, result};
use crate::Placement;

/// Where an interrupt is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Context {
    /// In the interrupt itself, also on a PREEMPT_RT kernel.
    Hard,
    /// In the interrupt's thread.
    Threaded,
}

/// An output that the kernel lets follow an input. It ends with this.
#[derive(Debug)]
pub struct Response {
    device: Device,
}

impl Response {
    /// Takes both lines, and answers from now on. The place is that of the interrupt's thread, if there is one.
    pub fn start(
        input: &Name,
        output: &Name,
        inverse: bool,
        on_exit: OnExit,
        context: Context,
        placement: Placement,
    ) -> Result<Self, Error> {
        let (cpu, priority) = match context {
            Context::Hard => (-1, 0),
            Context::Threaded => placement::placement(placement)?,
        };
        let flags = if inverse { abi::LINE_ACTIVE_LOW } else { 0 };
        // An output that is inverse is left as its level was asked for.
        let left = match (inverse, on_exit) {
            (true, OnExit::Low) => OnExit::High,
            (true, OnExit::High) => OnExit::Low,
            (_, other) => other,
        };
        let mut response = abi::Response {
            input: line::line(input, OnExit::Keep)?,
            output: abi::Line { flags, ..line::line(output, left)? },
            context: match context {
                Context::Hard => abi::CONTEXT_HARD,
                Context::Threaded => abi::CONTEXT_THREADED,
            },
            edge: abi::EDGE_BOTH,
            answer: abi::ANSWER_FOLLOW,
            cpu,
            priority,
            reserved: [0; 3],
        };
        let device = Device::open()?;
        let refused = |error| refusal(error, input);
        call::set_response(device.file(), &mut response).map_err(refused)?;
        call::start(device.file()).map_err(|error| match error.raw_os_error() {
            Some(libc::EOPNOTSUPP) => Error::Line {
                line: input.clone(),
                why: "its interrupt is handled in the thread of its chip's own, whose CPU and priority cannot be chosen here".into(),
            },
            _ => refused(error),
        })?;
        Ok(Self { device })
    }

    /// What the kernel recorded so far: from the interrupt to its answer.
    pub fn summary(&self) -> Result<Summary, Error> {
        result::summary(self.device.file())
    }
}

fn refusal(error: io::Error, input: &Name) -> Error {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::Line {
            line: input.clone(),
            why: "its chip or the output's may sleep (it is on a bus, or simulated by gpio-sim), so the interrupt itself cannot answer: choose the interrupt's thread as the method".into(),
        },
        // Which of the two it is, the lines were looked at before, is the one that has an interrupt.
        _ => line::refusal(&error, input).unwrap_or(Error::Device(error)),
    }
}
