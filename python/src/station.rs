//! A program as a station of a planned network.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ontick_network::endpoint::{
    Datagrams, EndpointError, ErrorKind, StationFiles, StationListener, StationTalker, TalkerOptions, WaysOut,
    WholeMessage,
};
use ontick_rt::clock::sleep_for;
use ontick_rt::thread::Policy;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arguments::{time, word};
use crate::errors::{Class, argument, of_unreadable};
use crate::fork;
use crate::histogram::Histogram;
use crate::interrupt::{self, LOOK_NS};
use crate::realtime::section_cpu;

fn refused(error: &EndpointError) -> PyErr {
    if let Some((file, cause)) = error.unreadable() {
        return of_unreadable(file, cause).unwrap_or_else(|| Class::Network.error(error));
    }
    let class = match error.kind() {
        ErrorKind::Argument => Class::Argument,
        ErrorKind::Refused => Class::Refused,
        ErrorKind::InUse => Class::InUse,
        ErrorKind::NotFound | ErrorKind::System => Class::Network,
    };
    class.error(error)
}

fn files(
    network: PathBuf,
    plan: PathBuf,
    station: String,
    target: Option<String>,
    calibration: Option<PathBuf>,
) -> StationFiles {
    StationFiles { network, plan, target, calibration, station }
}

/// What an end has until it is closed.
struct Place<T> {
    end: Mutex<Option<T>>,
    /// Threads that wait for their turn.
    turns: AtomicUsize,
    /// Whether a thread waits for what comes.
    is_waited_in: AtomicBool,
}

/// Of the thread that waits for what comes, until it has that.
struct Waiting<'a>(&'a AtomicBool);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.store(false, SeqCst);
    }
}

impl<T> Place<T> {
    fn new(end: T) -> Self {
        Self { end: Mutex::new(Some(end)), turns: AtomicUsize::new(0), is_waited_in: AtomicBool::new(false) }
    }

    /// While no other thread waits in it.
    fn wait(&self, what: &str) -> PyResult<Waiting<'_>> {
        match self.is_waited_in.swap(true, SeqCst) {
            true => Err(Class::InUse.error(format!("another thread waits in {what}"))),
            false => Ok(Waiting(&self.is_waited_in)),
        }
    }

    /// Takes it for a stretch of that wait. Others have their turn first, which the lock itself may not give them.
    fn stretch(&self) -> MutexGuard<'_, Option<T>> {
        while self.turns.load(SeqCst) > 0 {
            sleep_for(1_000_000);
        }
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        self.turns.fetch_add(1, SeqCst);
        let place = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        self.turns.fetch_sub(1, SeqCst);
        place
    }

    /// In a forked child its threads are not there, and its sockets are the parent's.
    fn forget(&self) {
        std::mem::forget(self.lock().take());
    }
}

fn closed(what: &str) -> PyErr {
    argument(format!("{what} is closed: open another one"))
}

/// Messages of a stream: sent, refused by the kernel, left out.
type Sent = (String, u64, u64, u64);

/// Sends the streams of a station.
#[pyclass(frozen, module = "ontick._ontick")]
pub struct Talker {
    generation: u32,
    place: Place<StationTalker>,
    names: Vec<String>,
    rooms: Vec<usize>,
    base_time_ns: u64,
    refused: Vec<String>,
}

const TALKER: &str = "this talker";

#[pymethods]
impl Talker {
    /// Opens it and begins to send.
    #[staticmethod]
    #[pyo3(signature = (network, plan, station, interfaces, udp, base_time_ns, target, calibration, cpu, policy))]
    #[allow(clippy::too_many_arguments)]
    fn start(
        py: Python<'_>,
        network: PathBuf,
        plan: PathBuf,
        station: String,
        interfaces: Vec<String>,
        udp: Vec<(String, String)>,
        base_time_ns: Option<u64>,
        target: Option<String>,
        calibration: Option<PathBuf>,
        cpu: &str,
        policy: &str,
    ) -> PyResult<Self> {
        let udp = udp.iter().map(|(stream, to)| word::<Datagrams>(&format!("{stream}={to}")));
        let options = TalkerOptions {
            ways: WaysOut { interfaces, udp: udp.collect::<PyResult<_>>()?, launch_time_ns: None },
            base_ns: base_time_ns,
            cpu: section_cpu(cpu)?,
            policy: word::<Policy>(policy)?,
        };
        let files = files(network, plan, station, target, calibration);
        let opened = py.detach(|| {
            let mut talker = StationTalker::open(&files, &options)?;
            let refused = talker.begin()?;
            Ok::<_, EndpointError>((talker, refused))
        });
        let (talker, refused) = opened.map_err(|error| self::refused(&error))?;
        Ok(Self {
            generation: fork::generation(),
            names: talker.streams().iter().map(|of| of.planned.name.clone()).collect(),
            rooms: talker.streams().iter().map(|of| of.planned.room()).collect(),
            base_time_ns: talker.base_ns(),
            refused,
            place: Place::new(talker),
        })
    }

    /// Name of each stream, and how many bytes its messages carry.
    #[getter]
    fn streams(&self) -> Vec<(String, usize)> {
        self.names.iter().cloned().zip(self.rooms.iter().copied()).collect()
    }

    #[getter]
    fn base_time_ns(&self) -> u64 {
        self.base_time_ns
    }

    #[getter]
    fn refused(&self) -> Vec<String> {
        self.refused.clone()
    }

    /// What a stream's messages carry from the next one on.
    fn send(&self, stream: &str, payload: &[u8]) -> PyResult<()> {
        fork::check(self.generation, TALKER)?;
        let mut place = self.place.lock();
        let talker = place.as_mut().ok_or_else(|| closed(TALKER))?;
        let of = talker.place(stream).map_err(|error| refused(&error))?;
        talker.set_payload(of, payload).map_err(|error| refused(&error))
    }

    /// Of each stream so far; how late messages were; how often the clock was set.
    fn figures(&self) -> PyResult<(Vec<Sent>, Histogram, u64)> {
        fork::check(self.generation, TALKER)?;
        let place = self.place.lock();
        let talked = place.as_ref().ok_or_else(|| closed(TALKER))?.talked();
        let sent = self.names.iter().cloned().zip(&talked.counts).map(|(name, of)| (name, of.0, of.1, of.2)).collect();
        Ok((sent, Histogram(talked.lateness.into()), talked.clock_steps))
    }

    /// Sends nothing more; the figures stay.
    fn end(&self, py: Python<'_>) -> PyResult<()> {
        if self.generation != fork::generation() {
            return Ok(());
        }
        let ended = py.detach(|| self.place.lock().as_mut().map_or(Ok(()), StationTalker::end));
        ended.map_err(|error| refused(&error))
    }
}

impl Drop for Talker {
    fn drop(&mut self) {
        if self.generation != fork::generation() {
            self.place.forget();
        }
    }
}

/// A message that came.
#[pyclass(frozen, module = "ontick.network")]
pub struct Message {
    #[pyo3(get)]
    stream: String,
    message: WholeMessage,
}

#[pymethods]
impl Message {
    #[getter]
    fn number(&self) -> u64 {
        self.message.number
    }

    #[getter]
    fn planned_ns(&self) -> u64 {
        self.message.planned_ns
    }

    #[getter]
    fn arrived_ns(&self) -> u64 {
        self.message.arrived_ns
    }

    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.message.payload)
    }

    fn __repr__(&self) -> String {
        let WholeMessage { number, planned_ns, arrived_ns, payload, .. } = &self.message;
        format!(
            "Message(stream={:?}, number={number}, planned_ns={planned_ns}, arrived_ns={arrived_ns}, {} bytes)",
            self.stream,
            payload.len()
        )
    }
}

/// Messages of a stream: received, lost, late; frames out of order and twice; latencies.
type Came = (String, u64, u64, u64, u64, u64, Histogram);

/// Frames of another plan, for others, with another tag, without room, and for another time.
type Strays = (u64, u64, u64, u64, u64);

/// Receives the streams of a station.
#[pyclass(frozen, module = "ontick._ontick")]
pub struct Listener {
    generation: u32,
    place: Place<StationListener>,
    names: Vec<String>,
    stamped_by_interface: bool,
}

const LISTENER: &str = "this listener";

#[pymethods]
impl Listener {
    #[staticmethod]
    #[pyo3(signature = (network, plan, station, interfaces, udp, target, calibration))]
    #[allow(clippy::too_many_arguments)]
    fn open(
        py: Python<'_>,
        network: PathBuf,
        plan: PathBuf,
        station: String,
        interfaces: Vec<String>,
        udp: Vec<String>,
        target: Option<String>,
        calibration: Option<PathBuf>,
    ) -> PyResult<Self> {
        let address = |text: &String| {
            let wrong = || format!("\"{text}\" is no address of datagrams: write ADDRESS:PORT, as in 0.0.0.0:5000");
            text.parse::<SocketAddr>().map_err(|_| argument(wrong()))
        };
        let udp = udp.iter().map(address).collect::<PyResult<Vec<_>>>()?;
        let files = files(network, plan, station, target, calibration);
        let listener = py.detach(|| StationListener::open(&files, &interfaces, &udp));
        let listener = listener.map_err(|error| refused(&error))?;
        Ok(Self {
            generation: fork::generation(),
            names: listener.streams().iter().map(|of| of.name.clone()).collect(),
            stamped_by_interface: listener.is_stamped_by_interface(),
            place: Place::new(listener),
        })
    }

    #[getter]
    fn streams(&self) -> Vec<String> {
        self.names.clone()
    }

    #[getter]
    fn stamped_by_interface(&self) -> bool {
        self.stamped_by_interface
    }

    /// Waits for the next message without the interpreter; `None` where none comes within the time, or it is closed.
    fn next(&self, py: Python<'_>, timeout: Option<&str>) -> PyResult<Option<Message>> {
        fork::check(self.generation, LISTENER)?;
        let timeout = timeout.map(|text| time("timeout", text)).transpose()?;
        let until = timeout.and_then(|ns| Instant::now().checked_add(Duration::from_nanos(ns)));
        py.detach(|| {
            let _waiting = self.place.wait(LISTENER)?;
            loop {
                let look = Duration::from_nanos(LOOK_NS);
                let left = until.map_or(look, |until| until.saturating_duration_since(Instant::now()));
                // Not held all the while: another thread may close it.
                let next = match self.place.stretch().as_mut() {
                    Some(listener) => listener.next(left.min(look)).map_err(|error| refused(&error))?,
                    None => return Ok(None),
                };
                if let Some(message) = next {
                    return Ok(Some(Message { stream: self.names[message.stream].clone(), message }));
                }
                if left <= look && until.is_some() {
                    return Ok(None);
                }
                interrupt::check()?;
            }
        })
    }

    /// Of each stream so far, and what came besides.
    fn figures(&self, py: Python<'_>) -> PyResult<(Vec<Came>, Strays)> {
        fork::check(self.generation, LISTENER)?;
        py.detach(|| {
            let mut place = self.place.lock();
            let listener = place.as_mut().ok_or_else(|| closed(LISTENER))?;
            let came = self.names.iter().enumerate().filter_map(|(place, name)| {
                let of = listener.figures(place)?;
                let latency = Histogram(of.latency.into());
                Some((name.clone(), of.received, of.lost, of.late, of.out_of_order, of.duplicates, latency))
            });
            let came = came.collect();
            let of = listener.strays();
            Ok((came, (of.other_plan, of.other_streams, of.retagged, of.overflowed, of.other_time)))
        })
    }

    /// Closes what messages come by. Once more does nothing.
    fn close(&self, py: Python<'_>) {
        if self.generation == fork::generation() {
            py.detach(|| drop(self.place.lock().take()));
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if self.generation != fork::generation() {
            self.place.forget();
        }
    }
}
