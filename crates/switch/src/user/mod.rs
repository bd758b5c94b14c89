//! The user data plane: one dedicated core takes frames in, learns addresses, classifies, queues and opens gates.

pub mod port;
