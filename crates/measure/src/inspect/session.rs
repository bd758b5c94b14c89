//! Observing a program for a while.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::thread;
use std::time::Duration;

use ontick_record::inspection::{Evidence, Inspection, SCHEMA};
use ontick_rt::clock::ClockId;
use ontick_rt::{cpus, kernel_text};

use super::event::Event;
use super::inspected::Inspected;
use super::perf::records::Body;
use super::perf::{Traced, Tracepoints, is_refusal};
use super::program::threads::{numbers, process_of};
use super::program::{ThreadState, memory};
use super::recorder::Recorder;
use super::symbols::Symbols;
use super::translate::{Names, events};
use super::{Error, Options, Select, document, fault_cost, rules};
use crate::avoid_cpu::AvoidCpu;

/// Rings are emptied, and threads are looked for, this often at first and where little room is left.
const LOOK: Duration = Duration::from_millis(25);
/// Where nothing changed in so many looks, the next ones are this far apart: on processors that share a core or a memory bus
/// each look delays the cycle that it meets, and at 1 kHz that is then one in 125.
const SETTLED: u32 = 8;
const SELDOM: Duration = Duration::from_millis(125);
/// Threads whose events are recorded, at most: a filter of the kernel's has room for no more.
const MOST_THREADS: usize = 96;

/// To begin to record takes no longer than this, mostly.
const AHEAD: Duration = Duration::from_millis(100);

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

/// The first thread of a program that has not ended, by which `/proc` shows its memory and its files: of one whose first
/// thread has (pthread_exit(3)), nothing is shown by that.
fn living(pid: i32) -> Option<ThreadState> {
    ThreadState::read(pid, pid).or_else(|| numbers(pid).into_iter().find_map(|tid| ThreadState::read(pid, tid)))
}

/// A program's name, which its first thread keeps when it ends.
fn name_of(pid: i32) -> Option<String> {
    Some(kernel_text::read(format!("/proc/{pid}/comm")).ok()?.trim_end_matches('\n').to_owned())
}

/// Threads of the kernel have no memory of their own.
fn is_of_the_kernel(tid: i32) -> bool {
    let status = kernel_text::read(format!("/proc/{tid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("\nVmSize:")
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

    /// Whoever looks must not be in the way of what is looked at, and would itself be held up by a loop that never waits.
    fn keep_off(&mut self, states: &[ThreadState]) {
        let timed = timed_cpus(states);
        if self.avoided.0 != timed {
            self.avoided.1 = None;
            self.avoided = (timed.clone(), AvoidCpu::from_most(&timed));
        }
    }

    /// Whether there is a real-time thread by now. Until one comes all are inspected; with it, they leave again.
    fn expect(&mut self, states: &[ThreadState]) {
        let known = self.threads.values().map(|thread| &thread.state);
        let real_time = known.chain(states).any(ThreadState::is_real_time);
        if real_time && !self.real_time && self.options.select == Select::RealTime {
            // Of what stays, nothing counts yet.
            (self.memory_read_ns, self.lost, self.unseen_ns, self.left_out) = (None, 0, 0, 0);
        }
        self.real_time = real_time;
    }

    /// Whether a thread is to be inspected.
    fn is_wanted(&self, state: &ThreadState) -> bool {
        match &self.options.select {
            Select::All => true,
            Select::Named(names) => is_named(state, names),
            Select::RealTime => state.is_real_time() || !self.real_time,
        }
    }

    /// The threads that are looked at: those to be inspected before others.
    fn room_for<'s>(&mut self, states: &'s [ThreadState]) -> Vec<&'s ThreadState> {
        let (mut wanted, others): (Vec<_>, Vec<_>) = states.iter().partition(|state| self.is_wanted(state));
        let left_out = |threads: usize| threads.saturating_sub(MOST_THREADS);
        self.left_out = self.left_out.max(left_out(wanted.len()));
        self.not_looked_at = self.not_looked_at.max(left_out(states.len()));
        wanted.extend(others);
        wanted.truncate(MOST_THREADS);
        wanted
    }

    /// Has the events of these threads recorded.
    fn record(&mut self, looked_at: &[&ThreadState], now_ns: u64) {
        if self.evidence != Evidence::Events {
            return;
        }
        let there = looked_at.iter().filter_map(|state| self.threads.get(&state.tid)).filter(|thread| !thread.ended);
        // Those that are inspected first: there is room for so many.
        let mut all: Vec<(bool, i32)> = there.map(|thread| (!is_due(thread, now_ns), thread.state.tid)).collect();
        all.sort_unstable();
        let inspected: Vec<i32> = all.iter().filter(|(other, _)| !other).map(|(_, tid)| *tid).collect();
        let all: Vec<i32> = all.into_iter().map(|(_, tid)| tid).collect();
        match self.recorder.follow(&inspected, &all, &cpus::online(), &self.tracepoints) {
            Ok(None | Some(0)) => {}
            Ok(Some(unseen_ns)) => self.saw_nothing_for(unseen_ns),
            Err(error) => {
                self.recorder = Recorder::default();
                self.evidence = Evidence::Faults;
                self.note(format!("the kernel's events may not be recorded ({error}): {WITHOUT_CALLS}"));
            }
        }
        if let Some(error) = self.recorder.refused() {
            self.note(format!("no programs of bpf(2) ({error}): {BY_PERF_ALONE}"));
        }
    }

    /// Nothing was recorded for so long, until now.
    fn saw_nothing_for(&mut self, ns: u64) {
        self.gap_ns = ClockId::Monotonic.now_ns();
        self.unseen_ns += if self.counts() { ns } else { 0 };
    }

    fn meet(&mut self, state: ThreadState, full: bool, now_ns: u64) {
        let (tid, after_ns) = (state.tid, self.after_ns());
        let known = self.threads.get(&tid).is_some_and(|thread| thread.state.started == state.started);
        if !known {
            self.threads.insert(tid, Inspected::new(state.clone(), now_ns, after_ns));
        }
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.refresh(state, now_ns);
        match full {
            true if !thread.full => thread.inspect(now_ns),
            false if thread.full => thread.leave(),
            _ => {}
        }
        let wanted = match self.evidence {
            Evidence::Events => thread.full && !self.tracepoints.has_faults(),
            Evidence::Faults => true,
            Evidence::Proc => false,
        };
        if !wanted || thread.is_attached() {
            return;
        }
        match thread.attach(self.evidence == Evidence::Faults) {
            // It ended meanwhile.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) if is_refusal(&error) => {
                self.evidence = Evidence::Proc;
                self.note(format!("the program's events may not be recorded ({error}): {PROC_ALONE}"));
            }
            Err(error) => {
                self.evidence = Evidence::Proc;
                self.note(format!("the program's events cannot be recorded ({error}): {PROC_ALONE}"));
            }
            Ok(()) => {}
        }
    }

    /// Reads what was recorded, and follows it up to a time.
    fn drain(&mut self, until_ns: u64) {
        let mut traced: Vec<Traced> = Vec::new();
        let mut buffer = std::mem::take(&mut self.buffer);
        for inspected in self.threads.values_mut() {
            inspected.take(&mut buffer, |record| traced.push(record));
        }
        self.recorder.take(&mut buffer, |record| traced.push(record));
        self.buffer = buffer;
        let mut names = Names::new(self.living);
        for (record, trace) in traced {
            match record.body {
                Body::Lost(count) if self.counts() => self.lost += count,
                _ => {}
            }
            // The records of CPUs are those of all programs.
            if record.body == (Body::Name { exec: true }) && record.tid == self.pid {
                self.became_another(record.at_ns);
            }
            self.waiting.extend(events(record, trace, &self.tracepoints, &mut self.symbols, &mut names));
        }
        if names.unsure {
            self.recorder.see_wakers_in_full();
        }
        self.waiting.sort_by_key(|event| event.at_ns);
        let ready = self.waiting.partition_point(|event| event.at_ns < until_ns);
        let events: Vec<Event> = self.waiting.drain(..ready).collect();
        for event in events {
            if self.gap_ns > 0 && event.at_ns >= self.gap_ns {
                self.gap_ns = 0;
                self.threads.values_mut().for_each(Inspected::forget);
            }
            let Some(mut inspected) = self.threads.remove(&event.tid) else { continue };
            let others = &self.threads;
            let off = |tid: i32, from: u64, to: u64| others.get(&tid).map_or(0, |other| other.off_ns(from, to));
            inspected.follow(event, &self.symbols, off);
            self.threads.insert(inspected.state.tid, inspected);
        }
    }

    /// Whether anything counts yet.
    fn counts(&self) -> bool {
        self.threads.values().any(|thread| thread.full && thread.counted_ns() > 0)
    }

    /// After execve(2) the program is another one.
    fn became_another(&mut self, at_ns: u64) {
        // Its other threads ended with it, and their places are not in the new program.
        let pid = self.pid;
        self.threads.retain(|tid, _| *tid == pid);
        (self.symbols, self.living) = (Symbols::new(self.pid), self.pid);
        let name = name_of(self.pid).unwrap_or_else(|| "another program".into());
        if at_ns > self.began_ns + self.after_ns() {
            self.note(format!("the program became {name} (execve): what it did before is not counted"));
        }
        self.memory_read_ns = None;
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
        if self.unlocked.is_none() {
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

    /// A name that fits no thread is a mistake, not a clean program.
    fn check_names(&self) -> Result<(), Error> {
        let Select::Named(names) = &self.options.select else { return Ok(()) };
        let fits = |name: &&String| {
            let name = std::slice::from_ref(*name);
            self.threads.values().any(|thread| is_named(&thread.state, name))
        };
        let none: Vec<&str> = names.iter().filter(|name| !fits(name)).map(String::as_str).collect();
        match none.is_empty() {
            true => Ok(()),
            false => Err(Error::NoThread { program: self.name.clone(), pid: self.pid, names: none.join("\" or \"") }),
        }
    }

    fn finish(mut self) -> Inspection {
        let calls = self.evidence == Evidence::Events;
        let mut chosen: Vec<Inspected> = Vec::new();
        let (mut early, mut others) = (Vec::new(), 0);
        self.expect(&[]);
        for (_, thread) in std::mem::take(&mut self.threads) {
            match (self.is_wanted(&thread.state), thread.counted_ns() > 0) {
                (true, true) => chosen.push(thread),
                (true, false) => early.push(thread.state.name),
                (false, _) => others += 1,
            }
        }
        if !early.is_empty() {
            early.dedup();
            let which = early.iter().take(4).cloned().collect::<Vec<_>>().join(", ");
            self.note(format!("not counted, as they ended or changed their policy too early: {which}"));
        }
        if others > 0 && self.real_time && self.options.select == Select::RealTime {
            let threads = if others == 1 { "1 thread".into() } else { format!("{others} threads") };
            self.note(format!("not inspected, without a real-time policy: {threads}"));
        }
        match (self.left_out, self.not_looked_at) {
            (0, 0) => {}
            (0, n) => self.note(format!("there are {n} more threads than the {MOST_THREADS} that were looked at")),
            (n, _) => self.note(format!("{n} threads were not inspected: there is room for {MOST_THREADS}")),
        }
        let fault = fault_cost::fault_cost();
        let mut inspection = Inspection {
            schema: SCHEMA.into(),
            program: self.name.clone(),
            pid: self.pid,
            observed_ns: self.ended_ns - self.began_ns,
            after_ns: self.after_ns(),
            evidence: self.evidence,
            lost: self.lost,
            unseen_ns: self.unseen_ns,
            left_out: self.left_out as u64,
            ..Inspection::default()
        };
        for thread in &mut chosen {
            thread.finish(calls, self.evidence != Evidence::Proc);
            inspection.threads.push(document::thread(thread));
            inspection.problems.extend(document::problems(thread, &self.symbols, fault));
            let standing = [rules::policy(&thread.state), rules::timer_slack(&thread.state)];
            let remote = self.nodes.as_ref().zip(memory::node_of(thread.state.cpu));
            let remote = remote.and_then(|(nodes, node)| rules::remote_memory(nodes, node));
            let standing = standing.into_iter().flatten().chain(remote);
            inspection.problems.extend(standing.map(|breach| document::standing(breach, &thread.state)));
        }
        if let Some(breach) = self.unlocked.as_ref().and_then(rules::memory_lock).filter(|_| !chosen.is_empty()) {
            let program = ThreadState { tid: self.pid, name: self.name.clone(), ..ThreadState::default() };
            inspection.problems.push(document::standing(breach, &program));
        }
        inspection.notes = self.notes;
        inspection.sort();
        inspection
    }
}

const WITHOUT_CALLS: &str = "system calls, locks and signals were not seen";
const CONTAINED: &str =
    "in a PID namespace threads have other numbers than in the kernel's events (inspect it from outside the container)";
const BY_PERF_ALONE: &str = "all was recorded by perf events, which delay the program more";
const PROC_ALONE: &str = "what /proc says is all there is";

/// Whether this process is in a PID namespace below the first, whose inode number is `PROC_PID_INIT_INO` (proc_ns.h).
fn in_a_pid_namespace() -> bool {
    const FIRST: u64 = 0xefff_fffc;
    fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() != FIRST)
}

fn round_ms(ns: u64) -> u64 {
    ns / 1_000_000 * 1_000_000
}

/// The CPUs of real-time threads, first those whose threads wake up most often: where every CPU has such a thread, one that
/// seldom runs (a watchdog's, say) is disturbed before a loop's. Where there is none yet, each may become one on its CPU.
fn timed_cpus(states: &[ThreadState]) -> Vec<u32> {
    let none_yet = !states.iter().any(ThreadState::is_real_time);
    let mut wakeups: BTreeMap<u32, u64> = BTreeMap::new();
    for state in states.iter().filter(|state| none_yet || state.is_real_time()) {
        *wakeups.entry(state.cpu).or_default() += state.sleeps.unwrap_or(0);
    }
    let mut cpus: Vec<u32> = wakeups.keys().copied().collect();
    cpus.sort_by_key(|cpu| std::cmp::Reverse(wakeups[cpu]));
    cpus
}

/// Whether a thread's events are to be recorded. What has no real-time policy yet prepares itself until it counts.
fn is_due(thread: &Inspected, now_ns: u64) -> bool {
    let soon_ns = now_ns + AHEAD.as_nanos() as u64;
    thread.full && (thread.state.is_real_time() || soon_ns >= thread.counts_from_ns)
}

fn is_named(state: &ThreadState, names: &[String]) -> bool {
    names.iter().any(|name| *name == state.name || name.parse() == Ok(state.tid))
}

#[cfg(test)]
mod tests;
