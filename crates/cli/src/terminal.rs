//! What the output goes to.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_report::Style;

use crate::failure::Failure;

/// Narrower terminals get the same text, which they wrap.
const NARROWEST: usize = 40;
/// Wider ones do not get longer lines than are easy to read.
const WIDEST: usize = 120;

/// Standard error shows its other screen, whose cursor is hidden; whoever ends the program must leave it.
pub static ON_OTHER_SCREEN: AtomicBool = AtomicBool::new(false);
/// Leaves the other screen: what was there comes back, with the cursor and with lines that wrap.
pub const LEAVE_OTHER_SCREEN: &[u8] = b"\x1b[?7h\x1b[?25h\x1b[?1049l";

/// Turns standard error to the terminal's other screen, on which lines that are too long are cut.
pub fn enter_other_screen() {
    ON_OTHER_SCREEN.store(true, Relaxed);
    let _ = stderr().write_all(b"\x1b[?1049h\x1b[?25l\x1b[?7l");
}

/// Comes back from it.
pub fn leave_other_screen() {
    let _ = stderr().write_all(LEAVE_OTHER_SCREEN);
    ON_OTHER_SCREEN.store(false, Relaxed);
}

/// How text for standard output is laid out.
pub fn style() -> Style {
    style_for(stdout().is_terminal())
}

/// How text for the other screen is laid out.
pub fn screen_style() -> Style {
    style_for(stderr().is_terminal())
}

fn style_for(terminal: bool) -> Style {
    let colour = terminal && std::env::var_os("NO_COLOR").is_none();
    Style { colour, width: width().unwrap_or(80).clamp(NARROWEST, WIDEST) }
}

/// Columns of the terminal, if there is one.
pub fn width() -> Option<usize> {
    size().map(|(columns, _)| columns)
}

/// Columns and rows of the terminal, if there is one.
pub fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(stdout()).or_else(|_| rustix::termios::tcgetwinsize(stderr())).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

/// Prints to standard output. A reader that went away (`| head`) ends the program quietly.
pub fn print(text: &str) -> Result<(), Failure> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Failure::new(format!("cannot write to standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}
