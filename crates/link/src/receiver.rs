//! A timed thread that takes edges, and the frames that another reads from them.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

use ontick_gpio::{Edges, Gone, Line, Request};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::ewma::Ewma;
use ontick_rt::thread::{Setup, block_signals};
use ontick_rt::wait::Hybrid;
use ontick_undo::privilege::settle_timed_thread;
use rtrb::{Consumer, Producer, RingBuffer};

use crate::code::Code;
use crate::decode::{Decoded, Decoder, LineEvent};
use crate::eye::Eye;
use crate::guard::Guard;
use crate::setting::{SLEPT_NS, Setting, WAKE_NS};

/// What the reading thread may be behind by.
const WAITING: usize = 1 << 18;
/// The reading thread is woken when the line rests, and looks as often as this where it does not: every look interrupts
/// a CPU, which may be one that is timed.
const GLANCE: Duration = Duration::from_millis(10);
/// The thread notices within this that it is to end, in ns.
const PATIENCE_NS: u64 = 20_000_000;
/// One who polls naps this long while the line rests: well below the first pulse of a frame, in ns.
const NAP_NS: u64 = WAKE_NS * 3 / 10;
/// One who polls rests a tenth of the time also where the line never does, in ns.
const STRETCH_NS: u64 = 450_000_000;
/// Where one who polls sleeps after each edge, the share of the time until the next that is spun, at most.
const DUTY: f64 = 0.6;

/// How the thread comes to know of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// It reads the line again and again.
    Poll,
    /// It is notified.
    Interrupt,
}

impl Method {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Poll => "poll",
            Method::Interrupt => "interrupt",
        }
    }

    /// How to ask for the line.
    pub fn request(self) -> Request {
        match self {
            Method::Poll => Request::input(),
            Method::Interrupt => Request::input().edges(Edges::Both),
        }
    }
}

/// A word that is no [`Method`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("choose poll or interrupt")]
pub struct UnknownMethod;

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(text: &str) -> Result<Self, UnknownMethod> {
        let all = [Method::Poll, Method::Interrupt];
        all.into_iter().find(|method| method.name() == text).ok_or(UnknownMethod)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The thread; ends with this.
pub struct Receiver {
    seen: Consumer<LineEvent>,
    decoder: Decoder,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    refused: Vec<String>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    gone: OnceLock<Gone>,
    reader: OnceLock<Thread>,
}

impl Receiver {
    /// Starts the thread on a line that was asked for with [`Method::request`].
    pub fn start(line: Line, setting: Setting, method: Method, setup: Setup) -> std::io::Result<Self> {
        let (producer, seen) = RingBuffer::new(WAITING);
        let shared = Arc::new(Shared::default());
        let (ready, begun) = std::sync::mpsc::channel();
        let code = setting.code;
        let thread = std::thread::Builder::new().name("ontick-receiver".into()).spawn({
            let shared = shared.clone();
            move || {
                block_signals();
                let held = setup.best_effort();
                let guard = Guard::over(&held);
                settle_timed_thread();
                let mut watcher = Watcher::new(line, code, producer, &shared);
                let _ = ready.send(guard.refused.clone());
                let ended = match method {
                    Method::Poll => watcher.poll(),
                    Method::Interrupt => watcher.follow(),
                };
                if let Err(gone) = ended {
                    let _ = shared.gone.set(gone);
                }
            }
        })?;
        let refused = begun.recv().unwrap_or_default();
        Ok(Self { seen, decoder: Decoder::new(code), shared, thread: Some(thread), refused })
    }

    /// What the thread asked for and did not get.
    pub fn refused(&self) -> &[String] {
        &self.refused
    }

    /// What came next, waiting for it until `deadline_ns` on the monotonic clock or until `stop`.
    pub fn next(&mut self, deadline_ns: u64, stop: &AtomicBool) -> Result<Option<Decoded>, Gone> {
        loop {
            while let Ok(seen) = self.seen.pop() {
                self.decoder.take(seen);
                if let Some(heard) = self.decoder.pop() {
                    return Ok(Some(heard));
                }
            }
            // One edge may end a frame and begin another.
            if let Some(heard) = self.decoder.pop() {
                return Ok(Some(heard));
            }
            if let Some(gone) = self.shared.gone.get() {
                return Err(*gone);
            }
            if stop.load(Ordering::Relaxed) || ClockId::Monotonic.now_ns() >= deadline_ns {
                return Ok(None);
            }
            self.shared.reader.get_or_init(std::thread::current);
            let left = Duration::from_nanos(deadline_ns.saturating_sub(ClockId::Monotonic.now_ns()));
            std::thread::park_timeout(left.min(GLANCE));
        }
    }
}

impl Receiver {
    /// How wide the pulses of whole blocks were.
    pub fn eye(&self) -> &Eye {
        self.decoder.eye()
    }

    /// Blocks that came whole so far, headers among them.
    pub fn blocks(&self) -> u64 {
        self.decoder.blocks()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// So long after an edge the line does not change, in ns: clocks may differ a little, and edges be late.
fn still_ns(code: Code) -> u64 {
    code.shortest_ns * 3 / 4
}

/// Why one who polls leaves its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Nap {
    /// The line rests.
    InRest,
    /// The line may move at any time, but nobody has had the CPU for too long.
    ForOthers,
}

impl Nap {
    /// Whether it is time for one: the line has this level since `edge_ns`, and the CPU was left last at `rested_ns`.
    #[inline]
    fn of(level: bool, idle_ns: u64, edge_ns: u64, rested_ns: u64, now_ns: u64) -> Option<Self> {
        if !level && now_ns - edge_ns >= idle_ns {
            return Some(Nap::InRest);
        }
        (now_ns - rested_ns > STRETCH_NS).then_some(Nap::ForOthers)
    }

    fn ns(self) -> u64 {
        match self {
            Nap::InRest => NAP_NS,
            Nap::ForOthers => STRETCH_NS / 9,
        }
    }
}

/// What the thread works with.
struct Watcher<'a> {
    line: Line,
    code: Code,
    seen: Producer<LineEvent>,
    /// Edges that found the ring full.
    lost: u16,
    /// Edges came since the reader was woken last.
    news: bool,
    shared: &'a Shared,
    clock: Clock,
}

impl<'a> Watcher<'a> {
    fn new(line: Line, code: Code, seen: Producer<LineEvent>, shared: &'a Shared) -> Self {
        Self { line, code, seen, lost: 0, news: false, shared, clock: Clock::new(ClockId::Monotonic) }
    }

    /// Sleeps until it is notified, as long as nobody says stop.
    fn follow(&mut self) -> Result<(), Gone> {
        let (mut reported, idle_ns) = (true, self.code.idle_ns());
        while !self.stopped() {
            let until_ns = self.clock.now_ns() + if reported { PATIENCE_NS } else { idle_ns.min(PATIENCE_NS) };
            match self.line.edge(until_ns)? {
                Some(edge) => {
                    self.edge(edge.rising, edge.time_ns, edge.lost, 0);
                    reported = false;
                }
                // Often enough for a frame to end, then seldom.
                None => {
                    self.push(LineEvent::Quiet(until_ns));
                    reported = idle_ns <= PATIENCE_NS;
                }
            }
        }
        Ok(())
    }

    /// Reads the line again and again. While it rests there are naps.
    fn poll(&mut self) -> Result<(), Gone> {
        let idle_ns = self.code.idle_ns();
        let is_slow = self.code.shortest_ns >= SLEPT_NS;
        let still_ns = still_ns(self.code);
        let mut wait = Hybrid::with_duty(still_ns, DUTY);
        let (mut level, mut edge_ns, mut rested_ns) = (false, self.clock.now_ns(), self.clock.now_ns());
        // An edge is as old as the look before, at most.
        let (mut looked_ns, mut usual) = (edge_ns, Ewma::<64>::from(0));
        while !self.stopped() {
            let now = self.line.read()?;
            let mut now_ns = self.clock.now_ns();
            if now != level {
                self.edge(now, now_ns, 0, usual.beyond(now_ns - looked_ns));
                (level, edge_ns) = (now, now_ns);
                if is_slow {
                    // Who sleeps longer than that has not looked since.
                    rested_ns = wait.within(&mut self.clock, edge_ns + still_ns);
                    now_ns = edge_ns + still_ns;
                }
            } else if let Some(nap) = Nap::of(level, idle_ns, edge_ns, rested_ns, now_ns) {
                if nap == Nap::InRest {
                    self.push(LineEvent::Quiet(now_ns));
                }
                self.nap(now_ns + nap.ns());
                rested_ns = self.clock.now_ns();
            }
            looked_ns = now_ns;
        }
        Ok(())
    }

    fn nap(&mut self, until_ns: u64) {
        self.clock.id().sleep_until(until_ns);
        self.clock.resync();
    }

    fn edge(&mut self, rising: bool, time_ns: u64, lost: u32, blind_ns: u64) {
        let lost = self.lost.saturating_add(lost.try_into().unwrap_or(u16::MAX));
        let blind_ns = blind_ns.try_into().unwrap_or(u32::MAX);
        let reported = self.seen.push(LineEvent::Edge { rising, time_ns, lost, blind_ns }).is_ok();
        self.lost = if reported { 0 } else { lost.saturating_add(1) };
        self.news = true;
    }

    fn push(&mut self, seen: LineEvent) {
        // A full ring has a reader that will look at edges first; the next rest is reported again.
        let _ = self.seen.push(seen);
        if std::mem::take(&mut self.news) {
            self.shared.reader.get().inspect(|reader| reader.unpark());
        }
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Acquire)
    }
}

/// The end of a receiver without a line: whoever holds it says what is seen.
#[cfg(test)]
pub(crate) struct Incoming {
    seen: Producer<LineEvent>,
    shared: Arc<Shared>,
}

#[cfg(test)]
impl Incoming {
    /// This is seen next.
    pub fn see(&mut self, seen: LineEvent) {
        self.seen.push(seen).expect("there is room for a test's edges");
        if matches!(seen, LineEvent::Quiet(_)) {
            self.shared.reader.get().inspect(|reader| reader.unpark());
        }
    }
}

#[cfg(test)]
impl Receiver {
    /// One that looks at no line.
    pub(crate) fn without_line(code: Code) -> (Self, Incoming) {
        let (producer, seen) = RingBuffer::new(WAITING);
        let shared = Arc::new(Shared::default());
        let refused = vec!["a CPU of its own".into(), "priority 80".into()];
        let receiver = Self { seen, decoder: Decoder::new(code), shared: shared.clone(), thread: None, refused };
        (receiver, Incoming { seen: producer, shared })
    }
}

#[cfg(test)]
mod tests {
    use ontick_gpio::{Name, OnExit, sim};

    use super::*;

    /// Ends the watcher also where a test fails.
    struct Ends<'a>(&'a Shared);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.stop.store(true, Ordering::Release);
        }
    }

    /// Waits for what is seen next, other than a rest.
    fn edge(seen: &mut Consumer<LineEvent>) -> (bool, u64, u32) {
        loop {
            match seen.pop() {
                Ok(LineEvent::Edge { rising, time_ns, lost: 0, blind_ns }) => return (rising, time_ns, blind_ns),
                Ok(LineEvent::Quiet(_)) => {}
                Ok(other) => panic!("{other:?}"),
                Err(_) => std::thread::yield_now(),
            }
        }
    }

    /// A line moves, each time as the last move was seen; what a thread that polls says of it.
    fn polled(line: u32, code: Code, moves: u32) -> (Vec<(bool, u64)>, u64) {
        let chip = format!("receiver-{line}-{}", std::process::id());
        let name = |line| Name::Sim { chip: chip.clone(), line };
        sim::wire(&name(line), &name(line + 1), sim::Wire::default()).unwrap();
        let mut from = Line::open(&name(line), &Request::output(false).on_exit(OnExit::Low)).unwrap();
        let to = Line::open(&name(line + 1), &Method::Poll.request()).unwrap();
        let (producer, mut seen) = RingBuffer::new(WAITING);
        let shared = Shared::default();
        let began_ns = ClockId::Monotonic.now_ns();
        let edges: Vec<(bool, u64)> = std::thread::scope(|scope| {
            let watch = scope.spawn(|| Watcher::new(to, code, producer, &shared).poll());
            let ends = Ends(&shared);
            let edges = (0..moves).map(|n| {
                let before_ns = ClockId::Monotonic.now_ns();
                from.write(n % 2 == 0).unwrap();
                let (rising, time_ns, blind_ns) = edge(&mut seen);
                assert!((before_ns..=ClockId::Monotonic.now_ns()).contains(&time_ns), "move {n}");
                assert!(u64::from(blind_ns) <= time_ns - began_ns, "move {n}: nobody looked away for {blind_ns} ns");
                (rising, time_ns)
            });
            let edges = edges.collect();
            drop(ends);
            watch.join().unwrap().unwrap();
            edges
        });
        // Moves are an even number: the line is low, and rests.
        let last_ns = edges.last().map_or(began_ns, |edge: &(bool, u64)| edge.1);
        while let Ok(LineEvent::Quiet(until_ns)) = seen.pop() {
            assert!(until_ns >= last_ns + code.idle_ns(), "a rest is no shorter");
        }
        drop(from);
        sim::remove(&chip).unwrap();
        (edges, began_ns)
    }

    #[test]
    fn one_who_polls_sees_every_edge_when_it_came() {
        let (edges, began_ns) = polled(1, Code::new("2x1", 5_000, 5_000).unwrap(), 20);
        let mut last_ns = began_ns;
        for (n, (rising, time_ns)) in edges.into_iter().enumerate() {
            assert_eq!(rising, n % 2 == 0);
            assert!(time_ns >= last_ns);
            last_ns = time_ns;
        }
    }

    /// No stretch is shorter than 40 ms: for three quarters of that nobody looks, and others have the CPU.
    #[test]
    fn one_who_polls_a_slow_line_sleeps_where_nothing_can_come() {
        let (edges, _) = polled(3, Code::new("2x1", 40_000_000, 1_000_000).unwrap(), 8);
        for pair in edges.windows(2) {
            assert!(pair[1].0 != pair[0].0 && pair[1].1 >= pair[0].1 + 30_000_000, "{pair:?}");
        }
    }

    /// A line that never rests leaves others a tenth of the time.
    #[test]
    fn one_who_polls_naps_in_rests_and_where_there_are_none() {
        let nap = |level, now_ns| Nap::of(level, 5_000, 1_000, 2_000, now_ns);
        assert_eq!([nap(false, 5_999), nap(false, 6_000)], [None, Some(Nap::InRest)]);
        let long_ns = 2_000 + STRETCH_NS;
        assert_eq!([nap(true, 6_000), nap(true, long_ns), nap(true, long_ns + 1)], [None, None, Some(Nap::ForOthers)]);
        // A low line that has not rested yet.
        assert_eq!(Nap::of(false, 5_000, long_ns, 2_000, long_ns + 1), Some(Nap::ForOthers));
        assert_eq!(still_ns(Code::new("2x1", 100_000, 5_000).unwrap()), 75_000, "well before the next edge");
        assert_eq!([Nap::InRest, Nap::ForOthers].map(Nap::ns), [NAP_NS, 50_000_000]);
    }

    /// Who is dropped looks at its line no more: it may be opened anew, and its CPU is free.
    #[test]
    fn a_receiver_that_is_dropped_ends_its_thread() {
        let chip = format!("receiver-drops-{}", std::process::id());
        let name = Name::Sim { chip: chip.clone(), line: 1 };
        let setting = Setting::new(Code::SOURCE_002, 0).unwrap();
        for method in [Method::Poll, Method::Interrupt] {
            let line = Line::open(&name, &method.request()).unwrap();
            let receiver = Receiver::start(line, setting, method, Setup::new()).unwrap();
            let of_thread = Arc::downgrade(&receiver.shared);
            assert_eq!(of_thread.strong_count(), 2);
            drop(receiver);
            assert_eq!(of_thread.strong_count(), 0, "{method}");
        }
        sim::remove(&chip).unwrap();
    }

    /// A line that rests is set to rest, again and again, and the reader is woken for what came before.
    #[test]
    fn a_rest_is_reported_when_it_is_one() {
        let code = Code::new("2x1", 5_000, 5_000).unwrap();
        let chip = format!("receiver-rests-{}", std::process::id());
        let name = |line| Name::Sim { chip: chip.clone(), line };
        sim::wire(&name(1), &name(2), sim::Wire::default()).unwrap();
        let mut from = Line::open(&name(1), &Request::output(false).on_exit(OnExit::Low)).unwrap();
        let to = Line::open(&name(2), &Method::Poll.request()).unwrap();
        let (producer, mut seen) = RingBuffer::new(WAITING);
        let shared = Shared::default();
        shared.reader.get_or_init(std::thread::current);
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| Watcher::new(to, code, producer, &shared).poll());
            let ends = Ends(&shared);
            from.write(true).unwrap();
            assert!(edge(&mut seen).0);
            // High is no rest, however long.
            std::thread::sleep(Duration::from_nanos(3 * code.idle_ns()));
            assert_eq!(seen.pop(), Err(rtrb::PopError::Empty));
            from.write(false).unwrap();
            let (rising, fell_ns, _) = edge(&mut seen);
            assert!(!rising);
            // Only the watcher ends this.
            std::thread::park();
            let mut rests = Vec::new();
            while rests.len() < 3 {
                match seen.pop() {
                    Ok(LineEvent::Quiet(until_ns)) => rests.push(until_ns),
                    Ok(other) => panic!("{other:?}"),
                    Err(_) => std::thread::yield_now(),
                }
            }
            assert!(rests[0] >= fell_ns + code.idle_ns(), "{rests:?} {fell_ns}");
            assert!(rests.windows(2).all(|pair| pair[1] >= pair[0] + NAP_NS), "{rests:?}");
            drop(ends);
            watch.join().unwrap().unwrap();
        });
        drop(from);
        sim::remove(&chip).unwrap();
    }
}
