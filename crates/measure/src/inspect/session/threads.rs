//! Which threads are looked at, and which of them are inspected; having their events recorded.

use std::collections::BTreeMap;
use std::time::Duration;

use ontick_record::inspection::Evidence;
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;

use super::super::inspected::Inspected;
use super::super::perf::is_refusal;
use super::super::program::ThreadState;
use super::super::recorder::Recorder;
use super::super::{Error, Select};
use super::{Session, WITHOUT_CALLS};
use crate::avoid_cpu::AvoidCpu;

/// Threads whose events are recorded, at most: a filter of the kernel's has room for no more.
pub(super) const MOST_THREADS: usize = 96;

/// To begin to record takes no longer than this, mostly.
const AHEAD: Duration = Duration::from_millis(100);

const BY_PERF_ALONE: &str = "all was recorded by perf events, which delay the program more";
const PROC_ALONE: &str = "what /proc says is all there is";

impl Session<'_> {
    /// Whoever looks must not be in the way of what is looked at, and would itself be held up by a loop that never waits.
    pub(super) fn keep_off(&mut self, states: &[ThreadState]) {
        let timed = timed_cpus(states);
        if self.avoided.0 != timed {
            self.avoided.1 = None;
            self.avoided = (timed.clone(), AvoidCpu::from_most(&timed));
        }
    }

    /// Whether there is a real-time thread by now. Until one comes all are inspected; with it, they leave again.
    pub(super) fn expect(&mut self, states: &[ThreadState]) {
        let known = self.threads.values().map(|thread| &thread.state);
        let real_time = known.chain(states).any(ThreadState::is_real_time);
        if real_time && !self.real_time && self.options.select == Select::RealTime {
            // Of what stays, nothing counts yet.
            (self.memory_read_ns, self.lost, self.unseen_ns, self.left_out) = (None, 0, 0, 0);
        }
        self.real_time = real_time;
    }

    /// Whether a thread is to be inspected.
    pub(super) fn is_wanted(&self, state: &ThreadState) -> bool {
        match &self.options.select {
            Select::All => true,
            Select::Named(names) => is_named(state, names),
            Select::RealTime => state.is_real_time() || !self.real_time,
        }
    }

    /// The threads that are looked at: those to be inspected before others.
    pub(super) fn room_for<'s>(&mut self, states: &'s [ThreadState]) -> Vec<&'s ThreadState> {
        let (mut wanted, others): (Vec<_>, Vec<_>) = states.iter().partition(|state| self.is_wanted(state));
        let left_out = |threads: usize| threads.saturating_sub(MOST_THREADS);
        self.left_out = self.left_out.max(left_out(wanted.len()));
        self.not_looked_at = self.not_looked_at.max(left_out(states.len()));
        wanted.extend(others);
        wanted.truncate(MOST_THREADS);
        wanted
    }

    /// Has the events of these threads recorded.
    pub(super) fn record(&mut self, looked_at: &[&ThreadState], now_ns: u64) {
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
    pub(super) fn saw_nothing_for(&mut self, ns: u64) {
        self.gap_ns = ClockId::Monotonic.now_ns();
        self.unseen_ns += if self.counts() { ns } else { 0 };
    }

    pub(super) fn meet(&mut self, state: ThreadState, full: bool, now_ns: u64) {
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

    /// A name that fits no thread is a mistake, not a clean program.
    pub(super) fn check_names(&self) -> Result<(), Error> {
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
mod tests {
    use super::*;

    #[test]
    fn the_cpu_of_a_loop_is_avoided_before_that_of_a_watchdog() {
        let state = |policy: i32, cpu: u32, sleeps: u64| ThreadState {
            policy: policy as u32,
            cpu,
            sleeps: Some(sleeps),
            ..ThreadState::default()
        };
        let (fifo, other) = (libc::SCHED_FIFO, libc::SCHED_OTHER);
        let states = [state(fifo, 0, 40), state(other, 2, 90_000), state(fifo, 1, 6_000), state(fifo, 0, 60)];
        assert_eq!(timed_cpus(&states), [1, 0]);
        assert_eq!(timed_cpus(&states[1..2]), [2], "none is real-time yet");
    }
}
