//! Simulated chips, for tests of programs without a board.

use std::ffi::{c_char, c_int};

use ontick_gpio::sim;

use crate::input::text;
use crate::line::{line_name, refused};
use crate::status::{ONTICK_OK, guard};

/// Joins two lines of a simulated chip ("sim:bench/4", "sim:bench/17"): whichever is driven, the other
/// reads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_simulated_wire(from: *const c_char, to: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (from, to) =
            unsafe { (line_name(from, "the first line's name")?, line_name(to, "the second line's name")?) };
        sim::wire(&from, &to, sim::Wire::default()).map_err(|error| refused(&error))?;
        Ok(ONTICK_OK)
    })
}

/// Removes a simulated chip ("bench"), whose lines nobody else can open then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_simulated_remove(chip: *const c_char) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        sim::remove(unsafe { text(chip, "the chip's name") }?).map_err(|error| refused(&error))?;
        Ok(ONTICK_OK)
    })
}
