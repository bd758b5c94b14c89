//! What a run found: the [`Run`] document and its schema, histograms, statistics, import of other
//! tools' output, comparison, and the metrics format. Nothing here measures and nothing here prints.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

pub mod baseline;
mod bounds;
pub mod capture;
pub mod case;
pub mod compare;
pub mod confidence;
pub mod date;
mod error;
pub mod findings;
pub mod fleet;
mod foreign_file;
pub mod histogram;
pub mod hlog;
pub mod import;
pub mod inspection;
pub mod instrument_check;
pub mod journal;
mod maxima;
pub mod measurement;
mod moments;
pub mod network;
pub mod network_check;
pub mod openmetrics;
mod outliers;
pub mod output_file;
mod peaks;
mod quantile_bounds;
mod reading;
pub mod requirement;
pub mod run;
pub mod search;
pub mod store;
pub mod switching;
pub mod tail;
pub mod time_status;
pub mod uncertainty;

pub use case::{Case, Side};
pub use findings::{Finding, Severity};
pub use histogram::{Bucket, Histogram};
pub use inspection::Inspection;
pub use measurement::Measurement;
pub use moments::std_dev;
pub use network::NetworkProof;
pub use network_check::NetworkCheck;
pub use requirement::Requirement;
pub use run::{Environment, InstrumentCheck, Run, Series};
pub use search::Search;
pub use switching::Switching;
pub use time_status::TimeStatus;
pub use uncertainty::Uncertainty;
