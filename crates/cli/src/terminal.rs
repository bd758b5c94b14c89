//! What the output goes to.

use std::io::{IsTerminal, Write, stderr, stdout};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use ontick_report::{Style, printable, printable_lines};

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
    let colour = terminal && std::env::var_os("NO_COLOR").is_none() && !is_dumb();
    Style { colour, width: width().unwrap_or(80).clamp(NARROWEST, WIDEST) }
}

/// Whether standard error is a terminal on which something can be shown over what was there. A dumb one (an editor's,
/// `TERM=dumb`) takes lines only.
pub fn can_rewrite() -> bool {
    stderr().is_terminal() && !is_dumb()
}

fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Shows a whole screen on standard error, over the one before.
pub fn screen(text: &str) {
    // From the top, each line cleared before it is written (afterwards its last character might go), then the rest of
    // the screen; and all at once: no flicker.
    let text = printable_lines(text, screen_style().colour);
    let text = format!("\x1b[H\x1b[K{}\x1b[J", text.replace('\n', "\r\n\x1b[K"));
    let _ = stderr().write_all(text.as_bytes());
}

/// Columns of the terminal, or else those that `COLUMNS` names (POSIX.1-2024, 8.3).
pub fn width() -> Option<usize> {
    let named = || std::env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0);
    size().map(|(columns, _)| columns).or_else(named)
}

/// Columns and rows of the terminal, if there is one.
pub fn size() -> Option<(usize, usize)> {
    let size = rustix::termios::tcgetwinsize(stdout()).or_else(|_| rustix::termios::tcgetwinsize(stderr())).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col.into(), size.ws_row.into()))
}

/// Says why a command could not be done, and gives the exit status.
pub fn report(failure: &Failure) -> ExitCode {
    failure.lines().for_each(|line| say(&line));
    failure.exit_status()
}

/// Prints to standard output. A reader that went away (`| head`) ends the program quietly.
pub fn print(text: &str) -> Result<(), Failure> {
    match stdout().write_all(harmless(text).as_bytes()).and_then(|()| stdout().flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Failure::new(format!("cannot write to standard output: {e}"))),
        Ok(()) => Ok(()),
    }
}

/// Output without anything that names in files, of processes or of packages could steer a terminal with. Documents say
/// the same as before.
pub fn harmless(text: &str) -> String {
    match text.starts_with(['{', '[']) {
        true => ontick_report::escaped(text),
        false => printable_lines(text, style().colour),
    }
}

/// Says a sentence on standard error.
pub fn say(sentence: &str) {
    // Where it cannot be said (a full disk), the command goes on.
    let _ = writeln!(stderr(), "{}", printable(sentence));
}

/// Shows text of several lines on standard error.
pub fn show(text: &str) {
    let _ = write!(stderr(), "{}", printable_lines(text, screen_style().colour));
}

/// Shows this in the terminal's last line on standard error, over what was there.
pub fn rewrite(line: &str) {
    let width = width().unwrap_or(80).saturating_sub(1);
    let line: String = printable(line).chars().take(width).collect();
    let _ = write!(stderr(), "\r\x1b[K{line}");
}

/// Clears that line.
pub fn clear_line() {
    let _ = stderr().write_all(b"\r\x1b[K");
}
