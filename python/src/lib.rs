//! The native half of the Python package `ontick`: a thin door to the crates, with no logic of its own. The other half, in
//! `ontick/`, gives it Python's manners.
//!
//! What holds for every function here: the interpreter is released while anything waits, measures, searches or reads a
//! file; a fault is a Python exception (`errors.rs`); Ctrl-C is looked for while something goes on (`interrupt.rs`).
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]
// The documentation that users read is in the stubs and in docs/python.md.
#![allow(missing_docs)]

mod arguments;
mod columns;
mod compare;
mod errors;
mod every;
mod fork;
mod histogram;
mod interrupt;
mod line;
mod measure;
mod network;
mod realtime;
mod run;
mod sample;
mod simulated;
mod station;

use pyo3::prelude::*;

#[pymodule]
mod _ontick {
    use super::*;

    #[pymodule_export]
    use compare::{compare_html, compare_json, compare_text, decide};
    #[pymodule_export]
    use every::{Every, Tick};
    #[pymodule_export]
    use fork::after_fork_in_child;
    #[pymodule_export]
    use histogram::Histogram;
    #[pymodule_export]
    use line::{Edge, Line};
    #[pymodule_export]
    use measure::{prove, pulse, timer};
    #[pymodule_export]
    use network::{plan, plan_svg, validate};
    #[pymodule_export]
    use realtime::Section;
    #[pymodule_export]
    use run::{Record, plots};
    #[pymodule_export]
    use sample::{Samples, Taken};
    #[pymodule_export]
    use simulated::{remove_chip, wire};
    #[pymodule_export]
    use station::{Listener, Message, Talker};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
