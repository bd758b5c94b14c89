//! How long nothing has come of the other end.

/// Since when. A block is enough of a sign: a frame of a slow code may take longer than anybody waits.
pub struct Silence {
    since_ns: u64,
    blocks: u64,
}

impl Silence {
    /// From now on.
    pub fn new(now_ns: u64) -> Self {
        Self { since_ns: now_ns, blocks: 0 }
    }

    /// How long it has been now, in ns, where so many blocks have come so far.
    pub fn ns(&mut self, blocks: u64, now_ns: u64) -> u64 {
        if blocks != self.blocks {
            *self = Self { since_ns: now_ns, blocks };
        }
        now_ns.saturating_sub(self.since_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_ends_a_silence() {
        let mut silence = Silence::new(1_000);
        assert_eq!([silence.ns(0, 900), silence.ns(0, 1_500)], [0, 500]);
        assert_eq!([silence.ns(2, 1_600), silence.ns(2, 1_700), silence.ns(3, 1_800)], [0, 100, 0]);
    }
}
