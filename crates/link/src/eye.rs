//! How wide pulses came: the room between the widths is the margin.

use crate::code::{Code, MARK_STEPS};
use crate::scale::Scale;

/// Bins for each step.
pub const FINENESS: usize = 10;
/// Steps below the shortest pulse that are counted too.
const BELOW: f64 = 1.0;

/// A histogram of pulse widths in tenths of a step, as learned from each frame's preamble: drift and overheads are
/// taken out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Eye {
    bins: Vec<u64>,
}

impl Eye {
    /// With nothing in it.
    pub fn new(code: Code) -> Self {
        let steps = BELOW as usize + code.longest_pulse() as usize + MARK_STEPS as usize;
        Self { bins: vec![0; steps * FINENESS] }
    }

    /// Adds pulses, in ns.
    pub fn add(&mut self, pulses: &[u64], scale: Scale) {
        for ns in pulses {
            let steps = (*ns as f64 - scale.shortest_ns) / scale.step_ns + BELOW;
            if let Some(bin) = self.bins.get_mut((steps * FINENESS as f64).round().max(0.0) as usize) {
                *bin += 1;
            }
        }
    }

    /// Counts, each with the value in steps that it stands for: 0 is the shortest pulse, 1 the next.
    pub fn counts(&self) -> impl Iterator<Item = (f64, u64)> {
        self.bins.iter().enumerate().map(|(bin, count)| (bin as f64 / FINENESS as f64 - BELOW, *count))
    }

    /// How much of half a step is left between the width that is meant and what all but one pulse in a thousand came
    /// as: 1 is all of it, 0 none.
    pub fn margin(&self) -> f64 {
        let mut off: Vec<(f64, u64)> =
            self.counts().map(|(steps, count)| ((steps - steps.round()).abs() * 2.0, count)).collect();
        off.sort_by(|a, b| b.0.total_cmp(&a.0));
        let beyond = off.iter().map(|(_, count)| count).sum::<u64>() / 1000;
        let mut seen = 0;
        let worst = off.iter().find(|(_, count)| {
            seen += count;
            seen > beyond
        });
        worst.map_or(1.0, |(off, _)| 1.0 - off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scales;

    #[test]
    fn counts_stand_beside_their_values() {
        let code = Code::new("4x1", 1_000, 500).unwrap();
        let mut eye = Eye::new(code);
        eye.add(&[600, 1_000, 1_000, 2_000, 2_050], Scales::of(code).pulse);
        let tenths = |(steps, count): (f64, u64)| (count > 0).then_some(((steps * 10.0).round() as i64, count));
        let counts: Vec<_> = eye.counts().filter_map(tenths).collect();
        assert_eq!(counts, [(-8, 1), (0, 2), (20, 1), (21, 1)]);
    }

    #[test]
    fn the_margin_leaves_out_one_in_a_thousand() {
        let code = Code::new("4x1", 1_000, 500).unwrap();
        let scale = Scales::of(code).pulse;
        let mut eye = Eye::new(code);
        eye.add(&[1_000, 1_500, 2_000, 2_500], scale);
        assert_eq!(eye.margin(), 1.0);
        eye.add(&[1_050; 5_000], scale);
        assert!((eye.margin() - 0.8).abs() < 1e-9);
        eye.add(&[1_249; 4], scale);
        assert!((eye.margin() - 0.8).abs() < 1e-9, "four of five thousand");
        eye.add(&[1_249; 4], scale);
        assert!(eye.margin() < 1e-9);
        eye.add(&[0, u64::MAX / 4], scale);
        assert_eq!(eye.counts().map(|(_, count)| count).sum::<u64>(), 5_012 + 1, "what is far too long is not counted");
    }
}
