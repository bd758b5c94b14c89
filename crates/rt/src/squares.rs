//! A sum of squares, of 128 bits in two halves: latencies of 1 ms at 1 kHz fill 64 in five hours.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU64, fence};

/// One thread adds, others read.
#[derive(Default)]
pub struct Squares {
    low: AtomicU64,
    high: AtomicU64,
    /// Odd while the high half changes.
    turns: AtomicU64,
}

impl Squares {
    /// Adds the square of a latency.
    #[inline]
    pub fn add_square_of(&self, latency_ns: u64) {
        let square = u128::from(latency_ns) * u128::from(latency_ns);
        let low = self.low.load(Relaxed);
        let (sum, overflown) = low.overflowing_add(square as u64);
        let carry = (square >> 64) as u64 + u64::from(overflown);
        if carry > 0 {
            self.carry(sum, carry);
        } else {
            self.low.store(sum, Relaxed);
        }
    }

    #[cold]
    fn carry(&self, low: u64, carry: u64) {
        let turn = self.turns.load(Relaxed);
        self.turns.store(turn.wrapping_add(1), Relaxed);
        fence(Release);
        self.low.store(low, Relaxed);
        self.high.store(self.high.load(Relaxed).wrapping_add(carry), Relaxed);
        self.turns.store(turn.wrapping_add(2), Release);
    }

    /// Both halves of one moment. The writer changes the high one rarely, and is through with it at once.
    pub fn read(&self) -> u128 {
        loop {
            let before = self.turns.load(Acquire);
            let (low, high) = (self.low.load(Relaxed), self.high.load(Relaxed));
            fence(Acquire);
            if before % 2 == 0 && self.turns.load(Relaxed) == before {
                return u128::from(high) << 64 | u128::from(low);
            }
            std::hint::spin_loop();
        }
    }
}
