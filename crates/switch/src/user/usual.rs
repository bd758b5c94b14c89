//! What handing a frame over usually costs.

/// Follows the usual length of something, slowly; single long ones hardly move it.
#[derive(Debug, Clone, Copy)]
pub struct Usual {
    /// In 256ths of a nanosecond.
    scaled: u64,
}

impl From<u64> for Usual {
    /// Until something is known, this long, in ns.
    fn from(ns: u64) -> Self {
        Self { scaled: 256 * ns }
    }
}

impl Usual {
    /// The usual length, in ns.
    #[inline]
    pub fn ns(self) -> u64 {
        self.scaled / 256
    }

    /// Takes the next one.
    #[inline]
    pub fn follow(&mut self, ns: u64) {
        // Believed at most at its double, so that a stop teaches nothing.
        let believed = ns.min(2 * self.ns() + 512);
        self.scaled = self.scaled + believed - self.ns();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_is_learned_and_a_stop_is_not() {
        let mut usual = Usual::from(100);
        (0..10_000).for_each(|_| usual.follow(1_300));
        assert!((1_290..=1_300).contains(&usual.ns()), "{}", usual.ns());
        usual.follow(5_000_000);
        assert!(usual.ns() < 1_320);
    }
}
