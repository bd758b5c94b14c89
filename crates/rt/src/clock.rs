//! Clocks, read from the cheapest source that the kernel itself trusts.
//!
//! Where the kernel keeps time with the processor's counter (the invariant TSC on x86-64, the generic
//! timer on 64-bit ARM), [`Clock`] reads that counter and converts it itself; elsewhere it calls
//! `clock_gettime`, which the vDSO usually answers without a system call. The conversion is tied to the
//! kernel's clock anew every [`RESYNC_NS`], so its error stays within the width of the bracket around
//! that reading plus what the kernel slews meanwhile (at most 500 ppm of 10 ms; adjtimex(2)).

use std::fs;

use rustix::thread::NanosleepRelativeResult;
use rustix::time::Timespec;

use crate::sys;

#[cfg(test)]
pub(crate) mod script;

/// After this long the conversion is tied to the kernel's clock anew, in ns.
pub const RESYNC_NS: u64 = 10_000_000;

/// A clock of the kernel (clock_gettime(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockId {
    /// Time since boot, never stepped: what deadlines are kept on.
    Monotonic,
    /// UTC as the system knows it; may be stepped.
    Realtime,
    /// International Atomic Time: UTC without leap seconds, if something set the offset.
    Tai,
}

impl ClockId {
    fn raw(self) -> libc::clockid_t {
        match self {
            ClockId::Monotonic => libc::CLOCK_MONOTONIC,
            ClockId::Realtime => libc::CLOCK_REALTIME,
            ClockId::Tai => libc::CLOCK_TAI,
        }
    }

    /// The time on this clock, in ns, by `clock_gettime`.
    #[inline]
    pub fn now_ns(self) -> u64 {
        sys::clock_gettime(self.raw())
    }

    /// Sleeps until `deadline_ns` on this clock; a signal does not end it early.
    pub fn sleep_until(self, deadline_ns: u64) {
        sys::clock_nanosleep_until(self.raw(), deadline_ns);
    }

    /// The clock's name as the documents show it.
    pub fn name(self) -> &'static str {
        match self {
            ClockId::Monotonic => "monotonic",
            ClockId::Realtime => "realtime",
            ClockId::Tai => "tai",
        }
    }
}

/// Sleeps for `ns` from now by `nanosleep(2)`; what a naive program does. A signal does not end it early.
pub fn sleep_for(ns: u64) {
    let mut request = Timespec { tv_sec: (ns / 1_000_000_000) as _, tv_nsec: (ns % 1_000_000_000) as _ };
    while let NanosleepRelativeResult::Interrupted(rest) = rustix::thread::nanosleep(&request) {
        request = rest;
    }
}

/// Where a [`Clock`] reads the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The time stamp counter of an x86-64 processor.
    Tsc,
    /// The virtual counter of a 64-bit ARM processor.
    Cntvct,
    /// `clock_gettime`.
    ClockGettime,
}

impl Source {
    /// The cheapest source that is sound on this machine.
    pub fn best() -> Self {
        let kernel_uses = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        match kernel_uses.as_deref().map(str::trim) {
            Ok("tsc") if cfg!(target_arch = "x86_64") && sys::counter_is_invariant() => Source::Tsc,
            Ok("arch_sys_counter") if cfg!(target_arch = "aarch64") => Source::Cntvct,
            _ => Source::ClockGettime,
        }
    }

    /// The source's name as the documents show it.
    pub fn name(self) -> &'static str {
        match self {
            Source::Tsc => "tsc",
            Source::Cntvct => "cntvct",
            Source::ClockGettime => "clock_gettime",
        }
    }
}

/// A clock for one thread's timed loop.
#[derive(Debug, Clone)]
pub struct Clock {
    id: ClockId,
    source: Source,
    conversion: Conversion,
    #[cfg(test)]
    script: Option<script::Script>,
}

impl Clock {
    /// The clock, read from the cheapest sound source. Takes about 20 ms where a counter is calibrated.
    /// The realtime and TAI clocks may be stepped at any moment, so those are always read from the kernel.
    pub fn new(id: ClockId) -> Self {
        Self::with_source(id, if id == ClockId::Monotonic { Source::best() } else { Source::ClockGettime })
    }

    /// The clock, read from the given source.
    pub fn with_source(id: ClockId, source: Source) -> Self {
        let conversion = match source {
            Source::ClockGettime => Conversion::default(),
            _ => Conversion::calibrate(id),
        };
        Self {
            id,
            source,
            conversion,
            #[cfg(test)]
            script: None,
        }
    }

    /// Which clock this is.
    pub fn id(&self) -> ClockId {
        self.id
    }

    /// Where it is read.
    pub fn source(&self) -> Source {
        self.source
    }

    /// The time now, in ns.
    #[inline]
    pub fn now_ns(&mut self) -> u64 {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.read_ns();
        }
        if self.source == Source::ClockGettime {
            return self.id.now_ns();
        }
        let ticks = sys::counter();
        // Behind the anchor (on a CPU whose counter lags a hair, or after a suspend that set it back) is
        // immensely far ahead here: then the kernel is asked.
        let elapsed = ticks.wrapping_sub(self.conversion.anchor_ticks);
        if elapsed > self.conversion.resync_ticks {
            return self.resync();
        }
        self.conversion.anchor_ns + self.conversion.ns(elapsed)
    }

    /// Sleeps until `deadline_ns`; a signal does not end it early.
    pub fn sleep_until(&mut self, deadline_ns: u64) {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.sleep_until(deadline_ns);
        }
        self.id.sleep_until(deadline_ns);
    }

    /// As [`sleep_until`](Self::sleep_until). Returns the time then, and how long others could have the CPU, both in ns: a
    /// short sleep may end before the kernel has put the thread aside.
    pub fn rest_until(&mut self, deadline_ns: u64) -> (u64, u64) {
        let (began_ns, had_run_ns) = (self.now_ns(), self.thread_ran_ns());
        self.sleep_until(deadline_ns);
        let ran_ns = self.thread_ran_ns() - had_run_ns;
        let now_ns = self.resync();
        (now_ns, now_ns.saturating_sub(began_ns).saturating_sub(ran_ns))
    }

    /// CPU time of this thread so far, in ns.
    pub(crate) fn thread_ran_ns(&self) -> u64 {
        #[cfg(test)]
        if let Some(script) = &self.script {
            return script.ran_ns();
        }
        sys::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID)
    }

    /// Ties the conversion to the kernel's clock and returns the time now, in ns. Worth doing after a
    /// sleep, when nothing is waiting for it.
    pub fn resync(&mut self) -> u64 {
        #[cfg(test)]
        if let Some(script) = &mut self.script {
            return script.read_ns();
        }
        match self.source {
            Source::ClockGettime => self.id.now_ns(),
            _ => self.conversion.resync(self.id),
        }
    }

    /// The largest difference between conversion and kernel clock that resynchronising ever met, in ns.
    pub fn largest_correction_ns(&self) -> u64 {
        self.conversion.largest_correction_ns
    }

    /// How long one count of the counter is, in ns, as it was calibrated; `None` where the kernel is asked for the time.
    pub fn count_ns(&self) -> Option<f64> {
        (self.source != Source::ClockGettime).then(|| self.conversion.mult as f64 / (1u64 << 32) as f64)
    }

    /// Name of clock and source: `monotonic (tsc)`.
    pub fn name(&self) -> String {
        format!("{} ({})", self.id.name(), self.source.name())
    }
}

/// A line through the last reading of both clocks: ns = anchor + ticks * mult / 2^32.
#[derive(Debug, Clone, Default)]
struct Conversion {
    anchor_ticks: u64,
    anchor_ns: u64,
    /// Nanoseconds per tick, times 2^32.
    mult: u64,
    resync_ticks: u64,
    /// Where the present slope is measured from.
    base: (u64, u64),
    /// Counter and clock were apart, and the slope has not been measured since.
    doubted: bool,
    /// How long the machine was suspended, when that was last asked, in ns.
    suspended_ns: u64,
    largest_correction_ns: u64,
}

impl Conversion {
    fn calibrate(id: ClockId) -> Self {
        let first = read_both(id);
        ClockId::Monotonic.sleep_until(ClockId::Monotonic.now_ns() + 20_000_000);
        let mut conversion = Self::through(first, read_both(id));
        // Behind the calibration: a suspend within it is no reason to trust its slope.
        conversion.suspended_ns = suspended_ns();
        conversion
    }

    fn through(first: (u64, u64), second: (u64, u64)) -> Self {
        let mut conversion = Self { base: first, ..Self::default() };
        conversion.tie(second);
        // A suspend between the two spoils this slope, and no later one.
        conversion.base = second;
        conversion
    }

    fn ns(&self, ticks: u64) -> u64 {
        ((u128::from(ticks) * u128::from(self.mult)) >> 32) as u64
    }

    fn tie(&mut self, (ticks, ns): (u64, u64)) {
        let (base_ticks, base_ns) = self.base;
        self.mult = ((u128::from(ns - base_ns) << 32) / u128::from(ticks - base_ticks)) as u64;
        self.resync_ticks = ((u128::from(RESYNC_NS) << 32) / u128::from(self.mult.max(1))) as u64;
        (self.anchor_ticks, self.anchor_ns) = (ticks, ns);
    }

    /// Whether it was since this was last asked, by how long it was in all. A shorter one does not have counter and clock apart.
    fn was_suspended(&mut self, suspended_ns: u64) -> bool {
        let before_ns = std::mem::replace(&mut self.suspended_ns, suspended_ns);
        suspended_ns.saturating_sub(before_ns) > RESYNC_NS / 2
    }

    fn resync(&mut self, id: ClockId) -> u64 {
        self.follow(read_both(id), suspended_ns)
    }

    fn follow(&mut self, (ticks, ns): (u64, u64), suspended_ns: impl Fn() -> u64) -> u64 {
        let elapsed_ns = self.ns(ticks.saturating_sub(self.anchor_ticks));
        let predicted = self.anchor_ns.saturating_add(elapsed_ns);
        let apart = predicted.abs_diff(ns) > RESYNC_NS + elapsed_ns / 100;
        let suspended = (apart || ticks < self.anchor_ticks) && self.was_suspended(suspended_ns());
        // The counter was set back, or went on while the clock stood: the slope holds, but is measured from here on. Where
        // they are apart again before it is, and no suspend is why, the slope itself is wrong.
        if ticks < self.anchor_ticks || apart && (suspended || !self.doubted) {
            (self.base, self.anchor_ticks, self.anchor_ns) = ((ticks, ns), ticks, ns);
            self.doubted = apart && !suspended;
            return ns;
        }
        self.largest_correction_ns = self.largest_correction_ns.max(predicted.abs_diff(ns));
        // A longer base makes the slope finer; one older than a second would hide the kernel's slewing.
        if ns - self.base.1 > 1_000_000_000 {
            self.base = (self.anchor_ticks, self.anchor_ns);
        }
        if ns - self.base.1 > 20_000_000 {
            self.tie((ticks, ns));
            self.doubted = false;
        } else {
            (self.anchor_ticks, self.anchor_ns) = (ticks, ns);
        }
        ns
    }
}

/// How long the machine was suspended since it was started, in ns; what is between the two readings is in it, too.
fn suspended_ns() -> u64 {
    let awake_ns = ClockId::Monotonic.now_ns();
    sys::clock_gettime(libc::CLOCK_BOOTTIME).saturating_sub(awake_ns)
}

/// Counter and clock at one moment: the narrowest of up to five brackets, so that an interrupt between
/// the readings does not spoil it.
fn read_both(id: ClockId) -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..5 {
        let before = sys::counter();
        let ns = id.now_ns();
        let after = sys::counter();
        let width = after.wrapping_sub(before);
        if width < best.0 {
            best = (width, before + width / 2, ns);
        }
        if width < 200 {
            break;
        }
    }
    (best.1, best.2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine that was never suspended, or whose kernel does not say so.
    fn awake() -> u64 {
        0
    }

    /// The reading must lie between two readings of the kernel's clock, widened by the stated bound.
    #[test]
    fn the_conversion_stays_within_its_bound() {
        let mut clock = Clock::new(ClockId::Monotonic);
        let end = ClockId::Monotonic.now_ns() + 300_000_000;
        let mut worst = 0;
        loop {
            let before = ClockId::Monotonic.now_ns();
            let now = clock.now_ns();
            let after = ClockId::Monotonic.now_ns();
            worst = worst.max(before.saturating_sub(now)).max(now.saturating_sub(after));
            if after > end {
                break;
            }
        }
        // 500 ppm of the resynchronisation interval, and a reading's width.
        assert!(worst <= RESYNC_NS / 2000 + 1_000, "off by {worst} ns");
    }

    #[test]
    fn a_counter_that_was_set_back_does_not_stop_the_clock() {
        let mut conversion = Conversion::through((1_000_000_000, 0), (1_100_000_000, 50_000_000));
        let mult = conversion.mult;
        // A suspend of ten seconds, after which the counter begins anew.
        assert_eq!(conversion.follow((5_000, 10_050_000_000), awake), 10_050_000_000);
        for n in 1..=5u64 {
            conversion.follow((5_000 + n * 20_000_000, 10_050_000_000 + n * 10_000_000), awake);
            assert_eq!(conversion.mult, mult);
        }
    }

    #[test]
    fn a_counter_that_went_on_while_the_clock_stood_leaves_the_slope_as_it_is() {
        const HOUR: u64 = 3_600 * 2_000_000_000;
        // Steps of a loop that only reads the clock, and of one that sleeps longer than a slope is measured.
        for step in [10u64, 30] {
            let mut conversion = Conversion::through((1_000_000_000, 0), (1_100_000_000, 50_000_000));
            let (mult, resync_ticks) = (conversion.mult, conversion.resync_ticks);
            conversion.follow((1_600_000_000, 300_000_000), awake);
            for suspend in 1..=3u64 {
                let (ticks, ns) = (conversion.anchor_ticks + HOUR, conversion.anchor_ns + 1_000);
                assert_eq!(conversion.follow((ticks, ns), awake), ns);
                for n in 1..=10u64 {
                    conversion.follow((ticks + n * step * 2_000_000, ns + n * step * 1_000_000), awake);
                    assert_eq!((conversion.mult, conversion.resync_ticks), (mult, resync_ticks), "{suspend}, {n}");
                }
            }
            assert!(conversion.largest_correction_ns < RESYNC_NS, "{}", conversion.largest_correction_ns);
        }
    }

    /// The same one in each period of a loop looks like another slope.
    #[test]
    fn suspends_of_one_length_in_every_period_leave_the_slope_as_it_is() {
        for (awake_ns, suspended_ns) in
            [(30_000_000, 30_000_000), (5_000_000, 3_600_000_000_000), (1_000_000_000, 60_000_000)]
        {
            let mut conversion = Conversion::through((1_000_000_000, 0), (1_100_000_000, 50_000_000));
            let (mult, begun) = (conversion.mult, (conversion.anchor_ticks, conversion.anchor_ns));
            for n in 1..=20u64 {
                let (ticks, ns) = (begun.0 + n * 2 * (awake_ns + suspended_ns), begun.1 + n * awake_ns);
                assert_eq!(conversion.follow((ticks, ns), || n * suspended_ns), ns);
                assert_eq!((conversion.mult, conversion.anchor_ns), (mult, ns), "{suspended_ns}, {n}");
            }
            assert_eq!(conversion.largest_correction_ns, 0);
        }
    }

    /// As after a suspend while it was calibrated.
    #[test]
    fn a_slope_that_was_calibrated_wrongly_is_found_out() {
        for (step, counted) in [1_000_000u64, 5_000_000, 15_000_000, 25_000_000, 1_000_000_000]
            .into_iter()
            .flat_map(|step| [1_000u64, 25_000_000, 80_000_000, 7_200_000_000_000].map(|counted| (step, counted)))
        {
            let mut conversion = Conversion::through((1_000_000_000, 0), (1_000_000_000 + counted, 20_000_000));
            let (ticks, ns) = (conversion.anchor_ticks, conversion.anchor_ns);
            for n in 1..=100_000_000 / step + 4 {
                conversion.follow((ticks + n * step * 2, ns + n * step), awake);
            }
            assert_eq!(conversion.mult, 1 << 31, "{step} ns, {counted} counts");
        }
    }

    #[test]
    fn every_source_counts_the_same_time() {
        for source in [Source::best(), Source::ClockGettime] {
            let mut clock = Clock::with_source(ClockId::Monotonic, source);
            let (a, kernel_a) = (clock.now_ns(), ClockId::Monotonic.now_ns());
            sleep_for(30_000_000);
            let (b, kernel_b) = (clock.now_ns(), ClockId::Monotonic.now_ns());
            assert!(
                b - a >= 30_000_000 && b <= kernel_b + 10_000 && kernel_a + 10_000 >= a,
                "{a} {kernel_a} {b} {kernel_b}"
            );
        }
    }

    #[test]
    fn sleeping_until_never_ends_early() {
        for id in [ClockId::Monotonic, ClockId::Realtime, ClockId::Tai] {
            let deadline = ClockId::Monotonic.now_ns() + 2_000_000;
            id.sleep_until(id.now_ns() + 2_000_000);
            assert!(ClockId::Monotonic.now_ns() + 100_000 >= deadline, "{}", id.name());
        }
    }
}
