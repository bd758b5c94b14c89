//! How far a build is: a line on the terminal that is rewritten; elsewhere only what is worth knowing.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use ontick_kernel::build::Event;

use crate::terminal;

pub struct Progress {
    line: bool,
}

impl Progress {
    pub fn new() -> Self {
        Self { line: stderr().is_terminal() }
    }

    pub fn report(&self, event: Event) {
        match event {
            Event::Note(words) => {
                if self.line {
                    terminal::clear_line();
                }
                terminal::say(words);
            }
            Event::Begins(words) => self.show(words),
            Event::Compiled { done, total, left } => {
                let percent = 100 * done / total.max(1);
                let left = left.map(|left| format!(", about {} left", in_words(left))).unwrap_or_default();
                self.show(&format!("{percent:3}%  compiled {done} of about {total}{left}"));
            }
        }
    }

    fn show(&self, words: &str) {
        if self.line {
            terminal::rewrite(words);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.line {
            terminal::clear_line();
        }
    }
}

/// To the minute; the last one in tens of seconds.
fn in_words(left: Duration) -> String {
    match left.as_secs() {
        seconds @ 0..60 => format!("{} s", seconds.div_ceil(10) * 10),
        seconds @ 60..3600 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_rounded() {
        let words = |seconds| in_words(Duration::from_secs(seconds));
        assert_eq!([words(3), words(59), words(61), words(7300)], ["10 s", "60 s", "2 min", "2 h 1 min"]);
    }
}
