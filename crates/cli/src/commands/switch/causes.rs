//! Counted causes in words.

use ontick_units::count;

/// Those that there were.
pub fn causes(counted: &[(&str, u64)]) -> Vec<String> {
    counted
        .iter()
        .filter(|(_, frames)| *frames > 0)
        .map(|(cause, frames)| format!("{} {cause}", count(*frames)))
        .collect()
}
