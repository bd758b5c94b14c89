//! Observing a program for a while.

mod drain;
mod finish;
mod threads;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use ontick_record::inspection::{Evidence, Inspection};
use ontick_rt::clock::ClockId;

use super::event::Event;
use super::inspected::Inspected;
use super::perf::Tracepoints;
use super::program::identity::{is_of_the_kernel, living, name_of};
use super::program::threads::{numbers, process_of};
use super::program::{ThreadState, memory};
use super::recorder::Recorder;
use super::symbols::Symbols;
use super::{Error, Options};
use crate::avoid_cpu::AvoidCpu;

/// Rings are emptied, and threads are looked for, this often at first and where little room is left.
const LOOK: Duration = Duration::from_millis(25);
/// Where nothing changed in so many looks, the next ones are this far apart: on processors that share a core or a memory bus
/// each look delays the cycle that it meets, and at 1 kHz that is then one in 125.
const SETTLED: u32 = 8;
const SELDOM: Duration = Duration::from_millis(125);

const WITHOUT_CALLS: &str = "system calls, locks and signals were not seen";
const CONTAINED: &str =
    "in a PID namespace threads have other numbers than in the kernel's events (inspect it from outside the container)";

/// Observes a process until it ends, the time is over, or `stop` says so.
pub fn inspect(pid: i32, options: &Options, stop: impl Fn() -> bool) -> Result<Inspection, Error> {
    // Whoever names a thread means its program.
    let pid = process_of(pid).filter(|_| pid > 0).ok_or(Error::NoProcess(pid))?;
    if pid == std::process::id() as i32 {
        return Err(Error::Itself(pid));
    }
    let living = living(pid).ok_or(Error::Ended(pid))?;
    let name = name_of(pid).unwrap_or_else(|| living.name.clone());
    if is_of_the_kernel(living.tid) {
        return Err(Error::Kernel(pid, name));
    }
    let mut session = Session::new(pid, name, options);
    session.observe(&stop);
    session.check_names()?;
    Ok(session.finish())
}

struct Session<'o> {
    pid: i32,
    options: &'o Options,
    name: String,
    /// A thread that has not ended, by its number.
    living: i32,
    tracepoints: Tracepoints,
    symbols: Symbols,
    threads: BTreeMap<i32, Inspected>,
    recorder: Recorder,
    /// What was begun before this was not seen to its end.
    gap_ns: u64,
    /// For so long nothing was recorded.
    unseen_ns: u64,
    began_ns: u64,
    ended_ns: u64,
    evidence: Evidence,
    /// Events that came after the last look began: those of other rings before them may be still to come.
    waiting: Vec<Event>,
    lost: u64,
    notes: Vec<String>,
    /// Threads that there was no room for: those to be inspected, and all.
    left_out: usize,
    not_looked_at: usize,
    unlocked: Option<memory::Unlocked>,
    nodes: Option<BTreeMap<u32, u64>>,
    /// When memory was looked at.
    memory_read_ns: Option<u64>,
    /// There is a real-time thread, or was one.
    real_time: bool,
    buffer: Vec<u8>,
    /// The threads that there were at the last look, and in how many looks no other was there.
    there: Vec<(i32, u64)>,
    unchanged: u32,
    /// The CPUs of timed threads, which this thread keeps away from.
    avoided: (Vec<u32>, Option<AvoidCpu>),
}

impl<'o> Session<'o> {
    fn new(pid: i32, name: String, options: &'o Options) -> Self {
        let now_ns = ClockId::Monotonic.now_ns();
        let living = living(pid).map_or(pid, |thread| thread.tid);
        let tracepoints = Tracepoints::find();
        let mut notes: Vec<String> =
            tracepoints.missing.iter().map(|missing| format!("{missing}: {WITHOUT_CALLS}")).collect();
        let contained = in_a_pid_namespace();
        if contained {
            notes.push(format!("{CONTAINED}: {WITHOUT_CALLS}"));
        }
        let evidence = if tracepoints.has_calls() && !contained { Evidence::Events } else { Evidence::Faults };
        Self {
            pid,
            options,
            name,
            living,
            tracepoints,
            symbols: Symbols::new(living),
            threads: BTreeMap::new(),
            recorder: Recorder::default(),
            gap_ns: 0,
            unseen_ns: 0,
            began_ns: now_ns,
            ended_ns: now_ns,
            evidence,
            waiting: Vec::new(),
            lost: 0,
            notes,
            left_out: 0,
            not_looked_at: 0,
            unlocked: None,
            nodes: None,
            memory_read_ns: None,
            real_time: false,
            buffer: Vec::new(),
            there: Vec::new(),
            unchanged: 0,
            avoided: (Vec::new(), None),
        }
    }

    fn after_ns(&self) -> u64 {
        self.options.after.as_nanos() as u64
    }

    fn observe(&mut self, stop: &impl Fn() -> bool) {
        let end_ns = self.began_ns + self.options.duration.as_nanos() as u64;
        loop {
            let now_ns = ClockId::Monotonic.now_ns();
            let there = self.look(now_ns);
            self.drain(now_ns);
            if there {
                self.ended_ns = now_ns;
                self.read_memory(now_ns);
            } else {
                self.note(format!("the program ended after {}", ontick_units::exact(round_ms(now_ns - self.began_ns))));
            }
            if !there || now_ns >= end_ns || stop() {
                break;
            }
            self.rest(Duration::from_nanos(end_ns - now_ns));
        }
        // What came meanwhile.
        self.drain(u64::MAX);
    }

    /// Until the next look, but not longer than that.
    fn rest(&self, longest: Duration) {
        // Rings of single threads are small, and nobody says when they are full.
        let only_large_rings = self.evidence == Evidence::Events && self.tracepoints.has_faults();
        match only_large_rings && self.unchanged >= SETTLED {
            true => self.recorder.wait(SELDOM.min(longest)),
            false => thread::sleep(LOOK.min(longest)),
        }
    }

    /// Looks for threads. `false` once there is none.
    fn look(&mut self, now_ns: u64) -> bool {
        let states: Vec<ThreadState> =
            numbers(self.pid).into_iter().filter_map(|tid| ThreadState::read(self.pid, tid)).collect();
        self.keep_off(&states);
        self.expect(&states);
        let lives = |tid: i32| states.iter().any(|state| state.tid == tid);
        if let Some(other) = states.first().filter(|_| !lives(self.living)) {
            self.living = other.tid;
            self.symbols.read_by(other.tid);
        }
        let looked_at = self.room_for(&states);
        for state in &looked_at {
            self.meet((*state).clone(), self.is_wanted(state), now_ns);
        }
        self.record(&looked_at, now_ns);
        let there: Vec<(i32, u64)> = states.iter().map(|state| (state.tid, state.started)).collect();
        self.unchanged = if self.there == there { self.unchanged.saturating_add(1) } else { 0 };
        self.there = there;
        !states.is_empty()
    }

    /// Whether anything counts yet.
    fn counts(&self) -> bool {
        self.threads.values().any(|thread| thread.full && thread.counted_ns() > 0)
    }

    /// Once, when the first thread that is inspected begins to count: later it might disturb. And once more for one that
    /// changed its policy since, as programs lock their memory before that.
    fn read_memory(&mut self, now_ns: u64) {
        let counting = self.threads.values().filter(|thread| thread.full && now_ns >= thread.counts_from_ns);
        let Some(changed_ns) = counting.map(|thread| thread.changed_ns).max() else { return };
        if self.memory_read_ns.is_some_and(|read_ns| read_ns >= changed_ns) {
            return;
        }
        self.memory_read_ns = Some(now_ns);
        self.symbols.read_mappings();
        self.symbols.open_files();
        self.unlocked = memory::unlocked(self.living);
        if self.unlocked.is_none() && living(self.pid).is_some() {
            self.note("whether memory is locked may not be looked at: only root may see another user's".into());
        }
        self.nodes = memory::nodes(self.living).filter(|nodes| nodes.len() > 1);
        match self.symbols.has_names() {
            Some(true) => {}
            Some(false) => self.note("the program's file has no symbols: places are addresses in it".into()),
            None => self.note("the program's file cannot be read: places in it are addresses".into()),
        }
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Whether this process is in a PID namespace below the first, whose inode number is `PROC_PID_INIT_INO` (proc_ns.h).
fn in_a_pid_namespace() -> bool {
    const FIRST: u64 = 0xefff_fffc;
    fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() != FIRST)
}

fn round_ms(ns: u64) -> u64 {
    ns / 1_000_000 * 1_000_000
}

#[cfg(test)]
mod tests;
