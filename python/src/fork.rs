//! A forked child has copies of its parent's loops and sections, but no claim to them, and must not go on at real-time
//! priority, where nothing watches it.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ontick_rt::thread::Scheduling;
use pyo3::prelude::*;

use crate::errors::Class;

/// How many forks lie between this process and the one that loaded the module.
static GENERATION: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// What this thread had before its section.
    static BEFORE: Cell<Option<Scheduling>> = const { Cell::new(None) };
}

/// The present process's.
pub fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Refuses what a parent made.
pub fn check(made_in: u32, what: &str) -> PyResult<()> {
    match made_in == generation() {
        true => Ok(()),
        false => {
            Err(Class::Forked.error(format!("{what} belongs to the parent process: make one here, after the fork")))
        }
    }
}

/// A child that is forked by this thread gets this scheduling, unless it gets another already: a section within another
/// found what that one had set up. Whether it does, so that [`give_children_nothing`] is due at the section's end.
pub fn give_children(before: Scheduling) -> bool {
    let is_outermost = BEFORE.get().is_none();
    if is_outermost {
        BEFORE.set(Some(before));
    }
    is_outermost
}

/// A child that is forked by this thread is left as it is.
pub fn give_children_nothing() {
    BEFORE.set(None);
}

/// Called in each child of `os.fork`.
#[pyfunction]
pub fn after_fork_in_child() {
    GENERATION.fetch_add(1, Relaxed);
    if let Some(before) = BEFORE.take() {
        // Nobody is there to be told, and the child can do no more about it.
        let _ = before.restore();
    }
}
