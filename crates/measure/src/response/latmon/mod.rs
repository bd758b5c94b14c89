//! A second board as the oscilloscope: Zephyr's `latmon` program (samples/net/latmon, subsys/net/lib/latmon), which
//! EVL's latmus talks to as well.
//!
//! The board listens on TCP port 2306. Asked to measure, it makes its pulse line fall every period, takes the time
//! until its acknowledge line rises, and lets the pulse line rise again; answers that take longer than 1 ms it counts
//! as overruns. It tells of about every second in one record, of which it keeps the first to itself, and at the end
//! sends a histogram. `message` has the layout.

mod address;
mod board;
mod message;
mod summary;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use ontick_record::run::{Series, Settings};
use ontick_rt::thread::ThreadSetup;

pub use address::{Address, AddressError, PORT};

use super::alone::Alone;
use super::{Method, Pair, check_interval};
use crate::probe::{Probe, Sample};
use crate::{Error, Length, Limits, Observer, Placement, session};
use board::{Board, BoardReport, connect};

/// A board that says nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(5);
/// One who polls rests after both of the board's edges, and must be back before the next.
const SHORTEST_POLLED_NS: u64 = 500_000;

/// What is measured with a board.
#[derive(Debug, Clone)]
pub struct Job {
    /// The lines of the thread that answers.
    pub pair: Pair,
    /// The board.
    pub board: Address,
    /// How a change is seen.
    pub method: Method,
    /// Time between the board's stimuli, in ns.
    pub interval_ns: u64,
}

/// Measures how long a thread at `placement` takes to answer, as the board sees it.
pub fn measure(
    name: &str,
    job: &Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    measure_within(name, job, placement, limits, observer, PATIENCE)
}

fn measure_within(
    name: &str,
    job: &Job,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
    patience: Duration,
) -> Result<Series, Error> {
    check_interval(job.interval_ns)?;
    if matches!(job.method, Method::Poll | Method::InterruptBusy) && job.interval_ns < SHORTEST_POLLED_NS {
        return Err(Error::Impossible("with a board one who polls needs an interval of 500us or more to rest".into()));
    }
    let stream = connect(&job.board, patience)?;
    let reported = Arc::new(std::sync::Mutex::new(BoardReport::default()));
    let prepare = |_: &ThreadSetup| {
        let alone = Alone::start(job.method, &job.pair, job.interval_ns, placement, Arc::new(AtomicU64::new(0)))?;
        let board = Board::start(stream, (job.interval_ns / 1_000) as u32, patience)?;
        Ok(Observed { alone, board, address: job.board.clone(), reported: reported.clone() })
    };
    // The board does not count for us; it measures for as long as that many would take.
    let length = match limits.length {
        Length::Count(count) => Length::Duration(count.saturating_mul(job.interval_ns)),
        duration => duration,
    };
    let series = session::run(name, placement, Limits { length, ..limits }, prepare, observer)?;
    let reported = std::mem::take(&mut *reported.lock().unwrap_or_else(|e| e.into_inner()));
    if let Some(problem) = &reported.problem {
        observer.note(format!("{name}: observer {} was given up: {problem}", job.board));
    }
    Ok(summary::of(&reported, series))
}

/// Answers while the board measures.
struct Observed {
    alone: Alone,
    board: Board,
    address: Address,
    /// Where what the board reported is left.
    reported: Arc<std::sync::Mutex<BoardReport>>,
}

impl Probe for Observed {
    fn next(&mut self) -> Sample {
        let sample = self.alone.next();
        // The run lasts from the board's first record on: till then, these are naps. One later than any run may
        // last ends it.
        let begun = self.board.bulks() > 0;
        let now_ns = if begun && self.board.over() { u64::MAX } else { sample.now_ns };
        Sample { now_ns, napped: !begun || sample.napped, ..sample }
    }

    fn failure(&mut self) -> Option<Error> {
        self.alone.failure().or_else(|| {
            let silent = self.board.over() && self.board.bulks() == 0;
            silent.then(|| {
                let problem = self.board.reported().problem.unwrap_or_else(|| "it measured nothing".into());
                Error::Board { board: self.address.to_string(), problem }
            })
        })
    }

    /// The board must have its answers until it has stopped, or it would count the end as answers that never came.
    fn describe(&mut self, settings: &mut Settings) {
        self.board.end();
        while !self.board.over() && self.alone.failure().is_none() {
            self.alone.next();
        }
        *self.reported.lock().unwrap_or_else(|e| e.into_inner()) = self.board.reported();
        self.alone.describe(settings);
        settings.observer = Some(self.address.to_string());
    }
}

#[cfg(test)]
mod tests;
