//! The timed thread.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use ontick_gpio::{Gone, Name, Outputs};
use ontick_record::capture::{Moment, Moments};
use ontick_record::run::Settings;
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::{Hybrid, Wait};

use super::rest::Awake;
use super::{Job, goes_back};
use crate::probe::{Probe, Sample};
use crate::{Error, Method};

/// From the beginning of the run to that of what is played, in ns: a change that comes at once is to be on time, too.
const LEAD_NS: u64 = 1_000_000;
/// A sleep on the way to a change that is far, in ns, and how long before it the last of these ends.
const NAP_NS: u64 = 100_000_000;
const NEAR_NS: u64 = 2_000_000;
/// No sleep is had on the way to a change that is nearer than this, in ns.
const SHORT_NS: u64 = 200_000;
/// The wait spins before a change at most for nine tenths of this, in ns.
const SPAN_NS: u64 = 1_000_000;

/// What is known at the end.
#[derive(Debug)]
pub struct Ended {
    pub longest_write_ns: u64,
    /// How often the thread had to rest while changes were due.
    pub rests: u64,
}

/// Makes one change after the other.
pub struct Player<'a> {
    outputs: Outputs,
    moments: Arc<Moments>,
    /// Times that are left, with this one.
    times_left: u64,
    /// The place of the next change; behind the last: the way back to the first levels.
    next: usize,
    goes_back: bool,
    /// When this time began, in ns.
    base_ns: u64,
    levels: u64,
    end_ns: Option<u64>,
    wait: Hybrid,
    awake: Awake,
    clock: Clock,
    began_ns: u64,
    ended: Ended,
    tell: Arc<OnceLock<Ended>>,
    gone: Option<(Name, Gone)>,
    stop: &'a AtomicBool,
}

impl<'a> Player<'a> {
    pub fn start(job: &Job, stop: &'a AtomicBool, tell: Arc<OnceLock<Ended>>) -> Result<Self, Error> {
        let mut clock = Clock::new(ClockId::Monotonic);
        let (moments, levels) = (job.moments.clone(), job.moments.first);
        let outputs = Outputs::open(&job.lines, levels, &job.request)?;
        let now_ns = clock.now_ns();
        Ok(Self {
            outputs,
            goes_back: goes_back(&moments),
            moments,
            times_left: job.times.unwrap_or(u64::MAX),
            next: 0,
            base_ns: now_ns,
            levels,
            end_ns: None,
            wait: Hybrid::new(SPAN_NS),
            awake: Awake::from(now_ns),
            clock,
            began_ns: now_ns,
            ended: Ended { longest_write_ns: 0, rests: 0 },
            tell,
            gone: None,
            stop,
        })
    }

    /// The next change, at its time.
    #[inline]
    fn due(&self) -> Moment {
        let Moment { at_ns, levels } = match self.moments.changes.get(self.next) {
            Some(change) => *change,
            None => Moment { at_ns: self.moments.length_ns, levels: self.moments.first },
        };
        Moment { at_ns: self.base_ns.saturating_add(at_ns), levels }
    }

    /// Goes on to the change after; whether there is one.
    #[inline]
    fn advance(&mut self) -> bool {
        self.next += 1;
        let is_way_back = self.next == self.moments.changes.len() && self.goes_back && self.times_left > 1;
        if self.next < self.moments.changes.len() || is_way_back {
            return true;
        }
        if self.times_left == 1 {
            return false;
        }
        self.times_left -= 1;
        self.next = 0;
        self.base_ns = self.base_ns.saturating_add(self.moments.length_ns);
        true
    }

    fn step(&mut self) -> Result<Sample, (usize, Gone)> {
        let Moment { at_ns: due_ns, levels } = self.due();
        let now_ns = self.clock.now_ns();
        if let Some(end_ns) = self.end_ns.filter(|end_ns| due_ns >= *end_ns) {
            return Ok(self.nap_until(now_ns, end_ns));
        }
        if due_ns.saturating_sub(now_ns) > NAP_NS {
            return Ok(self.nap_until(now_ns, due_ns - NEAR_NS));
        }
        if let Some(rest_ns) = self.awake.rest_ns() {
            self.ended.rests += u64::from(now_ns + rest_ns > due_ns);
            return Ok(self.nap_until(now_ns, now_ns + rest_ns));
        }
        let slept_ns = self.wait_until(now_ns, due_ns);
        let before_ns = self.clock.now_ns();
        self.outputs.write(levels, self.levels ^ levels)?;
        let after_ns = self.clock.now_ns();
        self.levels = levels;
        self.awake.reckon(after_ns, slept_ns);
        self.ended.longest_write_ns = self.ended.longest_write_ns.max(after_ns.saturating_sub(before_ns));
        let latency_ns = Some(before_ns.saturating_sub(due_ns));
        Ok(Sample {
            now_ns: before_ns,
            latency_ns,
            missed: 0,
            early_ns: due_ns.saturating_sub(before_ns),
            napped: false,
        })
    }

    /// How long of that was slept, in ns.
    #[inline]
    fn wait_until(&mut self, now_ns: u64, due_ns: u64) -> u64 {
        let ahead_ns = due_ns.saturating_sub(now_ns);
        let margin_ns = self.wait.margin_ns().unwrap_or(0);
        let (share_ns, mut slept_ns) = (own_rest_ns(ahead_ns), ahead_ns.saturating_sub(margin_ns));
        if slept_ns < share_ns {
            slept_ns = share_ns;
            self.clock.sleep_until(now_ns + share_ns);
            self.clock.resync();
        }
        self.wait.within(&mut self.clock, due_ns);
        slept_ns
    }

    fn nap_until(&mut self, now_ns: u64, until_ns: u64) -> Sample {
        self.clock.sleep_until(until_ns.min(now_ns + NAP_NS));
        let awake_ns = self.clock.resync();
        self.awake.reckon(awake_ns, awake_ns.saturating_sub(now_ns));
        Sample::nap(awake_ns)
    }
}

/// What of the way to a change is slept in any case, however early the wait would begin to spin: others' tenth, where that is
/// as long as a sleep takes.
#[inline]
fn own_rest_ns(ahead_ns: u64) -> u64 {
    match ahead_ns {
        SHORT_NS.. => ahead_ns / 10,
        _ => 0,
    }
}

impl Probe for Player<'_> {
    #[inline]
    fn next(&mut self) -> Sample {
        self.step().unwrap_or_else(|(nth, gone)| {
            self.gone = Some((self.outputs.names()[nth].clone(), gone));
            Sample::nap(self.clock.now_ns())
        })
    }

    fn begin(&mut self) {
        self.base_ns = self.clock.resync() + LEAD_NS;
    }

    fn will_end_at(&mut self, end_ns: u64) {
        self.end_ns = Some(end_ns);
    }

    /// Each change is somebody's.
    fn may_practise(&self) -> bool {
        false
    }

    /// The levels after the last change last as long as they did.
    fn recorded(&mut self) {
        if self.advance() {
            return;
        }
        let end_ns = self.base_ns.saturating_add(self.moments.length_ns);
        let mut now_ns = self.clock.now_ns();
        while now_ns < end_ns && !self.stop.load(Relaxed) {
            now_ns = self.nap_until(now_ns, end_ns).now_ns;
        }
    }

    fn failure(&mut self) -> Option<Error> {
        self.gone.take().map(|(line, gone)| Error::Gone { line, gone })
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(&mut self.clock)
    }

    fn describe(&mut self, settings: &mut Settings) {
        let elapsed_ns = self.clock.now_ns().saturating_sub(self.began_ns).max(1);
        let joined = |all: Vec<String>| Some(all.join(", "));
        settings.method = Method::Hybrid.name().into();
        settings.margin_ns = self.wait.margin_ns();
        settings.spin_duty = self.wait.spun_ns().map(|spun_ns| spun_ns as f64 / elapsed_ns as f64);
        settings.clock = self.clock.name();
        settings.line = joined(self.outputs.names().iter().map(ToString::to_string).collect());
        settings.backend = joined(self.outputs.backends().iter().map(ToString::to_string).collect());
        let Ended { longest_write_ns, rests } = self.ended;
        // Nobody asks twice.
        let _ = self.tell.set(Ended { longest_write_ns, rests });
    }
}
