//! What comes to stations: every frame of a stream, held against what its listener waits for, as end points do it: a message
//! counts from the period for which its talker planned it, by the talker's own clock.

use ontick_tsn::network::{Network, NodeId};
use ontick_tsn::validate::Schedule;

use super::link::Flight;
use crate::arrivals::{Arrivals, Arrived, Expected};
use crate::frame::{self, BEST_EFFORT};

/// What listeners wait for, and what came.
pub(super) struct Listening {
    /// By stream and listener.
    arrivals: Vec<Arrivals>,
    streams: Vec<Listened>,
}

/// Where a stream's listeners are in `arrivals`, and when its talker sends, from the beginning of the period.
#[derive(Debug, Clone, Copy)]
struct Listened {
    first: u32,
    end: u32,
    offset_ns: u64,
}

impl Listening {
    /// To what is expected, which is in the order of the network's streams.
    pub fn new(network: &Network, schedule: &Schedule, expected: Vec<Expected>) -> Self {
        let mut offsets = vec![0; network.streams.len()];
        schedule.sends.iter().for_each(|send| offsets[send.stream] = send.offset_ns);
        let mut streams = Vec::new();
        let mut end = 0;
        for (stream, offset_ns) in offsets.into_iter().enumerate() {
            let first = end;
            end += expected[first..].iter().take_while(|of| of.stream == stream).count();
            streams.push(Listened { first: first as u32, end: end as u32, offset_ns });
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
        let Some(&Listened { first, end, offset_ns }) = self.streams.get(numbered.stream as usize) else { return };
        let listeners = &mut self.arrivals[first as usize..end as usize];
        let Some(of) = listeners.iter_mut().find(|of| of.expected().listener == station) else { return };
        let message = u64::from(numbered.message);
        let period_ns = numbered.stamp_ns.saturating_sub(offset_ns);
        of.arrived(Arrived { message, part: numbered.part, at_ns, period_ns });
    }

    /// What came, by stream and listener.
    pub fn arrivals(&self) -> &[Arrivals] {
        &self.arrivals
    }
}
