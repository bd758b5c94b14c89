//! The user data plane: one dedicated core takes frames in, learns addresses, classifies, queues and opens gates.

pub mod core;
pub mod counters;
pub mod gate;
pub mod pool;
pub mod port;
pub mod queue;
pub mod table;
mod usual;
