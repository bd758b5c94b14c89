//! A line above a table: what it is of, and what it says.

/// One line: its label and what it says, part by part.
pub(crate) struct Line {
    pub label: &'static str,
    pub parts: Vec<String>,
}
