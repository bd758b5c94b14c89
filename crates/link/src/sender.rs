//! A timed thread that drives a line through frames.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::{Setup, block_signals};
use ontick_rt::wait::Hybrid;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::setting::{Setting, WAKE_NS};
use crate::{Frame, wire};

/// Frames that wait to be sent.
const WAITING: usize = 4;
/// How often one that waits for the thread looks again.
const GLANCE: Duration = Duration::from_micros(500);

/// The thread; ends with this, and leaves the line as its request says.
pub struct Sender {
    setting: Setting,
    frames: Producer<Vec<u64>>,
    queued: u64,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    refused: Vec<String>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    gone: OnceLock<Gone>,
    sent: AtomicU64,
    held_up_ns: AtomicU64,
    /// When the last edge of the last frame was made, in ns.
    ended_ns: AtomicU64,
}

impl Sender {
    /// Starts the thread on a line that is an output, low now.
    pub fn start(line: Line, setting: Setting, setup: Setup) -> std::io::Result<Self> {
        let (frames, waiting) = RingBuffer::new(WAITING);
        let shared = Arc::new(Shared::default());
        let (ready, begun) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("ontick-sender".into()).spawn({
            let shared = shared.clone();
            move || {
                block_signals();
                let held = setup.best_effort();
                let _ = ready.send(held.refused().iter().map(ToString::to_string).collect());
                Driver::new(line, setting, &shared).run(waiting);
            }
        })?;
        let refused = begun.recv().unwrap_or_default();
        Ok(Self { setting, frames, queued: 0, shared, thread: Some(thread), refused })
    }

    /// What the thread asked for and did not get.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// Has a frame sent after those before it, waiting for its turn; `false` if `stop` was set first.
    pub fn send(&mut self, frame: &Frame, stop: &AtomicBool) -> Result<bool, Gone> {
        let mut durations = wire::durations(&frame.encode(self.setting.parity), self.setting.code);
        durations[0] = durations[0].max(WAKE_NS);
        while let Err(rtrb::PushError::Full(back)) = self.frames.push(durations) {
            durations = back;
            self.wait(stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
        self.queued += 1;
        self.wake();
        Ok(true)
    }

    /// Waits until everything was sent; the time of the last edge, in ns, or `None` if `stop` was set first.
    pub fn flush(&mut self, stop: &AtomicBool) -> Result<Option<u64>, Gone> {
        while self.shared.sent.load(Ordering::Acquire) < self.queued {
            self.wait(stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(self.shared.ended_ns.load(Ordering::Relaxed)))
    }

    /// The longest that the thread was held up at an edge, in ns.
    pub fn held_up_ns(&self) -> u64 {
        self.shared.held_up_ns.load(Ordering::Relaxed)
    }

    fn wait(&self, stop: &AtomicBool) -> Result<(), Gone> {
        if let Some(gone) = self.shared.gone.get() {
            return Err(*gone);
        }
        if !stop.load(Ordering::Relaxed) {
            std::thread::sleep(GLANCE);
        }
        Ok(())
    }

    fn wake(&self) {
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread works with.
struct Driver<'a> {
    line: Line,
    setting: Setting,
    shared: &'a Shared,
    clock: Clock,
    wait: Hybrid,
}

impl<'a> Driver<'a> {
    fn new(line: Line, setting: Setting, shared: &'a Shared) -> Self {
        let longest_ns = setting.code.pulse_ns(setting.code.longest_pulse().max(setting.code.longest_gap()));
        Self { line, setting, shared, clock: Clock::new(ClockId::Monotonic), wait: Hybrid::new(longest_ns) }
    }

    fn run(mut self, mut frames: Consumer<Vec<u64>>) {
        while !self.stopped() {
            let Ok(durations) = frames.pop() else {
                std::thread::park();
                continue;
            };
            let began_ns = self.clock.now_ns();
            let ended_ns = match self.drive(&durations) {
                Ok(ended_ns) => ended_ns,
                Err(gone) => {
                    let _ = self.shared.gone.set(gone);
                    return;
                }
            };
            self.shared.ended_ns.store(ended_ns, Ordering::Relaxed);
            self.shared.sent.fetch_add(1, Ordering::Release);
            drop(durations);
            let until_ns = ended_ns + self.setting.pause_ns(ended_ns - began_ns);
            self.clock.id().sleep_until(until_ns);
            self.clock.resync();
        }
    }

    /// One frame. Each edge is timed from when the one before really was: who is held up spoils one stretch,
    /// not two, and not all that follow.
    fn drive(&mut self, durations: &[u64]) -> Result<u64, Gone> {
        let (mut level, mut held_up_ns) = (true, 0);
        self.line.write(level)?;
        let mut edge_ns = self.clock.now_ns();
        for duration_ns in durations {
            let due_ns = edge_ns + duration_ns;
            self.wait.within(&mut self.clock, due_ns);
            level = !level;
            self.line.write(level)?;
            edge_ns = self.clock.now_ns();
            held_up_ns = held_up_ns.max(edge_ns - due_ns);
            if self.stopped() {
                break;
            }
        }
        self.line.write(false)?;
        self.shared.held_up_ns.fetch_max(held_up_ns, Ordering::Relaxed);
        Ok(edge_ns)
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Acquire)
    }
}
