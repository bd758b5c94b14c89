//! The beginning of a search: all streams in an order, each at the first place that is free.

use std::collections::VecDeque;

use super::Planner;
use crate::network::StreamId;

/// Who is placed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Who has least time to begin; of those the one that needs most.
    LeastFreedom,
    /// Who comes most often; of those the one that is longest on its way.
    ShortestPeriod,
    /// Who takes most of the links' time.
    LargestShare,
}

/// When those that cannot run through are placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPolicy {
    /// When all others have their place: quick, for waiting takes longest to try.
    Last,
    /// In their turn.
    AtOnce,
}

impl Planner<'_> {
    /// All streams in an order, as long as `go_on` says so; those that found no place are left over.
    pub fn construct(&mut self, order: Order, waits: WaitPolicy, go_on: &dyn Fn() -> bool) -> VecDeque<StreamId> {
        let mut keys: Vec<(u64, u64, StreamId)> = Vec::new();
        for stream in self.table.missing().collect::<Vec<_>>() {
            let of = &self.network.streams[stream];
            let (delay, need) = self
                .route(stream, 0)
                .map_or((0, 0), |route| (route.delay_ns, route.hops.iter().map(|hop| hop.length_ns).sum()));
            let (first, then) = match order {
                Order::LeastFreedom => (of.deadline_ns.saturating_sub(delay), u64::MAX - need),
                Order::ShortestPeriod => (of.period_ns, u64::MAX - delay),
                Order::LargestShare => (u64::MAX - (u128::from(need) * 1_000_000 / u128::from(of.period_ns)) as u64, 0),
            };
            keys.push((self.perturbed(first), then, stream));
        }
        keys.sort_unstable();
        let mut left: Vec<StreamId> = Vec::new();
        for (.., stream) in keys {
            let placed = go_on()
                && match waits {
                    WaitPolicy::Last => self.place_running(stream),
                    WaitPolicy::AtOnce => self.place(stream),
                };
            if !placed {
                left.push(stream);
            }
        }
        left.retain(|stream| !go_on() || !self.place_waiting(*stream));
        left.into()
    }

    /// A key of an order, in a restart up to half as large again.
    pub(super) fn perturbed(&mut self, key: u64) -> u64 {
        match self.restart {
            0 => key,
            _ => key.saturating_add(self.random.below(key / 2 + 1)),
        }
    }
}
