//! How switches are connected.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::planning::random::Random;

/// How switches are connected. Switches are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// One behind the other.
    Line,
    /// The same, and the last is connected with the first.
    Ring,
    /// Each has two below it.
    Tree,
    /// All with the first, which has no station unless it is alone.
    Star,
    /// By [`two_rings`].
    Mesh,
}

impl Shape {
    /// Cables between switches.
    pub fn cables(self, switches: usize, random: &mut Random) -> Vec<(usize, usize)> {
        let each = |above: fn(usize) -> usize| (1..switches).map(|n| (above(n), n)).collect::<Vec<_>>();
        match self {
            Shape::Line => each(|n| n - 1),
            Shape::Ring => [each(|n| n - 1), vec![(switches - 1, 0)]].concat(),
            Shape::Tree => each(|n| (n - 1) / 2),
            Shape::Star => each(|_| 0),
            Shape::Mesh => two_rings(switches, random),
        }
    }

    /// Switches that have stations.
    pub fn homes(self, switches: usize) -> Range<usize> {
        if self == Shape::Star && switches > 1 { 1..switches } else { 0..switches }
    }
}

/// Two rings through all switches, the second in an order by chance: four neighbours each, but where both have the same cable,
/// and short ways.
pub fn two_rings(switches: usize, random: &mut Random) -> Vec<(usize, usize)> {
    let mut order: Vec<usize> = (0..switches).collect();
    for n in (1..switches).rev() {
        order.swap(n, random.below(n as u64 + 1) as usize);
    }
    let ring = |order: &[usize]| -> Vec<(usize, usize)> {
        let next = |n: usize| order[(n + 1) % switches];
        (0..switches).map(|n| (order[n].min(next(n)), order[n].max(next(n)))).collect()
    };
    let both = [ring(&(0..switches).collect::<Vec<_>>()), ring(&order)].concat();
    both.into_iter().filter(|(a, b)| a != b).collect::<BTreeSet<_>>().into_iter().collect()
}
