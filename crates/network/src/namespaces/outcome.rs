//! What was found.

use ontick_record::Histogram;
use ontick_tsn::network::Network;

use super::Emulation;
use super::trial::{Findings, switches_on};
use crate::delivered::Delivered;
use crate::passed::Passed;

/// What became of the network.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// By stream and listener. A message is late that came after its deadline and what [`Emulation::most_ns`] is for the
    /// switches on its way.
    pub delivered: Vec<Delivered>,
    /// In the same order, the switches on the way.
    pub switches: Vec<u64>,
    /// What the emulation needs.
    pub emulation: Emulation,
    /// Frames of streams that talkers sent.
    pub frames: u64,
    /// Messages that talkers did not send, because the kernel did not take them or their time was over.
    pub not_sent: u64,
    /// How late messages were handed over.
    pub lateness: Histogram,
    /// Frames that were lost and counted, by where or why.
    pub dropped: Vec<(String, u64)>,
    /// How often the core was held up, and the longest time, in ns.
    pub stalls: (u64, u64),
    /// What carries the frames, in words.
    pub about: String,
    /// The policy that its core obtained; absent: it has none, or nothing was run.
    pub policy: Option<String>,
    /// For how long messages were sent, in ns.
    pub sent_ns: u64,
    /// Frames that came with another tag than is planned.
    pub retagged: u64,
    /// It was ended before its time.
    pub interrupted: bool,
    /// What a reader must see beside the figures.
    pub notes: Vec<String>,
    /// What came to listeners in the first cycle, by link. Frames are as long as they would be on that link.
    pub passed: Vec<Vec<Passed>>,
}

impl Outcome {
    pub(super) fn interrupted(emulation: Emulation) -> Self {
        Self { emulation, interrupted: true, ..Self::default() }
    }

    pub(super) fn of(network: &Network, emulation: Emulation, found: Findings, interrupted: bool) -> Self {
        let mut delivered: Vec<(Delivered, u64)> = Vec::new();
        for (of, arrivals) in found.listeners.iter().flat_map(|of| of.streams().iter().zip(of.arrivals())) {
            let (sent, refused, skipped) = found.counts[of.expected.stream];
            let planned = sent + refused + skipped;
            delivered.push((Delivered { planned, ..arrivals.delivered(sent) }, switches_on(of)));
        }
        delivered.sort_by_key(|(of, _)| (of.stream, of.listener));
        let (delivered, switches) = delivered.into_iter().unzip();
        let parts = |stream: usize| u64::from(network.overhead.message_time(network.streams[stream].size, 1).frames);
        let mut notes = found.notes;
        // The core and the talkers ask for much the same.
        let refused = found.talked.refused.into_iter().filter(|why| !notes.contains(why)).collect::<Vec<_>>();
        notes.extend(refused);
        if found.talked.clock_steps > 0 {
            notes.push(format!("the clock was set {} times meanwhile", found.talked.clock_steps));
        }
        Self {
            delivered,
            switches,
            emulation,
            frames: found.counts.iter().enumerate().map(|(stream, (sent, ..))| sent * parts(stream)).sum(),
            not_sent: found.counts.iter().map(|(_, refused, skipped)| refused + skipped).sum(),
            lateness: found.talked.lateness,
            dropped: found.dropped,
            stalls: found.stalls,
            about: found.about,
            policy: found.policy,
            sent_ns: found.sent_ns,
            retagged: found.listeners.iter().map(|of| of.strays().retagged).sum(),
            interrupted,
            notes,
            passed: found.passed,
        }
    }

    /// Frames that did not come to a listener.
    pub fn missing(&self) -> u64 {
        self.delivered.iter().map(|of| of.frames.0.saturating_sub(of.frames.1)).sum()
    }

    /// Frames that were lost and counted.
    pub fn counted(&self) -> u64 {
        self.dropped.iter().map(|(_, frames)| frames).sum()
    }
}
