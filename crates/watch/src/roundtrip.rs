//! Blocks of round trips over a network. Who sends the requests is handed in, and works on a thread of its own: whatever
//! it waits for, the service goes on.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use ontick_measure::conditions::CpuTimes;
use ontick_record::Histogram;
use ontick_record::run::RoundTrips;
use ontick_rt::thread::Policy;

use crate::block::{BlockError, RequestError, check_free, on_cpu, seconds_now};

/// The way of requests, and how they are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// By what they go: `eth1`, `UDP`.
    pub link: String,
    /// Who answers.
    pub responder: String,
    /// Time between requests, in ns.
    pub period_ns: u64,
    /// An answer is late after this, in ns.
    pub deadline_ns: u64,
    /// How the requester waits for answers: `block`, `hybrid`, `spin`.
    pub waiting: String,
    /// Octets of each frame or datagram, where that was asked for: else they are the shortest.
    pub octets: Option<u32>,
}

impl Way {
    /// What tells it from others.
    pub fn name(&self) -> String {
        format!("{} to {}", self.link, self.responder)
    }
}

/// What a block of requests brought.
#[derive(Debug, Clone, PartialEq)]
pub struct Trips {
    /// From when each request was to be sent until its answer was there.
    pub round_trips: Histogram,
    /// Periods without an answer.
    pub missed: u64,
    /// What became of the requests.
    pub counts: RoundTrips,
}

/// Sends the requests of blocks.
pub trait Requests: Send {
    /// Gets ready, before the thread is on its CPU and has its policy: opens what is not open. This may take its time, as
    /// to look up a name does.
    fn prepare(&mut self) -> Result<(), RequestError>;

    /// Sends the requests of a block and takes their answers. It must end by itself, whether anybody answers or not.
    fn measure(&mut self) -> Result<Trips, RequestError>;
}

/// Round trips that are measured now and then.
pub struct RoundTrip {
    way: Way,
    requests: Work,
    limit: Duration,
}

enum Work {
    Idle(Box<dyn Requests>),
    Busy(Receiver<Finished>),
    /// Its thread panicked, or could not be started.
    Gone,
}

type Finished = (Box<dyn Requests>, Result<MeasuredTrips, BlockError>);

/// A block of round trips, and what is not kept of it.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredTrips {
    /// When it began, in seconds since 1970.
    pub at: u32,
    /// What it brought.
    pub trips: Trips,
    /// What the hypervisor took from all CPUs meanwhile, in ns.
    pub steal_ns: u64,
}

impl RoundTrip {
    /// By this way. A block that takes longer than `limit` is taken up in a later round.
    pub fn new(way: Way, requests: Box<dyn Requests>, limit: Duration) -> Self {
        Self { way, requests: Work::Idle(requests), limit }
    }

    /// The way.
    pub fn way(&self) -> &Way {
        &self.way
    }

    /// A block whose requests are sent by a thread on this CPU. It waits for that, but not for long.
    pub fn measure(&mut self, cpu: u32, policy: Policy) -> Result<MeasuredTrips, BlockError> {
        let finished = match std::mem::replace(&mut self.requests, Work::Gone) {
            Work::Idle(requests) => {
                if let Err(error) = check_free(cpu) {
                    self.requests = Work::Idle(requests);
                    return Err(error);
                }
                begin(requests, cpu, policy)?
            }
            Work::Busy(finished) => finished,
            Work::Gone => {
                return Err(BlockError::Requests(
                    "the thread of its requests ended before its time: start the service anew".into(),
                ));
            }
        };
        match finished.recv_timeout(self.limit) {
            Ok((requests, result)) => {
                self.requests = Work::Idle(requests);
                result
            }
            Err(RecvTimeoutError::Timeout) => {
                self.requests = Work::Busy(finished);
                Err(BlockError::NotReady)
            }
            Err(RecvTimeoutError::Disconnected) => self.measure(cpu, policy),
        }
    }
}

fn begin(mut requests: Box<dyn Requests>, cpu: u32, policy: Policy) -> Result<Receiver<Finished>, BlockError> {
    let (done, finished) = sync_channel(1);
    let work = move || {
        let result = block(&mut *requests, cpu, policy);
        // Where the service ended meanwhile, nobody takes it.
        let _ = done.send((requests, result));
    };
    let thread = std::thread::Builder::new().name("ontick-requests".into()).spawn(work);
    thread.map(|_| finished).map_err(|error| BlockError::Requests(error.into()))
}

fn block(requests: &mut dyn Requests, cpu: u32, policy: Policy) -> Result<MeasuredTrips, BlockError> {
    requests.prepare().map_err(BlockError::Requests)?;
    let steal_ns = CpuTimes::now().steal_ns;
    let at = seconds_now();
    // What is refused of the policy is what is refused in the blocks of CPUs.
    let (trips, _) = on_cpu(cpu, policy, || requests.measure())?;
    let trips = trips.map_err(BlockError::Requests)?;
    let steal_ns = CpuTimes::now().steal_ns.saturating_sub(steal_ns);
    Ok(MeasuredTrips { at, trips, steal_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::Sender;

    /// Is ready when it is let.
    struct Slow(Receiver<bool>);

    impl Requests for Slow {
        fn prepare(&mut self) -> Result<(), RequestError> {
            assert!(self.0.recv().unwrap(), "a panic that is wanted");
            Ok(())
        }

        fn measure(&mut self) -> Result<Trips, RequestError> {
            Err("nobody answered".into())
        }
    }

    fn slow(limit: Duration) -> (RoundTrip, Sender<bool>) {
        let way = Way {
            link: "eth1".into(),
            responder: "a".into(),
            period_ns: 1,
            deadline_ns: 1,
            waiting: "block".into(),
            octets: None,
        };
        let (ready, wait) = std::sync::mpsc::channel();
        (RoundTrip::new(way, Box::new(Slow(wait)), limit), ready)
    }

    fn error(round_trip: &mut RoundTrip) -> String {
        round_trip.measure(ontick_rt::cpus::preferred(), Policy::Other).unwrap_err().to_string()
    }

    #[test]
    fn what_takes_long_is_not_waited_for_and_comes_later() {
        let (mut round_trip, ready) = slow(Duration::ZERO);
        assert_eq!(error(&mut round_trip), "its requests are not ready yet");
        assert_eq!(error(&mut round_trip), "its requests are not ready yet");
        ready.send(true).unwrap();
        round_trip.limit = Duration::from_secs(60);
        let said = error(&mut round_trip);
        // Another test's loop may have the CPU by now.
        assert!(said == "nobody answered" || said.contains("is used by"), "{said}");
        assert!(matches!(round_trip.requests, Work::Idle(_)));
    }

    #[test]
    fn a_thread_that_panicked_ends_nothing() {
        let (mut round_trip, ready) = slow(Duration::from_secs(60));
        ready.send(false).unwrap();
        for _ in 0..2 {
            let said = error(&mut round_trip);
            assert_eq!(said, "the thread of its requests ended before its time: start the service anew");
        }
    }
}
