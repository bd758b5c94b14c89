//! Pulses that the kernel makes.

use std::fmt;
use std::io;

use ontick_gpio::{Gone, Name, OnExit};
use ontick_units::exact;
use rustix::io::Errno;

use super::{Device, Error, Summary, abi, call, line, placement, result};
use crate::Placement;

/// What waits in the kernel while a pulse lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timer {
    /// `udelay()`: counting, on the CPU.
    Udelay,
    /// `usleep_range()`: sleeping.
    Usleep,
    /// A high-resolution timer set to the pulse's end.
    Hrtimer,
}

impl Timer {
    /// All of them.
    pub const ALL: [Timer; 3] = [Timer::Udelay, Timer::Usleep, Timer::Hrtimer];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Timer::Udelay => "udelay",
            Timer::Usleep => "usleep",
            Timer::Hrtimer => "hrtimer",
        }
    }

    fn number(self) -> u32 {
        match self {
            Timer::Udelay => abi::BY_UDELAY,
            Timer::Usleep => abi::BY_USLEEP,
            Timer::Hrtimer => abi::BY_HRTIMER,
        }
    }
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What is switched off on the CPU for the length of each pulse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undisturbed {
    /// Nothing.
    #[default]
    No,
    /// No other thread may run.
    Preemption,
    /// No interrupt either.
    Interrupts,
}

/// What cannot be switched off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" cannot be switched off (choose nothing, preemption or interrupts)")]
pub struct UndisturbedError(pub String);

impl std::str::FromStr for Undisturbed {
    type Err = UndisturbedError;

    fn from_str(text: &str) -> Result<Self, UndisturbedError> {
        match text {
            "nothing" => Ok(Undisturbed::No),
            "preemption" => Ok(Undisturbed::Preemption),
            "interrupts" => Ok(Undisturbed::Interrupts),
            _ => Err(UndisturbedError(text.into())),
        }
    }
}

/// A train for the kernel to make, until it is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrainRequest {
    /// The line that is driven.
    pub line: Name,
    /// What it is left at.
    pub on_exit: OnExit,
    /// How wide a pulse should be, in ns; the module makes none below 1 us.
    pub width_ns: u64,
    /// From the beginning of one to that of the next, in ns.
    pub period_ns: u64,
    /// What waits.
    pub timer: Timer,
    /// What is off meanwhile.
    pub undisturbed: Undisturbed,
    /// Where the kernel's thread runs.
    pub placement: Placement,
}

impl TrainRequest {
    /// What comes nearest to it: calibration may have left less than the module's shortest pulse.
    fn possible(&self) -> Self {
        Self { width_ns: self.width_ns.max(abi::WIDTH_MIN_NS), ..self.clone() }
    }
}

/// A pulse as the module made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelPulse {
    /// Just before the line was driven, in ns on the monotonic clock.
    pub rose_ns: u64,
    /// Until just after it was driven back, in ns.
    pub width_ns: u64,
    /// Pulses before it that were left out, or made and forgotten before anybody asked.
    pub missed: u64,
}

/// Pulses that are fetched at once.
const AT_ONCE: usize = 64;

/// A train that goes on by itself. It ends with this.
#[derive(Debug)]
pub struct Train {
    device: Device,
    fetched: [abi::Pulse; AT_ONCE],
    next: usize,
    filled: usize,
}

impl Train {
    /// Takes the line and starts.
    pub fn start(plan: &TrainRequest) -> Result<Self, Error> {
        let plan = &plan.possible();
        check(plan)?;
        let (cpu, priority) = placement::placement(plan.placement)?;
        let flags = match plan.undisturbed {
            Undisturbed::No => 0,
            Undisturbed::Preemption => abi::TRAIN_NO_PREEMPT,
            Undisturbed::Interrupts => abi::TRAIN_NO_IRQ,
        };
        let mut train = abi::Train {
            line: line::line(&plan.line, plan.on_exit)?,
            width_ns: plan.width_ns,
            period_ns: plan.period_ns,
            count: 0,
            by: plan.timer.number(),
            flags,
            cpu,
            priority,
            reserved: [0; 2],
        };
        let device = Device::open()?;
        call::set_train(device.file(), &mut train).map_err(|error| refusal(error, plan))?;
        call::start(device.file()).map_err(Error::Device)?;
        Ok(Self { device, fetched: [abi::Pulse::default(); AT_ONCE], next: 0, filled: 0 })
    }

    /// The next pulse, waiting for it.
    #[inline]
    pub fn pulse(&mut self) -> Result<KernelPulse, Gone> {
        if self.next == self.filled {
            (self.next, self.filled) = (0, self.fetch()?);
        }
        let pulse = self.fetched[self.next];
        self.next += 1;
        Ok(KernelPulse { rose_ns: pulse.rose_ns, width_ns: pulse.width_ns, missed: pulse.missed + pulse.lost })
    }

    fn fetch(&mut self) -> Result<usize, Gone> {
        loop {
            match call::pulses(self.device.file(), &mut self.fetched) {
                // It goes on until something ends it: its line, say.
                Ok(0) => return Err(Gone(self.why_ended())),
                Ok(pulses) => return Ok(pulses),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Gone(Errno::from_io_error(&error).unwrap_or(Errno::IO))),
            }
        }
    }

    fn why_ended(&self) -> Errno {
        let error = self.summary().ok().and_then(|summary| summary.error);
        error.map_or(Errno::IO, Errno::from_raw_os_error)
    }

    /// Stops it; what it recorded stays.
    pub fn stop(&self) -> Result<(), Error> {
        call::stop(self.device.file()).map_err(Error::Device)
    }

    /// What the kernel recorded so far.
    pub fn summary(&self) -> Result<Summary, Error> {
        result::summary(self.device.file())
    }
}

/// What the module would refuse with a number only.
fn check(plan: &TrainRequest) -> Result<(), Error> {
    let refused = |why: String| Err(Error::Refused(why));
    let (off, longest_ns) = match plan.undisturbed {
        Undisturbed::No => ("", u64::MAX),
        Undisturbed::Preemption => ("preemption", abi::NO_PREEMPT_MAX_NS),
        Undisturbed::Interrupts => ("interrupts", abi::NO_IRQ_MAX_NS),
    };
    if plan.timer != Timer::Udelay && plan.undisturbed != Undisturbed::No {
        return refused(format!("{off} cannot be off while {} sleeps: choose udelay", plan.timer));
    }
    if plan.width_ns > longest_ns {
        return refused(format!(
            "{off} may be off for {} at a time, not for {}",
            exact(longest_ns),
            exact(plan.width_ns)
        ));
    }
    if plan.timer == Timer::Udelay && plan.width_ns * 100 > plan.period_ns * abi::DUTY_MAX {
        let gap_ns = plan.width_ns * 100 / abi::DUTY_MAX - plan.width_ns;
        let gap = exact(gap_ns.div_ceil(1_000) * 1_000);
        return refused(format!(
            "udelay through such pulses would leave others less than a tenth of the CPU (make the gap {gap} at least)"
        ));
    }
    Ok(())
}

fn refusal(error: io::Error, plan: &TrainRequest) -> Error {
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP) => Error::Line {
            line: plan.line.clone(),
            why: "driving it may sleep (a chip on a bus, or gpio-sim), so nothing can be off meanwhile".into(),
        },
        Some(libc::ERANGE) => Error::Refused(format!(
            "the module makes no pulse of {} every {}: each must last from 1us to 1s, and the gap after it {} at least",
            exact(plan.width_ns),
            exact(plan.period_ns),
            exact(abi::GAP_MIN_NS)
        )),
        _ => line::refusal(&error, &plan.line).unwrap_or(Error::Device(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(timer: Timer, undisturbed: Undisturbed, width_ns: u64, period_ns: u64) -> TrainRequest {
        let line = Name::Sim { chip: "none".into(), line: 1 };
        TrainRequest {
            line,
            on_exit: OnExit::Low,
            width_ns,
            period_ns,
            timer,
            undisturbed,
            placement: Placement::stock(),
        }
    }

    #[test]
    fn what_the_module_would_refuse_is_explained() {
        let reported = |plan: &TrainRequest| check(plan).unwrap_err().to_string();
        assert!(reported(&plan(Timer::Usleep, Undisturbed::Preemption, 1_000, 9_000)).contains("while usleep sleeps"));
        let long = reported(&plan(Timer::Udelay, Undisturbed::Interrupts, 10_000_001, 90_000_000));
        assert!(long.contains("interrupts may be off for 10ms"), "{long}");
        let dense = reported(&plan(Timer::Udelay, Undisturbed::No, 900_000, 990_000));
        assert!(dense.contains("100us at least"), "{dense}");
        assert!(check(&plan(Timer::Udelay, Undisturbed::Interrupts, 10_000_000, 12_000_000)).is_ok());
        assert!(check(&plan(Timer::Hrtimer, Undisturbed::No, 900_000, 990_000)).is_ok());
    }

    #[test]
    fn a_pulse_that_calibration_left_too_narrow_is_the_narrowest_that_there_is() {
        for timer in Timer::ALL {
            assert_eq!(plan(timer, Undisturbed::No, 1, 9_000).possible(), plan(timer, Undisturbed::No, 1_000, 9_000));
        }
        let wide = plan(Timer::Usleep, Undisturbed::No, 20_000, 90_000);
        assert_eq!(wide.possible(), wide);
    }

    #[test]
    fn a_train_that_is_out_of_range_is_no_fault_of_its_line() {
        let plan = plan(Timer::Usleep, Undisturbed::No, 9_500, 10_000);
        let error = refusal(io::Error::from_raw_os_error(libc::ERANGE), &plan).to_string();
        assert!(error.contains("the gap after it 1us at least") && !error.contains("lines"), "{error}");
    }

    #[test]
    fn a_line_that_the_kernel_does_not_have_is_refused_before_the_module_is_asked() {
        let error = Train::start(&plan(Timer::Usleep, Undisturbed::No, 1_000, 9_000)).unwrap_err();
        assert!(matches!(error, Error::NotOfKernel { .. }), "{error}");
    }
}
