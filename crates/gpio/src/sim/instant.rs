//! Words that others change, as they were in one instant.

/// How often lines are looked at again, at most, until nothing changed between two looks.
const TRIES: u32 = 4_000;

/// Looks at all words until two looks found the same: those were there together between the looks. A word counts its
/// line's edges, so one that changed and changed back is not the same. `between` gets what the first look found.
#[inline]
pub fn catch<W: PartialEq + Copy>(words: &mut [W], look: impl Fn(usize) -> W, mut between: impl FnMut(&[W])) -> bool {
    for (n, word) in words.iter_mut().enumerate() {
        *word = look(n);
    }
    for _ in 0..TRIES {
        between(words);
        let mut same = true;
        for (n, word) in words.iter_mut().enumerate() {
            let again = look(n);
            same &= again == *word;
            *word = again;
        }
        if same {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Words count edges. Whatever changes between one word's look and the next, what is caught was there at once.
        #[test]
        fn what_is_caught_was_there_at_once(
            width in 1usize..6,
            edges in proptest::collection::vec(any::<usize>(), 0..60),
            steps in proptest::collection::vec(0usize..4, 1..100),
        ) {
            let mut states = vec![vec![0u32; width]];
            for edge in edges {
                let mut next = states[states.len() - 1].clone();
                next[edge % width] += 1;
                states.push(next);
            }
            let (now, turn) = (Cell::new(0), Cell::new(0));
            let look = |n: usize| {
                let step = steps.get(turn.get()).copied().unwrap_or(1);
                turn.set(turn.get() + 1);
                now.set((now.get() + step).min(states.len() - 1));
                states[now.get()][n]
            };
            let mut words = vec![0; width];
            prop_assert!(catch(&mut words, look, |_| {}), "the last state stays");
            prop_assert!(states.contains(&words), "{words:?} never was");
        }
    }

    #[test]
    fn what_never_rests_is_given_up() {
        let edges = Cell::new(0u32);
        let look = |_: usize| edges.replace(edges.get() + 1);
        assert!(!catch(&mut [0; 2], look, |_| {}));
    }
}
