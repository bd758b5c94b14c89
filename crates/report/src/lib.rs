//! A `Run` (or several) as terminal text, HTML, SVG, PNG and OpenMetrics. Everything here takes
//! records and returns text or bytes; nothing measures, prints or touches a file.
#![forbid(unsafe_code)]

mod figures;
mod grouping;
mod headline;
mod number;
pub mod text;
mod verdict;
mod warnings;

pub use text::Style;
pub use verdict::verdict;
