//! Whether frames of a stream come by as many paths as they should (latent error detection, IEEE 802.1CB-2017 clause
//! 7.4.4): while one path works, nothing else shows that another does not.

use std::sync::Arc;
use std::time::Duration;

use ontick_tsn::model::{Elimination, Switch};

use super::counters::StreamCounters;

/// From one test to the next (frerSeqRcvyLatentErrorPeriod).
const PERIOD: Duration = Duration::from_millis(Elimination::LATENT_ERROR_PERIOD_MS);
/// What came before counts no more after so long (frerSeqRcvyLatentResetPeriod).
const RESET: Duration = Duration::from_millis(Elimination::LATENT_RESET_PERIOD_MS);
/// So many copies more or fewer are no error: they are under way (frerSeqRcvyLatentErrorDifference).
const DIFFERENCE: u64 = Elimination::LATENT_ERROR_DIFFERENCE;

/// The tests of all streams of a switch.
#[derive(Debug)]
pub struct LatentErrors {
    test_at: Duration,
    reset_at: Duration,
    streams: Vec<Paths>,
}

/// One stream that is eliminated.
#[derive(Debug)]
struct Paths {
    stream: usize,
    paths: u64,
    /// Copies that were missing at the last reset.
    base: i64,
}

impl LatentErrors {
    /// Of a switch that begins to work.
    pub fn new(switch: &Switch) -> Self {
        let streams = switch.streams.iter().enumerate();
        let streams = streams
            .filter_map(|(stream, of)| Some(Paths { stream, paths: of.eliminate.as_ref()?.paths.into(), base: 0 }));
        Self { test_at: PERIOD, reset_at: RESET, streams: streams.collect() }
    }

    /// Of a switch whose streams have changed: what came before counts no more.
    pub fn from_now(switch: &Switch, elapsed: Duration, counters: &[Arc<StreamCounters>]) -> Self {
        let mut errors = Self::new(switch);
        (errors.test_at, errors.reset_at) = (elapsed + PERIOD, elapsed + RESET);
        for of in &mut errors.streams {
            of.base = counters.get(of.stream).map_or(0, |counters| of.missing(counters));
        }
        errors
    }

    /// So long after the beginning: streams of which copies are missing, or came by more paths, with how many (below zero: too
    /// many).
    pub fn look(&mut self, elapsed: Duration, counters: &[Arc<StreamCounters>]) -> Vec<(usize, i64)> {
        if elapsed < self.test_at {
            return Vec::new();
        }
        self.test_at = elapsed + PERIOD;
        let resets = elapsed >= self.reset_at;
        if resets {
            self.reset_at = elapsed + RESET;
        }
        let mut found = Vec::new();
        for of in &mut self.streams {
            let Some(counters) = counters.get(of.stream) else { continue };
            let missing = of.missing(counters);
            if (missing - of.base).unsigned_abs() > DIFFERENCE {
                counters.latent_errors.add(1);
                found.push((of.stream, missing - of.base));
            }
            if resets {
                of.base = missing;
            }
        }
        found
    }
}

impl Paths {
    /// Copies that have not come, or too many (below zero).
    fn missing(&self, counters: &StreamCounters) -> i64 {
        let discarded = counters.duplicates.get() + counters.rogue.get();
        (counters.recovered.get() * (self.paths - 1)) as i64 - discarded as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_tsn::config;

    fn switch() -> Switch {
        let text = "[switch]\nname = \"s\"\n[[class]]\nname = \"all\"\nqueue = 0\n[[port]]\nname = \"a\"\n[[port]]\n\
                    name = \"b\"\n[[stream]]\nname = \"sized\"\nto = \"02:00:00:00:00:01\"\nmax-sdu = 100\n[[stream]]\n\
                    name = \"twice\"\nto = \"02:00:00:00:00:02\"\neliminate = {}\n";
        config::read(text).unwrap_or_else(|errors| panic!("{errors}")).switch
    }

    #[test]
    fn a_path_that_brings_nothing_is_found_until_it_does_again() {
        let switch = switch();
        let counters = crate::user::counters::Counters::of(&switch).streams.all();
        let mut errors = LatentErrors::new(&switch);
        let mut seconds = 0;
        let mut two_seconds = |first: u64, second: u64| {
            counters[0].frames.add(first);
            counters[1].recovered.add(first);
            counters[1].duplicates.add(second);
            seconds += 2;
            errors.look(Duration::from_secs(seconds), &counters)
        };
        assert_eq!(two_seconds(1_000, 1_000), []);
        // One that is under way.
        assert_eq!(two_seconds(1_000, 984), []);
        assert_eq!(two_seconds(1_000, 0), [(1, 1_016)]);
        assert_eq!(two_seconds(1_000, 1_000), [(1, 1_016)], "it is known until the next reset");
        for _ in 0..11 {
            two_seconds(0, 0);
        }
        assert_eq!(two_seconds(1_000, 1_000), []);
        assert_eq!(two_seconds(1_000, 2_000), [(1, -1_000)]);
        assert_eq!((counters[0].latent_errors.get(), counters[1].latent_errors.get()), (0, 14));
        assert_eq!(errors.look(Duration::from_secs(seconds), &counters), [], "not before its time");
    }
}
