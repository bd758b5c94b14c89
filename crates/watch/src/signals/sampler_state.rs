//! What is known of a sampler.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::reader::Take;
use super::trace::Trace;

/// Stretches that are shown, in ms.
pub const SPANS_MS: [u64; 4] = [100, 1_000, 10_000, 60_000];
/// Channels that are shown; memory is bounded so.
const MOST_CHANNELS: usize = 16;
/// The rate is counted over this stretch, in ms.
const RATE_OVER_MS: u64 = 10_000;

/// How the connection is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Link {
    /// Nobody asked yet, or for long.
    #[default]
    Idle,
    /// Samples come, or will.
    Up,
    /// There is none, for this reason.
    Lost(String),
}

/// What came since the connection began; it stays when that is lost.
#[derive(Debug, Default)]
pub struct SamplerState {
    /// How the connection is.
    pub link: Link,
    /// Name and unit of each channel that is shown.
    pub channels: Vec<(String, String)>,
    /// Channels beyond them.
    pub more_channels: usize,
    /// Samples that came.
    pub samples: u64,
    /// Samples that were missing.
    pub missed: u64,
    /// The first and the newest sample, on the sampler's clock, in ns.
    pub first_ns: u64,
    /// See `first_ns`.
    pub newest_ns: u64,
    /// How late the latest sample was, in ns.
    pub late_max_ns: u64,
    /// When the newest came.
    pub arrived: Option<Instant>,
    traces: Vec<Trace>,
}

impl SamplerState {
    /// A connection begins.
    pub fn begin(&mut self) {
        *self = Self { link: Link::Up, ..Self::default() };
    }

    /// The stretch of this length.
    pub fn trace(&self, span_ms: u64) -> Option<&Trace> {
        self.traces.iter().find(|trace| trace.span_ns == span_ms * 1_000_000)
    }

    /// Samples in a second lately; none where there are too few to know.
    pub fn rate(&self) -> Option<f64> {
        let over_ns = self.newest_ns.saturating_sub(self.first_ns).min(RATE_OVER_MS * 1_000_000);
        let samples = self.trace(RATE_OVER_MS)?.samples();
        (samples > 2 && over_ns > 0).then(|| (samples - 1) as f64 * 1e9 / over_ns as f64)
    }
}

impl Take for &Mutex<SamplerState> {
    fn channels(&mut self, mut channels: Vec<(String, String)>) {
        let mut sampler = self.lock().unwrap_or_else(PoisonError::into_inner);
        sampler.more_channels = channels.len().saturating_sub(MOST_CHANNELS);
        channels.truncate(MOST_CHANNELS);
        sampler.traces = SPANS_MS.iter().map(|ms| Trace::new(ms * 1_000_000, channels.len())).collect();
        sampler.channels = channels;
    }

    fn sample(&mut self, at_ns: u64, late_ns: u64, values: &[f64]) {
        let mut sampler = self.lock().unwrap_or_else(PoisonError::into_inner);
        let sampler = &mut *sampler;
        if sampler.samples == 0 || at_ns < sampler.first_ns {
            sampler.first_ns = at_ns;
        }
        let shown = sampler.channels.len();
        sampler.traces.iter_mut().for_each(|trace| trace.add(at_ns, values.iter().take(shown).copied()));
        sampler.samples += 1;
        sampler.newest_ns = at_ns;
        sampler.late_max_ns = sampler.late_max_ns.max(late_ns);
        sampler.arrived = Some(Instant::now());
    }

    fn gap(&mut self, missed: u64) {
        let mut sampler = self.lock().unwrap_or_else(PoisonError::into_inner);
        sampler.missed = sampler.missed.saturating_add(missed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_that_of_the_samples_own_times_and_channels_are_bounded() {
        let sampler = Mutex::new(SamplerState::default());
        let mut take = &sampler;
        take.channels((0..40).map(|n| (n.to_string(), String::new())).collect());
        assert_eq!(sampler.lock().unwrap().rate(), None);
        for n in 0..30_000u64 {
            take.sample(5_000_000_000 + n * 1_000_000, n % 7, &[1.0; 40]);
        }
        take.gap(3);
        let sampler = sampler.into_inner().unwrap();
        let rate = sampler.rate().unwrap();
        assert!((990.0..=1_010.0).contains(&rate), "{rate}");
        assert_eq!(
            (sampler.channels.len(), sampler.more_channels, sampler.missed, sampler.late_max_ns),
            (16, 24, 3, 6)
        );
        assert!(SPANS_MS.iter().all(|ms| sampler.trace(*ms).is_some_and(|trace| !trace.columns(15).is_empty())));
        assert!(sampler.trace(7).is_none());
    }
}
