//! A timed thread that drives a line through frames.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::ewma::Ewma;
use ontick_rt::thread::{Setup, block_signals};
use ontick_rt::wait::Hybrid;
use ontick_undo::privilege::settle_timed_thread;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::Frame;
use crate::guard::Guard;
use crate::sent::Sent;
use crate::setting::{SLEPT_NS, Setting, WAKE_NS};
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

/// What the thread works with.
struct Driver<'a> {
    line: Line,
    setting: Setting,
    shared: &'a Shared,
    clock: Clock,
    wait: Hybrid,
    late: Ewma<64>,
    /// How long a write takes, which is no part of the stretch before it or behind it.
    write: Ewma<64>,
    level: bool,
    /// When the last edge was, by the beginning of its write and the time beyond the usual that the write took.
    edge_ns: u64,
}

/// When a frame may follow one that began and ended then.
fn next_ns(setting: Setting, began_ns: u64, ended_ns: u64) -> u64 {
    ended_ns + setting.pause_ns(ended_ns - began_ns)
}

/// What became of a stretch.
enum Stretch {
    Right,
    /// It takes its symbol back.
    Cancelled,
    /// Too long by this, in ns, and not to be distinguished from another.
    Late(u64),
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
        let unknown = Ewma::from(0);
        Self { line, setting, shared, clock, wait, late: unknown, write: unknown, level: false, edge_ns: 0 }
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
            self.shared.sent.add(self.edge_ns);
            self.shared.waiter.get().inspect(|waiter| waiter.unpark());
            drop(wave);
            self.clock.id().sleep_until(next_ns(self.setting, began_ns, self.edge_ns));
        }
    }

    /// One frame. Each edge is timed from when the one before really was: who is held up spoils one stretch, not all
    /// that follow.
    fn drive(&mut self, wave: &Wave) -> Result<(), Gone> {
        // The next mark, and how often its block was sent again.
        let (mut at, mut block, mut again) = (0, 0, 0);
        let mut cancelled = 0;
        let began_ns = self.clock.now_ns();
        self.toggle(true, began_ns)?;
        while at < wave.stretches.len() && !self.stopped() {
            if wave.marks.get(block + 1).is_some_and(|mark| at > *mark) {
                (block, again) = (block + 1, 0);
            }
            let counts = self.counts(wave, block, at);
            at = match self.after(wave.stretches[at].into(), counts && cancelled < MOST_CANCELLED)? {
                Stretch::Right => {
                    // A pulse in time before a gap that never is would have its symbol taken back for ever.
                    if at % 2 == 1 {
                        cancelled = 0;
                    }
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
                Stretch::Late(late_ns)
                    if counts && cancelled < MOST_CANCELLED && self.can_cancel(wave, at, late_ns) =>
                {
                    cancelled += 1;
                    self.cancel()?;
                    at
                }
                Stretch::Late(_) if counts && again < MOST_AGAIN => {
                    self.shared.again.fetch_add(1, Ordering::Relaxed);
                    again += 1;
                    self.rise()?;
                    wave.marks[block]
                }
                Stretch::Late(_) => {
                    cancelled = 0;
                    at + 1
                }
            };
        }
        let ended_ns = self.clock.now_ns();
        if self.level { self.toggle(false, ended_ns) } else { Ok(()) }
    }

    /// Whether it matters how long this stretch, in or before this block, is. A preamble has others, and a gap that carries
    /// nothing may have any length.
    fn counts(&self, wave: &Wave, block: usize, at: usize) -> bool {
        let is_pulse = at % 2 == 0;
        let after_mark = wave.marks[block] + 1 == at;
        at >= wave.marks[0] && (is_pulse || self.setting.code.gap_bits > 0 && !after_mark)
    }

    /// Whether the gap behind this pulse, which was too long, can still take their symbol back: where gaps carry bits, and
    /// nobody takes it for a mark.
    fn can_cancel(&self, wave: &Wave, at: usize, late_ns: u64) -> bool {
        let pulse_ns = u64::from(wave.stretches[at]) + late_ns;
        at % 2 == 0 && self.setting.code.gap_bits > 0 && !self.setting.code.resembles_mark(pulse_ns)
    }

    /// The next edge, so long after the one before. Where it is too late for that already, the stretch is made one that
    /// takes its symbol back, if it `counts`.
    fn after(&mut self, stretch_ns: u64, counts: bool) -> Result<Stretch, Gone> {
        let due_ns = self.edge_ns + stretch_ns;
        let reached_ns = self.wait.within(&mut self.clock, due_ns);
        let step_ns = self.setting.code.step_ns;
        let cancelled = counts && reached_ns.saturating_sub(due_ns) > step_ns / 3;
        if cancelled {
            self.cancel()?;
        } else {
            self.toggle(!self.level, reached_ns)?;
        }
        let late_ns = self.edge_ns.saturating_sub(due_ns);
        self.shared.held_up_ns.fetch_max(late_ns, Ordering::Relaxed);
        match cancelled {
            true => Ok(Stretch::Cancelled),
            // It may well be read as what it was to be, and its block takes much longer than its symbol.
            false if self.late.beyond(late_ns) > step_ns / 2 => Ok(Stretch::Late(late_ns)),
            false => Ok(Stretch::Right),
        }
    }

    /// Lets this stretch last until it takes its symbol back.
    fn cancel(&mut self) -> Result<(), Gone> {
        let reached_ns = self.wait.within(&mut self.clock, self.edge_ns + self.setting.code.cancel_ns());
        self.shared.cancelled.fetch_add(1, Ordering::Relaxed);
        self.toggle(!self.level, reached_ns)
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

    fn toggle(&mut self, level: bool, now_ns: u64) -> Result<(), Gone> {
        self.line.write(level)?;
        let beyond_ns = self.write.beyond(self.clock.now_ns().saturating_sub(now_ns));
        (self.level, self.edge_ns) = (level, now_ns + beyond_ns);
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Acquire)
    }
}

/// The end of a sender that drives no line: whoever holds it has the frames.
#[cfg(test)]
pub(crate) struct Outgoing {
    waves: Consumer<Wave>,
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
        self.shared.sent.add(ClockId::Monotonic.now_ns() + later_ns);
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
    use ontick_gpio::{Name, OnExit, Request, sim};

    use super::*;
    use crate::code::Code;
    use crate::frame::Kind;

    /// A driver of a line of its own, whose last edge was so long ago.
    fn driven<T>(line: u32, code: Code, ago_ns: u64, test: impl FnOnce(&mut Driver, &Shared) -> T) -> T {
        let chip = format!("sender-{line}-{}", std::process::id());
        let name = Name::Sim { chip: chip.clone(), line };
        let open = Line::open(&name, &Request::output(false).on_exit(OnExit::Low)).unwrap();
        let shared = Shared::default();
        let mut driver = Driver::new(open, Setting { code, parity: 0, payload: 16 }, &shared);
        driver.edge_ns = driver.clock.resync() - ago_ns;
        let of_test = test(&mut driver, &shared);
        drop(driver);
        sim::remove(&chip).unwrap();
        of_test
    }

    const S: u64 = 1_000_000_000;

    fn code(alphabet: &str, shortest_ns: u64, step_ns: u64) -> Code {
        Code::new(alphabet, shortest_ns, step_ns).unwrap()
    }

    /// A preamble has repeats of its own, a gap that carries nothing may have any length, and so may that behind a mark.
    #[test]
    fn the_length_matters_of_what_carries_bits_and_of_marks() {
        let frame = Frame { kind: Kind::Data, number: 1, payload: vec![7; 16] };
        let counted = |line, alphabet| {
            let code = code(alphabet, 1_000_000, 100_000);
            driven(line, code, 0, |driver, _| {
                let wave = Wave::new(&frame, driver.setting.shape(), code);
                let block = |at| wave.marks.partition_point(|mark| *mark < at).saturating_sub(1);
                let counts: Vec<bool> =
                    (0..wave.stretches.len()).map(|at| driver.counts(&wave, block(at), at)).collect();
                (wave, counts)
            })
        };
        let (wave, counts) = counted(1, "2x1");
        let begins = wave.marks[0];
        assert!(counts[..begins].iter().all(|counts| !counts), "a preamble");
        assert!(counts[begins..].iter().enumerate().all(|(n, counts)| *counts == (n % 2 == 0)), "pulses, and no gaps");
        let (wave, counts) = counted(2, "2x2");
        assert!(counts[..wave.marks[0]].iter().all(|counts| !counts), "a preamble");
        let behind_marks: Vec<usize> = wave.marks.iter().map(|mark| mark + 1).collect();
        for (at, counts) in counts.iter().enumerate().skip(wave.marks[0]) {
            assert_eq!(*counts, !behind_marks.contains(&at), "stretch {at}");
        }
    }

    /// Widths are a second apart, so that nothing this machine does is as much as a third of that.
    #[test]
    fn an_edge_in_time_is_right_and_its_stretch_as_long_as_asked() {
        driven(3, code("2x1", 1_000_000, 100 * S), 0, |driver, shared| {
            let before_ns = driver.edge_ns;
            assert!(matches!(driver.after(3_000_000, true), Ok(Stretch::Right)));
            assert!(driver.level && driver.edge_ns >= before_ns + 3_000_000);
            assert_eq!(shared.held_up_ns.load(Ordering::Relaxed), driver.edge_ns - before_ns - 3_000_000);
            assert!(matches!(driver.after(1_000_000, true), Ok(Stretch::Right)));
            assert!(!driver.level, "every edge is the other way");
            assert_eq!(shared.cancelled.load(Ordering::Relaxed), 0);
        });
    }

    /// A stretch that is too long already is made one that takes its symbol back; where that cannot be said of it, it is
    /// late.
    #[test]
    fn a_stretch_that_is_too_long_is_taken_back() {
        let code = code("2x1", S, 30 * S);
        // A pulse of up to 31 s, and four steps more.
        assert_eq!(code.cancel_ns(), 151 * S);
        driven(4, code, 150 * S + 900_000_000, |driver, shared| {
            let before_ns = driver.edge_ns;
            assert!(matches!(driver.after(S, true), Ok(Stretch::Cancelled)));
            assert!(driver.edge_ns >= before_ns + code.cancel_ns(), "it lasts until nobody takes it for another");
            assert!(driver.level);
            assert_eq!(shared.cancelled.load(Ordering::Relaxed), 1);
            assert_eq!(shared.held_up_ns.load(Ordering::Relaxed), driver.edge_ns - before_ns - S);
        });
        driven(5, code, 17 * S, |driver, shared| {
            let before_ns = driver.edge_ns;
            assert!(matches!(driver.after(S, false), Ok(Stretch::Late(_))));
            assert!(driver.edge_ns < before_ns + code.cancel_ns(), "nothing is waited for");
            assert_eq!(shared.cancelled.load(Ordering::Relaxed), 0);
        });
        // Less than half a step may be read as what it was to be, and less than a third will.
        driven(10, code, 12 * S, |driver, _| assert!(matches!(driver.after(S, false), Ok(Stretch::Right))));
        driven(6, code, 6 * S, |driver, shared| {
            assert!(matches!(driver.after(S, true), Ok(Stretch::Right)));
            assert_eq!(shared.cancelled.load(Ordering::Relaxed), 0);
        });
    }

    #[test]
    fn a_pulse_that_was_too_long_is_taken_back_in_the_gap_behind_it() {
        let code = code("4x4", 1_000, 100_000);
        driven(11, code, 0, |driver, shared| {
            driver.toggle(true, driver.edge_ns).unwrap();
            driver.after(1_000, false).unwrap();
            let before_ns = driver.edge_ns;
            driver.cancel().unwrap();
            assert!(driver.level, "the symbol begins anew");
            assert!(driver.edge_ns >= before_ns + code.cancel_ns());
            assert_eq!(shared.cancelled.load(Ordering::Relaxed), 1);
        });
    }

    /// Steps are 100 s, so that no edge is late by a third of one.
    #[test]
    fn a_frame_that_nothing_holds_up_is_driven_once() {
        let code = code("2x1", 1_000_000, 100 * S);
        let wave = Wave { stretches: vec![400_000, 300_000, 500_000, 200_000, 600_000], marks: vec![2, 4] };
        driven(8, code, 0, |driver, shared| {
            let before_ns = driver.edge_ns;
            driver.drive(&wave).unwrap();
            assert!(!driver.level, "low behind a frame");
            assert!(driver.edge_ns >= before_ns + 2_000_000, "{} {before_ns}", driver.edge_ns);
            let counts = [&shared.cancelled, &shared.again].map(|count| count.load(Ordering::Relaxed));
            assert_eq!(counts, [0, 0]);
        });
    }

    /// Where the thread spins for all of a frame, the pause is longer the longer the frame was.
    #[test]
    fn a_pause_is_by_how_long_the_frame_took() {
        let next = |shortest_ns, began_ns, ended_ns| {
            let setting = Setting::new(code("2x2", shortest_ns, 10_000), 0).unwrap();
            let pause_ns = next_ns(setting, began_ns, ended_ns) - ended_ns;
            assert_eq!(pause_ns, setting.pause_ns(ended_ns - began_ns));
            pause_ns
        };
        assert!(next(20_000, 5 * S, 8 * S) > next(20_000, 5 * S, 6 * S));
        assert_eq!(next(100_000, 5 * S, 8 * S), next(100_000, 5 * S, 6 * S));
    }

    /// Steps of a nanosecond: hardly an edge is in time, and no block is sent again for ever.
    #[test]
    fn a_thread_that_is_always_late_ends_its_frame() {
        let code = code("2x2", 20_000, 1);
        let marks = vec![10, 30, 50];
        let wave = Wave { stretches: vec![20_000; 51], marks: marks.clone() };
        driven(9, code, 0, |driver, shared| {
            driver.drive(&wave).unwrap();
            assert!(!driver.level, "low behind a frame");
            let again = shared.again.load(Ordering::Relaxed);
            assert!(again <= u64::from(MOST_AGAIN) * marks.len() as u64, "{again}");
        });
    }

    #[test]
    fn what_the_thread_counted_is_reported() {
        let setting = Setting::new(code("2x2", 100_000, 100_000), 0).unwrap();
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
        let setting = Setting::new(code("2x2", 100_000, 100_000), 0).unwrap().with_payload(16).unwrap();
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

    /// A block is sent again from a rising edge on, wherever the line was.
    #[test]
    fn a_sender_rises_from_wherever_it_is() {
        driven(7, code("2x1", 1_000_000, 100 * S), 0, |driver, _| {
            let before_ns = driver.edge_ns;
            driver.rise().unwrap();
            assert!(driver.level && driver.edge_ns >= before_ns + 1_000_000);
            let before_ns = driver.edge_ns;
            driver.rise().unwrap();
            assert!(driver.level && driver.edge_ns >= before_ns + 2_000_000, "down, and up again");
        });
    }
}
