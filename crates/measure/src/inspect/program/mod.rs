//! What `/proc` says of a program.

pub mod files;
pub mod identity;
pub mod memory;
pub mod threads;

pub use threads::ThreadState;
