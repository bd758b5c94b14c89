//! What makes a pulse as wide as it should be.

use std::fmt;

use super::pwm::Channel;
use super::spi::Device;
use crate::kmod::{Timer, Undisturbed};
use crate::pru;

/// A way to time a pulse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
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

impl Method {
    /// Those that a program can time on any line.
    pub const PROGRAM: [Method; 3] = [Method::Sleep, Method::Spin, Method::Hybrid];

    /// Those of the kernel module.
    pub const KERNEL: [Method; 3] = [
        Method::Kernel(Timer::Usleep, Undisturbed::No),
        Method::Kernel(Timer::Hrtimer, Undisturbed::No),
        Method::Kernel(Timer::Udelay, Undisturbed::No),
    ];

    /// The name in records.
    pub fn name(&self) -> &'static str {
        match self {
            Method::Sleep => "sleep",
            Method::Spin => "spin",
            Method::Hybrid => "hybrid",
            Method::Pwm(_) => "pwm",
            Method::Spi(_) => "spi",
            Method::Pru(_) => "pru",
            Method::Kernel(Timer::Usleep, _) => "kernel usleep",
            Method::Kernel(Timer::Hrtimer, _) => "kernel hrtimer",
            Method::Kernel(Timer::Udelay, Undisturbed::No) => "kernel udelay",
            Method::Kernel(Timer::Udelay, Undisturbed::Preemption) => "kernel udelay, preemption off",
            Method::Kernel(Timer::Udelay, Undisturbed::Interrupts) => "kernel udelay, interrupts off",
        }
    }

    /// Whether the program's thread uses CPU time while a pulse lasts.
    pub fn spins(&self) -> bool {
        matches!(self, Method::Spin | Method::Hybrid)
    }

    /// What makes the pulses, if it is not a line that the program drives.
    pub fn hardware(&self) -> Option<String> {
        match self {
            Method::Sleep | Method::Spin | Method::Hybrid | Method::Kernel(..) => None,
            Method::Pwm(channel) => Some(channel.to_string()),
            Method::Spi(device) => Some(device.to_string()),
            Method::Pru(output) => Some(output.pin.to_string()),
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
