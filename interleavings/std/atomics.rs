//! Atomics that loom explores completely.
//!
//! Loom tries another order of two accesses only where the later one finds the earlier one the last that it depends on. A
//! thread that reads a word and then writes it so hides that another had read it before: the write finds the thread's own
//! read. So each access is announced first by a store to a word of its own, which nobody reads: any two of those depend on
//! each other, and they order nothing.
//!
//! And loom takes `SeqCst` of an access for `AcqRel`, but knows fences: one on either side of each access makes the same of
//! it where, as in the sources explored here, all accesses to a word are `SeqCst`.

use ::std::sync::atomic::Ordering::{self, Relaxed, SeqCst};

use loom::sync::atomic::fence;

#[derive(Debug)]
struct Word<A> {
    announced: loom::sync::atomic::AtomicBool,
    word: A,
}

impl<A> Word<A> {
    fn new(word: A) -> Self {
        Self { announced: loom::sync::atomic::AtomicBool::new(false), word }
    }

    #[track_caller]
    fn access<T>(&self, ordering: Ordering, access: impl FnOnce(&A) -> T) -> T {
        self.announced.store(true, Relaxed);
        if ordering == SeqCst {
            fence(SeqCst);
        }
        let seen = access(&self.word);
        if ordering == SeqCst {
            fence(SeqCst);
        }
        seen
    }
}

macro_rules! atomic {
    ($name:ident, $value:ty) => {
        #[derive(Debug)]
        pub struct $name(Word<loom::sync::atomic::$name>);

        impl $name {
            pub fn new(value: $value) -> Self {
                Self(Word::new(loom::sync::atomic::$name::new(value)))
            }

            #[track_caller]
            pub fn load(&self, ordering: Ordering) -> $value {
                self.0.access(ordering, |word| word.load(ordering))
            }

            #[track_caller]
            pub fn store(&self, value: $value, ordering: Ordering) {
                self.0.access(ordering, |word| word.store(value, ordering))
            }

            #[track_caller]
            pub fn swap(&self, value: $value, ordering: Ordering) -> $value {
                self.0.access(ordering, |word| word.swap(value, ordering))
            }

            #[track_caller]
            pub fn compare_exchange(
                &self,
                old: $value,
                new: $value,
                done: Ordering,
                failed: Ordering,
            ) -> Result<$value, $value> {
                self.0.access(done, |word| word.compare_exchange(old, new, done, failed))
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new(Default::default())
            }
        }
    };
}

macro_rules! number {
    ($name:ident, $value:ty) => {
        atomic!($name, $value);

        impl $name {
            #[track_caller]
            pub fn fetch_add(&self, value: $value, ordering: Ordering) -> $value {
                self.0.access(ordering, |word| word.fetch_add(value, ordering))
            }

            #[track_caller]
            pub fn fetch_min(&self, value: $value, ordering: Ordering) -> $value {
                self.0.access(ordering, |word| word.fetch_min(value, ordering))
            }

            #[track_caller]
            pub fn fetch_sub(&self, value: $value, ordering: Ordering) -> $value {
                self.0.access(ordering, |word| word.fetch_sub(value, ordering))
            }
        }
    };
}

atomic!(AtomicBool, bool);
number!(AtomicU8, u8);
number!(AtomicU32, u32);
number!(AtomicU64, u64);
number!(AtomicI64, i64);
number!(AtomicUsize, usize);
