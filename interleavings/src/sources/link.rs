#[path = "../../../crates/link/src/sent.rs"]
pub mod sent;
