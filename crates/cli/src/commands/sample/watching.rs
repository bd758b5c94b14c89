//! What the live view shows of samples: read from what the hub and the sinks count, never from the timed thread.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

use ontick_acquire::hub::{Newest, Passed};
use ontick_acquire::sink::{Client, Clients};
use ontick_acquire::{Channel, Trigger};
use ontick_record::run::Signal;
use ontick_report::text::samples::{Reader, Samples, State, Trace};

/// The rate is that of the last seconds.
const WINDOW: Duration = Duration::from_secs(2);

/// Looks at samples on their way.
pub struct Watching {
    /// What the hub counts.
    pub passed: Arc<Passed>,
    /// Who reads.
    pub clients: Arc<Clients>,
    /// Where listeners listen.
    pub listening: Vec<String>,
    /// The channel that is drawn.
    pub channel: Option<Channel>,
    /// Of how many.
    pub channels: usize,
    /// Between samples, in ns, where a rate was asked for.
    pub period_ns: Option<u64>,
    /// Nobody can come who is not there already: the run is over when all have gone.
    pub closed: bool,
    /// Newest samples at earlier looks.
    pub recent: VecDeque<(Instant, Newest)>,
}

impl Watching {
    /// How things are now; nothing when nobody takes samples any more.
    pub fn look(&mut self) -> Option<Samples> {
        let clients = self.clients.all();
        // Whether samples ended is asked after who is there: all leave once there are no more.
        let gone = self.closed && !clients.iter().any(|client| client.present.load(Acquire));
        if gone && !self.passed.ended.load(Acquire) {
            return None;
        }
        let passed = &self.passed;
        let handed_on = passed.samples.load(Relaxed);
        let share = |thousandths: u64| thousandths as f64 / 1000.0;
        Some(Samples {
            asked: self.period_ns.map(|period_ns| 1e9 / period_ns as f64),
            rate: self.rate(Instant::now()),
            late: self.passed.late.load(Relaxed),
            full: self.passed.full.load(Relaxed),
            ring: share(self.passed.ring_level.load(Relaxed)),
            ring_peak: share(self.passed.ring_peak.load(Relaxed)),
            listening: self.listening.clone(),
            readers: clients.iter().map(|client| reader(client, handed_on)).collect(),
            trace: self.trace(),
        })
    }

    /// What was sampled, to be asked when all samples were handed on.
    pub fn signal(&self) -> Box<dyn FnOnce() -> Signal> {
        let (passed, channel, step_ns) = (self.passed.clone(), self.channel.clone(), self.period_ns);
        Box::new(move || {
            let (channel, unit) = channel.map(|channel| (channel.name, channel.unit)).unwrap_or_default();
            Signal {
                channel,
                unit,
                step_ns,
                values: passed.trace().into_iter().map(|value| Some(value).filter(|value| value.is_finite())).collect(),
                missed_late: passed.late.load(Relaxed),
                missed_full: passed.full.load(Relaxed),
            }
        })
    }

    /// From the samples' own times, which no look is late for.
    fn rate(&mut self, now: Instant) -> Option<f64> {
        let newest = self.passed.newest()?;
        // At least a few samples, however seldom they come.
        let window = WINDOW.max(Duration::from_nanos(self.period_ns.unwrap_or(0).saturating_mul(3)));
        self.recent.push_back((now, newest));
        while self.recent.get(1).is_some_and(|(at, _)| now - *at >= window) {
            self.recent.pop_front();
        }
        let (since, oldest) = self.recent.front()?;
        let (samples, time_ns) = (newest.samples - oldest.samples, newest.at_ns - oldest.at_ns);
        match samples {
            0 => (now - *since >= window).then_some(0.0),
            samples => Some(samples as f64 * 1e9 / time_ns.max(1) as f64),
        }
    }

    fn trace(&self) -> Trace {
        let Some(channel) = &self.channel else { return Trace::default() };
        let of = if self.channels > 1 { format!(" (1 of {} channels)", self.channels) } else { String::new() };
        Trace {
            channel: format!("{}{of}", channel.name),
            unit: channel.unit.clone(),
            values: self.passed.trace(),
            step_ns: self.period_ns,
        }
    }
}

/// Between samples, in ns, where a rate decides.
pub fn period_ns(trigger: &Trigger) -> Option<u64> {
    match trigger {
        Trigger::Every(period_ns) => Some(*period_ns),
        Trigger::Edge(..) => None,
    }
}

fn reader(client: &Client, handed_on: u64) -> Reader {
    let state = match (client.present.load(Relaxed), client.problem()) {
        (true, _) => State::Here { behind: client.behind(handed_on) },
        (false, Some(problem)) => State::Failed(problem),
        (false, None) => State::Gone,
    };
    let (samples, missed) = (client.samples.load(Relaxed), client.missed.load(Relaxed));
    Reader { name: client.name.clone(), samples, missed, state }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_that_leave_after_the_last_sample_end_no_run() {
        let passed = Arc::new(Passed::default());
        let mut watching = Watching {
            passed: passed.clone(),
            clients: Arc::default(),
            listening: Vec::new(),
            channel: None,
            channels: 1,
            period_ns: Some(1_000_000),
            closed: true,
            recent: VecDeque::new(),
        };
        assert!(watching.look().is_none(), "all have gone, and samples go on");
        passed.ended.store(true, Relaxed);
        assert!(watching.look().is_some());
    }
}
