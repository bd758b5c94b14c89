//! A `Run` (or several) as terminal text, HTML, SVG, PNG and OpenMetrics, and the picture of a planned network.
//! Everything here takes records and plans and returns text or bytes; nothing measures, prints or touches a file.
#![forbid(unsafe_code)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod advice;
#[cfg(feature = "arrow")]
pub mod arrow;
mod bins;
mod buckets;
mod causes;
mod colour;
pub mod compare;
mod cyclictest;
pub mod datapath;
mod decisions;
mod delays;
mod dips;
mod figures;
pub mod fleet;
mod grouping;
mod headline;
mod html;
mod instrument_check;
mod intervals;
mod junit;
mod line;
mod markup;
pub mod network;
mod number;
mod openmetrics;
pub mod plot;
#[cfg(feature = "png")]
mod png;
mod printable;
mod pulses;
mod received;
mod reference_pulses;
mod round_trips;
mod rows;
mod search;
mod signal;
mod split;
mod streams;
mod switching;
mod tail;
mod taken;
pub mod text;
mod times;
mod together;
mod typeset;
mod uncertainty;
mod verdict;
mod waits;
mod warnings;

pub use cyclictest::cyclictest_hist;
pub use decisions::decisions;
pub use html::{html, html_of_several};
pub use junit::{junit, junit_of_decisions, junit_of_failure};
pub use openmetrics::{distribution, exposition, exposition_of, openmetrics};
pub use plot::Plot;
#[cfg(feature = "png")]
pub use png::{PngError, png};
pub use printable::{escaped, printable, printable_lines};
pub use rows::rows;
pub use text::Style;
pub use verdict::verdict;
