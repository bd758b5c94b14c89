//! What happens on a thread's way out of a wait and into one, by programs of bpf(2): who wakes it up, when it gets a CPU
//! and loses it, and when its system calls end. They write some words where perf events write the kernel's whole record,
//! and cost a wake-up less. They end with their descriptors.

mod kernel;
mod programs;

pub use kernel::Kernel;
pub use programs::Programs;
