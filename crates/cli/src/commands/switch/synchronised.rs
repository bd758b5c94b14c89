//! Looks now and then whether the machine's clock is still in time with the network's.
//!
//! ptp4l is asked by its socket: a program that does it (pmc) would have to be started each time, and each start takes time
//! of the CPUs that the core's frames are served on.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_network::ptp::{Addressing, Client, Observation, SocketDir, check_socket};
use ontick_switch::ports;
use ontick_switch::ports::sync::Synchronisation;

use super::file;
use super::target_flags::StateFlag;

/// Asked so often.
const EVERY: Duration = Duration::from_secs(5);
const TURN: Duration = Duration::from_millis(100);
/// ptp4l answers in microseconds; on a machine with other work it may take longer.
const ANSWER: Duration = Duration::from_secs(2);
/// Where ptp4l has its socket unless it is told otherwise.
const USUAL: &str = "/var/run/ptp4l";
/// A ptp4l says nothing to questions of another profile than its own: the default one, or gPTP.
const ADDRESSINGS: [Addressing; 2] =
    [Addressing { domain: 0, transport_specific: 0 }, Addressing { domain: 0, transport_specific: 1 }];

/// A thread that asks, until this is dropped.
pub struct Synchronised {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Synchronised {
    /// Begins. Without a thread to be had, nobody asks.
    pub fn watch(state: &StateFlag) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let watch = {
            let (stop, asker) = (stop.clone(), Asker::new(state.state.as_deref()));
            move || watch(&stop, asker)
        };
        let thread = std::thread::Builder::new().name("ontick-ptp".into()).spawn(watch).ok();
        Self { stop, thread }
    }
}

fn watch(stop: &AtomicBool, mut asker: Asker) {
    let mut sync = Synchronisation::default();
    while !stop.load(Relaxed) {
        if let Some(changed) = sync.poll(asker.ask(stop).as_ref()) {
            file::note(&changed);
        }
        let asked = Instant::now();
        while asked.elapsed() < EVERY && !stop.load(Relaxed) {
            std::thread::sleep(TURN);
        }
    }
}

impl Drop for Synchronised {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Asks this machine's ptp4l, which may go and come back.
struct Asker {
    /// Of those that `network time run` runs.
    sockets: SocketDir,
    /// The one that answered.
    open: Option<Client>,
}

impl Asker {
    /// A folder of switches of its own has one of sockets beside it, as in /run.
    fn new(state: Option<&Path>) -> Self {
        let sockets = state.map(|folder| folder.with_file_name("ptp"));
        Self { sockets: SocketDir::new(sockets.as_deref()), open: None }
    }

    /// What it says; one that fails is looked for anew, as it may have been started anew. Nothing where none answers.
    fn ask(&mut self, stop: &AtomicBool) -> Option<ports::Synchronised> {
        if let Some(mut client) = self.open.take() {
            if let Ok(seen) = client.observe(ANSWER) {
                self.open = Some(client);
                return Some(said(&seen));
            }
        }
        let (client, seen) = self.find(stop)?;
        self.open = Some(client);
        Some(said(&seen))
    }

    fn find(&self, stop: &AtomicBool) -> Option<(Client, Observation)> {
        let run = self.sockets.running().unwrap_or_default().into_iter().map(|(_, socket)| socket);
        // Whoever answers is believed.
        let all = [PathBuf::from(USUAL)].into_iter().chain(run).filter(|socket| check_socket(socket).is_ok());
        let mut ways = all.flat_map(|socket| ADDRESSINGS.map(|addressing| (socket.clone(), addressing)));
        ways.find_map(|(socket, addressing)| {
            // Each may take a while if nobody answers.
            if stop.load(Relaxed) {
                return None;
            }
            let mut client = Client::connect_to_unknown(&socket, addressing, ANSWER).ok()?;
            let seen = client.observe(ANSWER).ok()?;
            Some((client, seen))
        })
    }
}

fn said(seen: &Observation) -> ports::Synchronised {
    ports::Synchronised {
        to_grandmaster: seen.own != seen.grandmaster,
        offset_ns: seen.offset.map(|offset| offset.ns),
        ports: seen.ports.iter().map(|port| port.state.name().into()).collect(),
    }
}
