//! Periods that do not drift.

use std::ffi::c_int;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::{DUTY, Hybrid, Sleep, Spin, Wait};
use ontick_rt::watchdog::may_occupy;
use ontick_rt::{Cycle, Overrun, Phase, cpus, phase};

use crate::fork;
use crate::handle::{Handle, borrow, close, open};
use crate::input::{self, Options, initialise, unused};
use crate::status::{Failure, ONTICK_ERROR_ARGUMENT, ONTICK_ERROR_REFUSED, ONTICK_OK, guard};

/// Sleep to a margin before the deadline, then read the clock until it is time; the margin follows the
/// wake-ups that the thread sees.
pub const ONTICK_WAIT_HYBRID: i32 = 0;
/// Sleep until the deadline.
pub const ONTICK_WAIT_SLEEP: i32 = 1;
/// Read the clock until the deadline. Nothing else runs on that CPU meanwhile.
pub const ONTICK_WAIT_SPIN: i32 = 2;

/// Deadlines that have passed are left out and counted as missed.
pub const ONTICK_OVERRUN_SKIP: i32 = 0;
/// Every deadline is acted on, those that have passed at once.
pub const ONTICK_OVERRUN_CATCH_UP: i32 = 1;

/// For ontick_cycle_options.phase_ns: wherever the first call falls.
pub const ONTICK_PHASE_CHANCE: i64 = -1;
/// For ontick_cycle_options.phase_ns: away from the timer tick and what else recurs on this CPU.
/// ontick_cycle_new() watches the CPU for half a second to find it; intervals above 100 ms have none.
pub const ONTICK_PHASE_AUTO: i64 = -2;

/// The shortest interval, and the longest: 1 us, and a day.
const INTERVALS_NS: std::ops::RangeInclusive<u64> = 1_000..=86_400_000_000_000;

/// How a cycle keeps its time. ontick_cycle_options_init() fills it, all but interval_ns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_cycle_options {
    /// sizeof(ontick_cycle_options)
    pub size: u32,
    /// ONTICK_WAIT_HYBRID (set by init), ONTICK_WAIT_SLEEP or ONTICK_WAIT_SPIN.
    pub wait: i32,
    /// From one deadline to the next, in ns: 1000 (1 us) to 86400000000000 (a day).
    pub interval_ns: u64,
    /// Deadlines are so many ns after a multiple of the interval; or ONTICK_PHASE_CHANCE (set by init)
    /// or ONTICK_PHASE_AUTO.
    pub phase_ns: i64,
    /// Share of the time that a hybrid wait may spin, above 0 and at most 1; 0.9 is set by init.
    pub duty: f64,
    /// ONTICK_OVERRUN_SKIP (set by init) or ONTICK_OVERRUN_CATCH_UP.
    pub overrun: i32,
    /// 0.
    pub reserved: i32,
}

// SAFETY: it begins with its size, and its fields are numbers.
unsafe impl Options for ontick_cycle_options {
    fn defaults() -> Self {
        Self {
            size: size_of::<Self>() as u32,
            wait: ONTICK_WAIT_HYBRID,
            interval_ns: 0,
            phase_ns: ONTICK_PHASE_CHANCE,
            duty: DUTY,
            overrun: ONTICK_OVERRUN_SKIP,
            reserved: 0,
        }
    }
}

/// One period's beginning. This structure never changes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ontick_tick {
    /// Number of the period since the first, from 0; missed ones count.
    pub index: u64,
    /// When the thread should have been running, in ns.
    pub deadline_ns: u64,
    /// When it was, in ns.
    pub now_ns: u64,
    /// now_ns - deadline_ns; 0 where the wait ended early.
    pub latency_ns: u64,
    /// Periods that were missed just before this one.
    pub missed: u64,
}

/// A series of deadlines, for one thread at a time.
pub struct ontick_cycle {
    generation: u32,
    pub(crate) cycle: Cycle<Box<dyn Wait>>,
    pub(crate) options: ontick_cycle_options,
}

impl Handle for ontick_cycle {
    fn generation(&self) -> u32 {
        self.generation
    }
}

impl ontick_cycle_options {
    fn check(&self) -> Result<(), Failure> {
        unused(self.reserved)?;
        if !INTERVALS_NS.contains(&self.interval_ns) {
            let text =
                format!("interval_ns is {}: it must be from 1000 (1 us) to 86400000000000 (a day)", self.interval_ns);
            return Err(Failure::argument(text));
        }
        if self.phase_ns < ONTICK_PHASE_AUTO {
            let text =
                format!("phase_ns is {}: it must be a time, ONTICK_PHASE_CHANCE or ONTICK_PHASE_AUTO", self.phase_ns);
            return Err(Failure::argument(text));
        }
        if !(self.duty > 0.0 && self.duty <= 1.0) {
            return Err(Failure::argument(format!("duty is {}: it must be above 0 and at most 1", self.duty)));
        }
        if self.wait == ONTICK_WAIT_SPIN {
            may_occupy(cpus::online().len()).map_err(|error| Failure::new(ONTICK_ERROR_REFUSED, error))?;
        }
        Ok(())
    }

    fn wait(&self) -> Result<Box<dyn Wait>, Failure> {
        match self.wait {
            ONTICK_WAIT_HYBRID => Ok(Box::new(Hybrid::with_duty(self.interval_ns, self.duty))),
            ONTICK_WAIT_SLEEP => Ok(Box::new(Sleep)),
            ONTICK_WAIT_SPIN => Ok(Box::new(Spin::default())),
            wait => Err(Failure::argument(format!(
                "wait is {wait}: it must be ONTICK_WAIT_HYBRID, ONTICK_WAIT_SLEEP or ONTICK_WAIT_SPIN"
            ))),
        }
    }

    fn overrun(&self) -> Result<Overrun, Failure> {
        match self.overrun {
            ONTICK_OVERRUN_SKIP => Ok(Overrun::Skip),
            ONTICK_OVERRUN_CATCH_UP => Ok(Overrun::CatchUp),
            overrun => Err(Failure::argument(format!(
                "overrun is {overrun}: it must be ONTICK_OVERRUN_SKIP or ONTICK_OVERRUN_CATCH_UP"
            ))),
        }
    }

    fn phase(&self, clock: &mut Clock) -> Phase {
        match self.phase_ns {
            ONTICK_PHASE_AUTO if self.interval_ns <= phase::LONGEST_SCANNED_NS => {
                Phase::Fixed(phase::scan(clock, phase::SCAN_NS).quietest(self.interval_ns))
            }
            phase_ns => u64::try_from(phase_ns).map_or(Phase::Chance, Phase::Fixed),
        }
    }
}

/// Fills the options; `size` is sizeof(ontick_cycle_options).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_cycle_options_init(options: *mut ontick_cycle_options, size: usize) -> c_int {
    guard(|| {
        // SAFETY: the caller's structure has that size.
        unsafe { initialise(options, size) }?;
        Ok(ONTICK_OK)
    })
}

/// Makes a cycle, whose first deadline is at least one interval from now. Call it on the thread that
/// will wait, after ontick_thread_setup(); it takes 20 ms, to compare clocks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_cycle_new(
    options: *const ontick_cycle_options,
    cycle: *mut *mut ontick_cycle,
) -> c_int {
    // SAFETY: as the header asks.
    unsafe {
        open(cycle, || {
            let options = input::options(options, "ontick_cycle_options_init()")?;
            options.check()?;
            let (wait, overrun) = (options.wait()?, options.overrun()?);
            let mut clock = Clock::new(ClockId::Monotonic);
            let phase = options.phase(&mut clock);
            let cycle = Cycle::with_phase(clock, wait, options.interval_ns, phase, overrun);
            Ok(ontick_cycle { generation: fork::generation(), cycle, options })
        })
    }
}

/// Waits for the next deadline and tells what became of it. It allocates nothing, takes no lock, and
/// makes no system call but the sleep. A signal does not end the wait: let its handler set a flag.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_cycle_next(cycle: *mut ontick_cycle, tick: *mut ontick_tick) -> c_int {
    guard(|| {
        // SAFETY: as the header asks.
        let (cycle, tick) = unsafe { (borrow(cycle)?, tick.as_mut()) };
        let Some(tick) = tick else {
            return Err(Failure::fixed(ONTICK_ERROR_ARGUMENT, c"the tick is NULL: pass the address of an ontick_tick"));
        };
        let next = cycle.cycle.next();
        *tick = ontick_tick {
            index: next.index,
            deadline_ns: next.deadline_ns,
            now_ns: next.now_ns,
            latency_ns: next.latency_ns(),
            missed: next.missed,
        };
        Ok(ONTICK_OK)
    })
}

/// Ends the cycle and sets *cycle to NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ontick_cycle_free(cycle: *mut *mut ontick_cycle) -> c_int {
    // SAFETY: as the header asks.
    unsafe { close(cycle, drop) }
}

/// The time now on CLOCK_MONOTONIC, in ns.
#[unsafe(no_mangle)]
pub extern "C" fn ontick_now_ns() -> u64 {
    ClockId::Monotonic.now_ns()
}
