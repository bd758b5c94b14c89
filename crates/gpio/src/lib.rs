//! A line is a line: one small interface to GPIO lines, whatever is behind them.
//!
//! ```
//! use ontick_gpio::{Line, Request, sim};
//!
//! # let name = format!("sim:doc-{}", std::process::id());
//! # let (out, input) = (format!("{name}/4"), format!("{name}/17"));
//! // A laptop will do: `out` is sim:bench/4 and `input` is sim:bench/17, say.
//! let (out, input) = (out.parse()?, input.parse()?);
//! sim::wire(&out, &input, sim::Wire::default())?;
//! let mut out = Line::open(&out, &Request::output(false))?;
//! let mut input = Line::open(&input, &Request::input())?;
//! out.write(true)?;
//! assert!(input.read()?);
//! # sim::remove(&name[4..])?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod backend;
mod board;
mod chardev;
mod debounce;
mod edge;
mod error;
mod group;
mod line;
pub mod list;
mod name;
mod outputs;
mod pull;
pub mod registers;
mod request;
mod rights;
pub mod sim;

pub use backend::Backend;
pub use debounce::Debounce;
pub use edge::{Edge, Edges};
pub use error::{DebounceError, Error, Gone, LookError, WordError};
pub use group::Group;
pub use line::{Line, simulated_by, simulation_note};
pub use name::{Name, NameError};
pub use outputs::Outputs;
pub use request::{Bias, Direction, OnExit, Request};
