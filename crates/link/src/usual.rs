//! What a figure usually is, so that the unusual is told apart.

/// Follows the usual value of a figure, in ns, slowly; single large ones hardly move it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Usual {
    /// In sixty-fourths of a nanosecond.
    scaled: u64,
}

impl Usual {
    /// Takes the next value; how far it is beyond the usual.
    #[inline]
    pub fn beyond(&mut self, ns: u64) -> u64 {
        let usual_ns = self.scaled / 64;
        // From nothing the first values are believed; later ones move it by at most their double.
        let believed = ns.min(2 * usual_ns + 64);
        self.scaled = self.scaled + believed - usual_ns;
        ns.saturating_sub(usual_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_is_learned_and_the_unusual_is_not() {
        let mut usual = Usual::default();
        (0..2_000).for_each(|_| {
            usual.beyond(90);
        });
        assert!(usual.beyond(90) <= 2);
        assert!(usual.beyond(15_000) > 14_900);
        assert!(usual.beyond(90) <= 2, "one stop teaches nothing");
    }
}
