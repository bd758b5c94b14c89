//! Runs side by side.

use ontick_record::compare::{self, Decision, RelativeRequirement};
use ontick_report::compare::{Named, text};
use ontick_report::{Style, html_of_several};
use pyo3::prelude::*;
use serde::Serialize;

use crate::arguments::word;
use crate::errors::argument;
use crate::run::Record;

fn named<'a>(runs: &'a [(String, Bound<'_, Record>)]) -> Vec<Named<'a>> {
    runs.iter().map(|(name, run)| Named { name, run: &run.get().0 }).collect()
}

fn json<T: Serialize>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(argument)
}

#[pyfunction]
pub fn compare_text(runs: Vec<(String, Bound<'_, Record>)>, width: usize) -> String {
    text(&named(&runs), &Style { width, ..Style::default() })
}

#[pyfunction]
pub fn compare_html(runs: Vec<(String, Bound<'_, Record>)>) -> String {
    html_of_several(&named(&runs))
}

#[pyfunction]
pub fn compare_json(before: &Record, after: &Record) -> PyResult<String> {
    json(&compare::compare(&before.0, &after.0))
}

/// Each series of both runs held against each requirement.
#[pyfunction]
pub fn decide(before: &Record, after: &Record, requirements: Vec<String>) -> PyResult<String> {
    let requirements: Vec<RelativeRequirement> = requirements.iter().map(|text| word(text)).collect::<PyResult<_>>()?;
    let pairs = compare::all_partners(&before.0, &after.0).map_err(argument)?;
    let against = |requirement: &RelativeRequirement| {
        let requirement = *requirement;
        pairs.iter().map(move |(before, after)| {
            requirement.decide((&before.name, &before.latency), (&after.name, &after.latency))
        })
    };
    let decisions: Vec<Decision> = requirements.iter().flat_map(against).collect();
    json(&decisions)
}
