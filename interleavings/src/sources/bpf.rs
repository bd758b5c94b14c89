#[path = "../../../crates/bpf/src/records.rs"]
pub mod records;
