//! Where and how a node's time is shown while it is watched.

use std::collections::VecDeque;
use std::time::Duration;

use ontick_record::time_status::{TimeEvent, TimeStatus};

use super::status_text;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::terminal;

/// Lines of what happened last, on the whole screen, if it has room for them.
const EVENTS: usize = 8;
/// Rows of a screen that does not say.
const ROWS: usize = 24;

/// Shows it.
pub struct View {
    screen: Screen,
    json: bool,
    /// What happened last.
    last: VecDeque<String>,
}

impl View {
    pub fn new(json: bool) -> Self {
        Self { screen: Screen::new(!json), json, last: VecDeque::new() }
    }

    /// What was found at this time, and what happened since the one before.
    pub fn show(&mut self, at: Duration, status: &TimeStatus) -> Result<(), Failure> {
        if self.json {
            return terminal::print(&(serde_json::to_string(status)? + "\n"));
        }
        let events = status.events.iter().map(|TimeEvent { text, .. }| timed(at, text));
        if let Screen::Lines = self.screen {
            return terminal::print(&(events.collect::<String>() + &timed(at, &status_text::line(status))));
        }
        self.last.extend(events);
        let text = ontick_report::text::fitted(&status_text::text(status), &terminal::screen_style());
        let room = terminal::size().map_or(ROWS, |(_, rows)| rows).saturating_sub(text.lines().count() + 2);
        self.last.drain(..self.last.len().saturating_sub(EVENTS.min(room)));
        let last: String = self.last.iter().map(String::as_str).collect();
        terminal::screen(&format!("{text}\n{last}"));
        Ok(())
    }
}

fn timed(at: Duration, text: &str) -> String {
    format!("{:>8.1}s  {text}\n", at.as_secs_f64())
}
