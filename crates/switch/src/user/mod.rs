//! The user data plane: one dedicated core takes frames in, learns addresses, classifies, queues and opens gates.

pub mod open;
pub mod packet;
pub mod port;
mod sys;
