//! Whose events are recorded, and by what: programs of bpf(2) for what lies in a wake-up's way, perf events for the rest;
//! perf events for all of it where there may be no programs.

use std::io;
use std::time::{Duration, Instant};

use super::bpf::{Kernel, Programs};
use super::perf::{MOST, OfCpus, Trace, Traced, Tracepoints};

/// What the programs write, in bytes.
const RING: usize = 4 << 20;
/// Of these they can tell.
const BY_PROGRAMS: [Trace; 3] = [Trace::Exit, Trace::Switch, Trace::Waking];

/// Threads that are not inspected come and go: they are taken up this often.
const OTHERS: Duration = Duration::from_secs(1);

/// Records events of some threads, until it is dropped. Nothing of it outlives the process.
#[derive(Default)]
pub struct Recorder {
    events: OfCpus,
    programs: Option<Programs>,
    kernel: Option<Kernel>,
    refused: Option<io::Error>,
    /// Wake-ups are perf events, which say whether an interrupt made them.
    wakers_in_full: bool,
    stale: bool,
    inspected: Vec<i32>,
    all: Vec<i32>,
    since: Option<Instant>,
    /// What was recorded of the threads before.
    left: Vec<Traced>,
}

impl Recorder {
    /// Records the events of `inspected` from now on, and the context switches of all. Whether there is a gap in what
    /// is recorded: events and programs have their threads all their life, so that there are new ones for others.
    pub fn follow(
        &mut self,
        inspected: &[i32],
        all: &[i32],
        cpus: &[u32],
        tracepoints: &Tracepoints,
    ) -> io::Result<bool> {
        let (inspected, all) = (&inspected[..inspected.len().min(MOST)], &all[..all.len().min(MOST)]);
        let others = self.all != all && self.since.is_none_or(|since| since.elapsed() > OTHERS);
        if inspected.is_empty() || self.inspected == inspected && !others && !self.stale {
            return Ok(false);
        }
        let mut left = std::mem::take(&mut self.left);
        self.take(&mut Vec::new(), |traced| left.push(traced));
        self.left = left;
        (self.events, self.programs, self.stale) = (OfCpus::default(), None, false);
        let by_programs = &BY_PROGRAMS[..if self.wakers_in_full { 2 } else { 3 }];
        if self.refused.is_none() {
            match self.attach(by_programs, inspected, all) {
                Ok(programs) => self.programs = Some(programs),
                Err(error) => self.refused = Some(error),
            }
        }
        let by_events = |trace: &Trace| self.programs.is_none() || !by_programs.contains(trace);
        let traces: Vec<Trace> = Trace::OF_CPUS.into_iter().filter(by_events).collect();
        self.events = OfCpus::open(&traces, inspected, all, cpus, tracepoints)?;
        (self.inspected, self.all, self.since) = (inspected.to_vec(), all.to_vec(), Some(Instant::now()));
        Ok(true)
    }

    fn attach(&mut self, traces: &[Trace], inspected: &[i32], all: &[i32]) -> io::Result<Programs> {
        let kernel = match self.kernel.take() {
            Some(kernel) => kernel,
            None => Kernel::find()?,
        };
        Programs::attach(self.kernel.insert(kernel), traces, inspected, all, RING)
    }

    /// A thread that does the work of interrupts woke an inspected one up, or an interrupt that came to it did. Programs
    /// cannot tell which; it matters, and is seen by perf events from the next time on that threads are followed.
    pub fn see_wakers_in_full(&mut self) {
        self.stale |= !self.wakers_in_full;
        self.wakers_in_full = true;
    }

    /// Why there are no programs.
    pub fn refused(&self) -> Option<&io::Error> {
        self.refused.as_ref()
    }

    /// Waits so long, or until a ring of perf events is half full. That of the programs is larger than what all CPUs write into
    /// it meanwhile.
    pub fn wait(&self, longest: Duration) {
        self.events.wait(longest);
    }

    /// What was recorded since.
    pub fn take(&mut self, buffer: &mut Vec<u8>, mut found: impl FnMut(Traced)) {
        self.left.drain(..).for_each(&mut found);
        if let Some(programs) = &mut self.programs {
            programs.take(|record| found((record, None)));
        }
        self.events.take(buffer, found);
    }
}

#[cfg(test)]
mod tests {
    use ontick_rt::cpus;

    use super::super::perf::records::Body;
    use super::*;

    /// Whether this thread's wake-up from a sleep is told by a program, and by a perf event.
    fn told(recorder: &mut Recorder) -> (bool, bool) {
        let (mut by_program, mut by_event) = (false, false);
        // One that other work keeps from falling asleep in time is not woken.
        for _ in 0..100 {
            std::thread::sleep(Duration::from_millis(1));
            recorder.take(&mut Vec::new(), |(record, trace)| {
                by_program |= matches!(record.body, Body::Woken { .. });
                by_event |= trace == Some(Trace::Waking);
            });
            if by_program || by_event {
                break;
            }
        }
        (by_program, by_event)
    }

    #[test]
    fn wake_ups_are_perf_events_once_it_matters_what_made_them() {
        let tracepoints = Tracepoints::find();
        let tid = [rustix::thread::gettid().as_raw_nonzero().get()];
        let mut recorder = Recorder::default();
        let follow = |recorder: &mut Recorder| recorder.follow(&tid, &tid, &cpus::online(), &tracepoints);
        if !tracepoints.has_calls() || follow(&mut recorder).is_err() || recorder.refused().is_some() {
            return ontick_skip::skipped!("nothing may be recorded: {:?}", recorder.refused());
        }
        assert_eq!(told(&mut recorder), (true, false));
        recorder.see_wakers_in_full();
        recorder.see_wakers_in_full();
        assert!(follow(&mut recorder).unwrap(), "they are opened anew");
        assert!(!follow(&mut recorder).unwrap(), "but once");
        assert_eq!(told(&mut recorder), (false, true));
    }
}
