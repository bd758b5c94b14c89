//! Edits and confirmed commits, one after the other in one session, and what they leave behind.

use std::time::{Duration, Instant};

use ontick_record::compare::{Spread, paired};

use super::managed::{Managed, Session};
use crate::side::Job;

/// Guardians of commits take no longer to end.
const END_WITHIN: Duration = Duration::from_secs(10);

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub struct Figures {
    /// Of one edit, its commit and the confirmation, in ms.
    pub ms: Spread,
    pub before: Taken,
    pub after: Taken,
}

/// What a process has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub descriptors: usize,
    pub memory_kib: u64,
    pub children: usize,
}

/// So many cycles; what the session has is looked at after the first tenth, and at the end.
pub fn measure(job: &Job, cycles: u32) -> Result<Figures, String> {
    let managed = Managed::begin(job, 2, 2)?;
    let mut session = Session::begin(&managed)?;
    let mut times = Vec::new();
    let mut run = |session: &mut Session, rounds: std::ops::Range<u32>| {
        for round in rounds {
            let began = Instant::now();
            session.ask(&edit(90_000 + round % 1_000))?;
            session.ask("<commit><confirmed/></commit>")?;
            session.ask("<commit/>")?;
            times.push(began.elapsed().as_secs_f64() * 1e3);
        }
        settled(session)
    };
    let before = run(&mut session, 0..cycles / 10)?;
    let after = run(&mut session, cycles / 10..cycles)?;
    let ms = paired(times).ok_or("there was no cycle")?;
    Ok(Figures { ms, before, after })
}

/// What the session has once the guardians of its commits have ended: it takes note of that at each request.
fn settled(session: &mut Session) -> Result<Taken, String> {
    let began = Instant::now();
    loop {
        session.ask("<discard-changes/>")?;
        let taken = taken(session.pid()).map_err(|e| format!("/proc of ontick switch netconf: {e}"))?;
        if taken.children == 0 || began.elapsed() > END_WITHIN {
            return Ok(taken);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn taken(pid: u32) -> std::io::Result<Taken> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd"))?.count();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse().ok());
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"))?.split_whitespace().count();
    Ok(Taken { descriptors, memory_kib: memory.unwrap_or(0), children })
}

/// Another length of the first window, and what is left for the second.
fn edit(ns: u32) -> String {
    let entry = |index: u32, ns: u32| {
        format!(
            "<gate-control-entry><index>{index}</index><time-interval-value>{ns}</time-interval-value></gate-control-entry>"
        )
    };
    format!(
        "<edit-config><target><candidate/></target><config><interfaces \
         xmlns='urn:ietf:params:xml:ns:yang:ietf-interfaces'><interface><name>port1</name><bridge-port \
         xmlns='urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge'><gate-parameter-table \
         xmlns='urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched-bridge'><admin-control-list>{}{}</admin-control-list>\
         </gate-parameter-table></bridge-port></interface></interfaces></config></edit-config>",
        entry(0, ns),
        entry(1, 200_000 - ns)
    )
}
