//! An open line of a simulated chip.

use std::sync::atomic::Ordering::{Relaxed, Release};

use ontick_rt::clock::{Clock, ClockId};

use super::chip;
use super::owner::Owner;
use super::page::Page;
use super::setup::Setup;
use super::track::{Mark, Track, edges_between};
use super::wire::Wire;
use crate::{Bias, Direction, Edge, Edges, Error, Name, Request};

/// A wait for an edge on its way is spun when it is shorter than this, in ns.
const SPIN_NS: u64 = 200_000;

/// A line of a simulated chip that this program has open.
#[derive(Debug)]
pub struct Pin {
    page: Page,
    line: u32,
    edges: Edges,
    owns: bool,
    clock: Clock,
    past: Past,
}

/// The last edge that was looked at.
#[derive(Debug, Clone, Copy, Default)]
struct Past {
    /// The line whose edges are looked at.
    source: u32,
    count: u32,
    /// When it was, and when it came through the wire, in ns.
    time_ns: Option<u64>,
    arrival_ns: u64,
    /// Edges that were wanted and not notified since the last that was.
    lost: u32,
}

impl Pin {
    pub fn open(name: &Name, chip: &str, line: u32, request: &Request) -> Result<Self, Error> {
        let page = chip::open_for(name, chip, line)?;
        let clock = Clock::new(ClockId::Monotonic);
        let mut pin = Self { page, line, edges: request.edges, owns: false, clock, past: Past::default() };
        match request.bias {
            Bias::AsIs => {}
            Bias::PullUp => pin.setup().pulled_up.store(1, Relaxed),
            Bias::Disabled | Bias::PullDown => pin.setup().pulled_up.store(0, Relaxed),
        }
        match request.direction {
            Direction::Output(value) => {
                let claimed = Owner::this().claim(&pin.setup().owner);
                claimed.map_err(|owner| Error::InUse { name: name.clone(), by: owner.to_string() })?;
                pin.owns = true;
                pin.write(value);
                pin.setup().drive();
            }
            // What a program left driven when it ended is taken over; what one drives now is listened to.
            Direction::Input => pin.setup().let_go_if_left(),
            Direction::AsIs => {}
        }
        pin.past = pin.begin();
        Ok(pin)
    }

    fn setup(&self) -> &Setup {
        &self.page.chip().setup[self.line as usize]
    }

    /// Drives the line no more.
    pub fn let_go(&mut self) {
        self.setup().let_go();
    }

    #[inline]
    pub fn write(&mut self, level: bool) {
        let track = &self.page.chip().tracks[self.line as usize];
        if track.set(level, || self.clock.now_ns()) {
            track.notify();
        }
    }

    #[inline]
    pub fn read(&mut self) -> bool {
        self.page.chip().level(self.line, || self.clock.now_ns())
    }

    /// The next wanted edge till `deadline_ns`.
    pub fn edge(&mut self, deadline_ns: u64) -> Option<Edge> {
        loop {
            let (source, wire) = self.page.chip().heard(self.line).unwrap_or((self.listens_to(), Wire::default()));
            if source != self.past.source {
                self.past = self.begin();
            }
            let newest = self.track().newest();
            let behind = edges_between(self.past.count, newest.count());
            if behind == 0 {
                let now_ns = self.clock.now_ns();
                if now_ns >= deadline_ns {
                    return None;
                }
                self.track().sleep(newest, deadline_ns - now_ns);
                continue;
            }
            self.skip(self.track().forgotten(behind), wire);
            // Forgotten meanwhile: the next turn of the loop skips it.
            let Some(mark) = self.track().edge(after(self.past.count)) else { continue };
            let now_ns = self.clock.now_ns();
            let arrival_ns = wire.arrival_ns(mark, now_ns).max(self.past.arrival_ns);
            if wire.swallows(mark.count()) {
                // As if it had never been; those after it keep their order all the same.
                (self.past.count, self.past.arrival_ns) = (mark.count(), arrival_ns);
                continue;
            }
            if arrival_ns > now_ns && !self.wait_for(arrival_ns, now_ns, deadline_ns) {
                return None;
            }
            if let Some(edge) = self.take(mark, mark.time_ns(now_ns), arrival_ns, wire) {
                return Some(edge);
            }
        }
    }

    fn listens_to(&self) -> u32 {
        super::wire::of(self.page.chip(), self.line).map_or(self.line, |(source, _)| source)
    }

    fn track(&self) -> &Track {
        &self.page.chip().tracks[self.past.source as usize]
    }

    /// Edges count from now on.
    fn begin(&self) -> Past {
        let chip = self.page.chip();
        let source = chip.heard(self.line).map_or_else(|| self.listens_to(), |(source, _)| source);
        Past { source, count: chip.tracks[source as usize].newest().count(), ..Past::default() }
    }

    /// Passes over edges that nobody remembers.
    fn skip(&mut self, forgotten: u32, wire: Wire) {
        if forgotten == 0 {
            return;
        }
        // Odd ones rise.
        let wanted = |count: &u32| self.edges.wants(count % 2 == 1) && !wire.swallows(*count);
        let counts = std::iter::successors(Some(after(self.past.count)), |count| Some(after(*count)));
        let lost = counts.take(forgotten as usize).filter(wanted).count();
        self.past.lost += lost as u32;
        self.past.count = self.past.count.wrapping_add(forgotten) & super::track::COUNT_MASK as u32;
        self.past.time_ns = None;
    }

    /// Moves on to this edge; returns it if it is to be notified.
    fn take(&mut self, mark: Mark, time_ns: u64, arrival_ns: u64, wire: Wire) -> Option<Edge> {
        let close = self.past.time_ns.is_some_and(|last_ns| time_ns.saturating_sub(last_ns) < wire.dead_time_ns.into());
        (self.past.count, self.past.time_ns, self.past.arrival_ns) = (mark.count(), Some(time_ns), arrival_ns);
        if !self.edges.wants(mark.level()) {
            return None;
        }
        if close {
            self.past.lost += 1;
            return None;
        }
        let lost = std::mem::take(&mut self.past.lost);
        Some(Edge { rising: mark.level(), time_ns: arrival_ns, lost })
    }

    /// Waits for an edge that is on its way; `false` when it does not come before the deadline.
    fn wait_for(&mut self, arrival_ns: u64, now_ns: u64, deadline_ns: u64) -> bool {
        let until_ns = arrival_ns.min(deadline_ns);
        if until_ns.saturating_sub(now_ns) > SPIN_NS {
            ClockId::Monotonic.sleep_until(until_ns - SPIN_NS / 2);
        }
        while self.clock.now_ns() < until_ns {
            std::hint::spin_loop();
        }
        arrival_ns <= deadline_ns
    }
}

fn after(count: u32) -> u32 {
    (count + 1) & super::track::COUNT_MASK as u32
}

impl Drop for Pin {
    fn drop(&mut self) {
        if self.owns {
            self.setup().owner.store(0, Release);
        }
    }
}
