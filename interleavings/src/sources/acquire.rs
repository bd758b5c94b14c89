#[path = "../../../crates/acquire/src/ring.rs"]
pub mod ring;
