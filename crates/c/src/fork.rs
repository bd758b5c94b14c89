//! A forked child has copies of its parent's handles, but neither its threads nor a claim to its lines; and it must not go
//! on at real-time priority, where nothing watches it.

use std::cell::Cell;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use ontick_rt::thread::Scheduling;

use crate::status::keep_panics;

/// How many forks lie between this process and the one that loaded the library.
static GENERATION: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// What this thread had before it was set up.
    static BEFORE: Cell<Option<Scheduling>> = const { Cell::new(None) };
}

/// The present process's; a handle of another one is refused. A single load: fork(2) itself does the work.
#[inline]
pub fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// What the library needs once in a process, before its first handle.
pub fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler touches an atomic, a thread-local without a destructor, and makes system calls.
        // Without memory for it forks stay unnoticed, as after clone(2).
        let _ = unsafe { libc::pthread_atfork(None, None, Some(begin_child)) };
        keep_panics();
    });
}

/// A child that is forked by this thread gets this scheduling; `None` leaves it as it is.
pub fn give_children(before: Option<Scheduling>) {
    BEFORE.set(before);
}

/// Whether a child of this thread gets another scheduling than the thread has: it was set up.
pub fn gives_children() -> bool {
    BEFORE.get().is_some()
}

extern "C" fn begin_child() {
    GENERATION.fetch_add(1, Relaxed);
    if let Ok(Some(before)) = BEFORE.try_with(Cell::take) {
        // Nobody is there to be told, and the child can do no more about it.
        let _ = before.restore();
    }
}
