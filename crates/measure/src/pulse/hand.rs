//! What the timed thread makes each pulse with.

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::Clock;

use super::pace::Pace;
use super::spi::Sender;

/// What makes a pulse.
pub enum Hand {
    /// Two writes to a line, and a wait between them.
    Line(Line),
    /// One transfer, which is the whole pulse.
    Spi(Sender),
}

/// A pulse as its maker knows it: it lies between these, in ns on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Stroke {
    pub before_ns: u64,
    pub after_ns: u64,
}

impl Hand {
    /// Makes a pulse.
    #[inline]
    pub fn pulse(&mut self, pace: &mut Pace, clock: &mut Clock, width_ns: u64) -> Result<Stroke, Gone> {
        let before_ns = clock.now_ns();
        match self {
            Hand::Line(line) => {
                line.write(true)?;
                // The line changed somewhere between the two readings.
                let rose_ns = before_ns + clock.now_ns().saturating_sub(before_ns) / 2;
                pace.within(clock, rose_ns, width_ns);
                line.write(false)?;
            }
            Hand::Spi(sender) => sender.pulse()?,
        }
        Ok(Stroke { before_ns, after_ns: clock.now_ns() })
    }
}
