//! A talker as a measurement: how late each message is handed over.

use std::sync::{Arc, OnceLock};

use ontick_measure::probe::{Probe, Sample};
use ontick_network::endpoint::{Following, Outlet, StationTime, Talker, Turn};
use ontick_record::run::Settings;
use ontick_units::{count, show};

/// What is known at the end.
pub struct Ended {
    /// Of each stream: messages that left, that the kernel did not take, and that were left out.
    counts: Vec<(u64, u64, u64)>,
    /// Frames that missed their launch time.
    missed: u64,
    /// How often the clock was set, and by how much the last time, in ns.
    steps: (u64, i64),
}

pub struct Talking {
    talker: Talker<Outlet, StationTime>,
    following: Following,
    ended: Arc<OnceLock<Ended>>,
}

impl Talking {
    pub fn new(talker: Talker<Outlet, StationTime>, following: Following, ended: Arc<OnceLock<Ended>>) -> Self {
        Self { talker, following, ended }
    }
}

impl Probe for Talking {
    fn next(&mut self) -> Sample {
        match self.talker.turn() {
            Turn::Departed(departure) => Sample {
                now_ns: departure.begun_ns,
                latency_ns: Some(departure.late_ns()),
                missed: departure.skipped,
                early: false,
                napped: false,
            },
            Turn::Rested(now_ns) => Sample { now_ns, latency_ns: None, missed: 0, early: false, napped: true },
        }
    }

    fn may_practise(&self) -> bool {
        false
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.clock = "tai".into();
        settings.method = "hybrid".into();
        let ended = Ended {
            counts: self.talker.counts().collect(),
            missed: self.talker.count_missed(),
            steps: self.following.steps(),
        };
        // Nobody asks twice.
        let _ = self.ended.set(ended);
    }
}

impl Ended {
    /// What a reader must see beside the figures.
    pub fn notes(&self, names: &[String]) -> Vec<String> {
        let mut notes = Vec::new();
        let refused: Vec<String> = names
            .iter()
            .zip(&self.counts)
            .filter(|(_, (_, refused, _))| *refused > 0)
            .map(|(name, (sent, refused, _))| format!("{name} {} of {}", count(*refused), count(sent + refused)))
            .collect();
        if !refused.is_empty() {
            notes.push(format!(
                "messages that the kernel did not take (no link, no room, or too long): {}",
                refused.join(", ")
            ));
        }
        if self.missed > 0 {
            notes.push(format!(
                "{} frames missed their launch time and were dropped: hand them over earlier",
                count(self.missed)
            ));
        }
        let (steps, last_ns) = self.steps;
        if steps > 0 {
            let direction = if last_ns < 0 { "back" } else { "forward" };
            notes.push(format!(
                "the clock was set while messages were sent (times: {steps}, the last by {} {direction}): they followed it",
                show(last_ns.unsigned_abs())
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_did_not_leave_is_said_by_stream() {
        let ended = Ended { counts: vec![(5, 0, 2), (7, 3, 0)], missed: 4, steps: (2, -3_000_000) };
        let notes = ended.notes(&["a".into(), "b".into()]);
        assert_eq!(notes.len(), 3);
        assert!(notes[0].ends_with(": b 3 of 10") && notes[1].starts_with("4 frames missed"), "{notes:?}");
        assert!(notes[2].contains("times: 2, the last by 3.00ms back"), "{notes:?}");
        assert!(Ended { counts: vec![(1, 0, 0)], missed: 0, steps: (0, 0) }.notes(&["a".into()]).is_empty());
    }
}
