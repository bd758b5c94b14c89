//! What the thread does: frames as edges, each in its time.

use std::sync::atomic::Ordering;

use ontick_gpio::{Gone, Line};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::ewma::Ewma;
use ontick_rt::wait::Hybrid;
use rtrb::Consumer;

use super::Shared;
use crate::setting::{SLEPT_NS, Setting};
use crate::wave::Wave;

/// What the thread works with.
pub(super) struct Driver<'a> {
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
    pub fn new(line: Line, setting: Setting, shared: &'a Shared) -> Self {
        // Where no sleep is short enough, only the pulse that wakes the receiver is slept through.
        let shortest_ns = setting.code.shortest_ns;
        let wait =
            if shortest_ns < SLEPT_NS { Hybrid::with_margin(SLEPT_NS) } else { Hybrid::with_duty(shortest_ns, DUTY) };
        let clock = Clock::new(ClockId::Monotonic);
        let unknown = Ewma::from(0);
        Self { line, setting, shared, clock, wait, late: unknown, write: unknown, level: false, edge_ns: 0 }
    }

    pub fn run(mut self, mut waves: Consumer<Wave>) {
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

#[cfg(test)]
mod tests;
