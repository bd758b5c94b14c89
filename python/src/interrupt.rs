//! Ctrl-C while something goes on without the interpreter.

use pyo3::prelude::*;

/// How long anything waits at a time before signals are looked at, in ns.
pub const LOOK_NS: u64 = 100_000_000;

/// Runs the interpreter's signal handlers, as it does between two lines of Python: `KeyboardInterrupt`, if that came.
pub fn check() -> PyResult<()> {
    Python::attach(|py| py.check_signals())
}
