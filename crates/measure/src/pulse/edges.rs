//! Pulses out of the edges of a line.

use ontick_gpio::Edge;

/// A pulse as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObservedPulse {
    /// When it began, in ns on the monotonic clock.
    pub rose_ns: u64,
    /// How wide it was, in ns.
    pub width_ns: u64,
}

/// Puts edges together to pulses.
#[derive(Debug, Default)]
pub struct Pairs {
    rose_ns: Option<u64>,
}

impl Pairs {
    /// The pulse that ends with this edge. One of whose edges any was lost is none: its width is not known.
    #[inline]
    pub fn add(&mut self, edge: Edge) -> Option<ObservedPulse> {
        if edge.rising {
            self.rose_ns = Some(edge.time_ns);
            return None;
        }
        let rose_ns = self.rose_ns.take().filter(|_| edge.lost == 0)?;
        Some(ObservedPulse { rose_ns, width_ns: edge.time_ns.saturating_sub(rose_ns) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pulse_is_a_rise_and_the_fall_after_it() {
        let edge = |rising, time_ns, lost| Edge { rising, time_ns, lost };
        let mut pairs = Pairs::default();
        let seen: Vec<Option<ObservedPulse>> = [
            edge(false, 50, 0),
            edge(true, 100, 0),
            edge(false, 130, 0),
            // A rise and a fall in between were lost.
            edge(true, 200, 0),
            edge(false, 900, 2),
            edge(true, 1_000, 0),
            edge(true, 2_000, 1),
            edge(false, 2_010, 0),
        ]
        .into_iter()
        .map(|edge| pairs.add(edge))
        .collect();
        let pulse = |rose_ns, width_ns| Some(ObservedPulse { rose_ns, width_ns });
        assert_eq!(seen, [None, None, pulse(100, 30), None, None, None, None, pulse(2_000, 10)]);
    }
}
