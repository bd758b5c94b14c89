//! What a call returns, and the sentence that explains it.

use std::any::Any;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, CString, c_char, c_int};
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Done.
pub const ONTICK_OK: c_int = 0;
/// There was nothing: no edge until the deadline, no further outlier, no samples. Not an error.
pub const ONTICK_NONE: c_int = 1;
/// An argument is NULL, out of its range, or makes no sense.
pub const ONTICK_ERROR_ARGUMENT: c_int = -1;
/// The system does not grant it: a privilege, a limit, the only CPU.
pub const ONTICK_ERROR_REFUSED: c_int = -2;
/// There is no such line, chip or CPU.
pub const ONTICK_ERROR_NOT_FOUND: c_int = -3;
/// Another program has it; the message says which.
pub const ONTICK_ERROR_IN_USE: c_int = -4;
/// This kind of line cannot do that.
pub const ONTICK_ERROR_UNSUPPORTED: c_int = -5;
/// A line stopped answering: its driver or device went away.
pub const ONTICK_ERROR_GONE: c_int = -6;
/// The handle belongs to the process that this one was forked from. Nothing was done with it.
pub const ONTICK_ERROR_FORKED: c_int = -7;
/// Only the thread that was set up can give it back.
pub const ONTICK_ERROR_WRONG_THREAD: c_int = -8;
/// The system failed: a file, a thread, memory.
pub const ONTICK_ERROR_SYSTEM: c_int = -9;
/// A fault of the library itself. Please report it with the message.
pub const ONTICK_ERROR_INTERNAL: c_int = -10;

/// A status that is an error, and its sentence. One that is fixed allocates nothing.
#[derive(Debug)]
pub(crate) struct Failure {
    status: c_int,
    message: Cow<'static, CStr>,
}

impl Failure {
    pub const fn fixed(status: c_int, message: &'static CStr) -> Self {
        Self { status, message: Cow::Borrowed(message) }
    }

    pub fn new(status: c_int, message: impl Display) -> Self {
        Self { status, message: Cow::Owned(c_string(message.to_string())) }
    }

    pub fn argument(message: impl Display) -> Self {
        Self::new(ONTICK_ERROR_ARGUMENT, message)
    }

    fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic");
        let at = PANICKED_AT.try_with(Cell::take).unwrap_or_default();
        Self::new(ONTICK_ERROR_INTERNAL, format!("a fault of libontick ({at}): {text}"))
    }

    /// Keeps the sentence for this thread and returns the status.
    fn keep(self) -> c_int {
        // A thread that ends has no place for it any more.
        let _ = LAST.try_with(|last| last.replace(self.message));
        self.status
    }
}

pub(crate) fn c_string(text: String) -> CString {
    CString::new(text.replace('\0', "?")).unwrap_or_default()
}

thread_local! {
    static LAST: RefCell<Cow<'static, CStr>> = const { RefCell::new(Cow::Borrowed(c"")) };
    static PANICKED_AT: Cell<String> = const { Cell::new(String::new()) };
}

/// Runs the body of a function of the library: whatever becomes of it, the caller gets a status.
#[inline]
pub(crate) fn guard(body: impl FnOnce() -> Result<c_int, Failure>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(status)) => status,
        Ok(Err(failure)) => failure.keep(),
        Err(panic) => Failure::of_panic(panic.as_ref()).keep(),
    }
}

/// Panics are reported by their message, and printed nowhere: standard error is the program's.
pub(crate) fn keep_panics() {
    std::panic::set_hook(Box::new(|info| {
        let at = info.location().map(ToString::to_string).unwrap_or_default();
        let _ = PANICKED_AT.try_with(|place| place.set(at));
    }));
}

/// Gives the calling thread the place for its message, so that none has to be made in its timed section.
pub(crate) fn prepare_message() {
    let _ = LAST.try_with(|_| ());
}

/// What went wrong in the last call of this thread that returned an error, as a sentence: what, why,
/// and what to do. It stays valid until the thread's next call that fails; "" where none has failed.
#[unsafe(no_mangle)]
pub extern "C" fn ontick_last_message() -> *const c_char {
    LAST.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The name of a status: "ONTICK_ERROR_IN_USE"; "unknown" for a number that is none.
#[unsafe(no_mangle)]
pub extern "C" fn ontick_status_name(status: c_int) -> *const c_char {
    let name = match status {
        ONTICK_OK => c"ONTICK_OK",
        ONTICK_NONE => c"ONTICK_NONE",
        ONTICK_ERROR_ARGUMENT => c"ONTICK_ERROR_ARGUMENT",
        ONTICK_ERROR_REFUSED => c"ONTICK_ERROR_REFUSED",
        ONTICK_ERROR_NOT_FOUND => c"ONTICK_ERROR_NOT_FOUND",
        ONTICK_ERROR_IN_USE => c"ONTICK_ERROR_IN_USE",
        ONTICK_ERROR_UNSUPPORTED => c"ONTICK_ERROR_UNSUPPORTED",
        ONTICK_ERROR_GONE => c"ONTICK_ERROR_GONE",
        ONTICK_ERROR_FORKED => c"ONTICK_ERROR_FORKED",
        ONTICK_ERROR_WRONG_THREAD => c"ONTICK_ERROR_WRONG_THREAD",
        ONTICK_ERROR_SYSTEM => c"ONTICK_ERROR_SYSTEM",
        ONTICK_ERROR_INTERNAL => c"ONTICK_ERROR_INTERNAL",
        _ => c"unknown",
    };
    name.as_ptr()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub fn last_message() -> String {
        // SAFETY: the message is a C string that stays until the next failure of this thread.
        unsafe { CStr::from_ptr(ontick_last_message()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn a_panic_becomes_a_status_and_a_sentence() {
        keep_panics();
        let status = guard(|| panic!("the {} was full", "cup"));
        let _ = std::panic::take_hook();
        assert_eq!(status, ONTICK_ERROR_INTERNAL);
        let message = last_message();
        assert!(message.contains("status.rs:") && message.ends_with("the cup was full"), "{message}");
    }

    #[test]
    fn a_message_is_the_threads_own_and_stays_until_the_next_failure() {
        assert_eq!(guard(|| Err(Failure::argument("a\0b"))), ONTICK_ERROR_ARGUMENT);
        assert_eq!(guard(|| Ok(ONTICK_OK)), ONTICK_OK);
        assert_eq!(last_message(), "a?b");
        assert_eq!(std::thread::spawn(last_message).join().unwrap(), "");
    }
}
