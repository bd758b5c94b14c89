//! The conversation with the board, on a thread of its own beside the one that answers.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_rt::thread::block_signals;

use super::address::Address;
use super::message::{Bulk, CELLS, STOP, cells, start};
use crate::Error;

/// How often a read looks whether it is time to end.
const LOOK: Duration = Duration::from_millis(50);

/// What came from the board.
#[derive(Debug, Default)]
pub struct BoardReport {
    pub bulks: Vec<Bulk>,
    /// Samples of each µs; empty until the end.
    pub cells: Vec<u32>,
    /// Why there is no more.
    pub problem: Option<String>,
}

/// What both sides share.
#[derive(Debug, Default)]
struct Shared {
    reported: Mutex<BoardReport>,
    bulks: AtomicU64,
    /// It is time to end.
    end: AtomicBool,
    /// Nothing more comes.
    over: AtomicBool,
}

/// A board that measures. Asked to stop, if it was not, and left when this is dropped.
pub struct Board {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Board {
    /// Connects, and starts the measurement.
    pub fn start(stream: TcpStream, period_us: u32, patience: Duration) -> Result<Self, Error> {
        let shared = Arc::new(Shared::default());
        let thread = std::thread::Builder::new().name("ontick-latmon".into()).spawn({
            let shared = shared.clone();
            move || {
                block_signals();
                let mut talk = Talk { stream, patience, shared: &shared, ending: None };
                if let Err(problem) = talk.talk(period_us) {
                    shared.reported.lock().unwrap_or_else(|e| e.into_inner()).problem = Some(problem.to_string());
                }
                shared.over.store(true, Release);
            }
        });
        Ok(Self {
            shared,
            thread: Some(thread.map_err(Error::system("starting the thread that receives from the board"))?),
        })
    }

    /// How many seconds the board has announced.
    pub fn bulks(&self) -> u64 {
        self.shared.bulks.load(Relaxed)
    }

    /// Whether nothing more comes.
    pub fn over(&self) -> bool {
        self.shared.over.load(Acquire)
    }

    /// Asks the board to stop; it is over some time later.
    pub fn end(&self) {
        self.shared.end.store(true, Release);
    }

    /// All that it reported so far.
    pub fn reported(&self) -> BoardReport {
        std::mem::take(&mut *self.shared.reported.lock().unwrap_or_else(|e| e.into_inner()))
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        self.end();
        self.thread.take().map(JoinHandle::join);
    }
}

/// Connects to the board.
pub fn connect(address: &Address, patience: Duration) -> Result<TcpStream, Error> {
    let fail = |problem: String| Error::Board { board: address.to_string(), problem };
    let remedy = "is its latmon program running, and in this network?";
    let found = address.target().to_socket_addrs().map_err(|e| fail(format!("it cannot be found: {e}")))?;
    let mut last = None;
    for target in found {
        match TcpStream::connect_timeout(&target, patience) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map_or_else(|| "it has no address".into(), |error| error.to_string());
    Err(fail(format!("it cannot be reached: {why} ({remedy})")))
}

/// Why the board says no more.
#[derive(Debug, thiserror::Error)]
enum TalkError {
    #[error("the connection broke: {0}")]
    Broken(#[from] std::io::Error),
    #[error("it closed the connection")]
    Closed,
    #[error("it sent what is no latmon record: something else listens there")]
    NoRecord,
    #[error("it ended the measurement by itself")]
    EndedByItself,
    #[error(
        "it sent nothing for {} s (it gives up when more than half of its stimuli are not answered within 1 ms: are both cables there, and is the answer the right way round?)",
        .0.as_secs_f64()
    )]
    Silent(Duration),
    #[error("it had not ended {} s after it was told to stop", .0.as_secs_f64())]
    DidNotStop(Duration),
}

struct Talk<'a> {
    stream: TcpStream,
    patience: Duration,
    shared: &'a Shared,
    /// When it was seen that it is time to end.
    ending: Option<Instant>,
}

impl Talk<'_> {
    fn talk(&mut self, period_us: u32) -> Result<(), TalkError> {
        self.stream.set_nodelay(true).and_then(|()| self.stream.set_read_timeout(Some(LOOK)))?;
        self.stream.write_all(&start(period_us))?;
        let mut stopping = false;
        loop {
            let mut bytes = [0; Bulk::BYTES];
            if !self.read(&mut bytes, !stopping)? {
                self.stream.write_all(&STOP)?;
                stopping = true;
                continue;
            }
            let bulk = Bulk::read(&bytes).ok_or(TalkError::NoRecord)?;
            if bulk.is_last() {
                break;
            }
            self.shared.reported.lock().unwrap_or_else(|e| e.into_inner()).bulks.push(bulk);
            self.shared.bulks.fetch_add(1, Relaxed);
        }
        if !stopping {
            return Err(TalkError::EndedByItself);
        }
        let mut bytes = vec![0; CELLS as usize * 4];
        self.read(&mut bytes, false)?;
        self.shared.reported.lock().unwrap_or_else(|e| e.into_inner()).cells = cells(&bytes);
        Ok(())
    }

    /// For how long it has been time to end.
    fn ending_for(&mut self) -> Option<Duration> {
        let is_time = self.shared.end.load(Acquire);
        is_time.then(|| self.ending.get_or_insert_with(Instant::now).elapsed())
    }

    /// Fills `bytes`; `false` when it is time to end before anything of them came.
    fn read(&mut self, bytes: &mut [u8], may_end: bool) -> Result<bool, TalkError> {
        let (mut filled, mut heard) = (0, Instant::now());
        while filled < bytes.len() {
            let ending = self.ending_for();
            if ending.is_some() && may_end && filled == 0 {
                return Ok(false);
            }
            if ending.is_some_and(|ending| ending > self.patience) {
                return Err(TalkError::DidNotStop(self.patience));
            }
            match self.stream.read(&mut bytes[filled..]) {
                Ok(0) => return Err(TalkError::Closed),
                Ok(n) => (filled, heard) = (filled + n, Instant::now()),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) => {}
                Err(e) => return Err(e.into()),
            }
            if filled < bytes.len() && heard.elapsed() > self.patience {
                return Err(TalkError::Silent(self.patience));
            }
        }
        Ok(true)
    }
}
