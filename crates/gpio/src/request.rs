//! How a line is asked for.

use std::fmt;
use std::str::FromStr;

use crate::{Backend, Debounce, Edges, Error, Name, WordError};

/// Which way a line works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// It is read.
    Input,
    /// It is driven, from the start to this value as the user sees it.
    Output(bool),
    /// As it is: to read its level without disturbing anything. Without bias and edges.
    AsIs,
}

/// What holds an input that nobody drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bias {
    /// Whatever is set up already.
    #[default]
    AsIs,
    /// Nothing.
    Disabled,
    /// A resistor to the supply.
    PullUp,
    /// A resistor to ground.
    PullDown,
}

/// What an output is left at when it is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnExit {
    /// At its last value.
    #[default]
    Keep,
    /// Low as the user sees it.
    Low,
    /// High as the user sees it.
    High,
    /// Not driven any more.
    Input,
}

/// What is wanted of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Input, output with its first value, or neither.
    pub direction: Direction,
    /// What holds it.
    pub bias: Bias,
    /// The user's high is the wire's low.
    pub active_low: bool,
    /// What is notified.
    pub edges: Edges,
    /// How long a level must last to count, if that matters.
    pub debounce: Option<Debounce>,
    /// What is left behind.
    pub on_exit: OnExit,
}

impl Request {
    /// A line to read.
    pub fn input() -> Self {
        Self {
            direction: Direction::Input,
            bias: Bias::AsIs,
            active_low: false,
            edges: Edges::None,
            debounce: None,
            on_exit: OnExit::Keep,
        }
    }

    /// A line to read as it is, be it driven or not.
    pub fn as_is() -> Self {
        Self { direction: Direction::AsIs, ..Self::input() }
    }

    /// A line to drive, from the start to `value`.
    pub fn output(value: bool) -> Self {
        Self { direction: Direction::Output(value), ..Self::input() }
    }

    /// Refuses of a line that is taken as it is what changes it, and of one that is driven what belongs to an input: the
    /// kernel takes edges and bias with a direction only, and debounces inputs alone.
    pub(crate) fn check(&self, name: &Name, backend: Backend) -> Result<(), Error> {
        let refuse = |what: &str| Err(Error::Unsupported { name: name.clone(), backend, what: what.into() });
        if self.debounce.is_some() && self.direction != Direction::Input {
            return refuse("be debounced but as inputs: open it as an input");
        }
        if self.direction != Direction::AsIs || (self.edges, self.bias) == (Edges::None, Bias::AsIs) {
            return Ok(());
        }
        refuse("notify edges or be given a bias where they are taken as they are: open it as an input")
    }

    /// Refuses to debounce a line where nothing could.
    pub(crate) fn check_not_debounced(&self, name: &Name, backend: Backend, instead: &str) -> Result<(), Error> {
        match self.debounce {
            None => Ok(()),
            Some(_) => {
                let what = format!("be debounced: {instead}");
                Err(Error::Unsupported { name: name.clone(), backend, what })
            }
        }
    }

    /// The same in terms of the wire instead of the user: active-low resolved.
    pub(crate) fn on_the_wire(self) -> Self {
        if !self.active_low {
            return self;
        }
        let direction = match self.direction {
            Direction::Output(value) => Direction::Output(!value),
            other => other,
        };
        Self { direction, edges: self.edges.inverted(), active_low: false, ..self }
    }

    /// With these edges notified.
    pub fn edges(self, edges: Edges) -> Self {
        Self { edges, ..self }
    }

    /// With levels that count once they have lasted so long.
    pub fn debounce(self, debounce: Option<Debounce>) -> Self {
        Self { debounce, ..self }
    }

    /// With the user's high as the wire's low.
    pub fn active_low(self, active_low: bool) -> Self {
        Self { active_low, ..self }
    }

    /// Held by this when nobody drives it.
    pub fn bias(self, bias: Bias) -> Self {
        Self { bias, ..self }
    }

    /// Left like this when it is released.
    pub fn on_exit(self, on_exit: OnExit) -> Self {
        Self { on_exit, ..self }
    }
}

impl Bias {
    const ALL: [Bias; 4] = [Bias::AsIs, Bias::Disabled, Bias::PullUp, Bias::PullDown];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Bias::AsIs => "as-is",
            Bias::Disabled => "disabled",
            Bias::PullUp => "pull-up",
            Bias::PullDown => "pull-down",
        }
    }
}

impl FromStr for Bias {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        Bias::ALL.into_iter().find(|bias| bias.name() == text).ok_or_else(|| WordError::Bias(text.into()))
    }
}

impl fmt::Display for Bias {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl OnExit {
    const ALL: [OnExit; 4] = [OnExit::Keep, OnExit::Low, OnExit::High, OnExit::Input];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            OnExit::Keep => "keep",
            OnExit::Low => "low",
            OnExit::High => "high",
            OnExit::Input => "input",
        }
    }
}

impl FromStr for OnExit {
    type Err = WordError;

    fn from_str(text: &str) -> Result<Self, WordError> {
        OnExit::ALL.into_iter().find(|left| left.name() == text).ok_or_else(|| WordError::OnExit(text.into()))
    }
}

impl fmt::Display for OnExit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
