//! CPU time that the hypervisor took, to the nanosecond.
//!
//! `/proc/stat` counts steal in steps of 10 ms. The scheduler knows better: the CPU time that it accounts to
//! a task leaves out what was stolen, so it falls short of the time that went by.

use super::events::{Event, Kind};
use super::timeline::Span;

/// An account that falls short.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theft {
    /// Where the account begins, in ns.
    pub from_ns: u64,
    /// Where it ends, in ns.
    pub to_ns: u64,
    /// What was stolen somewhere between, in ns.
    pub ns: u64,
}

/// How accounts are kept on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bookkeeping {
    /// Accounts are closed in the interrupt whose event is stamped, so the two may differ by the way into the
    /// kernel, in ns: less tells nothing.
    pub edge_ns: u64,
    /// Interrupts are left out of the accounts of tasks, too (`IRQ_TIME_ACCOUNTING`).
    pub without_interrupts: bool,
}

/// Accounts that overlap `from_ns..to_ns` and fall short. `events` are of one CPU, in the order of time.
pub fn thefts(events: &[Event], spans: &[Span], from_ns: u64, to_ns: u64, kept: Bookkeeping) -> Vec<Theft> {
    let mut thefts = Vec::new();
    let mut began: Option<(i32, u64, u64)> = None;
    for event in events {
        match event.kind {
            Kind::Switch { next, .. } => began = (next.pid != 0).then_some((next.pid, event.at_ns, 0)),
            // It ran a little later than that.
            Kind::LeftIdle(next) => began = Some((next.pid, event.at_ns, kept.edge_ns)),
            Kind::Ran { pid, ns } => {
                let open = began.filter(|(of, since_ns, _)| *of == pid && *since_ns < to_ns && event.at_ns > from_ns);
                if let Some((_, since_ns, late_ns)) = open {
                    let interrupted_ns =
                        if kept.without_interrupts { interrupted_ns(spans, since_ns, event.at_ns) } else { 0 };
                    let passed_ns = event.at_ns - since_ns;
                    let short_ns = passed_ns.saturating_sub(ns + late_ns + interrupted_ns);
                    if short_ns > kept.edge_ns {
                        thefts.push(Theft { from_ns: since_ns, to_ns: event.at_ns, ns: short_ns });
                    }
                }
                began = Some((pid, event.at_ns, 0));
                if event.at_ns > to_ns {
                    break;
                }
            }
            _ => {}
        }
    }
    thefts
}

fn interrupted_ns(spans: &[Span], from_ns: u64, to_ns: u64) -> u64 {
    spans.iter().filter(|span| span.who.interrupts()).map(|span| span.within(from_ns, to_ns)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::events::Task;

    const KEPT: Bookkeeping = Bookkeeping { edge_ns: 5_000, without_interrupts: false };

    fn event(at_ns: u64, pid: i32, kind: Kind) -> Event {
        Event { at_ns, cpu: 0, pid, kind }
    }

    fn switch(at_ns: u64, pid: i32) -> Event {
        event(at_ns, 0, Kind::Switch { prev: Task::default(), state: 1, next: Task::unnamed(pid) })
    }

    fn ran(at_ns: u64, pid: i32, ns: u64) -> Event {
        event(at_ns, pid, Kind::Ran { pid, ns })
    }

    fn stolen(events: &[Event], from_ns: u64, to_ns: u64) -> Vec<u64> {
        thefts(events, &[], from_ns, to_ns, KEPT).iter().map(|theft| theft.ns).collect()
    }

    #[test]
    fn what_the_account_lacks_was_stolen() {
        let events = [switch(0, 7), ran(4_000_000, 7, 3_999_000), ran(8_000_000, 7, 1_000_000)];
        assert_eq!(stolen(&events, 5_000_000, 6_000_000), [3_000_000]);
        assert_eq!(stolen(&events, 1_000_000, 2_000_000), [0; 0]);
    }

    #[test]
    fn an_account_beside_the_window_is_not_of_it() {
        let events = [switch(0, 7), ran(1_000_000, 7, 1_000_000), ran(2_000_000, 7, 500_000)];
        assert_eq!(stolen(&events, 0, 1_000_000), [0; 0], "it begins where the window ends");
        assert_eq!(stolen(&events, 0, 1_000_001), [500_000]);
        assert_eq!(stolen(&events, 2_000_000, 3_000_000), [0; 0], "it ends where the window begins");
        assert_eq!(stolen(&events, 1_999_999, 3_000_000), [500_000]);
    }

    /// The way into the kernel may be missing of an account: so much, and no more.
    #[test]
    fn an_account_that_lacks_an_edge_is_whole() {
        let lacks = |ns: u64| stolen(&[switch(0, 7), ran(1_000_000, 7, 1_000_000 - ns)], 0, 1_000_000);
        assert_eq!([lacks(5_000), lacks(5_001)], [vec![], vec![5_001]]);
    }

    #[test]
    fn time_of_another_task_is_not_compared() {
        let events = [switch(0, 7), switch(1_000_000, 8), ran(2_000_000, 9, 5)];
        assert_eq!(stolen(&events, 0, 2_000_000), [0; 0]);
    }

    #[test]
    fn the_way_out_of_idle_is_not_stolen() {
        let left = event(0, 0, Kind::LeftIdle(Task::unnamed(7)));
        assert_eq!(stolen(&[left.clone(), ran(900_000, 7, 891_000)], 0, 900_000), [0; 0]);
        assert_eq!(stolen(&[left, ran(900_000, 7, 600_000)], 0, 900_000), [295_000]);
    }
}
