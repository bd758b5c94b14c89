//! What must hold, whatever is done: nothing is lost without a count, nothing grows, nothing stays behind.
//!
//! Each rule is fed with plain values, and its tests give it something that is wrong.

pub mod frames;
pub mod growth;
pub mod leftovers;
pub mod messages;
pub mod samples;
