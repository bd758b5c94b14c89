//! Which library this is.

use std::ffi::c_char;

/// Programs that were compiled with another major number do not run with this library; the loader
/// knows by the soname.
pub const ONTICK_ABI_MAJOR: u32 = 0;
/// Raised with each addition: a program needs at least the one that it was compiled with.
pub const ONTICK_ABI_MINOR: u32 = 4;

/// ONTICK_ABI_MAJOR of the library that is loaded times 65536, plus its ONTICK_ABI_MINOR.
#[unsafe(no_mangle)]
pub extern "C" fn ontick_abi_version() -> u32 {
    ONTICK_ABI_MAJOR << 16 | ONTICK_ABI_MINOR
}

/// The version of ontick that the library is from: "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn ontick_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
