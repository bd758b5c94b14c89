//! What comes in from Python: times with their unit, names, numbers.

use ontick_units::{UnitError, parse_interval, parse_time};
use pyo3::prelude::*;

use crate::errors::argument;

/// A time as text with its unit ("1ms").
pub fn time(what: &str, text: &str) -> PyResult<u64> {
    parse_time(text).map_err(|error| named(what, &error))
}

/// An interval as a time or a rate ("1ms", "1kHz"), above 0.
pub fn interval(what: &str, text: &str) -> PyResult<u64> {
    match parse_interval(text) {
        Ok(0) => Err(argument(format!("{what}: it must be above 0"))),
        other => other.map_err(|error| named(what, &error)),
    }
}

/// Text that a library reads.
pub fn word<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> PyResult<T> {
    text.parse().map_err(argument)
}

fn named(what: &str, error: &UnitError) -> PyErr {
    argument(format!("{what}: {error}"))
}
