//! What comes in from C: text, and structures of this library's version or of others.

use std::ffi::{CStr, c_char};

use crate::status::Failure;

/// No name or path that the system takes is longer.
const LONGEST: usize = 4096;
/// No structure of any version is larger.
const LARGEST: usize = 4096;

/// Text that was passed as `what`.
///
/// # Safety
/// `text` is NULL or a string that ends with a zero byte.
pub(crate) unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::argument(format!("{what} is NULL")));
    }
    // SAFETY: it is not NULL, and else as the caller promises.
    let bytes = unsafe { CStr::from_ptr(text) };
    match bytes.to_str() {
        Ok(text) if text.len() <= LONGEST => Ok(text),
        Ok(_) => Err(Failure::argument(format!("{what} is longer than {LONGEST} bytes"))),
        Err(_) => Err(Failure::argument(format!("{what} is not UTF-8"))),
    }
}

/// Options that begin with their own size, so that a program and a library of different versions understand each other.
///
/// # Safety
/// An implementor is `repr(C)`, begins with a `u32` that is its size, and any bytes make a value of it.
pub(crate) unsafe trait Options: Copy {
    /// What holds where nothing is said.
    fn defaults() -> Self;
}

/// What the caller set, and the defaults where its structure ends before this library's. A structure that is longer than
/// this library's is taken if its end, which is not known here, asks for nothing.
///
/// # Safety
/// `given` is NULL or points to as many bytes as its first four say.
pub(crate) unsafe fn options<T: Options>(given: *const T, initialiser: &str) -> Result<T, Failure> {
    let mut options = T::defaults();
    if given.is_null() {
        return Ok(options);
    }
    // SAFETY: options begin with their size.
    let size = unsafe { given.cast::<u32>().read() } as usize;
    if !(size_of::<u32>()..=LARGEST).contains(&size) {
        return Err(Failure::argument(format!("the options have no size: call {initialiser} first")));
    }
    // SAFETY: so many bytes are there, by their own word.
    let bytes = unsafe { std::slice::from_raw_parts(given.cast::<u8>(), size) };
    let known = size.min(size_of::<T>());
    if bytes[known..].iter().any(|byte| *byte != 0) {
        return Err(Failure::argument(
            "the options ask for what this version of libontick does not know: install a later one",
        ));
    }
    // SAFETY: `known` bytes are in both, and any bytes make a value of options.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), std::ptr::from_mut(&mut options).cast::<u8>(), known) };
    Ok(options)
}

/// Refuses what is set in a field that means nothing yet: a later library gives it a meaning.
pub(crate) fn unused(reserved: i32) -> Result<(), Failure> {
    match reserved {
        0 => Ok(()),
        set => Err(Failure::argument(format!("reserved is {set}: it must be 0"))),
    }
}

/// Fills a caller's structure of `size` bytes with the defaults; what this library does not know of it becomes zero.
///
/// # Safety
/// `options` is NULL or valid for writes of `size` bytes.
pub(crate) unsafe fn initialise<T: Options>(options: *mut T, size: usize) -> Result<(), Failure> {
    if options.is_null() {
        return Err(Failure::argument("the options are NULL"));
    }
    if !(size_of::<u32>()..=LARGEST).contains(&size) {
        return Err(Failure::argument(format!("{size} bytes are no size of options: pass sizeof of the structure")));
    }
    // SAFETY: as the caller promises.
    unsafe { give(&T::defaults(), options, size) };
    // SAFETY: at least four bytes are there.
    unsafe { options.cast::<u32>().write(size as u32) };
    Ok(())
}

/// Refuses a place for figures that is none, or has no size of theirs: it would not be filled.
pub(crate) fn check_room<T>(place: *const T, size: usize, what: &str, structure: &str) -> Result<(), Failure> {
    match place.is_null() || !(1..=LARGEST).contains(&size) {
        true => Err(Failure::argument(format!("{what} are NULL, or their size is not sizeof({structure})"))),
        false => Ok(()),
    }
}

/// Writes what a caller of any version has room for; what this library does not know becomes zero.
///
/// # Safety
/// `place` is valid for writes of `size` bytes.
pub(crate) unsafe fn give<T: Copy>(value: &T, place: *mut T, size: usize) {
    let known = size.min(size_of::<T>());
    // SAFETY: as the caller promises; `known` is at most either size.
    unsafe {
        place.cast::<u8>().write_bytes(0, size);
        std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), place.cast::<u8>(), known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Now {
        size: u32,
        first: u32,
        second: u64,
    }

    // SAFETY: it begins with its size, and all its fields are integers.
    unsafe impl Options for Now {
        fn defaults() -> Self {
            Now { size: 16, first: 7, second: 9 }
        }
    }

    /// The first version of the structure had one field.
    #[repr(C)]
    struct Earlier {
        size: u32,
        first: u32,
    }

    /// A later one has a third.
    #[repr(C)]
    struct Later {
        size: u32,
        first: u32,
        second: u64,
        third: u64,
    }

    fn read<T>(given: &T) -> Option<(u32, u64)> {
        // SAFETY: no case says that it is longer than it is, but those that are refused for their size.
        unsafe { options(std::ptr::from_ref(given).cast::<Now>(), "init") }.ok().map(|now| (now.first, now.second))
    }

    #[test]
    fn options_of_other_versions_are_understood() {
        assert_eq!(read(&Now { size: 16, first: 1, second: 2 }), Some((1, 2)));
        assert_eq!(read(&Earlier { size: 8, first: 1 }), Some((1, 9)));
        assert_eq!(read(&Later { size: 24, first: 1, second: 2, third: 0 }), Some((1, 2)));
        assert_eq!(read(&Later { size: 24, first: 1, second: 2, third: 5 }), None);
        for size in [0, 3, 4097, u32::MAX] {
            assert_eq!(read(&Now { size, first: 1, second: 2 }), None, "{size}");
        }
    }

    #[test]
    fn no_more_is_written_than_there_is_room_for() {
        let mut early = [Earlier { size: 0, first: 0 }, Earlier { size: 5, first: 5 }];
        // SAFETY: the size is that of one of the two.
        unsafe { initialise(early.as_mut_ptr().cast::<Now>(), 8) }.unwrap();
        assert_eq!(early.map(|e| (e.size, e.first)), [(8, 7), (5, 5)]);
        let mut late = Later { size: 0, first: 0, second: 0, third: 5 };
        // SAFETY: the size is its own.
        unsafe { initialise(std::ptr::from_mut(&mut late).cast::<Now>(), 24) }.unwrap();
        assert_eq!((late.size, late.first, late.second, late.third), (24, 7, 9, 0));
        // SAFETY: nothing is written.
        assert!(unsafe { initialise(std::ptr::from_mut(&mut late).cast::<Now>(), 3) }.is_err());
    }

    #[test]
    fn text_is_refused_where_it_is_none() {
        // SAFETY: a CStr ends with a zero byte.
        let refused = |bytes: &CStr| unsafe { text(bytes.as_ptr(), "the name") }.is_err();
        assert!(
            refused(c"\xff") && !refused(c"sim:bench/4") && refused(&std::ffi::CString::new("x".repeat(4097)).unwrap())
        );
        // SAFETY: NULL is allowed.
        assert!(unsafe { text(std::ptr::null(), "the name") }.is_err());
    }
}
