#[path = "../../../crates/rt/src/recorder.rs"]
pub mod recorder;
#[path = "../../../crates/rt/src/squares.rs"]
pub mod squares;
