//! CPU time that the hypervisor took, to the nanosecond.
//!
//! `/proc/stat` counts steal in steps of 10 ms. The scheduler knows better: the CPU time that it accounts to
//! a task leaves out what was stolen, so it falls short of the time that went by.

use super::events::{Event, Kind};
use super::timeline::Span;

/// Accounts that differ from the clock by less tell nothing, in ns.
const NOISE_NS: u64 = 5_000;

/// The most that was stolen in any of the stretches that overlap `from_ns..to_ns`, in ns. `events` are of
/// one CPU, in the order of time; interrupts of `spans` may be left out of accounts, too.
pub fn stolen_ns(events: &[Event], spans: &[Span], from_ns: u64, to_ns: u64) -> u64 {
    let mut began: Option<(i32, u64)> = None;
    let mut stolen = 0;
    for event in events {
        match event.kind {
            Kind::Switch { next, .. } => began = (next.pid != 0).then_some((next.pid, event.at_ns)),
            Kind::Ran { pid, ns } => {
                if let Some((_, since_ns)) = began.filter(|(of, since)| *of == pid && *since < to_ns) {
                    if event.at_ns > from_ns {
                        let short = event.at_ns.saturating_sub(since_ns).saturating_sub(ns);
                        stolen = stolen.max(short.saturating_sub(interrupted_ns(spans, since_ns, event.at_ns)));
                    }
                }
                began = Some((pid, event.at_ns));
                if event.at_ns > to_ns {
                    break;
                }
            }
            _ => {}
        }
    }
    if stolen >= NOISE_NS { stolen } else { 0 }
}

fn interrupted_ns(spans: &[Span], from_ns: u64, to_ns: u64) -> u64 {
    spans.iter().filter(|span| span.who.interrupts()).map(|span| span.within(from_ns, to_ns)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::events::Task;

    fn switch(at_ns: u64, pid: i32) -> Event {
        let (prev, next) = (Task::default(), Task { pid, ..Task::default() });
        Event { at_ns, cpu: 0, pid: 0, kind: Kind::Switch { prev, state: 1, next } }
    }

    fn ran(at_ns: u64, pid: i32, ns: u64) -> Event {
        Event { at_ns, cpu: 0, pid, kind: Kind::Ran { pid, ns } }
    }

    #[test]
    fn what_the_account_lacks_was_stolen() {
        let events = [switch(0, 7), ran(4_000_000, 7, 3_999_000), ran(8_000_000, 7, 1_000_000)];
        assert_eq!(stolen_ns(&events, &[], 5_000_000, 6_000_000), 3_000_000);
        assert_eq!(stolen_ns(&events, &[], 1_000_000, 2_000_000), 0);
    }

    #[test]
    fn time_of_another_task_is_not_compared() {
        let events = [switch(0, 7), switch(1_000_000, 8), ran(2_000_000, 9, 5)];
        assert_eq!(stolen_ns(&events, &[], 0, 2_000_000), 0);
    }
}
