//! A thread that watches a line and tells how wide the pulses on it are.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;

use ontick_gpio::{Backend, Edges, Gone, Line, Name, Request};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::rtrb::{Consumer, Producer, RingBuffer};
use ontick_rt::thread::block_signals;
use rustix::io::Errno;

use super::sight::{Pairs, Seen};
use crate::{Error, Place};

/// Pulses that may wait for the timed thread, which fetches them as fast as it makes new ones.
const WAITING: usize = 4096;
/// How long the thread waits before it looks whether it should end, in ns.
const PATIENCE_NS: u64 = 50_000_000;

/// The thread, which ends with this.
pub struct Watcher {
    seen: Consumer<Seen>,
    shared: Arc<Shared>,
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
    /// Watches this line, from another CPU than that of `place`.
    pub fn start(name: &Name, place: Place) -> Result<Self, Error> {
        let line = Line::open(name, &Request::input().edges(Edges::Both))?;
        let (producer, seen) = RingBuffer::new(WAITING);
        let (shared, backend) = (Arc::new(Shared::default()), line.backend());
        let thread = std::thread::Builder::new().name("ontick-watcher".into()).spawn({
            let shared = shared.clone();
            move || {
                block_signals();
                let _away = place.cpu.and_then(crate::away::Away::from);
                if let Err(Gone(errno)) = watch(line, producer, &shared) {
                    shared.gone.store(errno.raw_os_error(), Ordering::Release);
                }
            }
        });
        let thread = thread.map_err(Error::system("starting the watching thread"))?;
        Ok(Self { seen, shared, backend, thread: Some(thread) })
    }

    /// The next pulse that was seen, if one was by now.
    #[inline]
    pub fn take(&mut self) -> Result<Option<Seen>, Gone> {
        match self.seen.pop() {
            Ok(seen) => Ok(Some(seen)),
            Err(_) => match self.shared.gone.load(Ordering::Acquire) {
                0 => Ok(None),
                errno => Err(Gone(Errno::from_raw_os_error(errno))),
            },
        }
    }

    pub fn describe(&self, line: &Name) -> String {
        match self.backend {
            Backend::Simulated => format!("edges of line {line} (simulated)"),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.thread.take().map(JoinHandle::join);
    }
}

fn watch(mut line: Line, mut seen: Producer<Seen>, shared: &Shared) -> Result<(), Gone> {
    let (mut clock, mut pairs) = (Clock::new(ClockId::Monotonic), Pairs::default());
    while !shared.stop.load(Ordering::Acquire) {
        let deadline_ns = clock.now_ns() + PATIENCE_NS;
        if let Some(pulse) = line.edge(deadline_ns)?.and_then(|edge| pairs.add(edge)) {
            // A full ring: nobody has fetched for thousands of pulses, and what is not fetched counts as not seen.
            let _ = seen.push(pulse);
        }
    }
    Ok(())
}
