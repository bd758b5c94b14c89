//! What is done to commands from outside. None of it touches what others own: signals and CPUs are those of the soak's own
//! processes, memory and load are bounded, and the disk is a small one of its own. The clock is left alone: it is the whole
//! machine's, and a time namespace cannot step its own.

pub mod disk;
pub mod freeze;
pub mod load;
pub mod memory;
pub mod one_cpu;
