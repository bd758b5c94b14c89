//! What the timed thread makes each pulse with.

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::Clock;

use super::pace::Pace;
use super::spi::Sender;
use crate::kmod;

/// What makes a pulse.
pub enum PulseDriver {
    /// Two writes to a line, and a wait between them.
    Line(Line),
    /// One transfer, which is the whole pulse.
    Spi(Sender),
    /// The kernel module, which makes them by itself and tells of each.
    Kernel(Box<kmod::Train>),
}

/// A pulse as its maker knows it: it lies between these, in ns on the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct DrivenPulse {
    pub before_ns: u64,
    pub after_ns: u64,
    /// Pulses that its maker left out before it.
    pub left_out: u64,
}

impl From<kmod::KernelPulse> for DrivenPulse {
    fn from(made: kmod::KernelPulse) -> Self {
        Self { before_ns: made.rose_ns, after_ns: made.rose_ns + made.width_ns, left_out: made.missed }
    }
}

/// A write takes no longer than this, in ns, unless something came between.
const WRITE_NS: u64 = 2_000;

/// When the line rose, of which only two readings of the clock are known between which it did: half-way. If the
/// thread was held up meanwhile it is taken as late as it can be: a pulse may become too long for that, not too short.
fn rise(before_ns: u64, after_ns: u64) -> u64 {
    after_ns - after_ns.saturating_sub(before_ns).min(WRITE_NS) / 2
}

impl PulseDriver {
    /// Leaves a line that the program drives at a level, without a pulse.
    #[inline]
    pub fn hold(&mut self, level: bool) -> Result<(), Gone> {
        match self {
            PulseDriver::Line(line) => line.write(level),
            PulseDriver::Spi(_) | PulseDriver::Kernel(_) => Ok(()),
        }
    }

    /// Makes a pulse.
    #[inline]
    pub fn pulse(&mut self, pace: &mut Pace, clock: &mut Clock, width_ns: u64) -> Result<DrivenPulse, Gone> {
        let before_ns = clock.now_ns();
        match self {
            PulseDriver::Line(line) => {
                line.write(true)?;
                let rose_ns = rise(before_ns, clock.now_ns());
                pace.within(clock, rose_ns, width_ns);
                line.write(false)?;
            }
            PulseDriver::Spi(sender) => sender.pulse()?,
            PulseDriver::Kernel(train) => return train.pulse().map(DrivenPulse::from),
        }
        Ok(DrivenPulse { before_ns, after_ns: clock.now_ns(), left_out: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_held_up_does_not_cut_its_pulse_short() {
        assert_eq!(rise(10_000, 10_100), 10_050);
        assert_eq!(rise(10_000, 90_000), 89_000);
        // Clocks of two CPUs may be apart by a hair.
        assert_eq!(rise(10_000, 9_999), 9_999);
    }
}
