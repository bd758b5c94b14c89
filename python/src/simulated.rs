//! Simulated chips.

use ontick_gpio::{Name, sim};
use pyo3::prelude::*;

use crate::arguments::word;
use crate::errors::of_line;

#[pyfunction]
pub fn wire(output: &str, input: &str) -> PyResult<()> {
    let (output, input): (Name, Name) = (word(output)?, word(input)?);
    sim::wire(&output, &input, sim::Wire::default()).map_err(|error| of_line(&error))
}

#[pyfunction]
pub fn remove_chip(chip: &str) -> PyResult<()> {
    sim::remove(chip.strip_prefix("sim:").unwrap_or(chip)).map_err(|error| of_line(&error))
}
