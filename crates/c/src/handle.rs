//! Handles: made, looked at, ended.

use std::ffi::c_int;

use crate::fork;
use crate::status::{Failure, ONTICK_ERROR_ARGUMENT, ONTICK_ERROR_FORKED, ONTICK_OK, guard, prepare_message};

/// What a caller holds a pointer to.
pub(crate) trait Handle {
    /// The generation of processes in which it was made.
    fn generation(&self) -> u32;
}

const NO_PLACE: Failure =
    Failure::fixed(ONTICK_ERROR_ARGUMENT, c"there is no place for the handle: pass the address of a pointer");
const NULL: Failure = Failure::fixed(ONTICK_ERROR_ARGUMENT, c"the handle is NULL: it was closed, or never made");
const FORKED: Failure = Failure::fixed(
    ONTICK_ERROR_FORKED,
    c"the handle belongs to the process that this one was forked from: make one in this process",
);

/// Makes a handle and puts it at `place`; where that fails, NULL.
///
/// # Safety
/// `place` is NULL or valid for writes.
pub(crate) unsafe fn open<T: Handle>(place: *mut *mut T, make: impl FnOnce() -> Result<T, Failure>) -> c_int {
    guard(|| {
        fork::prepare();
        prepare_message();
        // SAFETY: as the caller promises.
        let place = unsafe { place.as_mut() }.ok_or(NO_PLACE)?;
        *place = std::ptr::null_mut();
        *place = Box::into_raw(Box::new(make()?));
        Ok(ONTICK_OK)
    })
}

/// The handle to work with.
///
/// # Safety
/// `handle` is NULL or one that [`open`] made and that was not closed, and nobody else uses it meanwhile.
#[inline]
pub(crate) unsafe fn borrow<'a, T: Handle>(handle: *mut T) -> Result<&'a mut T, Failure> {
    // SAFETY: as the caller promises.
    let handle = unsafe { handle.as_mut() }.ok_or(NULL)?;
    if handle.generation() == fork::generation() { Ok(handle) } else { Err(FORKED) }
}

/// The handle to look at, while others may do so, too.
///
/// # Safety
/// As for [`borrow`], but that others may look as well.
#[inline]
pub(crate) unsafe fn look_at<'a, T: Handle>(handle: *const T) -> Result<&'a T, Failure> {
    // SAFETY: as the caller promises.
    let handle = unsafe { handle.as_ref() }.ok_or(NULL)?;
    if handle.generation() == fork::generation() { Ok(handle) } else { Err(FORKED) }
}

/// Ends the handle and sets the caller's pointer to NULL; a second time does nothing. A child's copy is left alone: its
/// thread is not there, and its line is still driven by the parent.
///
/// # Safety
/// `place` is NULL or valid for reads and writes, and holds NULL or a handle as for [`borrow`].
pub(crate) unsafe fn close<T: Handle>(place: *mut *mut T, end: impl FnOnce(T)) -> c_int {
    guard(|| {
        // SAFETY: as the caller promises.
        let place = unsafe { place.as_mut() }.ok_or(NO_PLACE)?;
        let handle = std::mem::replace(place, std::ptr::null_mut());
        if handle.is_null() {
            return Ok(ONTICK_OK);
        }
        // SAFETY: as the caller promises.
        unsafe { borrow(handle) }?;
        // SAFETY: it was made by Box::into_raw in `open`, and nobody has it any more.
        end(*unsafe { Box::from_raw(handle) });
        Ok(ONTICK_OK)
    })
}
