//! The oscilloscope: a thread that changes one line, and watches another for the answer.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

use ontick_gpio::{Gone, Line, Name, OnExit, Request};
use ontick_record::Uncertainty;
use ontick_record::instrument_check::Interval;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::block_signals;
use ontick_rt::wait::{Sleep, Wait};

use super::leave::Leave;
use crate::clock_readings::{ClockReadings, Timing};
use crate::interval_log::IntervalLog;
use crate::probe::Sample;
use crate::{Error, Placement};

/// Without an answer for so long a stimulus is taken back, in s.
pub(super) const PATIENCE_S: u64 = 1;
/// Stimuli taken back one after the other before the line counts as dead.
const DEAD_AFTER: u32 = 2;
/// An answer that takes longer than this is not waited for without rest, in ns.
const LONG_NS: u64 = 10_000_000;
/// How the time is then divided: this long awake and this long asleep, in ns.
const AWAKE_NS: u64 = 1_000_000;
const ASLEEP_NS: u64 = 100_000;
/// Between two looks at the line the observer itself was away when they are further apart, in ns.
const AWAY_NS: u64 = 10_000;
/// Looks in a row, by which it is measured how long one takes.
const LOOKS: u32 = 32;
/// Answers that may wait for the responder to take them.
const WAITING: usize = 1024;

/// The lines of the oscilloscope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ends {
    /// The line that it changes, joined to the responder's input.
    pub stimulus: Name,
    /// The line that it watches, joined to the responder's output.
    pub scope: Name,
}

/// What it saw: an answer, or that there was none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observation {
    at_ns: u64,
    latency_ns: Option<u64>,
    missed: u64,
}

impl Observation {
    /// As the responder publishes it.
    pub fn sample(self) -> Sample {
        Sample { now_ns: self.at_ns, latency_ns: self.latency_ns, missed: self.missed, early_ns: 0, napped: false }
    }
}

/// What both threads and the one that started them share.
#[derive(Default)]
pub struct Shared {
    pub leave: Leave,
    stop: AtomicBool,
    /// Nothing answers any more.
    dead: AtomicBool,
    stimulus_gone: AtomicBool,
    scope_gone: AtomicBool,
    /// Answers that came while the observer itself was away.
    blurred: AtomicU64,
    /// What the observer's clock and its looks are worth; there when the observer has ended.
    uncertainty: OnceLock<Uncertainty>,
    /// What the answering side has to say of itself.
    reported: Mutex<Option<String>>,
    /// Where each answer is kept, if anywhere.
    log: Option<Arc<IntervalLog>>,
}

impl Shared {
    /// Each answer is also kept one by one there, if anywhere.
    pub fn with_log(log: Option<Arc<IntervalLog>>) -> Self {
        Self { log, ..Self::default() }
    }

    /// Why nothing more will be seen, if that is so.
    pub fn failure(&self, ends: &Ends, input: &Name, output: &Name) -> Option<Error> {
        let gone = |line: &Name| Error::Gone { line: line.clone(), gone: Gone(rustix::io::Errno::NODEV) };
        if self.stimulus_gone.load(Relaxed) {
            return Some(gone(&ends.stimulus));
        }
        if self.scope_gone.load(Relaxed) {
            return Some(gone(&ends.scope));
        }
        let (input, output, scope) = (input.clone(), output.clone(), ends.scope.clone());
        let seconds = PATIENCE_S * u64::from(DEAD_AFTER);
        self.dead.load(Relaxed).then_some(Error::Unanswered { input, output, scope, seconds })
    }

    /// What the observer's latencies are worth, once it has ended.
    pub fn uncertainty(&self) -> Option<Uncertainty> {
        self.uncertainty.get().cloned()
    }

    /// The answering side has this to say of itself.
    pub fn set_note(&self, note: Option<String>) {
        *self.reported.lock().unwrap_or_else(|e| e.into_inner()) = note;
    }

    /// What a reader must know of both sides, if anything; what answers is called `name`.
    pub fn notes(&self, name: &str) -> Vec<String> {
        let blurred = (self.blurred.load(Relaxed) > 0).then(|| {
            format!(
                "the observer itself was away for more than {}us when some answers came: their latencies are too long by that",
                AWAY_NS / 1_000
            )
        });
        let reported = self
            .reported
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .take()
            .map(|reported| format!("{name}: {reported}"));
        blurred.into_iter().chain(reported).collect()
    }
}

/// The thread, which ends with this.
pub struct Scope {
    pub shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Scope {
    /// Begins to stimulate, about every `interval_ns`. What is seen comes out of the other end.
    pub fn start(
        ends: &Ends,
        inverse: bool,
        interval_ns: u64,
        placement: Placement,
        shared: Arc<Shared>,
    ) -> Result<(Self, rtrb::Consumer<Observation>), Error> {
        let stimulus = Line::open(&ends.stimulus, &Request::output(false).on_exit(OnExit::Low))?;
        let scope = Line::open(&ends.scope, &Request::input())?;
        let (seen, taken) = rtrb::RingBuffer::new(WAITING);
        let thread = std::thread::Builder::new().name("ontick-scope".into()).spawn({
            let shared = shared.clone();
            move || {
                block_signals();
                let _ready = placement.take_and_settle();
                let clock = Clock::new(ClockId::Monotonic);
                let chance = Chance(clock.id().now_ns() | 1);
                Bench { stimulus, scope, inverse, interval_ns, clock, chance, seen, shared, level: false, missed: 0 }
                    .work();
            }
        });
        let thread = thread.map_err(Error::system("starting the observing thread"))?;
        Ok((Self { shared, thread: Some(thread) }, taken))
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// What is on the observer's bench.
struct Bench {
    stimulus: Line,
    scope: Line,
    inverse: bool,
    interval_ns: u64,
    clock: Clock,
    chance: Chance,
    seen: rtrb::Producer<Observation>,
    shared: Arc<Shared>,
    level: bool,
    /// Intervals without an answer that nobody has been shown yet.
    missed: u64,
}

/// Why there will be no more stimuli.
enum Over {
    /// Nothing answers them.
    Dead,
    Stimulus,
    Scope,
    Stopped,
}

impl Bench {
    fn work(mut self) {
        let (readings, look_ns) = (ClockReadings::of(&mut self.clock), self.look_ns());
        let mut unanswered = 0;
        let over = loop {
            match self.turn() {
                Ok(true) => unanswered = 0,
                Ok(false) => unanswered += 1,
                Err(over) => break over,
            }
            if unanswered == DEAD_AFTER {
                break Over::Dead;
            }
        };
        let components = readings.components(Timing::Looking(look_ns), self.clock.largest_correction_ns());
        // Nobody else sets it.
        let _ = self.shared.uncertainty.set(Uncertainty::of(components));
        match over {
            Over::Stimulus => self.shared.stimulus_gone.store(true, Relaxed),
            Over::Scope => self.shared.scope_gone.store(true, Relaxed),
            Over::Dead => self.shared.dead.store(true, Relaxed),
            Over::Stopped => {}
        }
        // Nothing comes any more: the responder may rest, and look why.
        self.shared.leave.answered();
    }

    /// One stimulus; whether it was answered. It stays until it is, so that an answer that comes late is known for
    /// what it is, and the intervals that pass meanwhile are missed.
    fn turn(&mut self) -> Result<bool, Over> {
        self.wait_for_leave()?;
        // An answer that still stands from before would be taken for the next one.
        if self.scope.read().map_err(|_| Over::Scope)? == self.answer_to(!self.level) {
            let settled = self.await_answer(self.answer_to(self.level), None)?;
            self.shared.leave.answered();
            return Ok(settled);
        }
        let from_ns = self.drive(!self.level)?;
        let answered = self.await_answer(self.answer_to(self.level), Some(from_ns))?;
        if !answered {
            self.drive(!self.level)?;
        }
        self.shared.leave.answered();
        Ok(answered)
    }

    /// Waits until the next stimulus is due and the responder does not rest.
    fn wait_for_leave(&mut self) -> Result<(), Over> {
        let mut due_ns = self.clock.now_ns() + self.interval_ns / 2 + self.chance.below(self.interval_ns);
        loop {
            Sleep.until(&mut self.clock, due_ns);
            if self.shared.stop.load(Relaxed) {
                return Err(Over::Stopped);
            }
            match self.shared.leave.to_stimulate(self.clock.now_ns()) {
                Ok(()) => return Ok(()),
                // At any moment after the rest, not always right at its end.
                Err(rest_ends_ns) => due_ns = rest_ends_ns + self.chance.below(self.interval_ns / 2),
            }
        }
    }

    /// The time between two looks at the line, in ns: of nine rows of looks the median one, so that an interruption does not
    /// count. 0 where the line does not answer, which is noticed soon enough.
    fn look_ns(&mut self) -> f64 {
        let mut rows = [0; 9];
        for row in &mut rows {
            let from_ns = self.clock.now_ns();
            let mut now_ns = from_ns;
            for _ in 0..LOOKS {
                if self.scope.read().is_err() {
                    return 0.0;
                }
                now_ns = self.clock.now_ns();
            }
            *row = now_ns - from_ns;
        }
        rows.sort_unstable();
        rows[4] as f64 / f64::from(LOOKS)
    }

    fn answer_to(&self, level: bool) -> bool {
        level != self.inverse
    }

    /// Changes the stimulus; the time just before, in ns.
    fn drive(&mut self, level: bool) -> Result<u64, Over> {
        let from_ns = self.clock.now_ns();
        self.stimulus.write(level).map_err(|_| Over::Stimulus)?;
        self.level = level;
        Ok(from_ns)
    }

    /// Watches the line until it is `wanted`; publishes the latency if the stimulus was at `from_ns`.
    fn await_answer(&mut self, wanted: bool, from_ns: Option<u64>) -> Result<bool, Over> {
        let began_ns = from_ns.unwrap_or_else(|| self.clock.now_ns());
        let (mut looked_ns, mut slept_ns) = (began_ns, began_ns + LONG_NS);
        let mut interval_ends_ns = began_ns + self.interval_ns;
        loop {
            let level = self.scope.read().map_err(|_| Over::Scope)?;
            let now_ns = self.clock.now_ns();
            if level == wanted {
                if from_ns.is_some() {
                    self.shared.blurred.fetch_add(u64::from(now_ns - looked_ns > AWAY_NS), Relaxed);
                    let latency_ns = now_ns.saturating_sub(began_ns);
                    if let Some(log) = &self.shared.log {
                        log.add(Interval { from_ns: began_ns, ns: latency_ns, rising: self.level });
                    }
                    self.publish(now_ns, Some(latency_ns));
                }
                return Ok(true);
            }
            looked_ns = now_ns;
            if now_ns >= interval_ends_ns {
                self.missed += 1;
                interval_ends_ns += self.interval_ns;
            }
            if now_ns.saturating_sub(slept_ns) >= AWAKE_NS && now_ns > slept_ns {
                if self.shared.stop.load(Relaxed) {
                    return Err(Over::Stopped);
                }
                self.publish(now_ns, None);
                if now_ns >= began_ns + PATIENCE_S * 1_000_000_000 {
                    return Ok(false);
                }
                Sleep.until(&mut self.clock, now_ns + ASLEEP_NS);
                slept_ns = self.clock.now_ns();
            }
        }
    }

    /// Hands on an answer, or only what was missed. When the responder does not take them any more, the answer is
    /// one that it missed.
    fn publish(&mut self, at_ns: u64, latency_ns: Option<u64>) {
        if latency_ns.is_none() && self.missed == 0 {
            return;
        }
        match self.seen.push(Observation { at_ns, latency_ns, missed: self.missed }) {
            Ok(()) => self.missed = 0,
            Err(_) => self.missed += u64::from(latency_ns.is_some()),
        }
    }
}

/// Spacing that nothing periodic can keep step with (xorshift64; Marsaglia 2003).
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most.max(1)
    }
}
