//! What comes to stations: every frame of a stream, held against what its listener waits for.

use ontick_tsn::network::{Network, NodeId};

use super::link::Flight;
use super::setup::BASE_NS;
use crate::arrivals::{Arrivals, Arrived, Expected};
use crate::frame::{self, BEST_EFFORT};

/// What listeners wait for, and what came.
pub(super) struct Listening {
    /// By stream and listener.
    arrivals: Vec<Arrivals>,
    streams: Vec<Listened>,
}

/// Where a stream's listeners are in `arrivals`, and its period.
#[derive(Debug, Clone, Copy)]
struct Listened {
    first: u32,
    end: u32,
    period_ns: u64,
}

impl Listening {
    /// To what is expected, which is in the order of the network's streams.
    pub fn new(network: &Network, expected: Vec<Expected>) -> Self {
        let mut streams = Vec::new();
        let mut end = 0;
        for (stream, of) in network.streams.iter().enumerate() {
            let first = end;
            end += expected[first..].iter().take_while(|of| of.stream == stream).count();
            streams.push(Listened { first: first as u32, end: end as u32, period_ns: of.period_ns });
        }
        Self { arrivals: expected.into_iter().map(Arrivals::new).collect(), streams }
    }

    /// A frame's last bit is at a station, at this time of its clock.
    #[inline]
    pub fn arrived(&mut self, station: NodeId, flight: &Flight, at_ns: u64) {
        let Some(numbered) = frame::read(&flight.head) else { return };
        if numbered.stream == BEST_EFFORT {
            return;
        }
        let Some(&Listened { first, end, period_ns }) = self.streams.get(numbered.stream as usize) else { return };
        let listeners = &mut self.arrivals[first as usize..end as usize];
        let Some(of) = listeners.iter_mut().find(|of| of.expected().listener == station) else { return };
        let message = u64::from(numbered.message);
        of.arrived(Arrived { message, part: numbered.part, at_ns, period_ns: BASE_NS + message * period_ns });
    }

    /// What came, by stream and listener.
    pub fn arrivals(&self) -> &[Arrivals] {
        &self.arrivals
    }
}
