//! Ends a change at each of its steps in turn, for whoever journals what he changes to prove that all of it comes back.
//!
//! The tests of `machine`, `kernel` and `switch` run through this: each asks [`Kill::step`] before every step that it
//! makes, and does as it says.
#![allow(dead_code)] // Each test uses its own part.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Where in its last step a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// Before it.
    Before,
    /// In the middle of it: a file has a part of its content.
    Within,
    /// Right after it.
    After,
}

impl Manner {
    pub const ALL: [Self; 3] = [Self::Before, Self::Within, Self::After];
    /// For steps that happen whole or not at all.
    pub const AROUND: [Self; 2] = [Self::Before, Self::After];
}

/// A process that is killed at one step of its own.
#[derive(Debug)]
pub struct Kill {
    at: usize,
    manner: Manner,
    steps: AtomicUsize,
}

/// What a step comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It is made.
    Made,
    /// It is the last: killed before, within or after it.
    Last(Manner),
    /// The process is dead, and makes no step.
    Dead,
}

impl Kill {
    /// At the step of this number, from 0 on.
    pub fn at(at: usize, manner: Manner) -> Arc<Self> {
        Arc::new(Self { at, manner, steps: AtomicUsize::new(0) })
    }

    /// Counts a step that is about to be made.
    pub fn step(&self) -> Step {
        match self.steps.fetch_add(1, Relaxed) {
            step if step < self.at => Step::Made,
            step if step == self.at => Step::Last(self.manner),
            _ => Step::Dead,
        }
    }

    /// Whether there were so many steps that it was killed.
    pub fn happened(&self) -> bool {
        self.steps.load(Relaxed) > self.at
    }
}

impl fmt::Display for Kill {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "killed {:?} step {}", self.manner, self.at)
    }
}

/// Tries a change once for each step that it has and each manner, with a process that is killed there, and once more
/// with one that outlives it. How many steps there were, where fewest.
pub fn at_each_step(manners: &[Manner], mut one: impl FnMut(&Arc<Kill>)) -> usize {
    let all = |manner: &Manner| {
        (0..)
            .find(|at| {
                let kill = Kill::at(*at, *manner);
                one(&kill);
                !kill.happened()
            })
            .expect("a change has an end")
    };
    manners.iter().map(all).min().unwrap_or(0)
}
