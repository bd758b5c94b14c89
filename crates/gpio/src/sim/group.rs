//! Simulated lines that are read at once.

use ontick_rt::clock::{Clock, ClockId};
use rustix::io::Errno;

use super::level::View;
use super::page::Page;
use super::pin::Pin;
use super::{LINES, chip};
use crate::{Error, Gone, Name, Request};

/// How often lines are looked at again, at most, until nothing changed between two looks.
const TRIES: u32 = 4_000;

/// Lines of one simulated chip.
#[derive(Debug)]
pub struct Pins {
    page: Page,
    lines: Vec<u32>,
    clock: Clock,
}

impl Pins {
    /// `lines` are those of `names`.
    pub fn open(names: &[Name], chip: &str, lines: &[u32], request: &Request) -> Result<Self, Error> {
        for (name, line) in names.iter().zip(lines) {
            // An input's request acts on the chip when it is opened; nothing of it needs to stay.
            Pin::open(name, chip, *line, request)?;
        }
        let page = chip::open_for(&names[0], chip, lines[0])?;
        Ok(Self { page, lines: lines.to_vec(), clock: Clock::new(ClockId::Monotonic) })
    }

    /// Their levels in one instant: when two looks at all of them found the same words, those were there together
    /// between the looks. A word counts its edges, so a line that changed and changed back is not the same.
    #[inline]
    pub fn read(&mut self) -> Result<u64, Gone> {
        let (chip, lines) = (self.page.chip(), &self.lines);
        let mut views = [View::Held(false); LINES as usize];
        let views = &mut views[..lines.len()];
        for (view, line) in views.iter_mut().zip(lines) {
            *view = chip.view(*line);
        }
        for _ in 0..TRIES {
            // Levels that are still on a wire depend on the time, which must be between the two looks as well.
            let slow = views.iter().any(|view| view.takes_time());
            let now_ns = if slow { self.clock.now_ns() } else { 0 };
            let mut same = true;
            for (view, line) in views.iter_mut().zip(lines) {
                let again = chip.view(*line);
                same &= again == *view;
                *view = again;
            }
            if same {
                let high = |(n, view): (usize, &View)| u64::from(chip.level_of(*view, || now_ns)) << n;
                return Ok(views.iter().enumerate().map(high).sum());
            }
        }
        Err(Gone(Errno::AGAIN))
    }
}
