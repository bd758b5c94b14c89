//! Where samples go: listeners with many clients, datagrams, files, standard output. Each has threads of its
//! own, off the timed CPU, that take from a backlog; a slow one misses samples and learns of it, the others are not
//! held up.

#[cfg(feature = "arrow")]
mod arrow;
mod describe;
mod file;
mod listen;
mod rotation;
mod udp;
mod writer;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use describe::{Sink, Where};

use crate::Error;
use crate::backlog::Cursor;
use crate::hub::Stream;
use crate::place::Own;

/// How long a blocking call may keep a sink's thread from seeing that the run ends.
const PATIENCE: Duration = Duration::from_millis(100);
/// How long clients may take for what is left when the run has ended.
const FAREWELL: Duration = Duration::from_secs(2);

/// One reader of a stream: a client, a file.
#[derive(Debug)]
pub struct Client {
    /// Who it is: an address, a path.
    pub name: String,
    /// Samples that it got.
    pub samples: AtomicU64,
    /// Samples that it was too slow for.
    pub missed: AtomicU64,
    /// Whether it is still there.
    pub present: AtomicBool,
    /// Whether it was asked for by name (a file, standard output), so that its end before the run's is a failure. Who
    /// comes to a listener may go.
    pub essential: bool,
    /// Samples that were handed on before it came.
    before: u64,
    /// Why it is not, if that was not its own wish.
    problem: Mutex<Option<String>>,
}

impl Client {
    fn new(name: String, place: Cursor, essential: bool) -> Self {
        let (samples, missed) = (AtomicU64::new(0), AtomicU64::new(0));
        let (present, before, problem) = (AtomicBool::new(true), place.samples_before(), Mutex::new(None));
        Self { name, samples, missed, present, essential, before, problem }
    }

    fn leave(&self, problem: Option<String>) {
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
        self.present.store(false, Release);
    }

    /// Samples that it has yet to take, of so many that were handed on in all.
    pub fn behind(&self, handed_on: u64) -> u64 {
        let taken = self.before + self.samples.load(Relaxed) + self.missed.load(Relaxed);
        handed_on.saturating_sub(taken)
    }

    /// Why it went, if that was not its own wish.
    pub fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Everybody who reads or has read.
#[derive(Debug, Default)]
pub struct Clients(Mutex<Vec<Arc<Client>>>);

/// Clients that left are remembered up to this many.
const REMEMBERED: usize = 1000;

impl Clients {
    /// Somebody who came to a listener, or to whom datagrams are sent.
    fn join(&self, name: String, place: Cursor) -> Arc<Client> {
        self.add(Client::new(name, place, false))
    }

    /// A reader that was asked for by name.
    fn join_essential(&self, name: String, place: Cursor) -> Arc<Client> {
        self.add(Client::new(name, place, true))
    }

    fn add(&self, client: Client) -> Arc<Client> {
        let client = Arc::new(client);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= REMEMBERED {
            all.retain(|client| client.essential || client.present.load(Relaxed));
        }
        all.push(client.clone());
        client
    }

    /// All of them, in the order in which they came.
    pub fn all(&self) -> Vec<Arc<Client>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Sinks at work.
pub struct OpenSinks {
    threads: Vec<JoinHandle<()>>,
    stop: Arc<AtomicBool>,
    /// The file, if it is one.
    pub file: Option<Arc<Own>>,
    /// Where listeners listen, for those that chose a port themselves.
    pub addresses: Vec<String>,
    /// What whoever opened it should know.
    pub notices: Vec<String>,
}

/// Opens a sink that takes from this stream, which is of its format's [carrier](crate::format::Format::carrier).
pub fn open(sink: &Sink, stream: Arc<Stream>, clients: Arc<Clients>) -> Result<OpenSinks, Error> {
    let stop = Arc::new(AtomicBool::new(false));
    let (stops, file) = (stop.clone(), None);
    let mut open = OpenSinks { threads: Vec::new(), stop: stops, file, addresses: Vec::new(), notices: Vec::new() };
    let listening = match &sink.to {
        Where::Tcp(address) => listen::tcp(address, sink.format, stream, clients, stop)?,
        Where::Unix { path, mode } => listen::unix(path, *mode, sink.format, stream, clients, stop)?,
        others => {
            open.threads.push(match others {
                Where::File { path, rotate } => {
                    let (thread, file) = file::file(path, *rotate, sink.format, stream, &clients)?;
                    open.file = Some(file);
                    thread
                }
                Where::Udp(address) => udp::send(address, stream, &clients)?,
                _ => file::stdout(sink.format, stream, &clients)?,
            });
            return Ok(open);
        }
    };
    open.threads.push(listening.thread);
    open.addresses.push(listening.address);
    open.notices.extend(listening.notice);
    Ok(open)
}

impl OpenSinks {
    /// Lets everybody take what is left, and ends. The streams must have ended.
    pub fn close(self) {
        Self::close_all([self]);
    }

    /// The same of several: their clients take what is left at one time, not one sink's after the other's.
    pub fn close_all(all: impl IntoIterator<Item = Self>) {
        let all: Vec<Self> = all.into_iter().inspect(|one| one.stop.store(true, Relaxed)).collect();
        for thread in all.into_iter().flat_map(|one| one.threads) {
            let _ = thread.join();
        }
    }
}
