//! How a line is set up, in memory that several processes change at once.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::owner::Owner;

/// Of one line. All zeros is a line that nobody has used.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Setup {
    /// Who has it as an output: see [`super::owner`]; 0: nobody.
    pub owner: AtomicU64,
    /// Not 0: it is an output, and stays one when its owner is gone; for which time, see `turns`.
    driven: AtomicU32,
    /// 1: it is high where nobody drives it.
    pub pulled_up: AtomicU32,
    /// The line at the other end of its wire, plus one; 0: no wire.
    pub source: AtomicU32,
    /// Of the wire: see [`super::Wire`].
    pub delay_ns: AtomicU32,
    pub jitter_ns: AtomicU32,
    pub dead_time_ns: AtomicU32,
    pub loss_ppm: AtomicU32,
    /// How often it has become an output; its owner alone changes this.
    turns: AtomicU32,
    _reserved: [u32; 4],
}

impl Setup {
    /// Whether it is an output.
    #[inline]
    pub fn is_driven(&self) -> bool {
        self.driven.load(Relaxed) != 0
    }

    /// Its owner makes it an output.
    pub fn drive(&self) {
        let turn = self.turns.load(Relaxed).wrapping_add(1).max(1);
        self.turns.store(turn, Relaxed);
        self.driven.swap(turn, Release);
    }

    /// It is an output no more.
    pub fn let_go(&self) {
        self.driven.store(0, Release);
    }

    /// The same where whoever drove it is gone. One that is made an output at this moment stays one: that is another turn
    /// than the one that was left.
    pub fn let_go_if_left(&self) {
        let left = self.driven.load(Acquire);
        if left != 0 && Owner::load(&self.owner).is_none() {
            let _ = self.driven.compare_exchange(left, 0, AcqRel, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_left_is_let_go() {
        let setup = Setup::default();
        assert!(!setup.is_driven());
        Owner::this().claim(&setup.owner).unwrap();
        setup.drive();
        setup.let_go_if_left();
        assert!(setup.is_driven(), "its owner lives");
        setup.owner.store(0, Relaxed);
        setup.let_go_if_left();
        assert!(!setup.is_driven());
        // Another turn, so that who saw the one before cannot mistake it for that.
        setup.drive();
        assert_eq!(setup.driven.load(Relaxed), 2);
    }
}
