//! A base time from which a station's messages lie apart from what recurs on its CPU, such as the timer's tick.
//!
//! A tick keeps its place in the machine's time for as long as the machine runs. It holds up the message that it falls on and
//! those close behind. Where the messages of a cycle leave a gap, the base time decides whether ticks fall into it.

mod messages;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::cpus::claim::{Occupancy, claim};
use ontick_rt::phase::{SCAN_NS, Scan, scan};
use ontick_rt::thread::{Setup, block_signals};
use ontick_switch::user::CorePlacement;
use ontick_switch::user::time::Distance;

use self::messages::Messages;
use super::error::EndpointError;
use super::planned::Outgoing;
use super::run::RunError;
use super::station_talker::is_online;

/// A base time is good that is among this share of all in a time in which it was not chosen.
const GOOD: f64 = 0.1;

/// A base time, and what it is better than.
#[derive(Debug, Clone, PartialEq)]
pub struct QuietBase {
    /// The base time, in ns of TAI.
    pub base_ns: u64,
    /// How often the CPU was held up while it was watched.
    pub hold_ups: u64,
    /// How long it was watched, in ns.
    pub watched_ns: u64,
    /// Share of the messages that would have been due in a hold-up, in the half of that time in which the base time was not
    /// chosen: from this one on,
    pub held_up: f64,
    /// and from one by chance on, which is the share of the time that the CPU was held up.
    pub held_up_by_chance: f64,
    /// What share of all base times had messages as far from hold-ups there, or farther.
    pub as_good: f64,
    /// What was asked of the system for the thread that watched, and refused.
    pub refused: Vec<String>,
}

/// Watches the CPU that the talker is to have, for half a second, and finds the base time, `ahead_ns` from then or the cycle
/// after it, from which the streams lie farthest from what holds it up.
pub fn quiet_base(streams: &[Outgoing], place: CorePlacement, ahead_ns: u64) -> Result<QuietBase, EndpointError> {
    let messages = Messages::of(streams)?;
    place.cpu.map_or(Ok(()), is_online)?;
    let claimed = place.cpu.filter(|_| place.policy.is_real_time()).map(|cpu| claim(cpu, Occupancy::Rests));
    let _cpu = claimed.transpose().map_err(RunError::from)?;
    let thread = std::thread::Builder::new().name("ontick-quiet".into()).spawn(move || watch(place));
    let thread = thread.map_err(RunError::from)?;
    let (scan, refused) = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let (chosen_in, judged_in) = halves(&scan);
    let shift_ns = messages.quietest(&chosen_in);
    let from_ns = ClockId::Tai.now_ns().saturating_add(ahead_ns);
    Ok(QuietBase {
        base_ns: messages.first_from(from_ns, shift_ns),
        hold_ups: scan.gaps.len() as u64,
        watched_ns: scan.watched_ns,
        held_up: messages.held_up(&judged_in, shift_ns),
        held_up_by_chance: time_held_up(&judged_in),
        as_good: messages.as_good(&judged_in, shift_ns),
        refused,
    })
}

impl QuietBase {
    /// Whether it was better than others by more than chance: where hold-ups keep no place in the cycle, none is.
    pub fn is_better(&self) -> bool {
        self.as_good <= GOOD && self.held_up < self.held_up_by_chance
    }
}

/// What was seen in the first half of the time, and in the second.
fn halves(scan: &Scan) -> (Scan, Scan) {
    let middle_ns = match &scan.gaps[..] {
        [first, .., last] => first.at_ns.midpoint(last.at_ns),
        _ => u64::MAX,
    };
    let (first, second) = scan.gaps.iter().partition(|gap| gap.at_ns < middle_ns);
    let half = |gaps| Scan { gaps, watched_ns: scan.watched_ns / 2 };
    (half(first), half(second))
}

/// Share of the time that the CPU was held up.
fn time_held_up(scan: &Scan) -> f64 {
    let held_up_ns: u64 = scan.gaps.iter().map(|gap| gap.length_ns).sum();
    held_up_ns as f64 / scan.watched_ns.max(1) as f64
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

#[cfg(test)]
mod tests;
