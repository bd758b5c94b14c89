//! Measures all the time, a little: short blocks on chosen CPUs within a share of processor time, what they brought in
//! files that a kill does not harm, what changed on the machine beside it, and a page that shows it.
#![deny(unsafe_code)]

pub mod block;
pub mod causes;
pub mod changes;
pub mod events;
pub mod history;
pub mod hours;
pub mod names;
pub mod otlp;
pub mod pace;
pub mod roundtrip;
pub mod series;
pub mod serve;
pub mod service;
pub mod signals;
pub mod state;
pub mod switches;
pub mod totals;

pub use history::row::Row;
