//! The commands: parse, call one wing, hand the result to report.
fn main() {}
