#[path = "../../../crates/network/src/endpoint/payload.rs"]
pub mod payload;
#[path = "../../../crates/network/src/endpoint/steps.rs"]
pub mod steps;
