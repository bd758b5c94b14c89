//! Where something is shown while it is watched.

use std::io::{IsTerminal, stdout};

use crate::terminal;

/// The whole screen, where there is one; else lines on standard output.
pub enum Screen {
    /// On the terminal's other screen, which is left with this.
    Whole,
    Lines,
}

impl Screen {
    /// Whoever reads standard output, a file or a program, gets lines.
    pub fn new(for_people: bool) -> Self {
        if for_people && terminal::can_rewrite() && stdout().is_terminal() {
            terminal::enter_other_screen();
            return Screen::Whole;
        }
        Screen::Lines
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if matches!(self, Screen::Whole) {
            terminal::leave_other_screen();
        }
    }
}
