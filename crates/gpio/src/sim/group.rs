//! Simulated lines that are read or driven at once.

use ontick_rt::clock::{Clock, ClockId};
use rustix::io::Errno;

use super::instant::catch;
use super::level::View;
use super::page::Page;
use super::pin::Pin;
use super::{LINES, chip};
use crate::{Direction, Error, Gone, Name, Request};

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
        names.iter().zip(lines).try_for_each(|(name, line)| chip::check_line(name, chip, *line))?;
        for (name, line) in names.iter().zip(lines) {
            // An input's request acts on the chip when it is opened; nothing of it needs to stay.
            Pin::open(name, chip, *line, request)?;
        }
        let page = chip::open_for(&names[0], chip, lines[0])?;
        Ok(Self { page, lines: lines.to_vec(), clock: Clock::new(ClockId::Monotonic) })
    }

    /// Their levels in one instant.
    #[inline]
    pub fn read(&mut self) -> Result<u64, Gone> {
        let (chip, lines) = (self.page.chip(), &self.lines);
        let mut views = [View::Held(false); LINES as usize];
        let views = &mut views[..lines.len()];
        let mut now_ns = 0;
        let between = |views: &[View]| {
            // Levels that are still on a wire depend on the time, which must be between the two looks as well.
            if views.iter().any(|view| view.takes_time()) {
                now_ns = self.clock.now_ns();
            }
        };
        if !catch(views, |n| chip.view(lines[n]), between) {
            return Err(Gone(Errno::AGAIN));
        }
        let high = |(n, view): (usize, &View)| u64::from(chip.level_of(*view, || now_ns)) << n;
        Ok(views.iter().enumerate().map(high).sum())
    }
}

/// Simulated lines that are driven at once.
#[derive(Debug)]
pub struct OutputPins {
    pins: Vec<Pin>,
    clock: Clock,
}

impl OutputPins {
    /// Of any simulated chips. `request` is that of an output; bit n of `levels` is the first level of the nth.
    pub fn open(lines: &[(&Name, &str, u32)], levels: u64, request: &Request) -> Result<Self, Error> {
        let open = |(n, (name, chip, line)): (usize, &(&Name, &str, u32))| {
            let direction = Direction::Output(levels >> n & 1 == 1);
            Pin::open(name, chip, *line, &Request { direction, ..*request })
        };
        let pins = lines.iter().enumerate().map(open).collect::<Result<_, _>>()?;
        Ok(Self { pins, clock: Clock::new(ClockId::Monotonic) })
    }

    /// Those of `changed` at one time.
    #[inline]
    pub fn write(&mut self, levels: u64, changed: u64) {
        let is_changed = |n: &usize| changed >> n & 1 == 1;
        let now_ns = self.clock.now_ns();
        for n in (0..self.pins.len()).filter(is_changed) {
            self.pins[n].write_at(levels >> n & 1 == 1, now_ns);
        }
        (0..self.pins.len()).filter(is_changed).for_each(|n| self.pins[n].notify());
    }

    /// Drives them no more.
    pub fn let_go(&mut self) {
        self.pins.iter_mut().for_each(Pin::let_go);
    }
}
