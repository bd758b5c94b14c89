//! GPIO lines, by the names that they have on the command line.

use std::ffi::{c_char, c_int};

use ontick_gpio::{Bias, Debounce, Direction, Edges, Error, Gone, Line, Name, OnExit, Request};

use crate::fork;
use crate::handle::{Handle, borrow, close, open};
use crate::input::{self, Options, initialise, text};
use crate::status::{
    Failure, ONTICK_ERROR_ARGUMENT, ONTICK_ERROR_GONE, ONTICK_ERROR_IN_USE, ONTICK_ERROR_NOT_FOUND,
    ONTICK_ERROR_REFUSED, ONTICK_ERROR_SYSTEM, ONTICK_ERROR_UNSUPPORTED, ONTICK_NONE, ONTICK_OK, guard,
};

/// The line is read.
pub const ONTICK_INPUT: i32 = 0;
/// The line is driven.
pub const ONTICK_OUTPUT: i32 = 1;
/// The line is read as it is, be it driven or not: without edges, and with the bias that it has.
pub const ONTICK_AS_IS: i32 = 2;

/// The bias that is set up already.
pub const ONTICK_BIAS_AS_IS: i32 = 0;
/// No bias.
pub const ONTICK_BIAS_DISABLED: i32 = 1;
/// A resistor to the supply.
pub const ONTICK_BIAS_PULL_UP: i32 = 2;
/// A resistor to ground.
pub const ONTICK_BIAS_PULL_DOWN: i32 = 3;

/// No edges.
pub const ONTICK_EDGES_NONE: i32 = 0;
/// Edges up.
pub const ONTICK_EDGES_RISING: i32 = 1;
/// Edges down.
pub const ONTICK_EDGES_FALLING: i32 = 2;
/// All edges.
pub const ONTICK_EDGES_BOTH: i32 = 3;

/// An output keeps its last value when it is closed.
pub const ONTICK_EXIT_KEEP: i32 = 0;
/// It is left low.
pub const ONTICK_EXIT_LOW: i32 = 1;
/// It is left high.
pub const ONTICK_EXIT_HIGH: i32 = 2;
/// It is not driven any more.
pub const ONTICK_EXIT_INPUT: i32 = 3;

/// What is wanted of a line. ontick_line_options_init() fills it: an input, as it is wired.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_line_options {
    /// sizeof(ontick_line_options)
    pub size: u32,
    /// ONTICK_INPUT (set by init), ONTICK_OUTPUT or ONTICK_AS_IS.
    pub direction: i32,
    /// An output's first value, 0 or 1.
    pub value: i32,
    /// Not 0: 1 is low on the wire.
    pub active_low: i32,
    /// ONTICK_BIAS_...
    pub bias: i32,
    /// ONTICK_EDGES_...: what ontick_line_edge() waits for.
    pub edges: i32,
    /// ONTICK_EXIT_...: what an output is left at when it is closed.
    pub on_exit: i32,
    /// A level of an input counts once it has lasted so long, in microseconds: up to 16 000 000; 0: at once.
    pub debounce_us: u32,
}

// SAFETY: it begins with its size, and its fields are integers.
unsafe impl Options for ontick_line_options {
    fn defaults() -> Self {
        let size = size_of::<Self>() as u32;
        Self { size, direction: ONTICK_INPUT, value: 0, active_low: 0, bias: 0, edges: 0, on_exit: 0, debounce_us: 0 }
    }
}

/// An edge of a line. This structure never changes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_edge {
    /// When it happened, in ns: the kernel's interrupt, or the write that caused it on a simulated line.
    pub time_ns: u64,
    /// 1 for up, 0 for down, as the user sees the line (after active_low).
    pub rising: i32,
    /// Edges of this line since the one before that were not reported.
    pub lost: u32,
}

/// A line that this program has, for one thread at a time.
pub struct ontick_line {
    generation: u32,
    line: Line,
    is_output: bool,
}

impl Handle for ontick_line {
    fn generation(&self) -> u32 {
        self.generation
    }
}

const BIASES: [(i32, Bias); 4] = [
    (ONTICK_BIAS_AS_IS, Bias::AsIs),
    (ONTICK_BIAS_DISABLED, Bias::Disabled),
    (ONTICK_BIAS_PULL_UP, Bias::PullUp),
    (ONTICK_BIAS_PULL_DOWN, Bias::PullDown),
];
const EDGES: [(i32, Edges); 4] = [
    (ONTICK_EDGES_NONE, Edges::None),
    (ONTICK_EDGES_RISING, Edges::Rising),
    (ONTICK_EDGES_FALLING, Edges::Falling),
    (ONTICK_EDGES_BOTH, Edges::Both),
];
const EXITS: [(i32, OnExit); 4] = [
    (ONTICK_EXIT_KEEP, OnExit::Keep),
    (ONTICK_EXIT_LOW, OnExit::Low),
    (ONTICK_EXIT_HIGH, OnExit::High),
    (ONTICK_EXIT_INPUT, OnExit::Input),
];

/// What a number stands for.
fn one_of<T: Copy>(list: &[(i32, T)], number: i32, field: &str, constants: &str) -> Result<T, Failure> {
    let entry = list.iter().find(|(of, _)| *of == number).map(|(_, entry)| *entry);
    entry.ok_or_else(|| Failure::argument(format!("{field} is {number}: it must be one of {constants}_...")))
}

impl ontick_line_options {
    fn request(&self) -> Result<Request, Failure> {
        if !(0..=1).contains(&self.value) {
            return Err(Failure::argument(format!("value is {}: it must be 0 or 1", self.value)));
        }
        let direction = match self.direction {
            ONTICK_INPUT => Direction::Input,
            ONTICK_OUTPUT => Direction::Output(self.value == 1),
            ONTICK_AS_IS => Direction::AsIs,
            other => {
                let text = format!("direction is {other}: it must be ONTICK_INPUT, ONTICK_OUTPUT or ONTICK_AS_IS");
                return Err(Failure::argument(text));
            }
        };
        let debounce = match self.debounce_us {
            0 => None,
            us => Some(Debounce::from_ns(u64::from(us) * 1_000).map_err(Failure::argument)?),
        };
        Ok(Request {
            direction,
            bias: one_of(&BIASES, self.bias, "bias", "ONTICK_BIAS")?,
            active_low: self.active_low != 0,
            edges: one_of(&EDGES, self.edges, "edges", "ONTICK_EDGES")?,
            debounce,
            on_exit: one_of(&EXITS, self.on_exit, "on_exit", "ONTICK_EXIT")?,
        })
    }
}

/// The status of what kept a line or a chip from being had.
pub(crate) fn refused(error: &Error) -> Failure {
    let status = match error {
        Error::Name(_) => ONTICK_ERROR_ARGUMENT,
        Error::NoSuchLine { .. }
        | Error::NoSuchChip { .. }
        | Error::NoSuchName { .. }
        | Error::NotMade { .. }
        | Error::NotFound { .. } => ONTICK_ERROR_NOT_FOUND,
        Error::InUse { .. } => ONTICK_ERROR_IN_USE,
        Error::Permission { .. } => ONTICK_ERROR_REFUSED,
        Error::Unsupported { .. } => ONTICK_ERROR_UNSUPPORTED,
        _ => ONTICK_ERROR_SYSTEM,
    };
    Failure::new(status, error)
}

fn gone(gone: Gone) -> Failure {
    Failure::new(ONTICK_ERROR_GONE, gone)
}

/// The line of a name.
///
/// # Safety
/// `name` is NULL or a string that ends with a zero byte.
pub(crate) unsafe fn line_name(name: *const c_char, what: &str) -> Result<Name, Failure> {
    // SAFETY: as the caller promises.
    unsafe { text(name, what) }?.parse::<Name>().map_err(Failure::argument)
}

/// Fills the options; `size` is sizeof(ontick_line_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_line_options_init(options: *mut ontick_line_options, size: usize) -> c_int {
    guard(|| {
        // SAFETY: the caller's structure has that size.
        unsafe { initialise(options, size) }?;
        Ok(ONTICK_OK)
    })
}

/// Takes a line: "gpiochip0:17", a line's own name ("GPIO17"), "reg:17" (the board's registers), or
/// "sim:bench/4" (a simulated chip, which is made on first use). Options may be NULL for an input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_line_open(
    name: *const c_char,
    options: *const ontick_line_options,
    line: *mut *mut ontick_line,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        open(line, || {
            let request = input::options(options, "ontick_line_options_init()")?.request()?;
            let line = Line::open(&line_name(name, "the line's name")?, &request).map_err(|error| refused(&error))?;
            let is_output = matches!(request.direction, Direction::Output(_));
            Ok(ontick_line { generation: fork::generation(), line, is_output })
        })
    }
}

/// Drives the line to 0 or 1.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_line_write(line: *mut ontick_line, value: c_int) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let line = unsafe { borrow(line) }?;
        if !(0..=1).contains(&value) {
            return Err(Failure::fixed(ONTICK_ERROR_ARGUMENT, c"the value must be 0 or 1"));
        }
        if !line.is_output {
            return Err(Failure::fixed(ONTICK_ERROR_UNSUPPORTED, c"the line was not opened as ONTICK_OUTPUT"));
        }
        line.line.write(value == 1).map_err(gone)?;
        Ok(ONTICK_OK)
    })
}

/// Returns once what was written has reached the chip.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_line_flush(line: *mut ontick_line) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        unsafe { borrow(line) }?.line.flush().map_err(gone)?;
        Ok(ONTICK_OK)
    })
}

/// The line's value: 0 or 1; negative for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_line_read(line: *mut ontick_line) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let value = unsafe { borrow(line) }?.line.read().map_err(gone)?;
        Ok(value.into())
    })
}

/// Waits for the next edge until `deadline_ns` (0: not at all); ONTICK_NONE where there was none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_line_edge(line: *mut ontick_line, deadline_ns: u64, edge: *mut ontick_edge) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (line, place) = unsafe { (borrow(line)?, edge.as_mut()) };
        let place = place.ok_or(const { Failure::fixed(ONTICK_ERROR_ARGUMENT, c"the edge is NULL") })?;
        let Some(edge) = line.line.edge(deadline_ns).map_err(gone)? else { return Ok(ONTICK_NONE) };
        *place = ontick_edge { time_ns: edge.time_ns, rising: edge.rising.into(), lost: edge.lost };
        Ok(ONTICK_OK)
    })
}

/// Releases the line and sets *line to NULL; an output is left as was asked.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_line_close(line: *mut *mut ontick_line) -> c_int {
    // SAFETY: as the header asks.
    unsafe { close(line, drop) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with GPIO chips says which it has.
    #[test]
    fn what_no_chip_has_is_not_found() {
        let name: Name = "gpiochip99:3".parse().unwrap();
        let there = vec!["gpiochip0".to_owned()];
        for error in [
            Error::NoSuchChip { name: name.clone(), there: there.clone() },
            Error::NoSuchName { name: name.clone(), chips: there },
            Error::NoSuchLine { name: name.clone(), chip: "gpiochip0".into(), last: 3 },
            Error::NotFound { name, why: "there is no GPIO chip".into() },
        ] {
            assert_eq!(guard(|| Err(refused(&error))), ONTICK_ERROR_NOT_FOUND, "{error}");
        }
    }
}
