//! The figures of `/metrics`, sent to a receiver of OpenTelemetry now and then: OTLP over HTTP, histograms as
//! exponential ones with the buckets of the native histograms.
//!
//! Each request carries everything since counting began, so nothing waits in a queue: what a receiver missed, the next
//! request brings.

mod client;
mod encode;
mod endpoint;
mod message;

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prost::Message;
use tokio::sync::oneshot;

use crate::block::seconds_now;
use crate::events::Kind;
use crate::serve::{compressed, metrics};
use crate::service::lock;
use crate::state::State;
use crate::switches::{SwitchWatch, Switches};
use client::{SendError, Taken};
use encode::Source;
pub use endpoint::{Endpoint, EndpointError};

/// The first wait after a failure that may pass; each is twice the one before.
const FIRST_WAIT: Duration = Duration::from_secs(5);
/// No wait is longer, unless a receiver asks for patience or figures are sent less often anyway.
const LONGEST_WAIT: Duration = Duration::from_secs(300);
/// No receiver gets more patience.
const MOST_PATIENCE: Duration = Duration::from_secs(3_600);

/// Sends figures on a thread of its own; dropped, it ends.
pub struct Exporter {
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Exporter {
    /// Begins to send, so often. Failures are events of the state, and end nothing.
    pub fn start(
        endpoint: Endpoint,
        every: Duration,
        state: Arc<Mutex<State>>,
        switches: Option<Arc<SwitchWatch>>,
    ) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (end, ended) = oneshot::channel();
        let send = move || {
            runtime.block_on(async {
                tokio::spawn(send_always(endpoint, every, state, switches));
                let _ = ended.await;
            });
            // The resolver of names may take longer than anybody wants to wait.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("ontick-otlp".into()).spawn(send)?;
        Ok(Self { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn send_always(
    endpoint: Endpoint,
    every: Duration,
    state: Arc<Mutex<State>>,
    switches: Option<Arc<SwitchWatch>>,
) {
    let (mut progress, mut turn) = (Progress::default(), 0);
    // Machines that start together do not send together.
    let mut wait = every.mul_f64(chance(turn));
    loop {
        tokio::time::sleep(wait).await;
        turn += 1;
        let found = match switches.clone() {
            // Others' programs are asked: a request to end does not wait for them.
            Some(switches) => tokio::task::spawn_blocking(move || switches.now()).await.ok(),
            None => None,
        };
        let result = match packed(&state, found.as_deref()) {
            Ok(packed) => client::send(&endpoint, packed).await,
            Err(error) => Err(SendError::Away(error)),
        };
        wait = progress.wait(&result, every, chance(turn));
        if let Some((bad, text)) = progress.news(&result, &endpoint) {
            lock(&state).note(seconds_now(), Kind::Export, bad, None, text);
        }
    }
}

fn packed(state: &Mutex<State>, switches: Option<&Switches>) -> io::Result<Vec<u8>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (all, since) = {
        let state = lock(state);
        (metrics::all(&state, now.as_secs() as u32, switches), state.run().started.parse::<jiff::Timestamp>())
    };
    let source = Source {
        host: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        counting_since: since.map_or(0, |since| since.as_nanosecond().max(0) as u64),
        now: now.as_nanos() as u64,
    };
    compressed::packed(&encode::request(&all, &source).encode_to_vec())
}

/// A number from 0 to 1 that nobody foresees.
fn chance(turn: u32) -> f64 {
    RandomState::new().hash_one(turn) as f64 / u64::MAX as f64
}

/// How sending went lately.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Health {
    #[default]
    Good,
    Partly,
    Failing,
}

/// What follows from how it went.
#[derive(Debug, Default)]
struct Progress {
    failures: u32,
    health: Health,
}

impl Progress {
    /// How long to wait before the next request. `chance`, from 0 to 1, spreads the requests of machines that failed at
    /// the same time.
    fn wait(&mut self, result: &Result<Taken, SendError>, every: Duration, chance: f64) -> Duration {
        let Err(error) = result else {
            self.failures = 0;
            return every;
        };
        let longest = LONGEST_WAIT.max(every);
        // What is refused for good is tried again, as somebody may have put it right.
        let wait = if error.passes() { FIRST_WAIT * (1 << self.failures.min(10)) } else { longest };
        self.failures = self.failures.saturating_add(1);
        let asked = error.retry_after().unwrap_or_default().min(MOST_PATIENCE);
        wait.min(longest).mul_f64(0.5 + chance / 2.0).max(asked)
    }

    /// A sentence where it goes otherwise than before, and whether that is bad.
    fn news(&mut self, result: &Result<Taken, SendError>, endpoint: &Endpoint) -> Option<(bool, String)> {
        let (health, bad, text) = match result {
            Ok(Taken::All) => (Health::Good, false, format!("{endpoint} takes all figures again")),
            Ok(Taken::Partly { rejected, words }) => {
                (Health::Partly, true, format!("{endpoint} refuses {rejected} of the figures: {words}"))
            }
            Err(error) => {
                (Health::Failing, true, format!("{endpoint} does not take figures: {error}; sending is tried again"))
            }
        };
        let before = std::mem::replace(&mut self.health, health);
        (before != health).then_some((bad, text))
    }
}

#[cfg(test)]
mod tests;
