//! A timed thread that drives a line through frames.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::{Setup, block_signals};
use ontick_rt::wait::Hybrid;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::Frame;
use crate::guard::Guard;
use crate::setting::{SLEPT_NS, Setting, WAKE_NS};
use crate::usual::Usual;
use crate::wave::Wave;

/// Frames that wait to be sent.
const WAITING: usize = 4;
/// One that waits for the thread is woken after each frame, and looks again after this: every look interrupts a CPU,
/// which may be one that is timed.
const GLANCE: Duration = Duration::from_millis(10);

/// The thread; ends with this, and leaves the line as its request says.
pub struct Sender {
    setting: Setting,
    frames: Producer<Wave>,
    queued: u64,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    refused: Vec<String>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    gone: OnceLock<Gone>,
    waiter: OnceLock<Thread>,
    sent: AtomicU64,
    held_up_ns: AtomicU64,
    /// Symbols, and blocks, that were sent again.
    cancelled: AtomicU64,
    again: AtomicU64,
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
                let guard = Guard::over(&held);
                let _ = ready.send(guard.refused.clone());
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
        let mut wave = Wave::new(frame, self.setting.shape(), self.setting.code);
        wave.stretches[0] = wave.stretches[0].max(WAKE_NS as u32);
        while let Err(rtrb::PushError::Full(back)) = self.frames.push(wave) {
            wave = back;
            self.wait(stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
        }
        self.queued += 1;
        self.wake();
        Ok(true)
    }

    /// Frames that have not left yet.
    pub fn waiting(&self) -> u64 {
        self.queued - self.shared.sent.load(Ordering::Acquire)
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

    /// Symbols that were taken back and sent again because the thread was late in them.
    pub fn cancelled(&self) -> u64 {
        self.shared.cancelled.load(Ordering::Relaxed)
    }

    /// Blocks that were sent again because the thread was late in them.
    pub fn again(&self) -> u64 {
        self.shared.again.load(Ordering::Relaxed)
    }

    fn wait(&self, stop: &AtomicBool) -> Result<(), Gone> {
        if let Some(gone) = self.shared.gone.get() {
            return Err(*gone);
        }
        if !stop.load(Ordering::Relaxed) {
            self.shared.waiter.get_or_init(std::thread::current);
            std::thread::park_timeout(GLANCE);
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
    late: Usual,
    level: bool,
    edge_ns: u64,
}

/// What became of a stretch.
enum Stretch {
    Right,
    /// It takes its symbol back.
    Cancelled,
    /// Too long, and not to be told from another.
    Late,
}

/// Spun of each stretch of a slow code, at most: of the rest the way into sleep and out takes some 12 us, and a thread
/// that leaves its CPU less than a twentieth of the time is stopped by the kernel for 50 ms of every second.
const DUTY: f64 = 0.7;
/// One symbol is taken back so often, at most.
const MOST_CANCELLED: u32 = 8;
/// One block is sent again so often, at most: where every edge is late, that is no help.
const MOST_AGAIN: u32 = 4;

impl<'a> Driver<'a> {
    fn new(line: Line, setting: Setting, shared: &'a Shared) -> Self {
        // Where no sleep is short enough, only the pulse that wakes the receiver is slept through.
        let shortest_ns = setting.code.shortest_ns;
        let wait =
            if shortest_ns < SLEPT_NS { Hybrid::with_margin(SLEPT_NS) } else { Hybrid::with_duty(shortest_ns, DUTY) };
        let clock = Clock::new(ClockId::Monotonic);
        Self { line, setting, shared, clock, wait, late: Usual::default(), level: false, edge_ns: 0 }
    }

    fn run(mut self, mut waves: Consumer<Wave>) {
        while !self.stopped() {
            let Ok(wave) = waves.pop() else {
                std::thread::park();
                continue;
            };
            let began_ns = self.clock.resync();
            if let Err(gone) = self.drive(&wave) {
                let _ = self.shared.gone.set(gone);
                return;
            }
            self.shared.ended_ns.store(self.edge_ns, Ordering::Relaxed);
            self.shared.sent.fetch_add(1, Ordering::Release);
            self.shared.waiter.get().inspect(|waiter| waiter.unpark());
            drop(wave);
            let until_ns = self.edge_ns + self.setting.pause_ns(self.edge_ns - began_ns);
            self.clock.id().sleep_until(until_ns);
        }
    }

    /// One frame. Each edge is timed from when the one before really was: who is held up spoils one stretch, not all
    /// that follow.
    fn drive(&mut self, wave: &Wave) -> Result<(), Gone> {
        // The next mark, and how often its block was sent again.
        let (mut at, mut block, mut again) = (0, 0, 0);
        let mut cancelled = 0;
        self.toggle(true)?;
        while at < wave.stretches.len() && !self.stopped() {
            if wave.marks.get(block + 1).is_some_and(|mark| at > *mark) {
                (block, again) = (block + 1, 0);
            }
            let counts = self.counts(wave, at);
            at = match self.after(wave.stretches[at].into(), counts && cancelled < MOST_CANCELLED)? {
                Stretch::Right => {
                    cancelled = 0;
                    at + 1
                }
                Stretch::Cancelled => {
                    cancelled += 1;
                    // The symbol begins with a pulse, which one that was taken back in its gap has begun already.
                    if !self.level {
                        self.after(self.setting.code.shortest_ns, false)?;
                    }
                    at - at % 2
                }
                Stretch::Late if counts && again < MOST_AGAIN => {
                    self.shared.again.fetch_add(1, Ordering::Relaxed);
                    again += 1;
                    self.rise()?;
                    wave.marks[block]
                }
                Stretch::Late => {
                    cancelled = 0;
                    at + 1
                }
            };
        }
        if self.level { self.toggle(false) } else { Ok(()) }
    }

    /// Whether it matters how long this stretch is. A preamble has others, and a gap that carries nothing may have any
    /// length.
    fn counts(&self, wave: &Wave, at: usize) -> bool {
        let is_pulse = at % 2 == 0;
        let after_mark = at > 0 && wave.marks.binary_search(&(at - 1)).is_ok();
        at >= wave.marks[0] && (is_pulse || self.setting.code.gap_bits > 0 && !after_mark)
    }

    /// The next edge, so long after the one before. Where it is too late for that already, the stretch is made one that
    /// takes its symbol back, if it `counts`.
    fn after(&mut self, stretch_ns: u64, counts: bool) -> Result<Stretch, Gone> {
        let due_ns = self.edge_ns + stretch_ns;
        let reached_ns = self.wait.within(&mut self.clock, due_ns);
        let tolerance_ns = self.setting.code.step_ns / 3;
        let cancelled = counts && reached_ns.saturating_sub(due_ns) > tolerance_ns;
        if cancelled {
            self.wait.within(&mut self.clock, self.edge_ns + self.setting.code.cancel_ns());
            self.shared.cancelled.fetch_add(1, Ordering::Relaxed);
        }
        self.toggle(!self.level)?;
        let late_ns = self.edge_ns.saturating_sub(due_ns);
        self.shared.held_up_ns.fetch_max(late_ns, Ordering::Relaxed);
        match cancelled {
            true => Ok(Stretch::Cancelled),
            false if self.late.beyond(late_ns) > tolerance_ns => Ok(Stretch::Late),
            false => Ok(Stretch::Right),
        }
    }

    /// To the next rising edge as soon as may be.
    fn rise(&mut self) -> Result<(), Gone> {
        let shortest_ns = self.setting.code.shortest_ns;
        while !self.stopped() {
            self.after(shortest_ns, false)?;
            if self.level {
                break;
            }
        }
        Ok(())
    }

    fn toggle(&mut self, level: bool) -> Result<(), Gone> {
        self.line.write(level)?;
        (self.level, self.edge_ns) = (level, self.clock.now_ns());
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Acquire)
    }
}
