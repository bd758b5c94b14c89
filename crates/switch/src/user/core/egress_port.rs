//! One port's way out: its gates, what waits before them, and the link behind.

use super::PortConfig;
use super::attempts::Attempts;
use crate::user::gate::Gates;
use crate::user::queue::{Queue, Waiting};
use crate::user::shaper::Credits;
use ontick_tsn::egress::EgressTiming;
use ontick_tsn::model::CLASSES;
use ontick_tsn::schedule::NEVER;
use ontick_tsn::shaper::PortShaping;
use ontick_tsn::wire::{Pace, frame_bits};

/// The core looks at each gate that often, in ns.
pub(super) const LOOK_NS: u64 = 500;
/// A frame is on its way to the link for so much longer, in thirds, than what it is handed over ahead: three quarters of
/// the least that was measured.
const BEYOND_AHEAD: u64 = 3;

/// One port, with what waits to leave by it.
pub(super) struct EgressPort<P> {
    pub port: Option<P>,
    pub up: bool,
    /// It makes a loop: nothing leaves by it, and of what comes in only probes are looked at.
    pub closed: bool,
    pub pace: Pace,
    pub gates: Gates,
    /// Of shaped queues; absent where there are none.
    pub credits: Option<Box<Credits>>,
    pub queues: [Queue; CLASSES],
    /// Queues that are not empty, one bit for each.
    pub waiting: u16,
    /// First frames that the port did not take.
    pub attempts: Attempts,
    pub max_sdu: [u32; CLASSES],
    /// When the link has sent all that was handed over.
    pub free_ns: u64,
    /// A frame that is handed over takes so long at least until it leaves: its gate is looked at for then.
    pub ahead_ns: u64,
    /// How far from the usual single hand-overs are, in ns.
    pub spread_ns: u64,
    /// The opening of a gate for which a frame was made ready.
    warmed_ns: u64,
}

impl<P> EgressPort<P> {
    pub fn new(
        at: PortConfig<P>,
        limits: &[u32; CLASSES],
        max_sdu: [u32; CLASSES],
        shaping: Option<PortShaping>,
    ) -> Self {
        let gates = Gates::new(at.schedule);
        Self {
            credits: shaping.map(|shaping| Box::new(Credits::new(shaping, at.rate, &gates))),
            up: at.port.is_some(),
            closed: false,
            port: at.port,
            pace: Pace::new(at.rate),
            gates,
            queues: limits.map(Queue::new),
            waiting: 0,
            attempts: Attempts::new(),
            max_sdu,
            free_ns: 0,
            ahead_ns: 0,
            spread_ns: 0,
            warmed_ns: 0,
        }
    }

    /// A port that another core has: nothing waits for it here.
    pub fn of_another_core() -> Self {
        /// Nothing is reckoned with it.
        const NO_RATE: u64 = 1_000_000_000;
        let at = PortConfig { port: None, rate: NO_RATE, schedule: None };
        Self::new(at, &[1; CLASSES], [0; CLASSES], None)
    }

    /// The queue whose first frame may go, and when its gate closes.
    #[inline]
    pub fn next(&mut self, now_ns: u64, handing_over_ns: u64) -> Option<(usize, u64)> {
        let timing = self.timing(handing_over_ns);
        self.gates.follow(now_ns + self.ahead_ns);
        let view = self.gates.view();
        let mut ready = self.waiting & view.open & !self.attempts.pausing(now_ns);
        if let Some(credits) = &mut self.credits {
            ready = credits.allowed(ready, self.free_ns, self.free_ns.max(now_ns + self.ahead_ns), &self.gates);
        }
        while ready != 0 {
            let queue = ready.ilog2() as usize;
            ready &= !(1 << queue);
            let closes_ns = view.closes_ns[queue];
            let octets = self.queues[queue].first().map_or(0, |waiting| usize::from(waiting.octets));
            let frame_ns = self.pace.time_ns(octets);
            let spread_ns = self.spread_ns(view.window_ns[queue], frame_ns, handing_over_ns);
            let timing = EgressTiming { spread_ns, ..timing };
            let ends_ns = timing.ends_ns(now_ns, self.free_ns, frame_ns);
            if closes_ns == NEVER || ends_ns <= closes_ns {
                return Some((queue, closes_ns));
            }
        }
        None
    }

    /// How much longer than usual is reckoned with before a gate closes: as much as single hand-overs are away from the
    /// usual, and no more than leaves the frame this window, which may have been planned for it.
    #[inline]
    fn spread_ns(&self, window_ns: u64, frame_ns: u64, handing_over_ns: u64) -> u64 {
        let needed_ns = self.at_opening(handing_over_ns).window_ns(frame_ns);
        self.spread_ns.min(window_ns.saturating_sub(needed_ns))
    }

    /// Whether a frame that no queue holds may go now: its queue's gate is open until it has left. If no window of that gate
    /// is long enough, any time is as good.
    pub fn may_send_beside(&mut self, queue: usize, octets: usize, now_ns: u64, handing_over_ns: u64) -> bool {
        if !self.has_window(queue, octets, handing_over_ns) {
            return true;
        }
        self.gates.follow(now_ns + self.ahead_ns);
        let view = self.gates.view();
        let closes_ns = view.closes_ns[queue];
        let ends_ns = self.timing(handing_over_ns).ends_ns(now_ns, self.free_ns, self.pace.time_ns(octets));
        view.open & 1 << queue != 0 && (closes_ns == NEVER || ends_ns <= closes_ns)
    }

    /// Whether some window of a queue's gate is long enough for a frame, as a rule.
    #[inline]
    pub fn has_window(&self, queue: usize, octets: usize, handing_over_ns: u64) -> bool {
        let longest_ns = self.gates.longest_ns(queue);
        longest_ns == NEVER || self.at_opening(handing_over_ns).fits(self.pace.time_ns(octets), longest_ns)
    }

    /// Whether it would be, if handing over took no time: what was learned of it is the only reason why not.
    #[cold]
    pub fn may_have_window(&self, queue: usize, octets: usize) -> bool {
        EgressTiming { hand_over_ns: LOOK_NS, ..EgressTiming::IDEAL }
            .fits(self.pace.time_ns(octets), self.gates.longest_ns(queue))
    }

    /// From the decision to hand a frame over until it is on the link: as a rule it leaves within the call, long before
    /// that returns, and how long before was measured where the driver tells.
    #[inline]
    fn timing(&self, handing_over_ns: u64) -> EgressTiming {
        let hand_over_ns = match self.ahead_ns {
            0 => handing_over_ns,
            ahead_ns => ahead_ns + ahead_ns / BEYOND_AHEAD,
        };
        EgressTiming { hand_over_ns, ..EgressTiming::IDEAL }
    }

    /// The same from the opening of a gate: it is looked at again and again, and frames are handed over ahead of it.
    #[inline]
    fn at_opening(&self, handing_over_ns: u64) -> EgressTiming {
        let timing = self.timing(handing_over_ns);
        EgressTiming { hand_over_ns: LOOK_NS + timing.hand_over_ns - self.ahead_ns, ..timing }
    }

    /// When a frame that is handed over now begins to leave, as a rule.
    #[inline]
    pub fn leaves_ns(&self, now_ns: u64, handing_over_ns: u64) -> u64 {
        (now_ns + if self.ahead_ns > 0 { self.ahead_ns } else { handing_over_ns }).max(self.free_ns)
    }

    /// The port took a frame between `begun_ns` and `done_ns`. When its last octet is through, as a rule, comes back: the
    /// link takes it up when it is through with those before it, and not before it was handed over.
    ///
    /// A frame that finds the link idle may have left later than usual in a hand-over that took no longer, as after a rest.
    /// Those behind it are counted as if it had, or the last of many would end after its gate closed.
    pub fn sent(&mut self, octets: usize, begun_ns: u64, done_ns: u64, handing_over_ns: u64) -> u64 {
        // Where the way to the link is known, so is what the kernel usually does after it.
        let after_ns = if self.ahead_ns > 0 { handing_over_ns.saturating_sub(self.ahead_ns) } else { 0 };
        let left_ns = done_ns.saturating_sub(after_ns).max(begun_ns + self.ahead_ns);
        let late_ns = if self.free_ns <= begun_ns { done_ns.min(left_ns + 2 * self.spread_ns) } else { left_ns };
        let (free_ns, frame_ns) = (self.free_ns, self.pace.time_ns(octets));
        self.free_ns = free_ns.max(late_ns) + frame_ns;
        free_ns.max(left_ns) + frame_ns - self.pace.gap_ns()
    }

    /// The frame that was handed over last is one of this queue.
    #[inline]
    pub fn charge(&mut self, queue: usize, octets: usize) {
        if let Some(credits) = &mut self.credits {
            let begins_ns = self.free_ns - self.pace.time_ns(octets);
            credits.sent(queue, self.waiting, frame_bits(octets as u32), begins_ns, self.free_ns, &self.gates);
        }
    }

    /// Whether the credit-based shaper lets frames of this queue wait.
    #[inline]
    pub fn shapes(&self, queue: usize) -> bool {
        self.credits.as_ref().is_some_and(|credits| credits.shapes(queue))
    }

    /// Other idle slopes from now on, or none; the credits of before come back.
    pub fn reshape(&mut self, mut credits: Option<Box<Credits>>, now_ns: u64) -> Option<Box<Credits>> {
        if let Some(new) = &mut credits {
            new.carry_over(self.credits.as_deref_mut(), self.waiting, now_ns, &self.gates);
        }
        std::mem::replace(&mut self.credits, credits)
    }

    /// The link has another rate.
    pub fn set_rate(&mut self, rate: u64) {
        self.pace = Pace::new(rate);
        if let Some(credits) = &mut self.credits {
            credits.set_rate(rate, &self.gates);
        }
    }

    pub fn take_first(&mut self, queue: usize) {
        self.queues[queue].pop();
        self.attempts.next(queue);
        if self.queues[queue].is_empty() {
            self.waiting &= !(1 << queue);
        }
    }

    /// The frame that will go first when the next gate opens; asked for once.
    #[inline]
    pub fn opening(&mut self) -> Option<Waiting> {
        let view = self.gates.known()?;
        let queue = (self.waiting & view.opens).checked_ilog2()? as usize;
        if std::mem::replace(&mut self.warmed_ns, view.until_ns) == view.until_ns {
            return None;
        }
        self.queues[queue].first()
    }

    /// When there is something to be done about a gate that moves, or a debt that is paid.
    pub fn moves_ns(&mut self, now_ns: u64) -> u64 {
        let debt = self.credits.as_ref().and_then(|credits| credits.out_of_debt_ns(self.waiting, &self.gates));
        self.gate_moves_ns(now_ns).min(debt.map_or(NEVER, |debt_ns| debt_ns.saturating_sub(self.ahead_ns)))
    }

    /// When there is something to be done about a gate that moves.
    pub fn gate_moves_ns(&mut self, now_ns: u64) -> u64 {
        match self.gates.at(now_ns + self.ahead_ns).until_ns {
            NEVER => NEVER,
            until_ns => until_ns.saturating_sub(self.ahead_ns),
        }
    }

    /// The core slept on purpose between these times.
    pub fn slept(&mut self, from_ns: u64, until_ns: u64) {
        if let Some(credits) = &mut self.credits {
            credits.slept(self.waiting, from_ns, until_ns, &self.gates);
        }
    }

    #[inline]
    pub fn edge_within(&self, now_ns: u64, ns: u64) -> bool {
        let Some(view) = self.gates.known() else { return false };
        let leaves_ns = now_ns + self.ahead_ns;
        self.waiting & view.opens != 0 && view.until_ns > leaves_ns && view.until_ns - leaves_ns < ns
    }
}
