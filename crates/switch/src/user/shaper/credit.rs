//! One queue's credit: how it rises while its gate is open, and how far.

use crate::user::gate::Gates;

/// Of a bit.
pub(super) const BILLION: i64 = 1_000_000_000;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Credit {
    pub(super) value: i64,
    /// So much of it, at most, is from times when the link was free and the core late: it does not count for the bound.
    pub(super) late: i64,
    /// When it was or will be that: at the end of a frame that is being sent.
    pub(super) at_ns: u64,
    /// While no list of gates is in force, and while one is.
    pub(super) open: Bounds,
    pub(super) gated: Bounds,
}

/// How fast a credit rises, and how far.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bounds {
    pub(super) idle: i64,
    pub(super) hi: i64,
}

impl Credit {
    /// What it gains until then above zero is not counted for its bound, but for no more than so long in all.
    #[inline]
    pub(super) fn gains_late(&mut self, queue: usize, now_ns: u64, most_ns: u64, gates: &Gates) {
        let most = self.bounds(self.at_ns, gates).idle.saturating_mul(most_ns as i64);
        let gained = (self.risen(queue, now_ns, gates) - self.value.max(0)).max(0);
        self.late = self.late.max(self.late.saturating_add(gained).min(most));
    }

    /// It rises until then, as far as it may.
    #[inline]
    pub(super) fn rise(&mut self, queue: usize, now_ns: u64, gates: &Gates) {
        let most = self.bounds(self.at_ns, gates).hi.saturating_add(self.late);
        if self.value < most {
            self.value = self.risen(queue, now_ns, gates).min(most);
        }
    }

    /// What it is at a later time if nothing bounds it.
    #[inline]
    pub(super) fn risen(&self, queue: usize, now_ns: u64, gates: &Gates) -> i64 {
        let open_ns = gates.open_between_ns(queue, self.at_ns, now_ns).min(i64::MAX as u64) as i64;
        self.value.saturating_add(self.bounds(self.at_ns, gates).idle.saturating_mul(open_ns))
    }

    #[inline]
    pub(super) fn bounds(&self, now_ns: u64, gates: &Gates) -> Bounds {
        if gates.list_is_in_force(now_ns) { self.gated } else { self.open }
    }
}
