//! What was counted. A core alone writes what belongs to its ports and their streams, and all of a switch what belongs to
//! the whole; whoever likes reads.

mod stream_list;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use serde::{Deserialize, Serialize};

use ontick_tsn::model::{CLASSES, Switch};

pub use stream_list::StreamList;

/// A number that one thread counts up.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds. There is one writer, so nothing needs to be locked.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Adds where other cores of the switch do, too.
    pub fn add_shared(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }

    /// Keeps the larger where other cores of the switch do, too.
    pub fn raise_shared(&self, n: u64) {
        self.0.fetch_max(n, Relaxed);
    }

    /// Keeps the larger.
    #[inline]
    pub fn raise(&self, n: u64) {
        if n > self.get() {
            self.0.store(n, Relaxed);
        }
    }

    /// Sets it, where it can fall too.
    #[inline]
    pub fn set(&self, n: u64) {
        self.0.store(n, Relaxed);
    }

    /// The number.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

impl Serialize for Counter {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

impl<'de> Deserialize<'de> for Counter {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        u64::deserialize(deserializer).map(|n| Self(AtomicU64::new(n)))
    }
}

/// Of the whole data plane.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Times that the core looked around.
    pub turns: Counter,
    /// Times that it was kept from its work for longer than [`super::core::STALL_NS`].
    pub stalls: Counter,
    /// For how long in all, in ns.
    pub stalled_ns: Counter,
    /// The longest, in ns.
    pub longest_stall_ns: Counter,
    /// Stalls that nobody took note of in time.
    #[serde(alias = "stalls_untold")]
    pub stalls_unreported: Counter,
    /// Times that it slept to leave the CPU to others.
    pub rests: Counter,
    /// For how long in all, in ns; what it overslept counts as a stall.
    #[serde(default)]
    pub rested_ns: Counter,
    /// Times that its clock was set anew.
    pub clock_steps: Counter,
    /// Addresses that did not fit into the table.
    pub addresses_without_place: Counter,
    /// Addresses that moved from one port to another.
    pub addresses_moved: Counter,
    /// By port, in the order of the model.
    pub ports: Vec<PortCounters>,
    /// By stream, in the order of the model.
    #[serde(default)]
    pub streams: StreamList,
}

/// Of one stream (IEEE 802.1Q-2022 clause 12.31.2).
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct StreamCounters {
    /// Frames of it that came in.
    pub frames: Counter,
    /// Dropped: their service data unit was larger than it may be.
    pub over_sdu: Counter,
    /// Dropped: they came while the gate of the stream was closed.
    pub gate_closed: Counter,
    /// Dropped: they were more than the rate and the burst of the meter.
    pub red: Counter,
    /// Sent over several ports, with a number of this switch.
    #[serde(default)]
    pub numbered: Counter,
    /// Dropped: with the redundancy tag there was no room for them.
    #[serde(default)]
    pub no_room: Counter,
    /// Passed: the first with their number.
    #[serde(default)]
    pub recovered: Counter,
    /// Dropped: a frame with their number had come before.
    #[serde(default)]
    pub duplicates: Counter,
    /// Dropped: their number was too far from those before.
    #[serde(default)]
    pub rogue: Counter,
    /// Dropped: they had no number.
    #[serde(default)]
    pub tagless: Counter,
    /// Passed, and their number did not follow that of the one before.
    #[serde(default)]
    pub out_of_order: Counter,
    /// Numbers that no frame came with.
    #[serde(default)]
    pub lost: Counter,
    /// Times that any number was accepted again, after a silence.
    #[serde(default)]
    pub resets: Counter,
    /// Times that frames came by fewer or more paths than they should, counted by who looks after the core.
    #[serde(default)]
    pub latent_errors: Counter,
}

/// Of one port.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct PortCounters {
    /// Frames that came in.
    pub received: Counter,
    /// Their octets.
    pub octets: Counter,
    /// Came in and found the ring full.
    pub overflowed: Counter,
    /// Longer than the link allows.
    pub oversized: Counter,
    /// Too short to have a header, or from the address of a group or of nobody.
    pub malformed: Counter,
    /// To an address that no bridge forwards.
    pub reserved: Counter,
    /// To an address behind the port that they came from, or with no other port to go to.
    pub filtered: Counter,
    /// Came in while the port was closed, as it makes a loop.
    #[serde(default)]
    pub closed: Counter,
    /// Probes of this switch that left by a port and came in at another, counted at the one of the higher number: there is
    /// a loop.
    pub looped: Counter,
    /// Sent to all other ports that take such frames, as their address was not known.
    pub flooded: Counter,
    /// Came in by a port that takes frames with a static entry only, and had none.
    #[serde(default)]
    pub no_entry: Counter,
    /// Came in and were more, larger or at another time than their stream may.
    #[serde(default)]
    pub policed: Counter,
    /// Came in by another path before, or without a number that their stream asks for.
    #[serde(default)]
    pub eliminated: Counter,
    /// Copies of frames that came in here and found no room on their way to the core of another port.
    #[serde(default)]
    pub not_crossed: Counter,
    /// Octets of the frame that its interface refused last, or did not take for too long.
    #[serde(default)]
    pub refused_octets: Counter,
    /// On the way out, by queue.
    pub queues: [QueueCounters; CLASSES],
}

/// Of one queue of a port that frames leave by.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct QueueCounters {
    /// Frames that were put into it.
    pub queued: Counter,
    /// Frames that were sent.
    pub sent: Counter,
    /// Their octets.
    pub octets: Counter,
    /// Dropped: too many were waiting.
    pub full: Counter,
    /// Dropped: larger than the class may be here (queueMaxSDU).
    pub over_sdu: Counter,
    /// Dropped: no window of its gate is long enough.
    pub no_window: Counter,
    /// Dropped: the link is down.
    pub down: Counter,
    /// Dropped: the interface did not take it, at once or for too long.
    pub refused: Counter,
    /// Of those for which no window was long enough, frames that had been put into the queue before.
    #[serde(default)]
    pub no_window_waited: Counter,
    /// Of those whose link was down, frames that had been put into the queue before.
    #[serde(default)]
    pub down_waited: Counter,
    /// Sent, but handing it over took longer than usual, and by the rate of the link it ended after its gate had closed.
    /// Where it is not known whether the frame left before a hold-up or after it, after is assumed.
    pub late: Counter,
    /// Sent after they had waited for a cycle of the gates or longer: a window of theirs passed without them.
    #[serde(default)]
    pub overdue: Counter,
    /// Frames that wait now.
    pub waiting: Counter,
    /// Most that ever waited.
    pub peak: Counter,
}

impl QueueCounters {
    /// Frames that were not sent and will not be.
    pub fn dropped(&self) -> u64 {
        self.drops().iter().map(|(_, frames)| frames).sum()
    }

    /// The same by their cause.
    pub fn drops(&self) -> [(&'static str, u64); 5] {
        // Whoever counts another kind of loss must name it here, or numbers would not add up.
        let Self {
            queued: _,
            sent: _,
            octets: _,
            full,
            over_sdu,
            no_window,
            down,
            refused,
            // These are among the others.
            no_window_waited: _,
            down_waited: _,
            late: _,
            overdue: _,
            waiting: _,
            peak: _,
        } = self;
        [
            ("too many waited", full.get()),
            ("larger than allowed", over_sdu.get()),
            ("no window long enough", no_window.get()),
            ("link down", down.get()),
            ("refused by the interface", refused.get()),
        ]
    }

    /// Why frames were dropped, with how many: `562 no window long enough`.
    pub fn drop_reasons(&self) -> Vec<String> {
        let some = self.drops().into_iter().filter(|(_, count)| *count > 0);
        some.map(|(reason, count)| format!("{count} {reason}")).collect()
    }
}

impl PortCounters {
    /// Frames that came in, or would have, and were put into no queue, by their cause.
    pub fn not_forwarded(&self) -> [(&'static str, u64); 10] {
        // As for queues: whoever counts another kind of loss must name it here. Probes are no frames of anybody.
        let Self {
            received: _,
            octets: _,
            looped: _,
            flooded: _,
            refused_octets: _,
            queues: _,
            overflowed,
            oversized,
            malformed,
            reserved,
            filtered,
            closed,
            no_entry,
            policed,
            eliminated,
            not_crossed,
        } = self;
        [
            ("found the ring full", overflowed.get()),
            ("too long", oversized.get()),
            ("malformed", malformed.get()),
            ("reserved address", reserved.get()),
            ("nowhere else to go", filtered.get()),
            ("came in while closed", closed.get()),
            ("no static entry", no_entry.get()),
            ("policed", policed.get()),
            ("eliminated", eliminated.get()),
            ("no room between the cores", not_crossed.get()),
        ]
    }
}

impl StreamCounters {
    /// Frames that were dropped, by their cause.
    pub fn drops(&self) -> [(&'static str, u64); 7] {
        let Self { over_sdu, gate_closed, red, no_room, duplicates, rogue, tagless, .. } = self;
        [
            ("larger than allowed", over_sdu.get()),
            ("while its gate was closed", gate_closed.get()),
            ("above its rate and burst", red.get()),
            ("too long for the redundancy tag", no_room.get()),
            ("copies", duplicates.get()),
            ("with a number out of range", rogue.get()),
            ("without a number", tagless.get()),
        ]
    }

    /// What else there is to say of numbered frames.
    pub fn remarks(&self) -> [(&'static str, u64); 5] {
        let Self { numbered, out_of_order, lost, resets, latent_errors, .. } = self;
        [
            ("numbered", numbered.get()),
            ("out of order", out_of_order.get()),
            ("lost on all paths", lost.get()),
            ("times silent", resets.get()),
            ("times a path was missing", latent_errors.get()),
        ]
    }
}

impl Counters {
    /// For so many ports and no stream, all zero.
    pub fn new(ports: usize) -> Self {
        Self { ports: (0..ports).map(|_| PortCounters::default()).collect(), ..Self::default() }
    }

    /// For the ports and streams of a switch, all zero.
    pub fn of(switch: &Switch) -> Self {
        Self { streams: StreamList::of(switch.streams.len()), ..Self::new(switch.ports.len()) }
    }
}
