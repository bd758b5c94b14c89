//! Answering for somebody else's oscilloscope: nothing is measured here.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ontick_record::run::Settings;

use super::Method;
use super::answerer::Answerer;
use super::follow::{Lost, Pair};
use super::responder::{NAP_NS, PATIENCE_NS};
use crate::probe::{Probe, Sample};
use crate::{Error, Placement};

/// Answers whatever comes.
pub struct Alone {
    answerer: Answerer,
    interval_ns: u64,
    answers: Arc<AtomicU64>,
    lost: Option<Lost>,
}

impl Alone {
    /// Answers changes that are about `interval_ns` apart, and counts them.
    pub fn start(
        method: Method,
        pair: &Pair,
        interval_ns: u64,
        placement: Placement,
        answers: Arc<AtomicU64>,
    ) -> Result<Self, Error> {
        Ok(Self { answerer: Answerer::open(method, pair, placement, None)?, interval_ns, answers, lost: None })
    }

    /// Waits for a change and answers it. One who polls rests a tenth of the interval right after an answer, where
    /// the next change is farthest; and where none comes, more seldom than changes should come.
    fn turn(&mut self) -> Result<(), Lost> {
        let patience_ns = PATIENCE_NS.max(self.interval_ns * 3 / 2);
        let until_ns = self.answerer.clock().now_ns() + patience_ns;
        let followed = self.answerer.follow(until_ns)?;
        self.answers.fetch_add(followed, Relaxed);
        if self.answerer.spins() {
            self.answerer.sleep(if followed > 0 { self.interval_ns / 10 } else { NAP_NS });
        }
        Ok(())
    }
}

impl Probe for Alone {
    /// Nothing to record, ever; but the run lasts from here on.
    fn next(&mut self) -> Sample {
        self.lost = self.turn().err();
        Sample { napped: self.lost.is_some(), ..Sample::nap(self.answerer.clock().now_ns()) }
    }

    fn failure(&mut self) -> Option<Error> {
        self.lost.map(|lost| lost.error(self.answerer.pair()))
    }

    fn describe(&mut self, settings: &mut Settings) {
        self.answerer.describe(settings);
        settings.interval_ns = self.interval_ns;
    }
}
