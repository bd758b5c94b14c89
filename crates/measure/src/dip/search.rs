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

/// A search that is not confirmed ends after this many times its time.
const PATIENCE: f64 = 1.2;

impl Range {
    fn last(self) -> u64 {
        (self.high_ns - self.low_ns) / self.step_ns
    }

    fn width_ns(self, n: u64) -> u64 {
        self.low_ns + n * self.step_ns
    }

    /// Trials that find a width and confirm it, at most.
    pub fn trials(self) -> u64 {
        let halvings = u64::BITS - (self.last() + 1).leading_zeros();
        u64::from(halvings) + 2
    }

    /// The shortest width for which `holds`, by halving; `None` where even the longest does not hold.
    ///
    /// Its bracket is tried again until the time is over, which is when `elapsed` is 1: it must hold again, and the width
    /// one step below must fail again. Otherwise the search goes on from there.
    pub fn shortest<E>(
        self,
        elapsed: impl Fn() -> f64,
        mut holds: impl FnMut(u64) -> Result<bool, E>,
    ) -> Result<Option<u64>, E> {
        let mut holds = |n: u64| holds(self.width_ns(n));
        let beyond = self.last() + 1;
        let mut best = halve(0, beyond, &mut holds)?;
        loop {
            let moved = if best < beyond && !holds(best)? {
                let (from, to) = upwards(best + 1, beyond, &mut holds)?;
                Some(halve(from, to, &mut holds)?)
            } else if best > 0 && holds(best - 1)? {
                let (from, to) = downwards(best - 1, &mut holds)?;
                Some(halve(from, to, &mut holds)?)
            } else {
                None
            };
            best = moved.unwrap_or(best);
            let elapsed = elapsed();
            if elapsed >= PATIENCE || (moved.is_none() && elapsed >= 1.0) {
                return Ok((best < beyond).then(|| self.width_ns(best)));
            }
        }
    }
}

/// The first that holds, where none below `from` does and `to` does.
fn halve<E>(mut from: u64, mut to: u64, holds: &mut impl FnMut(u64) -> Result<bool, E>) -> Result<u64, E> {
    while from < to {
        let middle = from + (to - from) / 2;
        match holds(middle)? {
            true => to = middle,
            false => from = middle + 1,
        }
    }
    Ok(to)
}

/// A bracket of the first that holds, in growing steps from `from` on, below which none does.
fn upwards<E>(mut from: u64, beyond: u64, holds: &mut impl FnMut(u64) -> Result<bool, E>) -> Result<(u64, u64), E> {
    let mut step = 1;
    loop {
        let next = (from + step - 1).min(beyond);
        if next == beyond || holds(next)? {
            return Ok((from, next));
        }
        (from, step) = (next + 1, 2 * step);
    }
}

/// The same downwards from `to`, which holds.
fn downwards<E>(mut to: u64, holds: &mut impl FnMut(u64) -> Result<bool, E>) -> Result<(u64, u64), E> {
    let mut step = 1;
    while to > 0 {
        let next = to.saturating_sub(step);
        if !holds(next)? {
            return Ok((next + 1, to));
        }
        (to, step) = (next, 2 * step);
    }
    Ok((0, 0))
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
            let found = RANGE.shortest::<()>(
                || 1.0,
                |width_ns| {
                    tried += 1;
                    Ok(width_ns >= dead_ns)
                },
            );
            let within = dead_ns.max(1_000).div_ceil(1_000) * 1_000;
            assert_eq!(found, Ok(Some(within)), "{dead_ns}");
            assert!(tried <= RANGE.trials(), "{tried}");
        }
        assert_eq!(RANGE.trials(), 11);
        assert_eq!(Range { high_ns: 1_000, ..RANGE }.trials(), 3);
        assert_eq!(RANGE.shortest::<()>(|| 1.0, |_| Ok(false)), Ok(None), "none is seen");
        assert_eq!(RANGE.shortest(|| 1.0, |_| Err("gone")), Err("gone"));
    }

    /// It confirms what it found until its time is over, and goes on a little where that fails.
    #[test]
    fn a_search_ends_with_its_time() {
        let tried_in = |dead: fn(usize) -> u64, most: f64| {
            let tried = std::cell::Cell::new(0);
            let elapsed = || tried.get() as f64 / most;
            let found = RANGE.shortest::<()>(elapsed, |width_ns| {
                tried.set(tried.get() + 1);
                Ok(width_ns >= dead(tried.get()))
            });
            (tried.get(), found.unwrap().unwrap())
        };
        for (dead, at_last) in [((|_| 70_000) as fn(usize) -> u64, 70_000), (|_| 500, 1_000)] {
            let (tried, found) = tried_in(dead, 40.0);
            assert!((40..42).contains(&tried) && found == at_last, "{tried} {found}");
        }
        // What drifts is never confirmed.
        let (tried, _) = tried_in(|tried| 1_000 * (10 + 5 * tried as u64), 40.0);
        assert!((48..60).contains(&tried), "{tried}");
    }

    #[test]
    fn what_moves_is_followed() {
        for (before, after) in [(10_000, 300_000), (300_000, 10_000), (1_000, 2_000), (499_000, 500_000)] {
            let tried = std::cell::Cell::new(0);
            let found = RANGE.shortest::<()>(
                || tried.get() as f64 / 60.0,
                |width_ns| {
                    tried.set(tried.get() + 1);
                    Ok(width_ns >= if tried.get() <= 15 { before } else { after })
                },
            );
            assert_eq!(found, Ok(Some(after)));
        }
    }

    #[test]
    fn noise_does_not_move_it_by_more_than_a_step() {
        for (seed, dead_ns) in (1..60u64).zip((1..60u64).map(|n| n * 8_000)) {
            let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            // One dip in 250 is lost wherever it is, and 99 % are asked for.
            let tried = std::cell::Cell::new(0);
            let elapsed = || tried.get() as f64 / (2 * RANGE.trials()) as f64;
            let found = RANGE.shortest::<()>(elapsed, |width_ns| {
                tried.set(tried.get() + 1);
                Ok(seen(width_ns, dead_ns, 600.0, 0.001, &mut state) >= 198)
            });
            let found = found.unwrap().unwrap();
            assert!((dead_ns..=dead_ns + 1_000).contains(&found), "{found} {dead_ns}");
        }
    }

    /// The halving alone would end where a single wrong trial had led it.
    #[test]
    fn a_wrong_trial_is_found_by_the_second() {
        for wrong in 0..9 {
            let tried = std::cell::Cell::new(0);
            let elapsed = || tried.get() as f64 / (2 * RANGE.trials()) as f64;
            let found = RANGE.shortest::<()>(elapsed, |width_ns| {
                tried.set(tried.get() + 1);
                Ok((width_ns >= 70_000) != (tried.get() == wrong + 1))
            });
            assert_eq!(found, Ok(Some(70_000)), "the trial {wrong}");
        }
    }
}
