//! Answering for somebody else's oscilloscope: nothing is measured here.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ontick_record::run::Settings;

use super::By;
use super::follow::{Follower, Lost, Pair};
use super::responder::{NAP_NS, PATIENCE_NS};
use crate::Error;
use crate::probe::{Probe, Sample};

/// Answers whatever comes.
pub struct Alone {
    follower: Follower,
    interval_ns: u64,
    answers: Arc<AtomicU64>,
    lost: Option<Lost>,
}

impl Alone {
    /// Answers changes that are about `interval_ns` apart, and counts them.
    pub fn start(by: By, pair: &Pair, interval_ns: u64, answers: Arc<AtomicU64>) -> Result<Self, Error> {
        Ok(Self { follower: Follower::open(by, pair)?, interval_ns, answers, lost: None })
    }

    /// Waits for a change and answers it. One who polls rests a tenth of the interval right after an answer, where
    /// the next change is farthest; and where none comes, more seldom than changes should come.
    fn turn(&mut self) -> Result<(), Lost> {
        let patience_ns = PATIENCE_NS.max(self.interval_ns * 3 / 2);
        let until_ns = self.follower.clock.now_ns() + patience_ns;
        let followed = self.follower.follow(until_ns)?;
        if followed {
            self.answers.fetch_add(1, Relaxed);
        }
        if self.follower.spins() {
            self.follower.sleep(if followed { self.interval_ns / 10 } else { NAP_NS });
        }
        Ok(())
    }
}

impl Probe for Alone {
    /// Nothing to record, ever; but the run lasts from here on.
    fn next(&mut self) -> Sample {
        self.lost = self.turn().err();
        Sample { napped: self.lost.is_some(), ..Sample::nap(self.follower.clock.now_ns()) }
    }

    fn failure(&mut self) -> Option<Error> {
        self.lost.map(|lost| lost.error(self.follower.pair()))
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.follower.describe(settings);
        settings.interval_ns = self.interval_ns;
    }
}
