//! A talker as a measurement: how late each message is handed over. One that the kernel does not take is missed.

use std::sync::{Arc, OnceLock};

use ontick_measure::probe::{Probe, Sample};
use ontick_measure::{Error, Length};
use ontick_network::endpoint::{Following, Outlet, StationTime, Talker, Turn};
use ontick_record::run::Settings;
use ontick_switch::user::port::Sent;
use ontick_units::{count, show};

const WHY_REFUSED: &str = "(no link, no room, too long, or too late for its launch time)";

/// What is known at the end.
pub struct Ended {
    /// Of each stream: messages that left, that the kernel did not take, and that were left out.
    counts: Vec<(u64, u64, u64)>,
    /// Frames that were taken and missed their launch time: those that were too late to be taken are among the counts.
    missed: u64,
    /// How often the clock was set, and by how much the last time, in ns.
    steps: (u64, i64),
}

pub struct Talking {
    talker: Talker<Outlet, StationTime>,
    following: Following,
    /// Messages that the kernel may refuse before it is given up: as many as were to be sent.
    patience: u64,
    refused: u64,
    ended: Arc<OnceLock<Ended>>,
}

impl Talking {
    pub fn new(
        talker: Talker<Outlet, StationTime>,
        following: Following,
        length: Length,
        ended: Arc<OnceLock<Ended>>,
    ) -> Self {
        let patience = match length {
            Length::Count(messages) => messages,
            Length::Duration(_) => u64::MAX,
        };
        Self { talker, following, patience, refused: 0, ended }
    }

    fn sample(&mut self, turn: Turn) -> Sample {
        let nothing = Sample { now_ns: 0, latency_ns: None, missed: 0, early_ns: 0, napped: false };
        match turn {
            Turn::Departed(of) if of.sent == Sent::Done => {
                Sample { now_ns: of.begun_ns, latency_ns: Some(of.late_ns()), missed: of.skipped, ..nothing }
            }
            Turn::Departed(of) => {
                self.refused += 1;
                Sample { now_ns: of.begun_ns, missed: of.skipped + 1, ..nothing }
            }
            Turn::Rested(now_ns) => Sample { now_ns, napped: true, ..nothing },
        }
    }
}

impl Probe for Talking {
    fn next(&mut self) -> Sample {
        if self.refused >= self.patience {
            return self.sample(Turn::Rested(0));
        }
        let turn = self.talker.turn();
        self.sample(turn)
    }

    /// A count of messages is not waited for that the kernel does not take.
    fn failure(&mut self) -> Option<Error> {
        let given_up = self.refused >= self.patience;
        given_up.then(|| Error::Impossible(format!("the kernel refused {} {WHY_REFUSED}", messages(self.refused))))
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
    /// Why there is nothing to show, where not one message left: times at which the kernel took none are no latencies.
    pub fn nothing_left(&self) -> Option<String> {
        let sum = |of: fn(&(u64, u64, u64)) -> u64| self.counts.iter().map(of).fold(0, u64::saturating_add);
        let (sent, refused) = (sum(|of| of.0), sum(|of| of.1));
        (sent == 0 && refused > 0).then(|| format!("the kernel took none of {} {WHY_REFUSED}", messages(refused)))
    }

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
            notes.push(format!("messages that the kernel did not take {WHY_REFUSED}: {}", refused.join(", ")));
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

fn messages(number: u64) -> String {
    if number == 1 { "1 message".into() } else { format!("{} messages", count(number)) }
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

    #[test]
    fn where_not_one_message_left_there_is_nothing_to_show() {
        let nothing_left = |counts| Ended { counts, missed: 0, steps: (0, 0) }.nothing_left();
        let said = nothing_left(vec![(0, 3, 2), (0, 7, 0)]).unwrap();
        assert_eq!(
            said,
            "the kernel took none of 10 messages (no link, no room, too long, or too late for its launch time)"
        );
        assert_eq!((nothing_left(vec![(1, 9, 0)]), nothing_left(vec![(0, 0, 2)])), (None, None));
    }
}
