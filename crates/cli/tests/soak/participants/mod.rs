//! The commands that run side by side, each with those that use it.

mod link;
mod sample;
mod switch;
mod timer;
mod watch;

pub use link::Link;
pub use sample::Sampling;
pub use switch::Switching;
pub use timer::Timer;
pub use watch::Watching;

use std::time::Duration;

/// A command begins, ends or answers within this time, also on a machine that leaves it a hundredth of a CPU.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// One of them. Findings are sentences.
pub trait Participant {
    fn name(&self) -> &'static str;
    fn start(&mut self);
    /// The processes of this life, by name.
    fn processes(&self) -> Vec<(&'static str, u32)>;
    /// What went wrong by now, looked at often.
    fn check(&mut self) -> Vec<String>;
    /// Kills it by SIGKILL, and judges what it leaves.
    fn kill(&mut self) -> Vec<String>;
    /// Ends it as its user does, and judges what it leaves.
    fn end(&mut self) -> Vec<String>;
    fn count(&self) -> Count;
}

/// What is counted of one, over all of its lives.
#[derive(Debug, Default, Clone)]
pub struct Count {
    pub lives: u64,
    /// Samples, messages, frames, records or wake-ups that arrived or were read.
    pub delivered: u64,
    /// Of those, the ones that did not and that somebody counted as missed, late or dropped.
    pub missed: u64,
    /// Under way when one was killed: nobody is left to count them.
    pub killed: u64,
    pub of: &'static str,
}
