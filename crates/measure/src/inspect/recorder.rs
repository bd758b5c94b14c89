//! Whose events are recorded, and by what: programs of bpf(2) for what lies in a wake-up's way, perf events for the rest;
//! perf events for all of it where there may be no programs.

use std::io;
use std::time::{Duration, Instant};

use ontick_rt::clock::ClockId;

use super::bpf::{Kernel, Programs};
use super::perf::records::{Body, Record};
use super::perf::{MOST, OfCpus, Trace, Traced, Tracepoints};

/// What the programs write, in bytes.
const RING: usize = 4 << 20;
/// Of these they can tell.
const BY_PROGRAMS: [Trace; 3] = [Trace::Exit, Trace::Switch, Trace::Waking];

/// Threads that are not inspected come and go: they are taken up this often.
const OTHERS: Duration = Duration::from_secs(1);

/// What began before others took over is written by so long after it.
const WRITTEN: Duration = Duration::from_millis(1);

/// Records events of some threads, until it is dropped. Nothing of it outlives the process.
#[derive(Default)]
pub struct Recorder {
    now: Recording,
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

/// Events and programs, which have their threads all their life: there are new ones for others.
#[derive(Default)]
struct Recording {
    events: OfCpus,
    programs: Option<Programs>,
    /// What was before is told by those before.
    from_ns: u64,
}

impl Recorder {
    /// Records the events of `inspected` from now on, and the context switches of all. Returns how long, in ns, nothing was
    /// recorded of threads that were followed before; `None` where nothing changes.
    pub fn follow(
        &mut self,
        inspected: &[i32],
        all: &[i32],
        cpus: &[u32],
        tracepoints: &Tracepoints,
    ) -> io::Result<Option<u64>> {
        let (inspected, all) = (&inspected[..inspected.len().min(MOST)], &all[..all.len().min(MOST)]);
        let others = self.all != all && self.since.is_none_or(|since| since.elapsed() > OTHERS);
        if inspected.is_empty() || self.inspected == inspected && !others && !self.stale {
            return Ok(None);
        }
        let open = |recorder: &mut Self| recorder.open(inspected, all, cpus, tracepoints);
        let unseen_ns = self.go_over(open, || ClockId::Monotonic.now_ns())?;
        self.stale = false;
        (self.inspected, self.all, self.since) = (inspected.to_vec(), all.to_vec(), Some(Instant::now()));
        Ok(Some(unseen_ns))
    }

    /// Goes over from what is recorded to what `open` begins: beside it, where there is room for both, so that nothing goes
    /// unseen, else after it. Returns how long, in ns, there was neither.
    fn go_over(
        &mut self,
        open: impl Fn(&mut Self) -> io::Result<Recording>,
        now_ns: impl Fn() -> u64,
    ) -> io::Result<u64> {
        match open(self) {
            Ok(next) => {
                std::thread::sleep(WRITTEN);
                self.end(next.from_ns);
                self.now = next;
                Ok(0)
            }
            // There may be no room for both, as of file descriptors.
            Err(_) if self.since.is_some() => {
                let since_ns = now_ns();
                self.end(u64::MAX);
                self.now = open(self)?;
                Ok(self.now.from_ns - since_ns)
            }
            Err(error) => Err(error),
        }
    }

    /// Begins to record, beside what is recorded now.
    fn open(
        &mut self,
        inspected: &[i32],
        all: &[i32],
        cpus: &[u32],
        tracepoints: &Tracepoints,
    ) -> io::Result<Recording> {
        let by_programs = &BY_PROGRAMS[..if self.wakers_in_full { 2 } else { 3 }];
        let mut programs = None;
        if self.refused.is_none() {
            match self.attach(by_programs, inspected, all) {
                Ok(attached) => programs = Some(attached),
                // They may be used, as there are some.
                Err(error) if self.now.programs.is_some() => return Err(error),
                Err(error) => self.refused = Some(error),
            }
        }
        let by_events = |trace: &Trace| programs.is_none() || !by_programs.contains(trace);
        let traces: Vec<Trace> = Trace::OF_CPUS.into_iter().filter(by_events).collect();
        let events = OfCpus::open(&traces, inspected, all, cpus, tracepoints)?;
        Ok(Recording { events, programs, from_ns: ClockId::Monotonic.now_ns() })
    }

    fn attach(&mut self, traces: &[Trace], inspected: &[i32], all: &[i32]) -> io::Result<Programs> {
        let kernel = match self.kernel.take() {
            Some(kernel) => kernel,
            None => Kernel::find()?,
        };
        Programs::attach(self.kernel.insert(kernel), traces, inspected, all, RING)
    }

    /// Ends what is recorded now, and keeps what was before this time.
    fn end(&mut self, until_ns: u64) {
        let mut ended = std::mem::take(&mut self.now);
        let left = &mut self.left;
        ended.take(until_ns, &mut Vec::new(), |traced| left.push(traced));
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
        self.now.events.wait(longest);
    }

    /// What was recorded since.
    pub fn take(&mut self, buffer: &mut Vec<u8>, mut found: impl FnMut(Traced)) {
        self.left.drain(..).for_each(&mut found);
        self.now.take(u64::MAX, buffer, found);
    }
}

impl Recording {
    /// What was recorded since, and before this time.
    fn take(&mut self, until_ns: u64, buffer: &mut Vec<u8>, mut found: impl FnMut(Traced)) {
        let from_ns = self.from_ns;
        // A loss has no time.
        let is_its =
            |record: &Record| (from_ns..until_ns).contains(&record.at_ns) || matches!(record.body, Body::Lost(_));
        let mut hand_on = |(record, trace): Traced| {
            if is_its(&record) {
                found((record, trace));
            }
        };
        if let Some(programs) = &mut self.programs {
            programs.take(|record| hand_on((record, None)));
        }
        self.events.take(buffer, hand_on);
    }
}

#[cfg(test)]
mod tests {
    use ontick_rt::cpus;

    use std::cell::Cell;
    use std::sync::atomic::{AtomicBool, AtomicI32, Ordering::Relaxed};

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
        assert_eq!(follow(&mut recorder).unwrap(), Some(0), "they are opened anew");
        assert_eq!(follow(&mut recorder).unwrap(), None, "but once");
        // Whoever waited while they were opened was woken before, and that is told by a program.
        recorder.take(&mut Vec::new(), |_| {});
        assert_eq!(told(&mut recorder), (false, true));
    }

    /// Makes calls that fail until it is stopped, and returns how many.
    fn fail(stop: &AtomicBool) -> u64 {
        let mut calls = 0;
        while !stop.load(Relaxed) {
            assert!(std::fs::metadata("/dev/null/nothing").is_err());
            calls += 1;
            std::thread::sleep(Duration::from_micros(200));
        }
        calls
    }

    fn own_tid() -> i32 {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    /// Begins and ends of the calls of a thread that fail.
    #[derive(Default)]
    struct Seen {
        begun: u64,
        failed: u64,
        lost: u64,
    }

    impl Seen {
        fn take(&mut self, recorder: &mut Recorder, tid: i32) {
            recorder.take(&mut Vec::new(), |(record, trace)| match (record.body, trace) {
                (Body::Lost(count), _) => self.lost += count,
                _ if record.tid != tid => {}
                (Body::Returned { result }, _) => self.failed += u64::from(result == -i64::from(libc::ENOTDIR)),
                (Body::Sample { raw, .. }, Some(Trace::Enter)) => {
                    self.begun += u64::from(raw[8..8 + size_of::<usize>()] == libc::SYS_statx.to_ne_bytes());
                }
                _ => {}
            });
        }
    }

    /// What there is room for once nothing else is recorded, or never, and how long that takes to begin on a clock of paper.
    fn gone_over(recorder: &mut Recorder, room_after: usize) -> Result<u64, String> {
        let (tried, clock) = (Cell::new(0), Cell::new(1_000));
        let open = |_: &mut Recorder| {
            tried.set(tried.get() + 1);
            clock.set(clock.get() + 30_000);
            match tried.get() > room_after {
                true => Ok(Recording { from_ns: clock.get(), ..Recording::default() }),
                false => Err(io::Error::from_raw_os_error(libc::EMFILE)),
            }
        };
        recorder.go_over(open, || clock.get()).map_err(|error| format!("{error}, tried {}", tried.get()))
    }

    /// From when what was recorded ended until what is recorded now began.
    #[test]
    fn what_there_was_no_room_to_record_beside_the_others_went_unseen() {
        let mut recorder = Recorder::default();
        assert_eq!(gone_over(&mut recorder, 0), Ok(0), "nothing was recorded before");
        assert!(gone_over(&mut recorder, 1).unwrap_err().ends_with("tried 1"), "nothing was there to make room");
        recorder.since = Some(Instant::now());
        assert_eq!(gone_over(&mut recorder, 0), Ok(0), "one began beside the other");
        assert_eq!((gone_over(&mut recorder, 1), recorder.now.from_ns), (Ok(30_000), 61_000));
        assert!(gone_over(&mut recorder, 2).unwrap_err().ends_with("tried 2"));
    }

    /// Threads that come and go hide nothing of one that stays.
    #[test]
    fn a_thread_is_recorded_without_a_gap_while_others_come_and_go() {
        let tracepoints = Tracepoints::find();
        let (tid, stop) = (AtomicI32::new(0), AtomicBool::new(false));
        let mut recorder = Recorder::default();
        let (mut seen, mut changes) = (Seen::default(), 0);
        let calls = std::thread::scope(|scope| {
            // Recording began with another thread, so that no call is before it.
            let follow = |recorder: &mut Recorder, tids: &[i32]| {
                recorder
                    .follow(tids, tids, &cpus::online(), &tracepoints)
                    .map(|unseen_ns| assert_eq!(unseen_ns, Some(0)))
            };
            if !tracepoints.has_calls() || follow(&mut recorder, &[own_tid()]).is_err() || recorder.refused().is_some()
            {
                return None;
            }
            let (gate, opened) = std::sync::mpsc::channel::<()>();
            let (tid, stop) = (&tid, &stop);
            let failing = scope.spawn(move || {
                tid.store(own_tid(), Relaxed);
                let _ = opened.recv();
                fail(stop)
            });
            while tid.load(Relaxed) == 0 {
                std::thread::yield_now();
            }
            let failer = tid.load(Relaxed);
            follow(&mut recorder, &[failer]).unwrap();
            gate.send(()).unwrap();
            for n in 0..20 {
                let others = [failer, own_tid()];
                follow(&mut recorder, &others[..1 + (n + 1) % 2]).unwrap();
                changes += 1;
                seen.take(&mut recorder, failer);
                std::thread::sleep(Duration::from_millis(3));
            }
            stop.store(true, Relaxed);
            let calls = failing.join().unwrap();
            seen.take(&mut recorder, failer);
            Some(calls)
        });
        let Some(calls) = calls else {
            return ontick_skip::skipped!("nothing may be recorded: {:?}", recorder.refused());
        };
        assert!(calls > 100 && changes == 20, "{calls} calls");
        // Two records of one call have their own clock readings: at a change both may be taken, or none.
        let most_off = changes;
        assert!(seen.failed.abs_diff(calls) <= most_off, "{calls} calls, {} ended", seen.failed);
        assert!(seen.begun.abs_diff(calls) <= most_off, "{calls} calls, {} begun", seen.begun);
        assert_eq!(seen.lost, 0);
    }
}
