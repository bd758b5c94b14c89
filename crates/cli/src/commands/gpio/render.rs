//! Lines and their values as every `gpio` command shows them.

use ontick_gpio::{Backend, Line};
use serde::Serialize;

use crate::failure::Failure;
use crate::terminal;

/// A line and its value.
#[derive(Serialize)]
pub struct Value {
    line: String,
    value: u8,
    backend: &'static str,
}

impl Value {
    pub fn of(line: &Line, value: bool) -> Self {
        Self { line: line.name().to_string(), value: value.into(), backend: line.backend().name() }
    }
}

/// Prints lines with their values.
pub fn values(values: &[Value], json: bool) -> Result<(), Failure> {
    if json {
        return document(&values);
    }
    let shown = |Value { line, value, backend }: &Value| format!("{line}={value}{}\n", note(backend));
    terminal::print(&values.iter().map(shown).collect::<String>())
}

/// Prints JSON.
pub fn document(document: &impl Serialize) -> Result<(), Failure> {
    terminal::print(&(serde_json::to_string_pretty(document)? + "\n"))
}

/// What is said beside a simulated line's figures.
pub fn note(backend: &str) -> &'static str {
    if backend == Backend::Simulated.name() { "  (simulated)" } else { "" }
}
