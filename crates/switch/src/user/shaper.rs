//! The credits of one port's shaped queues (IEEE 802.1Q-2022 clause 8.6.8.2), followed in time.
//!
//! They are whole billionths of a bit, so that a rate in bits per second times a time in ns is exact: nothing drifts.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod credit;

use ontick_tsn::model::CLASSES;
use ontick_tsn::shaper::PortShaping;

use super::gate::Gates;
use super::rest::{LATE_NS, REST_NS};
use credit::{BILLION, Bounds, Credit};

/// The credits of a port.
#[derive(Debug)]
pub struct Credits {
    shaping: PortShaping,
    /// One bit for each shaped queue.
    queues: u16,
    rate: u64,
    /// The list of gates that the slopes are made for.
    list: u64,
    credits: [Credit; CLASSES],
}

impl Credits {
    /// No queue has any credit; the link has this rate.
    pub fn new(shaping: PortShaping, rate: u64, gates: &Gates) -> Self {
        let queues = shaping.queues();
        let mut credits = Self { shaping, queues, rate, list: 0, credits: [Credit::default(); CLASSES] };
        credits.renew(gates);
        credits
    }

    /// Whether a queue is shaped.
    #[inline]
    pub fn shapes(&self, queue: usize) -> bool {
        self.queues & (1 << queue) != 0
    }

    /// Goes on where the credits of before are: who is in debt stays so. `waiting` has the queues with frames that wait.
    pub fn carry_over(&mut self, before: Option<&mut Self>, waiting: u16, now_ns: u64, gates: &Gates) {
        self.credits.iter_mut().for_each(|credit| credit.at_ns = now_ns);
        if let Some(before) = before {
            let of_both = self.queues & before.queues;
            for queue in (0..CLASSES).filter(|queue| of_both & (1 << queue) != 0) {
                before.follow(queue, waiting & (1 << queue) != 0, now_ns, gates);
                self.credits[queue] = before.credits[queue];
            }
        }
        self.renew(gates);
    }

    /// The link has another rate.
    pub fn set_rate(&mut self, rate: u64, gates: &Gates) {
        self.rate = rate;
        self.renew(gates);
    }

    /// It is another time than it was: debts stay.
    pub fn clock_was_set(&mut self, now_ns: u64) {
        for credit in &mut self.credits {
            (credit.value, credit.late, credit.at_ns) = (credit.value.min(0), 0, now_ns);
        }
    }

    #[cold]
    fn renew(&mut self, gates: &Gates) {
        self.list = gates.changes();
        let shares = gates.lists().0.map(|list| list.shares());
        for (queue, credit) in self.credits.iter_mut().enumerate().filter(|(queue, _)| self.queues & (1 << queue) != 0)
        {
            let bounds = |shares| {
                let slopes = self.shaping.slopes(queue, self.rate, shares);
                Bounds { idle: slopes.idle as i64, hi: slopes.hi_credit as i64 * BILLION }
            };
            (credit.open, credit.gated) = (bounds(None), bounds(shares.as_ref()));
            credit.value = credit.value.min(credit.open.hi.max(credit.gated.hi));
        }
    }

    /// Of queues with frames that wait, those that may send a frame that begins then: not shaped, or not in debt. The link
    /// is or was free from `free_ns` on.
    pub fn allowed(&mut self, waiting: u16, free_ns: u64, begins_ns: u64, gates: &Gates) -> u16 {
        let mut allowed = waiting;
        let mut shaped = waiting & self.queues;
        while shaped != 0 {
            let queue = shaped.ilog2() as usize;
            shaped &= !(1 << queue);
            self.follow(queue, true, free_ns.min(begins_ns), gates);
            self.was_late(queue, begins_ns, gates);
            if self.credits[queue].value < 0 {
                allowed &= !(1 << queue);
            }
        }
        allowed
    }

    /// A frame comes into a queue that was empty.
    pub fn first_comes(&mut self, queue: usize, now_ns: u64, gates: &Gates) {
        if self.shapes(queue) {
            self.follow(queue, false, now_ns, gates);
        }
    }

    /// A frame of a queue occupies the link from then to then, and was handed over while frames of these waited.
    pub fn sent(&mut self, queue: usize, waiting: u16, bits: u64, begins_ns: u64, ends_ns: u64, gates: &Gates) {
        if self.list != gates.changes() {
            self.renew(gates);
        }
        let mut shaped = (waiting | 1 << queue) & self.queues;
        while shaped != 0 {
            let queue = shaped.ilog2() as usize;
            shaped &= !(1 << queue);
            self.was_late(queue, begins_ns, gates);
        }
        if !self.shapes(queue) {
            return;
        }
        let credit = &mut self.credits[queue];
        // At the send slope, by the bits that the frame has: the time that it takes is rounded.
        let risen = credit.bounds(begins_ns, gates).idle.saturating_mul(ends_ns.saturating_sub(begins_ns) as i64);
        credit.value = credit.value.saturating_add(risen).saturating_sub(bits as i64 * BILLION);
        credit.at_ns = ends_ns;
        if credit.value < 0 {
            credit.late = 0;
        }
    }

    /// When the first of queues with frames that wait is out of debt, if its gate stays open.
    pub fn out_of_debt_ns(&self, waiting: u16, gates: &Gates) -> Option<u64> {
        let in_debt = |queue: &usize| waiting & self.queues & (1 << queue) != 0 && self.credits[*queue].value < 0;
        let when = |queue: usize| {
            let credit = &self.credits[queue];
            let idle = credit.bounds(credit.at_ns, gates).idle.max(1) as u64;
            credit.at_ns.saturating_add(credit.value.unsigned_abs().div_ceil(idle))
        };
        (0..CLASSES).filter(in_debt).map(when).min()
    }

    /// The credit of a queue at a time that is not before those asked for earlier: it rises while the gate is open and
    /// frames wait, or while it is below zero; an empty queue has none above zero.
    fn follow(&mut self, queue: usize, waits: bool, now_ns: u64, gates: &Gates) {
        if self.list != gates.changes() {
            self.renew(gates);
        }
        let credit = &mut self.credits[queue];
        if now_ns <= credit.at_ns {
            return;
        }
        if waits {
            credit.rise(queue, now_ns, gates);
        } else {
            credit.value = credit.risen(queue, now_ns, gates).min(0);
            credit.late = 0;
        }
        credit.at_ns = now_ns;
    }

    /// The link was free since the time of a queue's credit, and frames wait: if there were none to pay for, one of them
    /// would have gone by now. Behind gates it may have been one that does not end before its gate closes.
    fn was_late(&mut self, queue: usize, now_ns: u64, gates: &Gates) {
        let credit = &mut self.credits[queue];
        if now_ns <= credit.at_ns {
            return;
        }
        if !gates.list_is_in_force(now_ns) {
            credit.gains_late(queue, now_ns, LATE_NS, gates);
        }
        credit.rise(queue, now_ns, gates);
        credit.at_ns = now_ns;
    }

    /// The core slept on purpose between these times: queues with frames that wait lose nothing by that.
    pub fn slept(&mut self, waiting: u16, from_ns: u64, until_ns: u64, gates: &Gates) {
        let shaped = waiting & self.queues;
        for queue in (0..CLASSES).filter(|queue| shaped & (1 << queue) != 0) {
            self.follow(queue, true, from_ns, gates);
            let credit = &mut self.credits[queue];
            if credit.at_ns < until_ns {
                credit.gains_late(queue, until_ns, REST_NS + 2 * LATE_NS, gates);
                credit.rise(queue, until_ns, gates);
                credit.at_ns = until_ns;
            }
        }
    }
}

#[cfg(test)]
mod tests;
