//! OpenMetrics text, where both data planes write theirs.

use std::fmt::Write;

/// What a family is, before its values.
pub fn header(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# TYPE ontick_switch_{name} {kind}\n# HELP ontick_switch_{name} {help}");
}

/// The value of a label.
pub fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
