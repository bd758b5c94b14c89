//! A thread that watches a line and tells how wide the pulses on it are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;

use ontick_gpio::{Backend, Edge, Edges, Error as GpioError, Gone, Line, Name, Request};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::rtrb::{Consumer, Producer, RingBuffer};
use ontick_rt::thread::block_signals;
use rustix::io::Errno;
use rustix::thread::sched_setaffinity;

use super::edges::{ObservedPulse, Pairs};
use crate::{Error, Placement, avoid_cpu};

/// Pulses that may wait for the timed thread, which fetches them as fast as it makes new ones.
const WAITING: usize = 4096;
/// How long the thread waits before it looks whether it should end, in ns.
const PATIENCE_NS: u64 = 50_000_000;
/// One who polls sleeps so long after each pulse, and while there are none, in ns: it must not keep its CPU from
/// everybody.
const REST_NS: u64 = 200_000;

/// How the thread knows of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detection {
    /// It is notified, with the time of the edge.
    Edges,
    /// It reads the level again and again.
    Level,
}

/// The thread, which ends with this.
pub struct Watcher {
    seen: Consumer<ObservedPulse>,
    shared: Arc<Shared>,
    reported: Detection,
    backend: Backend,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// Why the line answers no more; 0: it does.
    gone: AtomicI32,
}

impl Watcher {
    /// Watches this line, from another CPU than that of `placement`.
    pub fn start(name: &Name, placement: Placement) -> Result<Self, Error> {
        let (line, reported) = match Line::open(name, &Request::input().edges(Edges::Both)) {
            Err(GpioError::Unsupported { .. }) => (Line::open(name, &Request::input())?, Detection::Level),
            line => (line?, Detection::Edges),
        };
        // This thread may be pinned already.
        let others = avoid_cpu::others(placement.cpu);
        let needed = if placement.cpu.is_some() { 1 } else { 2 };
        if reported == Detection::Level && others.is_none_or(|others| others.count() < needed) {
            return Err(Error::NeedsTwoCpus("polling the line that watches the pulses"));
        }
        let (producer, seen) = RingBuffer::new(WAITING);
        let (shared, backend) = (Arc::new(Shared::default()), line.backend());
        let thread = std::thread::Builder::new().name("ontick-watcher".into()).spawn({
            let shared = shared.clone();
            move || {
                block_signals();
                if let Some(others) = others {
                    let _ = sched_setaffinity(None, &others);
                }
                let watched = match reported {
                    Detection::Edges => watch(line, producer, &shared),
                    Detection::Level => {
                        let _ready = Placement { cpu: None, ..placement }.take_and_settle();
                        poll(line, producer, &shared)
                    }
                };
                if let Err(Gone(errno)) = watched {
                    shared.gone.store(errno.raw_os_error(), Ordering::Release);
                }
            }
        });
        let thread = thread.map_err(Error::system("starting the watching thread"))?;
        Ok(Self { seen, shared, reported, backend, thread: Some(thread) })
    }

    /// The next pulse that was seen, if one was by now.
    #[inline]
    pub fn take(&mut self) -> Result<Option<ObservedPulse>, Gone> {
        match self.seen.pop() {
            Ok(seen) => Ok(Some(seen)),
            Err(_) => match self.shared.gone.load(Ordering::Acquire) {
                0 => Ok(None),
                errno => Err(Gone(Errno::from_raw_os_error(errno))),
            },
        }
    }

    /// What is behind the line.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Whether edges come with their times.
    pub fn is_notified(&self) -> bool {
        self.reported == Detection::Edges
    }

    /// How the pulses are seen, in words.
    pub fn describe(&self, line: &Name) -> String {
        match (self.reported, self.backend) {
            (Detection::Edges, Backend::Simulated) => format!("edges of line {line} (simulated)"),
            (Detection::Edges, _) => format!("the kernel's time stamps of edges on line {line}"),
            (Detection::Level, _) => format!("polling line {line} from another CPU"),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.take().map(JoinHandle::join);
    }
}

fn watch(mut line: Line, mut seen: Producer<ObservedPulse>, shared: &Shared) -> Result<(), Gone> {
    let (mut clock, mut pairs) = (Clock::new(ClockId::Monotonic), Pairs::default());
    // Whoever drives a simulated line wakes those who wait for its edges, within its own write: that would be part of
    // the pulse, by several microseconds. The line keeps its edges with their times until they are fetched.
    let simulated = line.backend() == Backend::Simulated;
    while !shared.stop.load(Ordering::Acquire) {
        let now_ns = clock.now_ns();
        match line.edge(if simulated { 0 } else { now_ns + PATIENCE_NS })? {
            Some(edge) => {
                if let Some(pulse) = pairs.add(edge) {
                    // A full ring: nobody has fetched for thousands of pulses, and what is not fetched counts as not
                    // seen.
                    let _ = seen.push(pulse);
                }
            }
            None if simulated => clock.id().sleep_until(now_ns + REST_NS),
            None => {}
        }
    }
    Ok(())
}

/// Reads the level until it changes. Rests after every pulse; the gap is long enough for that, or pulses are missed.
fn poll(mut line: Line, mut seen: Producer<ObservedPulse>, shared: &Shared) -> Result<(), Gone> {
    let (mut clock, mut pairs) = (Clock::new(ClockId::Monotonic), Pairs::default());
    let (mut level, mut patience_ns) = (line.read()?, 0);
    while !shared.stop.load(Ordering::Acquire) {
        let rising = line.read()?;
        let time_ns = clock.now_ns();
        if rising != level {
            level = rising;
            if let Some(pulse) = pairs.add(Edge { rising, time_ns, lost: 0 }) {
                let _ = seen.push(pulse);
                clock.id().sleep_until(time_ns + REST_NS);
            }
            patience_ns = clock.resync() + PATIENCE_NS;
        } else if time_ns > patience_ns {
            clock.id().sleep_until(time_ns + PATIENCE_NS / 10);
            patience_ns = clock.resync() + PATIENCE_NS;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    /// What the watching thread waits in, as the kernel calls it.
    fn waits_in() -> Option<String> {
        let tasks = std::fs::read_dir("/proc/self/task").ok()?.flatten().map(|task| task.path());
        let of = |path: std::path::PathBuf| {
            let name = std::fs::read_to_string(path.join("comm")).ok()?;
            (name.trim() == "ontick-watcher").then(|| std::fs::read_to_string(path.join("wchan")).ok()).flatten()
        };
        tasks.filter_map(of).find(|function| function.len() > 1)
    }

    #[test]
    fn nobody_who_drives_a_simulated_line_has_to_wake_the_watcher() {
        let chip = format!("watched{}", std::process::id());
        let name: Name = format!("sim:{chip}/5").parse().unwrap();
        let placement = Placement::stock();
        let watcher = Watcher::start(&name, placement).unwrap();
        let (began, mut found) = (Instant::now(), Vec::new());
        while found.len() < 50 && began.elapsed() < Duration::from_secs(5) {
            found.extend(waits_in());
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(watcher);
        ontick_gpio::sim::remove(&chip).unwrap();
        if found.is_empty() {
            ontick_skip::skipped!("this kernel does not say what a thread waits in");
            return;
        }
        assert!(found.iter().all(|function| !function.contains("futex")), "{found:?}");
    }
}
