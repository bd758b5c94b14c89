//! The shortest width that holds, where every wider one does and what is tried may be wrong now and then.

/// Widths that are searched, in ns: whole steps from `low_ns` to `high_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Range {
    /// The shortest.
    pub low_ns: u64,
    /// The longest.
    pub high_ns: u64,
    /// Between neighbours.
    pub step_ns: u64,
}

/// How often a bracket that is not confirmed is searched anew.
const ROUNDS: usize = 6;

impl Range {
    fn last(self) -> u64 {
        (self.high_ns - self.low_ns) / self.step_ns
    }

    fn width_ns(self, n: u64) -> u64 {
        self.low_ns + n * self.step_ns
    }

    /// The shortest width for which `holds`, by halving; `None` where even the longest does not hold. Its bracket is
    /// tried a second time: it must hold again, and the width one step below must fail again. Otherwise the search goes
    /// on where the second trial points to.
    pub fn shortest<E>(self, mut holds: impl FnMut(u64) -> Result<bool, E>) -> Result<Option<u64>, E> {
        // Below `from` none holds; `to` does, or is beyond the last.
        let (mut from, mut to) = (0, self.last() + 1);
        let mut best = to;
        for _ in 0..ROUNDS {
            while from < to {
                let middle = from + (to - from) / 2;
                match holds(self.width_ns(middle))? {
                    true => to = middle,
                    false => from = middle + 1,
                }
            }
            best = to;
            let fails_again = best <= self.last() && !holds(self.width_ns(best))?;
            if fails_again {
                (from, to) = (best + 1, self.last() + 1);
                continue;
            }
            if best == 0 || !holds(self.width_ns(best - 1))? {
                break;
            }
            (from, to) = (0, best - 1);
        }
        Ok((best <= self.last()).then(|| self.width_ns(best)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: Range = Range { low_ns: 1_000, high_ns: 500_000, step_ns: 1_000 };

    fn random(state: &mut u64) -> f64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Dips of a line that notifies of no edge within its dead time of another: how many of 200 are seen, with edges
    /// that jitter and others that are lost by chance.
    fn seen(width_ns: u64, dead_ns: u64, jitter_ns: f64, lost: f64, state: &mut u64) -> usize {
        let one = |state: &mut u64| {
            let width = width_ns as f64 + (random(state) - 0.5) * jitter_ns;
            width >= dead_ns as f64 && random(state) >= lost
        };
        (0..200).filter(|_| one(state)).count()
    }

    #[test]
    fn the_dead_time_of_a_line_is_found_exactly() {
        for dead_ns in [1, 1_000, 1_001, 20_000, 70_500, 499_001, 500_000] {
            let mut tried = 0;
            let found = RANGE.shortest::<()>(|width_ns| {
                tried += 1;
                Ok(width_ns >= dead_ns)
            });
            let within = dead_ns.max(1_000).div_ceil(1_000) * 1_000;
            assert_eq!(found, Ok(Some(within)), "{dead_ns}");
            assert!(tried <= 12, "{tried}");
        }
        assert_eq!(RANGE.shortest::<()>(|_| Ok(false)), Ok(None), "none is seen");
        assert_eq!(RANGE.shortest(|_| Err("gone")), Err("gone"));
    }

    #[test]
    fn noise_does_not_move_it_by_more_than_a_step() {
        for (seed, dead_ns) in (1..60u64).zip((1..60u64).map(|n| n * 8_000)) {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // One dip in 250 is lost wherever it is, and 99 % are asked for.
            let found = RANGE
                .shortest::<()>(|width_ns| Ok(seen(width_ns, dead_ns, 600.0, 0.001, &mut state) >= 198))
                .unwrap()
                .unwrap();
            assert!((dead_ns..=dead_ns + 1_000).contains(&found), "{found} {dead_ns}");
        }
    }

    /// The halving alone would end where a single wrong trial had led it.
    #[test]
    fn a_wrong_trial_is_found_by_the_second() {
        for wrong in 0..9 {
            let mut tried = 0;
            let found = RANGE.shortest::<()>(|width_ns| {
                tried += 1;
                Ok((width_ns >= 70_000) != (tried == wrong + 1))
            });
            assert_eq!(found, Ok(Some(70_000)), "the trial {wrong}");
        }
    }
}
