//! A timed thread that drives a line through frames.

mod driver;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use ontick_gpio::{Gone, Line};
use ontick_rt::thread::{Setup, block_signals};
use ontick_undo::privilege::settle_timed_thread;
use rtrb::{Producer, RingBuffer};

use driver::Driver;

use crate::Frame;
use crate::guard::Guard;
use crate::sent::Sent;
use crate::setting::{Setting, WAKE_NS};
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
    sent: Sent,
    held_up_ns: AtomicU64,
    /// Symbols, and blocks, that were sent again.
    cancelled: AtomicU64,
    again: AtomicU64,
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
                settle_timed_thread();
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
        self.queued - self.shared.sent.frames()
    }

    /// Waits until no more than so many frames have not left yet, or until `stop` is set.
    pub fn until_waiting(&self, count: u64, stop: &AtomicBool) -> Result<(), Gone> {
        while self.waiting() > count && !stop.load(Ordering::Relaxed) {
            self.wait(stop)?;
        }
        Ok(())
    }

    /// Waits until everything was sent; the time of the last edge, in ns, or `None` if `stop` was set first.
    pub fn flush(&mut self, stop: &AtomicBool) -> Result<Option<u64>, Gone> {
        while self.shared.sent.frames() < self.queued {
            self.wait(stop)?;
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(self.shared.sent.ended_ns()))
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

/// The end of a sender that drives no line: whoever holds it has the frames.
#[cfg(test)]
pub(crate) struct Outgoing {
    waves: rtrb::Consumer<Wave>,
    shared: Arc<Shared>,
}

#[cfg(test)]
impl Outgoing {
    /// The next frame.
    pub fn next(&mut self) -> Option<Wave> {
        self.waves.pop().ok()
    }

    /// Its last edge is made, so long after now.
    pub fn left(&self, later_ns: u64) {
        self.shared.sent.add(ontick_rt::clock::ClockId::Monotonic.now_ns() + later_ns);
        self.shared.waiter.get().inspect(|waiter| waiter.unpark());
    }
}

#[cfg(test)]
impl Sender {
    /// One that drives no line.
    pub(crate) fn without_line(setting: Setting) -> (Self, Outgoing) {
        let (frames, waves) = RingBuffer::new(WAITING);
        let shared = Arc::new(Shared::default());
        let outgoing = Outgoing { waves, shared: shared.clone() };
        (Self { setting, frames, queued: 0, shared, thread: None, refused: vec!["a CPU of its own".into()] }, outgoing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::Code;
    use crate::frame::Kind;

    #[test]
    fn what_the_thread_counted_is_reported() {
        let code = Code::new("2x2", 100_000, 100_000).unwrap();
        let setting = Setting::new(code, 0).unwrap();
        let (sender, outgoing) = Sender::without_line(setting);
        let reported = || [sender.cancelled(), sender.again(), sender.held_up_ns()];
        assert_eq!(reported(), [0; 3]);
        outgoing.shared.cancelled.store(3, Ordering::Relaxed);
        outgoing.shared.again.store(5, Ordering::Relaxed);
        outgoing.shared.held_up_ns.store(70, Ordering::Relaxed);
        assert_eq!(reported(), [3, 5, 70]);
    }

    #[test]
    fn frames_that_have_not_left_are_counted() {
        let code = Code::new("2x2", 100_000, 100_000).unwrap();
        let setting = Setting::new(code, 0).unwrap().with_payload(16).unwrap();
        let (mut sender, mut outgoing) = Sender::without_line(setting);
        let stop = AtomicBool::new(false);
        let frame = |number| Frame { kind: Kind::Data, number, payload: vec![number as u8; 16] };
        for number in 0..3 {
            assert!(sender.send(&frame(number), &stop).unwrap());
        }
        assert_eq!(sender.waiting(), 3);
        assert!(outgoing.next().unwrap().stretches[0] >= WAKE_NS as u32, "the first pulse wakes who naps");
        outgoing.left(0);
        assert_eq!(sender.waiting(), 2);
        sender.send(&frame(3), &stop).unwrap();
        sender.send(&frame(4), &stop).unwrap();
        // All places are taken, and who waits hears of the end.
        stop.store(true, Ordering::Relaxed);
        assert!(!sender.send(&frame(5), &stop).unwrap());
        assert_eq!(sender.waiting(), 4);
        assert_eq!(sender.flush(&stop).unwrap(), None);
    }
}
