//! Edges to the stretches of frames.

use crate::code::Code;
use crate::frame::{Frame, LONGEST, MOST_PARITY};
use crate::wire::PREAMBLE;

/// What a receiver saw on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// A change.
    Edge {
        /// Up, else down.
        rising: bool,
        /// When, in ns.
        time_ns: u64,
        /// Changes that were not seen since the one before.
        lost: u32,
    },
    /// No change until then, in ns, that was not told.
    Quiet(u64),
}

/// Cuts what is seen into frames: each begins with a rising edge, and ends when the line stays low.
#[derive(Debug)]
pub struct Cutter {
    idle_ns: u64,
    most: usize,
    level: bool,
    since_ns: u64,
    stretches: Vec<u64>,
}

impl Cutter {
    /// For this code, on a line that is low or that nobody has looked at.
    pub fn new(code: Code) -> Self {
        let symbols = Frame::length(LONGEST, MOST_PARITY) * 8 / code.bits() as usize + PREAMBLE + 2;
        Self { idle_ns: code.idle_ns(), most: 2 * symbols, level: false, since_ns: 0, stretches: Vec::new() }
    }

    /// Takes what was seen next; the stretches of a frame that has ended with it, beginning and ending with a high
    /// one.
    pub fn take(&mut self, seen: Seen) -> Option<Vec<u64>> {
        match seen {
            Seen::Quiet(until_ns) => self.ended(until_ns),
            Seen::Edge { rising, time_ns, lost } => {
                let ended = self.ended(time_ns);
                self.fill(rising, time_ns, lost);
                self.edge(rising, time_ns);
                ended.or_else(|| self.too_long())
            }
        }
    }

    fn ended(&mut self, now_ns: u64) -> Option<Vec<u64>> {
        let over = !self.level && !self.stretches.is_empty() && now_ns.saturating_sub(self.since_ns) >= self.idle_ns;
        over.then(|| std::mem::take(&mut self.stretches))
    }

    /// Puts edges that are known to be missing evenly in between: then their symbols are wrong, and those that
    /// follow are not taken for others.
    fn fill(&mut self, rising: bool, time_ns: u64, lost: u32) {
        let odd = lost % 2 == 1;
        // Levels alternate: so many edges lead to the other level, or to the same.
        let missing = if odd == (rising == self.level) { lost } else { lost + 1 };
        let missing = missing as usize;
        if missing == 0 || missing > self.most {
            self.level = !rising;
            return;
        }
        let (from_ns, whole_ns) = (self.since_ns, time_ns.saturating_sub(self.since_ns));
        for n in 1..=missing as u64 {
            self.edge(!self.level, from_ns + whole_ns / (missing as u64 + 1) * n);
        }
    }

    fn edge(&mut self, rising: bool, time_ns: u64) {
        let stretch_ns = time_ns.saturating_sub(self.since_ns);
        // The low before the first pulse is no part of the frame.
        if !rising || !self.stretches.is_empty() {
            self.stretches.push(stretch_ns);
        }
        (self.level, self.since_ns) = (rising, time_ns);
    }

    /// Whoever never rests sends no frames: memory stays bounded.
    fn too_long(&mut self) -> Option<Vec<u64>> {
        (self.stretches.len() > self.most).then(|| std::mem::take(&mut self.stretches))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::frame::Kind;
    use crate::wire::{self, Heard};

    fn edges(durations: &[u64], from_ns: u64) -> Vec<Seen> {
        let mut time_ns = from_ns;
        let mut edges = vec![Seen::Edge { rising: true, time_ns, lost: 0 }];
        for (n, duration) in durations.iter().enumerate() {
            time_ns += duration;
            edges.push(Seen::Edge { rising: n % 2 == 1, time_ns, lost: 0 });
        }
        edges
    }

    fn frame() -> Frame {
        Frame { kind: Kind::Data, number: 3, payload: (0..50).collect() }
    }

    #[test]
    fn frames_are_cut_where_the_line_rests() {
        let code = Code::SOURCE_002;
        let durations = wire::durations(&frame().encode(0), code);
        let mut cutter = Cutter::new(code);
        let whole: u64 = durations.iter().sum();
        let mut cut: Vec<_> = edges(&durations, 5_000).into_iter().filter_map(|seen| cutter.take(seen)).collect();
        let second = edges(&durations, 5_000 + whole + code.idle_ns());
        cut.extend(second.into_iter().filter_map(|seen| cutter.take(seen)));
        assert_eq!(cut, std::slice::from_ref(&durations), "the first ends when the second begins");
        assert_eq!(cutter.take(Seen::Quiet(5_000 + 2 * whole + code.idle_ns() + 1)), None);
        assert_eq!(cutter.take(Seen::Quiet(5_000 + 2 * whole + 3 * code.idle_ns())), Some(durations));
    }

    #[test]
    fn edges_that_were_lost_damage_their_symbols_only() {
        let code = Code::SOURCE_002;
        let durations = wire::durations(&frame().encode(16), code);
        // One notification alone, then two in a row; of the first nobody counted that it was lost.
        for counted in [1, 0] {
            let mut seen = edges(&durations, 0);
            for (gone, lost) in [(200, counted), (299, 2)] {
                for _ in 0..lost.max(1) {
                    seen.remove(gone);
                }
                if let Seen::Edge { lost: told, .. } = &mut seen[gone] {
                    *told = lost;
                }
            }
            let mut cutter = Cutter::new(code);
            assert!(seen.into_iter().all(|seen| cutter.take(seen).is_none()));
            let stretches = cutter.take(Seen::Quiet(u64::MAX)).unwrap();
            assert_eq!(stretches.len(), durations.len());
            assert!(matches!(wire::read(&stretches, code), Heard::Frame { frame: read, .. } if read == frame()));
        }
    }

    #[test]
    fn a_line_that_never_rests_fills_no_memory() {
        let mut cutter = Cutter::new(Code::SOURCE_002);
        let (mut cut, mut most) = (0, 0);
        for n in 0..1_000_000u64 {
            cut += usize::from(cutter.take(Seen::Edge { rising: n % 2 == 0, time_ns: n * 1000, lost: 0 }).is_some());
            most = most.max(cutter.stretches.len());
        }
        assert!(cut > 3 && most <= cutter.most + 1, "{cut} {most}");
    }

    proptest! {
        #[test]
        fn anything_is_answered(seen in proptest::collection::vec(
            (any::<bool>(), any::<bool>(), any::<u64>(), any::<u32>()), 0..300)
        ) {
            let mut cutter = Cutter::new(Code::SOURCE_002);
            for (edge, rising, time_ns, lost) in seen {
                let lost = if lost % 3 == 0 { lost } else { lost % 5 };
                let seen = if edge { Seen::Edge { rising, time_ns, lost } } else { Seen::Quiet(time_ns) };
                if let Some(stretches) = cutter.take(seen) {
                    prop_assert!(stretches.len() <= 2 * cutter.most + 2);
                    let _ = wire::read(&stretches, Code::SOURCE_002);
                }
            }
        }
    }
}
