//! A series held against what an instrument beside the machine recorded of the same lines.
//!
//! The instrument has a clock of its own, so its edges are aligned with the program's first (`alignment`); then each
//! time that the program knows stands beside the instrument's of the same two edges (`compare`).

mod alignment;
mod compare;
mod fit;
mod matching;

use crate::capture::{Edge, Recorded};
pub use crate::run::{Alignment, CheckedQuantity, Figures, InstrumentCheck, Quantity, UnmatchedEdges};

/// A time that the program knows, from one edge to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// When it began, in ns on the program's clock.
    pub from_ns: u64,
    /// How long it was, in ns.
    pub ns: u64,
    /// Whether the edge that began it was rising.
    pub rising: bool,
}

/// What the intervals lie between.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Between {
    /// A rising edge and the falling edge after it, on one channel.
    Pulse,
    /// A change of the first channel and that of the second which answers it.
    Response {
        /// The output is high while the input is low.
        inverse: bool,
    },
}

impl Between {
    fn begins(intervals: &[Interval]) -> Vec<Edge> {
        intervals.iter().map(|interval| Edge { at_ns: interval.from_ns, rising: interval.rising }).collect()
    }

    fn ends(self, intervals: &[Interval]) -> Vec<Edge> {
        let inverse = match self {
            Self::Pulse => true,
            Self::Response { inverse } => inverse,
        };
        let end = |interval: &Interval| Edge {
            at_ns: interval.from_ns.saturating_add(interval.ns),
            rising: interval.rising != inverse,
        };
        intervals.iter().map(end).collect()
    }
}

/// Holds what the program knows against what an instrument recorded. The intervals are in order.
pub fn check(observer: &str, own: &[Interval], between: Between, recorded: &Recorded) -> InstrumentCheck {
    let mut check = InstrumentCheck {
        observer: observer.into(),
        tool: recorded.tool.clone(),
        channels: recorded.channels.clone(),
        instrument: recorded.instrument.clone(),
        recorded_ns: recorded.ends_ns,
        own_edges: 2 * own.len() as u64,
        ..InstrumentCheck::default()
    };
    match alignment::line(&Between::begins(own), recorded) {
        Ok(line) => (check.alignment, check.quantities) = compare::compare(own, between, recorded, line),
        Err(unaligned) => check.unaligned = Some(unaligned.to_string()),
    }
    check
}

#[cfg(test)]
mod tests;
