//! An open line of a simulated chip.

use std::sync::atomic::Ordering::{Relaxed, Release};

use ontick_rt::clock::{Clock, ClockId};

use super::chip;
use super::filter::{Change, Filter};
use super::owner::Owner;
use super::page::{Chip, Page};
use super::setup::Setup;
use super::track::{COUNT_MASK, Mark, Track};
use super::wire::Wire;
use crate::{Backend, Bias, Direction, Edge, Edges, Error, Name, Request};

/// A wait for an edge on its way is spun when it is shorter than this, in ns.
const SPIN_NS: u64 = 200_000;
/// A line with a wire hears the end that is driven. Nobody wakes who sleeps at the other: so long until it is looked again
/// which it is, in ns, where none is and where one is.
const UNDRIVEN_NS: u64 = 1_000_000;
const DRIVEN_NS: u64 = 50_000_000;

/// A line of a simulated chip that this program has open.
#[derive(Debug)]
pub struct Pin {
    page: Page,
    line: u32,
    edges: Edges,
    owns: bool,
    clock: Clock,
    own: Past,
    /// Where it has a wire, the line at the other end.
    wired: Option<Past>,
    /// Which of both is looked at.
    at: End,
    /// Another drives the line by now: what is to be taken of this one's edges before.
    until: Option<u64>,
    /// When the last edge came, in ns: none comes before it.
    arrival_ns: u64,
    /// Edges that were wanted and not notified since the last that was.
    lost: u32,
    /// Whether edges were forgotten since the last change that was looked at.
    gap: bool,
    /// Where it is debounced.
    filter: Option<Box<Filter>>,
}

/// Whose edges a line hears: its own, or those of the other end of its wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Own,
    Wired,
}

/// What was looked at of the edges of one line that may be heard.
#[derive(Debug, Clone, Copy)]
struct Past {
    source: u32,
    wire: Wire,
    /// Edges that were looked at, of all that it has had.
    count: u64,
    /// When it was, in ns.
    time_ns: Option<u64>,
}

impl Past {
    /// Edges count from now on.
    fn begin(chip: &Chip, source: u32, wire: Wire) -> Self {
        Self { source, wire, count: chip.tracks[source as usize].counted().1, time_ns: None }
    }
}

impl Pin {
    pub fn open(name: &Name, chip: &str, line: u32, request: &Request) -> Result<Self, Error> {
        request.check(name, Backend::Simulated)?;
        let page = chip::open_for(name, chip, line)?;
        let clock = Clock::new(ClockId::Monotonic);
        let own = Past::begin(page.chip(), line, Wire::default());
        let (edges, at, until) = (request.edges, End::Own, None);
        let mut pin = Self {
            page,
            line,
            edges,
            owns: false,
            clock,
            own,
            wired: None,
            at,
            until,
            arrival_ns: 0,
            lost: 0,
            gap: false,
            filter: None,
        };
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
        pin.begin();
        pin.filter = request.debounce.map(|debounce| Box::new(Filter::new(debounce, edges, pin.level())));
        Ok(pin)
    }

    /// Whether somebody has the line as an output.
    pub fn check_output(name: &Name, chip: &str, line: u32) -> Result<(), Error> {
        let page = chip::open_for(name, chip, line)?;
        match Owner::load(&page.chip().setup[line as usize].owner) {
            Some(owner) => Err(Error::InUse { name: name.clone(), by: owner.to_string() }),
            None => Ok(()),
        }
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

    /// The same at a time that the caller has read; whoever waits for the edge is woken by [`notify`](Self::notify) alone.
    #[inline]
    pub fn write_at(&mut self, level: bool, now_ns: u64) {
        self.page.chip().tracks[self.line as usize].set(level, || now_ns);
    }

    /// Wakes whoever waits for an edge.
    #[inline]
    pub fn notify(&self) {
        self.page.chip().tracks[self.line as usize].notify();
    }

    #[inline]
    pub fn read(&mut self) -> bool {
        if self.filter.is_some() { self.debounced() } else { self.level() }
    }

    #[inline]
    fn level(&mut self) -> bool {
        self.page.chip().level(self.line, || self.clock.now_ns())
    }

    /// The level that counts.
    #[cold]
    fn debounced(&mut self) -> bool {
        let Some(mut filter) = self.filter.take() else { return self.level() };
        self.catch_up(&mut filter);
        let level = filter.level();
        self.filter = Some(filter);
        level
    }

    /// The next wanted edge till `deadline_ns`.
    pub fn edge(&mut self, deadline_ns: u64) -> Option<Edge> {
        let Some(mut filter) = self.filter.take() else { return self.own_edge(deadline_ns) };
        let edge = self.filtered_edge(&mut filter, deadline_ns);
        self.filter = Some(filter);
        edge
    }

    /// Of a line that is not debounced.
    fn own_edge(&mut self, deadline_ns: u64) -> Option<Edge> {
        loop {
            let change = self.change(deadline_ns)?;
            if !self.edges.wants(change.rising) {
                continue;
            }
            if !change.notified {
                self.lost = self.lost.saturating_add(1);
                continue;
            }
            let lost = std::mem::take(&mut self.lost);
            return Some(Edge { rising: change.rising, time_ns: change.time_ns, lost });
        }
    }

    fn filtered_edge(&mut self, filter: &mut Filter, deadline_ns: u64) -> Option<Edge> {
        loop {
            self.catch_up(filter);
            if let Some(edge) = filter.take() {
                return Some(edge);
            }
            let now_ns = self.clock.now_ns();
            if now_ns >= deadline_ns {
                return None;
            }
            let look_ns = filter.due_ns().unwrap_or(u64::MAX).min(now_ns.saturating_add(DRIVEN_NS));
            self.feed(filter, deadline_ns.min(look_ns));
        }
    }

    /// Shows the filter the next change till `deadline_ns`; whether there was one.
    fn feed(&mut self, filter: &mut Filter, deadline_ns: u64) -> bool {
        let change = self.change(deadline_ns);
        filter.lost(std::mem::take(&mut self.lost));
        change.map(|change| filter.change(change)).is_some()
    }

    /// Shows the filter all that has happened by now.
    fn catch_up(&mut self, filter: &mut Filter) {
        let now_ns = self.clock.now_ns();
        while self.feed(filter, 0) {}
        // Another level without an edge: somebody else drives the line, or nobody does any more; or the edge was on its way
        // when the line was opened.
        let level = self.level();
        if level != filter.raw() {
            filter.change(Change { rising: level, time_ns: now_ns, notified: true, after_gap: false });
        }
        filter.passed(now_ns);
    }

    /// The next change of the line till `deadline_ns`, wanted or not; one that is there already is taken in any case.
    fn change(&mut self, deadline_ns: u64) -> Option<Change> {
        loop {
            let driven = self.look();
            let (newest, counted) = self.track().counted();
            let behind = self.until.unwrap_or(counted).saturating_sub(self.past().count);
            if behind == 0 {
                if self.turn_to(driven) {
                    continue;
                }
                let now_ns = self.clock.now_ns();
                if now_ns >= deadline_ns {
                    return None;
                }
                self.track().sleep(newest, self.nap_ns(driven).min(deadline_ns - now_ns));
                continue;
            }
            self.skip(self.track().forgotten(counted.saturating_sub(self.past().count)).min(behind));
            // Forgotten meanwhile: the next turn of the loop skips it.
            let Some(mark) = self.track().edge(word_count(self.past().count + 1)) else { continue };
            let (wire, now_ns) = (self.past().wire, self.clock.now_ns());
            let arrival_ns = wire.arrival_ns(mark, now_ns).max(self.arrival_ns);
            if wire.swallows(mark.count()) {
                // As if it had never been; those after it keep their order all the same.
                self.past_mut().count += 1;
                self.arrival_ns = arrival_ns;
                continue;
            }
            if arrival_ns > now_ns && !self.wait_for(arrival_ns, now_ns, deadline_ns) {
                return None;
            }
            return Some(self.take(mark, mark.time_ns(now_ns), arrival_ns));
        }
    }

    fn past(&self) -> &Past {
        self.of(self.at)
    }

    fn past_mut(&mut self) -> &mut Past {
        match (self.at, &mut self.wired) {
            (End::Wired, Some(wired)) => wired,
            _ => &mut self.own,
        }
    }

    fn of(&self, end: End) -> &Past {
        match (end, &self.wired) {
            (End::Wired, Some(wired)) => wired,
            _ => &self.own,
        }
    }

    fn track(&self) -> &Track {
        &self.page.chip().tracks[self.past().source as usize]
    }

    /// Edges count from now on.
    fn begin(&mut self) {
        self.own = Past::begin(self.page.chip(), self.line, Wire::default());
        self.wired = None;
        self.at = self.look().unwrap_or(End::Own);
        self.until = None;
    }

    /// Looks at the wire, and which end is driven, if one is. Where it is this line itself, it does not hear the other.
    fn look(&mut self) -> Option<End> {
        let chip = self.page.chip();
        match (super::wire::of(chip, self.line), &mut self.wired) {
            (Some((source, wire)), Some(past)) if past.source == source => past.wire = wire,
            (found, _) => {
                self.wired = found.map(|(source, wire)| Past::begin(chip, source, wire));
                // What was to be taken of another wire is gone with that.
                if self.at == End::Wired {
                    (self.at, self.until) = (End::Own, None);
                }
            }
        }
        let is_driven = |line: u32| chip.setup[line as usize].is_driven();
        let driven = match &self.wired {
            _ if is_driven(self.line) => Some(End::Own),
            Some(wired) if is_driven(wired.source) => Some(End::Wired),
            _ => None,
        };
        match driven.is_none_or(|driven| driven == self.at) {
            true => self.until = None,
            // The end that was driven may have edges of which nobody hears from now on.
            false => self.until = self.until.or_else(|| Some(self.track().counted().1)),
        }
        if let (Some(End::Own), End::Own, Some(wired)) = (driven, self.at, &mut self.wired) {
            wired.count = chip.tracks[wired.source as usize].counted().1;
        }
        driven
    }

    /// All edges of the end that is looked at were taken: goes on to the other where that is driven, or has edges of somebody
    /// who drove it in between. Whether it did.
    fn turn_to(&mut self, driven: Option<End>) -> bool {
        let other = match self.at {
            End::Own => End::Wired,
            End::Wired => End::Own,
        };
        let has_edges = |past: &Past| self.page.chip().tracks[past.source as usize].counted().1 != past.count;
        let turns =
            driven == Some(other) || (driven != Some(End::Own) && self.wired.is_some() && has_edges(self.of(other)));
        if turns {
            (self.at, self.until) = (other, None);
        }
        turns
    }

    /// The longest sleep until it is to be looked again who drives the line, in ns.
    fn nap_ns(&self, driven: Option<End>) -> u64 {
        match (&self.wired, driven) {
            (None, _) => u64::MAX,
            (Some(_), None) => UNDRIVEN_NS,
            (Some(_), Some(_)) => DRIVEN_NS,
        }
    }

    /// Passes over edges that nobody remembers.
    fn skip(&mut self, forgotten: u64) {
        if forgotten == 0 {
            return;
        }
        let Past { wire, count, .. } = *self.past();
        // Odd ones rise.
        let wanted = |edge: &u64| self.edges.wants(edge % 2 == 1) && !wire.swallows(word_count(*edge));
        let wanted_among = |edges: u64| (count + 1..=count + edges).filter(wanted).count() as u64;
        // What a wire swallows repeats itself with the counts of the word.
        let lap = COUNT_MASK + 1;
        let of_laps = if forgotten >= lap { forgotten / lap * wanted_among(lap) } else { 0 };
        let lost = of_laps + wanted_among(forgotten % lap);
        self.lost = self.lost.saturating_add(u32::try_from(lost).unwrap_or(u32::MAX));
        let past = self.past_mut();
        (past.count, past.time_ns) = (count + forgotten, None);
        self.gap = true;
    }

    /// Moves on to this edge.
    fn take(&mut self, mark: Mark, time_ns: u64, arrival_ns: u64) -> Change {
        let past = self.past_mut();
        let dead_ns = u64::from(past.wire.dead_time_ns);
        let close = past.time_ns.is_some_and(|last_ns| time_ns.saturating_sub(last_ns) < dead_ns);
        (past.count, past.time_ns) = (past.count + 1, Some(time_ns));
        self.arrival_ns = arrival_ns;
        let after_gap = std::mem::take(&mut self.gap);
        Change { rising: mark.level(), time_ns: arrival_ns, notified: !close, after_gap }
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

/// An edge's count as the word has it.
fn word_count(edge: u64) -> u32 {
    (edge & COUNT_MASK) as u32
}

impl Drop for Pin {
    fn drop(&mut self) {
        if self.owns {
            self.setup().owner.store(0, Release);
        }
    }
}
