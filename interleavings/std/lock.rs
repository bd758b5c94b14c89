//! A lock that nobody may ever find taken, and that orders nothing: what it holds must be handed over by other means. Loom
//! finds fault where it is not.

use ::std::fmt;
use ::std::ops::{Deref, DerefMut};
use ::std::sync::{LockResult, TryLockResult};

use loom::cell::{MutPtr, UnsafeCell};

pub struct Mutex<T>(UnsafeCell<T>);

// SAFETY: loom sees every access, and ends the model where two threads have it at once.
unsafe impl<T: Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    pub fn lock(&self) -> LockResult<Guard<T>> {
        Ok(Guard(self.0.get_mut()))
    }

    pub fn try_lock(&self) -> TryLockResult<Guard<T>> {
        Ok(Guard(self.0.get_mut()))
    }
}

impl<T> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Mutex")
    }
}

pub struct Guard<T>(MutPtr<T>);

impl<T> Deref for Guard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: loom has made sure that no other thread has it.
        unsafe { self.0.deref() }
    }
}

impl<T> DerefMut for Guard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { self.0.deref() }
    }
}
