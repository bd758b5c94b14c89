//! In virtual time: what is injected comes back within what the budget says.

use ontick_record::{Histogram, Series, Uncertainty};
use ontick_rt::clock::{Clock as RealClock, ClockId, Source as ClockSource};
use ontick_rt::recorder;
use ontick_rt::wait::Wait;
use ontick_rt::{Cycle, Overrun, Phase};

use super::*;
use crate::recorded::histogram;

/// A clock that nothing but its readings moves. Each takes some time, is of a moment within that, and rounded down to the
/// step.
struct VirtualClock {
    now_ns: f64,
    step_ns: f64,
    cost_ns: f64,
    random: u64,
}

impl VirtualClock {
    fn new(step_ns: f64, cost_ns: f64) -> Self {
        Self { now_ns: 1e9, step_ns, cost_ns, random: 1 }
    }

    /// Equally distributed from 0 to 1 (SplitMix64; Steele, Lea and Flood 2014).
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as f64 / u64::MAX as f64
    }

    fn read(&mut self) -> u64 {
        let moment_ns = self.now_ns + self.chance() * self.cost_ns;
        // One takes a little longer than another.
        self.now_ns += self.cost_ns * (0.95 + 0.1 * self.chance());
        ((moment_ns / self.step_ns).floor() * self.step_ns) as u64
    }

    /// As a run begins: the clock is looked at first.
    fn readings(&mut self) -> ClockReadings {
        ClockReadings::of_readings(None, || self.read())
    }
}

/// Reaches each deadline so late as the script says, and then reads the virtual clock.
struct Late<'c> {
    clock: &'c mut VirtualClock,
    script: std::slice::Iter<'c, f64>,
}

impl Wait for Late<'_> {
    fn until(&mut self, _: &mut RealClock, deadline_ns: u64) -> u64 {
        self.clock.now_ns = deadline_ns as f64 + *self.script.next().expect("the script is long enough");
        self.clock.read()
    }
}

/// Delays around `delay_ns`, by a fifth more or less.
fn delays(clock: &mut VirtualClock, delay_ns: f64, count: usize) -> Vec<f64> {
    (0..count).map(|_| delay_ns * (0.8 + 0.4 * clock.chance())).collect()
}

fn true_quantile(delays: &[f64], q: f64) -> f64 {
    let mut sorted = delays.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[(q * sorted.len() as f64).ceil() as usize - 1]
}

const SAMPLES: usize = 400;

/// A periodic job whose thread is so late, through the cycle, the recorder and the histogram.
fn timed(clock: &mut VirtualClock, delays: &[f64]) -> Histogram {
    let kernel = RealClock::with_source(ClockId::Monotonic, ClockSource::ClockGettime);
    let late = Late { clock, script: delays.iter() };
    let mut cycle = Cycle::with_phase(kernel, late, 10_000_000, Phase::Fixed(0), Overrun::CatchUp);
    let (mut writer, reader) = recorder::channel(u64::MAX);
    for _ in delays {
        let tick = cycle.next();
        writer.record(tick.now_ns, tick.latency_ns());
    }
    histogram(&reader.snapshot())
}

/// Something between two readings of the clock, as a wake-up, an edge or a gap is.
fn between(clock: &mut VirtualClock, delays: &[f64]) -> Histogram {
    let (mut writer, reader) = recorder::channel(u64::MAX);
    for delay_ns in delays {
        let from_ns = clock.read();
        clock.now_ns += delay_ns;
        let now_ns = clock.read();
        writer.record(now_ns, now_ns.saturating_sub(from_ns));
        clock.now_ns += 777.7;
    }
    histogram(&reader.snapshot())
}

/// Between how long looks of an observer lie, in ns.
const LOOK_NS: f64 = 90.0;

/// An answer that an observer looks for every [`LOOK_NS`].
fn looked_for(clock: &mut VirtualClock, delays: &[f64]) -> Histogram {
    let (mut writer, reader) = recorder::channel(u64::MAX);
    for delay_ns in delays {
        let from_ns = clock.read();
        let begun_ns = clock.now_ns;
        let phase = clock.chance();
        let look = ((delay_ns / LOOK_NS - phase).ceil() + phase) * LOOK_NS;
        clock.now_ns = begun_ns + look;
        let now_ns = clock.read();
        writer.record(now_ns, now_ns.saturating_sub(from_ns));
        clock.now_ns += 777.7;
    }
    histogram(&reader.snapshot())
}

/// A pulse whose edges are stamped alike.
fn stamped(clock: &mut VirtualClock, delays: &[f64]) -> Histogram {
    let (mut writer, reader) = recorder::channel(u64::MAX);
    for width_ns in delays {
        let rises_ns = clock.now_ns + 777.7;
        clock.now_ns = rises_ns;
        let rose_ns = clock.read();
        clock.now_ns = rises_ns + width_ns;
        let fell_ns = clock.read();
        writer.record(fell_ns, fell_ns.saturating_sub(rose_ns));
    }
    histogram(&reader.snapshot())
}

type Measured = fn(&mut VirtualClock, &[f64]) -> Histogram;

/// Every kind that runs in virtual time: how it is timed, and how it measures.
const KINDS: [(&str, Timing, Measured); 4] = [
    ("deadline", Timing::Deadline, timed),
    ("between", Timing::Between, between),
    ("looking", Timing::Looking(LOOK_NS), looked_for),
    ("stamps", Timing::Stamps, stamped),
];

/// Which share of the quantiles of injected delays of 0.1 to 1000 us came back within `share` of the expanded uncertainty.
fn share_within(timing: Timing, measured: Measured, share: f64) -> f64 {
    let (mut within, mut all) = (0, 0);
    for (step_ns, cost_ns) in [(1.0, 25.0), (1.0, 300.0), (52.083, 40.0), (100.0, 15.0), (1_000.0, 60.0)] {
        let mut clock = VirtualClock::new(step_ns, cost_ns);
        let readings = clock.readings();
        for delay_ns in (0..=16).map(|n| 100.0 * 10f64.powf(f64::from(n) / 4.0)) {
            let delays = delays(&mut clock, delay_ns, SAMPLES);
            let mut series = Series { latency: measured(&mut clock, &delays), ..Series::default() };
            series.uncertainty = Some(Uncertainty::of(readings.components(timing, 0)));
            series.state_uncertainty();
            for at in &series.uncertainty.unwrap().quantiles {
                let error_ns = (at.value_ns as f64 - true_quantile(&delays, at.q)).abs();
                within += u32::from(error_ns <= share * at.expanded_ns);
                all += 1;
            }
        }
    }
    f64::from(within) / f64::from(all)
}

#[test]
fn injected_delays_come_back_within_their_expanded_uncertainty() {
    for (name, timing, measured) in KINDS {
        let share = share_within(timing, measured, 1.0);
        assert!(share >= 0.95, "{name}: {share}");
    }
}

/// What the test before is worth: a budget of a quarter does not hold.
#[test]
fn a_budget_that_is_too_small_is_found() {
    for (name, timing, measured) in KINDS {
        let share = share_within(timing, measured, 0.25);
        assert!(share < 0.95, "{name}: {share}");
    }
}

#[test]
fn steps_and_costs_of_clocks_are_found() {
    for (step_ns, cost_ns) in [(1.0, 25.0), (1.0, 300.0), (100.0, 15.0), (1_000.0, 60.0), (1_000.0, 2_300.0)] {
        let found = VirtualClock::new(step_ns, cost_ns).readings();
        assert_eq!(found.resolution_ns, step_ns, "{found:?}");
        assert!((found.cost_ns - cost_ns).abs() <= 0.05 * cost_ns + step_ns / 64.0, "{step_ns}: {found:?}");
    }
    // Of 19.2 MHz, in whole nanoseconds: within one of them.
    let found = VirtualClock::new(52.083, 40.0).readings();
    assert!((51.0..=53.0).contains(&found.resolution_ns), "{found:?}");
    // A counter says itself how long a count is; nothing is read finer than a nanosecond.
    let mut clock = VirtualClock::new(1.0, 25.0);
    assert_eq!(ClockReadings::of_readings(Some(52.083), || clock.read()).resolution_ns, 52.083);
    assert_eq!(ClockReadings::of_readings(Some(0.4), || clock.read()).resolution_ns, 1.0);
}

/// An interruption of every hundredth reading changes nothing.
#[test]
fn an_interruption_is_not_taken_for_a_reading() {
    let mut clock = VirtualClock::new(1.0, 25.0);
    let quiet = clock.readings();
    let mut n = 0;
    let disturbed = ClockReadings::of_readings(None, || {
        n += 1;
        clock.now_ns += if n % 300 == 0 { 40_000.0 } else { 0.0 };
        clock.read()
    });
    assert!((disturbed.cost_ns - quiet.cost_ns).abs() < 2.0, "{disturbed:?}, {quiet:?}");
    assert!(disturbed.spread_ns < 2.0 * quiet.spread_ns + 1.0, "{disturbed:?}, {quiet:?}");
}

/// Steps of 2 ns, readings of 30 ns, no spread: by hand.
#[test]
fn components_by_hand() {
    let readings = ClockReadings { resolution_ns: 2.0, cost_ns: 30.0, spread_ns: 3.0 };
    let combined = |timing, correction_ns| {
        let all = readings.components(timing, correction_ns);
        let offset_ns: f64 = all.iter().map(|c| c.offset_ns).sum();
        (all.iter().map(|c| c.standard_ns.powi(2)).sum::<f64>(), offset_ns)
    };
    let near = |(a, b): (f64, f64), (c, d): (f64, f64)| (a - c).abs() < 1e-9 && (b - d).abs() < 1e-9;
    // 1² / 3 + 15² / 3 + 3²
    assert!(near(combined(Timing::Deadline, 0), (1.0 / 3.0 + 75.0 + 9.0, 14.0)));
    assert!(near(combined(Timing::Deadline, 6), (1.0 / 3.0 + 75.0 + 9.0 + 12.0, 14.0)));
    assert!(near(combined(Timing::Between, 0), (2.0 * (1.0 / 3.0 + 75.0 + 9.0), 30.0)));
    assert!(near(combined(Timing::Stamps, 0), (2.0 * (1.0 / 3.0 + 75.0 + 9.0), 0.0)));
    // (100 / 2)² / 3
    assert!(near(combined(Timing::Looking(100.0), 0), (2.0 * (1.0 / 3.0 + 75.0 + 9.0) + 2_500.0 / 3.0, 80.0)));
}
