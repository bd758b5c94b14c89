//! Which mechanisms are measured: one, or all in turn.

use std::fmt::Display;
use std::str::FromStr;

/// Some of the mechanisms that a measurement knows.
#[derive(Debug, Clone)]
pub struct Mechanisms<T>(pub Vec<T>);

impl<T: Display> Mechanisms<T> {
    /// Their names, which name the series.
    pub fn names(&self) -> Vec<String> {
        self.0.iter().map(T::to_string).collect()
    }
}

/// Reads the name of one, or "all".
pub fn read<T: FromStr<Err: Display> + Clone>(text: &str, all: &[T]) -> Result<Mechanisms<T>, String> {
    match text {
        "all" => Ok(Mechanisms(all.to_vec())),
        name => name.parse().map(|one| Mechanisms(vec![one])).map_err(|e: T::Err| e.to_string()),
    }
}
