//! A base time from which a station's messages lie apart from what recurs on its CPU, such as the timer's tick.
//!
//! A tick keeps its place in the machine's time for as long as the machine runs. It holds up the message that it falls on and
//! those close behind. Where the messages of a cycle leave a gap, the base time decides whether ticks fall into it.

use std::io;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::cpus::claim::{ClaimError, Occupancy, claim};
use ontick_rt::phase::{LONGEST_SCANNED_NS, SCAN_NS, Scan, scan};
use ontick_rt::thread::{Setup, block_signals};
use ontick_switch::user::CorePlacement;
use ontick_switch::user::time::Distance;

use super::base_time::common_period;
use super::planned::Outgoing;

/// How finely base times are told apart, in ns.
const STEP_NS: u64 = 5_000;
/// How far from a hold-up messages are safe from it fades over this, in ns: a tick takes some 10 us, and the messages that
/// waited for its end leave close behind each other.
const NEAR_NS: f64 = 50_000.0;

/// Why no base time can be told from others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuietError {
    /// Another process has the CPU.
    #[error(transparent)]
    Held(#[from] ClaimError),
    /// There is no thread to watch the CPU with.
    #[error("no thread to watch the CPU with could be started: {0}")]
    Thread(#[from] io::Error),
    /// The CPU is watched for half a second, which has to hold several cycles.
    #[error(
        "the periods of the streams begin together only every {}: at most {} can be told apart in the {} that the CPU is watched for",
        .0.map_or("few minutes".into(), ontick_units::exact),
        ontick_units::exact(LONGEST_SCANNED_NS),
        ontick_units::exact(SCAN_NS)
    )]
    LongCycle(Option<u64>),
}

/// A base time, and what it is better than.
#[derive(Debug, Clone, PartialEq)]
pub struct QuietBase {
    /// The base time, in ns of TAI.
    pub base_ns: u64,
    /// How often the CPU was held up while it was watched.
    pub hold_ups: u64,
    /// How long it was watched, in ns.
    pub watched_ns: u64,
    /// Share of the messages that would have been due in a hold-up: from this base time on,
    pub held_up: f64,
    /// and from a whole second on.
    pub held_up_at_a_second: f64,
    /// What was asked of the system for the thread that watched, and refused.
    pub refused: Vec<String>,
}

/// Watches the CPU that the talker is to have, for half a second, and finds the base time, `ahead_ns` from then or the cycle
/// after it, from which the streams lie farthest from what holds it up.
pub fn quiet_base(streams: &[Outgoing], place: CorePlacement, ahead_ns: u64) -> Result<QuietBase, QuietError> {
    let messages = Messages::of(streams)?;
    let _cpu = place.cpu.filter(|_| place.policy.is_real_time()).map(|cpu| claim(cpu, Occupancy::Rests)).transpose()?;
    let thread = std::thread::Builder::new().name("ontick-quiet".into()).spawn(move || watch(place))?;
    let (scan, refused) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let shift_ns = messages.quietest(&scan);
    let from_ns = ClockId::Tai.now_ns().saturating_add(ahead_ns);
    Ok(QuietBase {
        base_ns: messages.first_from(from_ns, shift_ns),
        hold_ups: scan.gaps.len() as u64,
        watched_ns: scan.watched_ns,
        held_up: messages.held_up(&scan, shift_ns),
        held_up_at_a_second: messages.held_up(&scan, 0),
        refused,
    })
}

/// The hold-ups of the CPU, at times of TAI.
fn watch(place: CorePlacement) -> (Scan, Vec<String>) {
    block_signals();
    let setup = Setup::new().policy(place.policy).lock_memory().cpu_latency_us(0).timer_slack_ns(1);
    let held = place.cpu.into_iter().fold(setup, Setup::cpu).best_effort();
    let mut scan = scan(&mut Clock::new(ClockId::Monotonic), SCAN_NS);
    let ahead_ns = Distance::of(ClockId::Tai).ns();
    scan.gaps.iter_mut().for_each(|gap| gap.at_ns = gap.at_ns.saturating_add_signed(ahead_ns));
    (scan, held.refused().iter().map(ToString::to_string).collect())
}

/// When messages are due in a cycle, after which all periods begin anew.
struct Messages {
    cycle_ns: u64,
    /// In order of time.
    at_ns: Vec<u64>,
}

impl Messages {
    fn of(streams: &[Outgoing]) -> Result<Self, QuietError> {
        let cycle_ns = common_period(streams.iter().map(|of| of.period_ns.max(1)));
        let cycle_ns = cycle_ns.filter(|ns| *ns <= LONGEST_SCANNED_NS).ok_or(QuietError::LongCycle(cycle_ns))?;
        let times = |of: &Outgoing| {
            let (offset_ns, period_ns) = (of.offset_ns, of.period_ns.max(1));
            (0..cycle_ns / period_ns).map(move |n| (offset_ns + n * period_ns) % cycle_ns)
        };
        let mut at_ns: Vec<u64> = streams.iter().flat_map(times).collect();
        at_ns.sort_unstable();
        Ok(Self { cycle_ns, at_ns })
    }

    /// How long after a multiple of the cycle the base time is to be; 0 where nothing holds the CPU up.
    fn quietest(&self, scan: &Scan) -> u64 {
        let bins = self.cycle_ns.div_ceil(STEP_NS) as usize;
        let near = self.near(bins);
        let busy = scan.busy(self.cycle_ns, bins);
        let busy: Vec<(usize, f64)> = busy.into_iter().enumerate().filter(|(_, weight)| *weight > 0.0).collect();
        let cost = |shift: usize| busy.iter().map(|(bin, weight)| weight * near[(bin + bins - shift) % bins]).sum();
        let costs: Vec<f64> = (0..bins).map(cost).collect();
        let best = (0..bins).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(0);
        best as u64 * self.cycle_ns / bins as u64
    }

    /// The first cycle's beginning that is not before `from_ns`, where cycles begin `shift_ns` after multiples.
    fn first_from(&self, from_ns: u64, shift_ns: u64) -> u64 {
        from_ns.saturating_sub(shift_ns).div_ceil(self.cycle_ns).saturating_mul(self.cycle_ns).saturating_add(shift_ns)
    }

    /// For each part of the cycle how many messages are close to it, each the less the farther it is.
    fn near(&self, bins: usize) -> Vec<f64> {
        let mut due = vec![0.0; bins];
        for at_ns in &self.at_ns {
            due[(*at_ns as u128 * bins as u128 / u128::from(self.cycle_ns)) as usize] += 1.0;
        }
        let kept = (-(self.cycle_ns as f64 / bins as f64) / NEAR_NS).exp();
        // A cycle's end is the next one's beginning: once around fills what the second time starts with.
        let faded = |order: &mut dyn Iterator<Item = usize>| {
            let (mut all, mut sum) = (vec![0.0; bins], 0.0);
            for bin in order {
                sum = sum * kept + due[bin];
                all[bin] = sum;
            }
            all
        };
        let twice = || (0..bins).chain(0..bins);
        let (after, before) = (faded(&mut twice()), faded(&mut twice().rev()));
        (0..bins).map(|bin| after[bin] + before[bin] - due[bin]).collect()
    }

    /// Share of the messages that are due while the CPU is held up, with cycles that begin `shift_ns` after multiples.
    fn held_up(&self, scan: &Scan, shift_ns: u64) -> f64 {
        let cycle_ns = self.cycle_ns;
        // Due before so many ns of endless cycles.
        let due_before = |ns: u64| {
            let within = self.at_ns.partition_point(|at_ns| *at_ns < ns % cycle_ns);
            ns / cycle_ns * self.at_ns.len() as u64 + within as u64
        };
        let met = |at_ns: u64, length_ns: u64| {
            let from_ns = (at_ns % cycle_ns) + (cycle_ns - shift_ns % cycle_ns);
            due_before(from_ns + length_ns) - due_before(from_ns)
        };
        let met: u64 = scan.gaps.iter().map(|gap| met(gap.at_ns, gap.length_ns)).sum();
        let due = scan.watched_ns as f64 / cycle_ns as f64 * self.at_ns.len() as f64;
        if due > 0.0 { (met as f64 / due).min(1.0) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use ontick_rt::gaps::Gap;
    use proptest::prelude::*;

    use super::*;

    const MS: u64 = 1_000_000;

    fn stream(offset_ns: u64, period_ns: u64) -> Outgoing {
        Outgoing {
            stream: 0,
            name: "f".into(),
            to: [2, 0, 0, 0, 0, 1],
            pcp: 5,
            vlan: 0,
            offset_ns,
            period_ns,
            size: 64,
            parts: 1,
            ports: vec![0],
        }
    }

    /// 225 us at the end of each millisecond are free.
    fn dense() -> Messages {
        let streams: Vec<_> = (0..156).map(|n| stream(n * 5_000, MS * [1, 2, 4][n as usize % 3])).collect();
        Messages::of(&streams).unwrap()
    }

    fn ticking(offset_ns: u64) -> Scan {
        let gaps = (0..125).map(|n| Gap { at_ns: n * 4 * MS + offset_ns, length_ns: 15_000 }).collect();
        Scan { gaps, watched_ns: 500 * MS }
    }

    proptest! {
        #[test]
        fn ticks_fall_into_the_gap_wherever_they_are(offset_ns in 0..4 * MS) {
            let (messages, scan) = (dense(), ticking(offset_ns));
            let shift_ns = messages.quietest(&scan);
            let within_ns = (offset_ns + 4 * MS - shift_ns) % MS;
            prop_assert!((830_000..940_000).contains(&within_ns), "{within_ns}");
            prop_assert_eq!(messages.held_up(&scan, shift_ns), 0.0);
        }
    }

    #[test]
    fn what_is_held_up_is_counted() {
        let (messages, scan) = (Messages::of(&[stream(0, MS), stream(500_000, MS)]).unwrap(), ticking(3_490_000));
        // A tick in 4 ms, which 8 messages are due in, and one of them meets.
        assert_eq!(messages.held_up(&scan, 0), 1.0 / 8.0);
        assert_eq!(messages.held_up(&scan, 50_000), 0.0);
        assert_eq!(messages.held_up(&scan, 990_000), 1.0 / 8.0, "the tick meets the other one");
        // Longer than a cycle: all that were due in it.
        let long = Scan { gaps: vec![Gap { at_ns: 250_000, length_ns: 5 * MS }], watched_ns: 10 * MS };
        assert_eq!(messages.held_up(&long, 0), 0.5);
        assert_eq!(messages.held_up(&Scan::default(), 0), 0.0);
    }

    #[test]
    fn a_cpu_that_nothing_holds_up_needs_no_choice() {
        assert_eq!(dense().quietest(&Scan { gaps: Vec::new(), watched_ns: 500 * MS }), 0);
    }

    #[test]
    fn a_base_time_is_the_next_that_fits() {
        let first = |from_ns| dense().first_from(from_ns, 300_000);
        assert_eq!([0, 300_000, 300_001, 4_300_000].map(first), [300_000, 300_000, 4_300_000, 4_300_000]);
        assert_eq!(first(u64::MAX), u64::MAX);
    }

    #[test]
    fn messages_are_near_across_the_end_of_a_cycle() {
        let near = Messages::of(&[stream(0, MS)]).unwrap().near(200);
        let (first, last, middle) = (near[0], near[199], near[100]);
        assert!(
            first > 0.99 && (last - near[1]).abs() < 1e-6 && last > 0.9 && middle < 1e-3,
            "{first} {last} {middle}"
        );
    }

    #[test]
    fn cycles_that_half_a_second_does_not_hold_are_refused() {
        let refused = |periods: [u64; 2]| Messages::of(&periods.map(|ns| stream(0, ns))).err().unwrap().to_string();
        let long = refused([7 * MS, 100 * MS]);
        assert!(
            long.starts_with("the periods of the streams begin together only every 700ms: at most 100ms"),
            "{long}"
        );
        assert!(refused([999_983_000_000, 1_000_003_000_000]).contains("only every few minutes"));
    }
}
