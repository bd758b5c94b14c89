//! What makes a pulse as wide as it should be.

use std::fmt;

use super::pwm::Channel;
use super::spi::Device;
use crate::kmod::{Timer, Undisturbed};
use crate::pru;

/// A way to time a pulse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// nanosleep(2) for the width, as usleep(3) does: what most programs do.
    Sleep,
    /// Reading the clock until the width is over.
    Spin,
    /// Sleeping to a learned margin before the end, then spinning.
    Hybrid,
    /// A PWM channel, which times itself.
    Pwm(Channel),
    /// Bits on the data line of an SPI controller, timed by its clock.
    Spi(Device),
    /// A PRU, the coprocessor of a BeagleBone.
    Pru(pru::Output),
    /// A thread of the kernel module, which may have preemption or interrupts off meanwhile.
    Kernel(Timer, Undisturbed),
}

impl By {
    /// Those that a program can time on any line.
    pub const PROGRAM: [By; 3] = [By::Sleep, By::Spin, By::Hybrid];

    /// Those of the kernel module.
    pub const KERNEL: [By; 3] = [
        By::Kernel(Timer::Usleep, Undisturbed::No),
        By::Kernel(Timer::Hrtimer, Undisturbed::No),
        By::Kernel(Timer::Udelay, Undisturbed::No),
    ];

    /// The name in records.
    pub fn name(&self) -> &'static str {
        match self {
            By::Sleep => "sleep",
            By::Spin => "spin",
            By::Hybrid => "hybrid",
            By::Pwm(_) => "pwm",
            By::Spi(_) => "spi",
            By::Pru(_) => "pru",
            By::Kernel(Timer::Usleep, _) => "kernel usleep",
            By::Kernel(Timer::Hrtimer, _) => "kernel hrtimer",
            By::Kernel(Timer::Udelay, Undisturbed::No) => "kernel udelay",
            By::Kernel(Timer::Udelay, Undisturbed::Preemption) => "kernel udelay, preemption off",
            By::Kernel(Timer::Udelay, Undisturbed::Interrupts) => "kernel udelay, interrupts off",
        }
    }

    /// Whether the program's thread uses CPU time while a pulse lasts.
    pub fn spins(&self) -> bool {
        matches!(self, By::Spin | By::Hybrid)
    }

    /// What makes the pulses, if it is not a line that the program drives.
    pub fn hardware(&self) -> Option<String> {
        match self {
            By::Sleep | By::Spin | By::Hybrid | By::Kernel(..) => None,
            By::Pwm(channel) => Some(channel.to_string()),
            By::Spi(device) => Some(device.to_string()),
            By::Pru(output) => Some(output.pin.to_string()),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
