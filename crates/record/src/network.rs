//! A network of switches that was run: what became of every stream.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Histogram;

/// A network whose streams were held against their promises. Times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NetworkProof {
    /// Where it was run: `simulation`, `namespaces`; or whose arrivals these are: `station drive`.
    pub world: String,
    /// All choices by chance follow from it.
    pub seed: u64,
    /// Switches.
    pub switches: u64,
    /// Stations.
    pub stations: u64,
    /// What carried it, and what that was taken to need: `user data plane, hand-over 250 to 400ns`.
    pub about: String,
    /// For how long messages were sent.
    pub duration_ns: u64,
    /// By how much any two clocks may differ.
    pub sync_error_ns: u64,
    /// The most that two clocks did differ by.
    pub clocks_apart_ns: u64,
    /// Part of each station's link that best-effort frames were to take, 0 to 1.
    pub load: f64,
    /// What was made to go wrong.
    pub faults: Vec<String>,
    /// Frames of streams that talkers sent.
    pub frames: u64,
    /// Frames on links: each on each of its links, those of no stream included.
    pub hops: u64,
    /// Best-effort frames that were sent.
    pub best_effort: u64,
    /// Frames that switches and cables dropped, by why, the most first. Best-effort frames are among them.
    pub dropped: Vec<Dropped>,
    /// What real frames on this machine needed besides, where that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulation: Option<Emulation>,
    /// Each stream at each of its listeners.
    pub streams: Vec<ProvenStream>,
    /// The first cycle of each link that streams use, of a network that is small enough to be drawn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<DrawnLink>,
    /// How long that cycle is.
    #[serde(skip_serializing_if = "zero")]
    pub cycle_ns: u64,
}

fn zero(ns: &u64) -> bool {
    *ns == 0
}

/// What the emulation of a network by real frames on one machine needs itself. Times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Emulation {
    /// From the handing over at a talker until the arrival at a listener, with all gates open, for each switch on the way.
    pub per_switch: Histogram,
    /// How late talkers handed messages over.
    pub talkers: Histogram,
    /// Messages that talkers did not send: their time was over, or the kernel did not take them.
    pub not_sent: u64,
    /// How often the core of the switches was held up.
    pub stalls: u64,
    /// The longest time that it was.
    pub longest_stall_ns: u64,
}

/// Frames that were dropped for one reason.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Dropped {
    /// Why.
    pub why: String,
    /// How many.
    pub frames: u64,
}

/// One stream at one listener. Latencies count from the beginning of the period until the last bit is there, by the
/// listener's clock.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ProvenStream {
    /// The stream's name.
    pub name: String,
    /// Its talker.
    pub from: String,
    /// The listener.
    pub to: String,
    /// Its period.
    pub period_ns: u64,
    /// What is promised.
    pub deadline_ns: u64,
    /// What the emulation may add to that: a message is late that came after both.
    #[serde(skip_serializing_if = "zero")]
    pub added_ns: u64,
    /// What latencies may differ by: what is promised, and what clocks and data planes differ by.
    pub jitter_allowed_ns: u64,
    /// What is planned; absent: the plan has no place for it.
    pub planned_ns: Option<u64>,
    /// Messages that the plan has for the time for which it was run. Older records have none.
    pub planned: u64,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that came wholly.
    pub received: u64,
    /// Frames that were sent and did not come.
    pub lost_frames: u64,
    /// Messages that came after their deadline.
    pub late: u64,
    /// Messages that came before their period began.
    pub early: u64,
    /// Messages that came later than planned.
    pub after_plan: u64,
    /// Messages that came while the gate of their last link was not open for them, where that was looked at.
    #[serde(skip_serializing_if = "zero")]
    pub outside_window: u64,
    /// Frames that came behind one that was sent after them.
    pub out_of_order: u64,
    /// Frames that came twice.
    pub duplicates: u64,
    /// The shortest latency.
    pub min_ns: Option<u64>,
    /// 99 % of all were not longer.
    pub p99_ns: Option<u64>,
    /// The longest latency.
    pub max_ns: Option<u64>,
}

impl ProvenStream {
    /// By how much latencies differed.
    pub fn jitter_ns(&self) -> Option<u64> {
        Some(self.max_ns? - self.min_ns?.min(self.max_ns?))
    }

    /// Messages that the plan has and that were not sent.
    pub fn unsent(&self) -> u64 {
        self.planned.saturating_sub(self.sent)
    }

    /// Messages that did not come, as a whole or at all.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.received)
    }

    /// Whether latencies differed by more than is allowed.
    pub fn jitters(&self) -> bool {
        self.jitter_ns().is_some_and(|ns| ns > self.jitter_allowed_ns)
    }

    /// Messages outside of their promise: lost, late or early.
    pub fn outside(&self) -> u64 {
        self.lost().saturating_add(self.late).saturating_add(self.early)
    }

    /// Whether its promise was kept.
    pub fn holds(&self) -> bool {
        self.sent > 0
            && self.unsent() == 0
            && self.outside() == 0
            && self.lost_frames == 0
            && self.out_of_order == 0
            && self.duplicates == 0
            && !self.jitters()
    }

    /// The part of its deadline, and of what is added to it, that its longest latency takes; more than one is late.
    pub fn share_of_deadline(&self) -> f64 {
        let allowed_ns = self.deadline_ns.saturating_add(self.added_ns).max(1);
        self.max_ns.map_or(0.0, |max_ns| max_ns as f64 / allowed_ns as f64)
    }
}

impl NetworkProof {
    /// Sum of something over all streams and listeners.
    pub fn sum(&self, of: impl Fn(&ProvenStream) -> u64) -> u64 {
        self.streams.iter().map(of).fold(0, u64::saturating_add)
    }
}

/// A link in its first cycle.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct DrawnLink {
    /// Its name: `camera>s1`.
    pub name: String,
    /// When a gate for streams is open, from and until.
    pub windows: Vec<(u64, u64)>,
    /// Frames: the stream's place among [`DrawnLink::names`] or nothing for best effort, first and last bit.
    pub frames: Vec<(Option<u32>, u64, u64)>,
    /// Names of the streams that frames are of.
    pub names: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_holds_only_if_nothing_at_all_is_wrong() {
        let good = ProvenStream {
            planned: 10,
            sent: 10,
            received: 10,
            deadline_ns: 100,
            jitter_allowed_ns: 5,
            min_ns: Some(40),
            max_ns: Some(45),
            ..ProvenStream::default()
        };
        assert!(good.holds() && good.jitter_ns() == Some(5));
        assert_eq!((good.outside(), good.share_of_deadline()), (0, 0.45));
        let changes: [fn(&mut ProvenStream); 8] = [
            |of| (of.sent, of.received) = (0, 0),
            |of| (of.sent, of.received) = (9, 9),
            |of| of.received = 9,
            |of| of.late = 1,
            |of| of.early = 1,
            |of| of.out_of_order = 1,
            |of| of.duplicates = 1,
            |of| of.max_ns = Some(46),
        ];
        for change in changes {
            let mut bad = good.clone();
            change(&mut bad);
            assert!(!bad.holds(), "{bad:?}");
        }
        assert!(!ProvenStream { lost_frames: 1, ..good.clone() }.holds());
        // A record of before they were counted.
        assert!(ProvenStream { planned: 0, ..good.clone() }.holds());
        assert_eq!(ProvenStream { received: 8, late: 3, early: 1, ..good }.outside(), 6);
    }
}
