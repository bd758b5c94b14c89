//! A switch managed by NETCONF: how long a manager waits for the configuration of a large one, and what many commits
//! leave behind.

mod cycles;
mod managed;

use std::time::Instant;

use ontick_record::compare::{Spread, paired};

use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::side::Job;

use managed::{Managed, Session};

/// Of the large switch.
const PORTS: usize = 64;
const ENTRIES: usize = 256;
/// What must be reached.
const READ_MS: f64 = 1_000.0;
const GROWTH_KIB: u64 = 1_024;

/// How much of everything.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Times that the large configuration is read.
    pub reads: u32,
    /// Edits, each with a commit and its confirmation.
    pub cycles: u32,
}

/// Everything that was seen.
pub struct Figures {
    /// Of reading the large configuration, in ms.
    read: Spread,
    octets: usize,
    cycles: u32,
    cycled: cycles::Figures,
}

/// Measures all of it.
pub fn measure(job: &Job, size: Size, shown: &mut Page) -> Result<Figures, String> {
    println!("    get-config of {PORTS} ports with {ENTRIES} gate entries each");
    let (read, octets) = read(job, size.reads)?;
    println!("    {} edits with confirmed commits", size.cycles);
    let cycled = cycles::measure(job, size.cycles)?;
    let seen = Figures { read, octets, cycles: size.cycles, cycled };
    shown.heading("A switch managed by NETCONF");
    shown.table(&seen.table());
    shown.words(&format!(
        "One session each, on pipes in place of SSH's channel, with a switch of the user data plane. get-config of running {} times, from the request to the last octet of the reply. A cycle is an edit-config of candidate that changes two gate entries of a switch of two ports, a commit that must be confirmed, and the commit that confirms it; the first commit ends when the data plane has the gates. What the session's process has is looked at after the first tenth of the cycles and at the end.",
        size.reads
    ));
    Ok(seen)
}

/// How long the large configuration takes, in ms, and how long it is.
fn read(job: &Job, times: u32) -> Result<(Spread, usize), String> {
    let managed = Managed::begin(job, PORTS, ENTRIES)?;
    let mut session = Session::begin(&managed)?;
    let mut octets = 0;
    let mut each = Vec::new();
    for _ in 0..times {
        let began = Instant::now();
        let reply = session.ask("<get-config><source><running/></source></get-config>")?;
        each.push(began.elapsed().as_secs_f64() * 1e3);
        let entries = reply.matches("<gate-control-entry>").count();
        if entries != PORTS * ENTRIES {
            return Err(format!("get-config has {entries} gate entries, not {}", PORTS * ENTRIES));
        }
        octets = reply.len();
    }
    Ok((paired(each).ok_or("nothing was read")?, octets))
}

impl Figures {
    fn table(&self) -> Table {
        let mut table = Table::of_words(&["figure", "seen"]);
        let spread = |of: &Spread| format!("{:.1} ms ({:.1}–{:.1}), {} times", of.median, of.min, of.max, of.pairs);
        table.row([
            format!("get-config of {PORTS} ports with {ENTRIES} gate entries each"),
            format!("{}, {:.1} MB", spread(&self.read), self.octets as f64 / 1e6),
        ]);
        table.row(["edit, commit to be confirmed, confirmation".into(), spread(&self.cycled.ms)]);
        let of = |taken: cycles::Taken| {
            format!("{} descriptors, {} KiB, {} children", taken.descriptors, taken.memory_kib, taken.children)
        };
        table.row([format!("session after {} of them", self.cycles / 10), of(self.cycled.before)]);
        table.row([format!("session after {} of them", self.cycles), of(self.cycled.after)]);
        table
    }
}

/// What must be reached, held against what was seen.
pub fn goals(seen: &Figures) -> Vec<Goal> {
    let cycles::Figures { before, after, .. } = seen.cycled;
    let grown_kib = after.memory_kib.saturating_sub(before.memory_kib);
    let is_clean = after.descriptors <= before.descriptors && after.children == 0 && grown_kib <= GROWTH_KIB;
    let left = format!(
        "{} descriptors, {} processes, {grown_kib} KiB",
        after.descriptors.saturating_sub(before.descriptors),
        after.children
    );
    vec![
        Goal::new(
            format!("NETCONF: get-config of {PORTS} ports with {ENTRIES} gate entries each, the longest"),
            format!("≤ {READ_MS} ms"),
            Some((format!("{:.0} ms", seen.read.max), seen.read.max <= READ_MS)),
        ),
        Goal::new(
            format!("NETCONF: left behind by {} edits with confirmed commits", seen.cycles),
            format!("0 descriptors, 0 processes, ≤ {GROWTH_KIB} KiB"),
            Some((left, is_clean)),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_goal_can_be_reached_and_missed() {
        let spread = |max| paired([1.0, max]).unwrap();
        let before = cycles::Taken { descriptors: 5, memory_kib: 10_000, children: 0 };
        let reached = |read_ms, after| {
            let cycled = cycles::Figures { ms: spread(1.0), before, after };
            let seen = Figures { read: spread(read_ms), octets: 1, cycles: 1_000, cycled };
            goals(&seen).into_iter().map(|goal| goal.reached).collect::<Vec<_>>()
        };
        let grown = cycles::Taken { memory_kib: 11_024, ..before };
        assert_eq!(reached(1_000.0, grown), [Some(true), Some(true)]);
        assert_eq!(reached(1_000.1, before), [Some(false), Some(true)]);
        for leak in [
            cycles::Taken { descriptors: 6, ..before },
            cycles::Taken { children: 1, ..before },
            cycles::Taken { memory_kib: 11_025, ..before },
        ] {
            assert_eq!(reached(1.0, leak), [Some(true), Some(false)], "{leak:?}");
        }
    }
}
