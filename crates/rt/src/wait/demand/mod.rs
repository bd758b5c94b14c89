//! Who wants the CPU of a loop that spins: threads of normal priority, which run only while it rests.

mod counted;
mod kernel;
mod nap;
mod not_counted;
mod programs;
mod rest;

pub use counted::Counted;
pub use kernel::Kernel;
pub(super) use nap::Nap;
pub use not_counted::NotCounted;
pub(super) use rest::Owed;

/// Threads of normal priority that want a CPU.
pub trait Demand: std::fmt::Debug + Send + Sync {
    /// How many came to want it so far: each wake-up counts, and each that was moved there.
    fn came(&self) -> u64;

    /// Whether one can run there now, and does not.
    fn is_waiting(&self) -> bool;
}
