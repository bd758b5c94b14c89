//! Answering for somebody else's oscilloscope: nothing is measured here.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use ontick_record::run::Settings;

use super::Method;
use super::answerer::Answerer;
use super::follow::{Lost, Pair};
use super::responder::PATIENCE_NS;
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
    /// the next change is farthest; and where none comes, a tenth of the time that it waited, more seldom than changes should
    /// come.
    fn turn(&mut self) -> Result<(), Lost> {
        let patience_ns = patience_ns(self.interval_ns);
        let until_ns = self.answerer.clock().now_ns() + patience_ns;
        let followed = self.answerer.follow(until_ns)?;
        self.answers.fetch_add(followed, Relaxed);
        if self.answerer.spins() {
            self.answerer.sleep(rest_ns(self.interval_ns, followed > 0));
        }
        Ok(())
    }
}

/// So long it polls for a change, in ns.
fn patience_ns(interval_ns: u64) -> u64 {
    PATIENCE_NS.max(interval_ns.saturating_mul(3) / 2)
}

/// The rest of one who polls, in ns.
fn rest_ns(interval_ns: u64, answered: bool) -> u64 {
    let polled_ns = if answered { interval_ns } else { patience_ns(interval_ns) };
    polled_ns / 10
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_polls_rests_a_tenth_of_the_time() {
        for interval_ns in [200_000, 1_000_000, 33_333_334, 1_000_000_000] {
            assert_eq!(rest_ns(interval_ns, true), interval_ns / 10);
            let polled_ns = patience_ns(interval_ns);
            assert!(polled_ns >= PATIENCE_NS && polled_ns > interval_ns, "{polled_ns}");
            assert!(rest_ns(interval_ns, false) >= polled_ns / 10, "{interval_ns}");
        }
    }
}
