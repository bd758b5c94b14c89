//! The standard library as the explored sources see it: what threads share is loom's, which tries every interleaving and
//! every value that a load may return; all else is as it is.

pub use ::std::*;

mod atomics;
mod lock;

pub mod hint {
    pub use loom::hint::spin_loop;
}

pub mod sync {
    pub use ::std::sync::*;

    /// In place of [`::std::sync::Mutex`].
    pub use crate::lock::Mutex;

    pub mod atomic {
        pub use loom::sync::atomic::{Ordering, fence};

        pub use crate::atomics::{AtomicBool, AtomicI64, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};
    }
}
