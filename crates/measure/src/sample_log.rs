//! Every sample as a row of a file, written as they come: on a thread of its own off the timed CPUs, so that no disk keeps a
//! timed thread from its next cycle.

mod file;
mod rows;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ontick_record::output_file::write_whole_by;
use ontick_record::store::StoreError;
use rtrb::Consumer;

pub use file::{SampleFile, SampleFileError};

use self::rows::{Put, Rows, Source};
use crate::Placement;
use crate::avoid_cpu::AvoidCpu;
use crate::tap::{Observed, Tap};

/// Samples that may wait for the disk, of all threads that are timed together: those of more than a second at 100 kHz, in
/// 3 MB.
const ROOM: usize = 1 << 17;
/// Of each thread at least so many.
const LEAST_ROOM: usize = 1 << 14;
/// So often the writing thread looks for some.
const LOOK: Duration = Duration::from_millis(20);
/// So often whoever waits for its end looks whether it came.
const PAUSE: Duration = Duration::from_millis(5);
/// So long a thread whose file nobody wants may take to end: one that a pipe or a hung disk holds is left behind.
const LEAVE: Duration = Duration::from_secs(1);

/// What became of a file of samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Samples that have a row.
    pub rows: u64,
    /// Samples that have none: they came while as many waited as there is room for.
    pub lost: u64,
}

/// A file that samples are written to. Dropped before its end, there is none.
#[derive(Debug)]
pub struct SampleLog {
    joining: Joining,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<Result<u64, StoreError>>>,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    is_wanted: AtomicBool,
    lost: Arc<AtomicU64>,
}

/// Lets timed threads hand their samples over.
#[derive(Debug, Clone)]
pub(crate) struct Joining {
    members: Sender<Member>,
    lost: Arc<AtomicU64>,
}

/// A timed thread.
#[derive(Debug)]
struct Member {
    source: Source,
    observed: Consumer<Observed>,
}

impl SampleLog {
    /// Begins the file.
    pub fn begin(file: &SampleFile) -> io::Result<Self> {
        let (members, joining) = mpsc::channel();
        let shared = Arc::new(Shared::default());
        let (file, of_thread) = (file.clone(), shared.clone());
        let run = move || write(file.path(), Rows::new(file.form()), &joining, &of_thread);
        let thread = thread::Builder::new().name("ontick-samples".into()).spawn(run)?;
        Ok(Self { joining: Joining { members, lost: shared.lost.clone() }, shared, thread: Some(thread) })
    }

    pub(crate) fn joining(&self) -> Joining {
        self.joining.clone()
    }

    /// Has it written to its end: nothing more is handed over.
    pub fn complete(&self) {
        self.shared.is_wanted.store(true, Relaxed);
        self.shared.is_over.store(true, Release);
    }

    /// Waits until all is written that was handed over.
    pub fn end(self) -> Result<Written, StoreError> {
        Ok(self.end_unless(|| false)?.unwrap_or(Written { rows: 0, lost: 0 }))
    }

    /// Waits until all is written that was handed over, or the file is given up.
    pub fn end_unless(mut self, mut is_given_up: impl FnMut() -> bool) -> Result<Option<Written>, StoreError> {
        self.complete();
        while self.is_writing() {
            if is_given_up() {
                self.leave();
                // It may have come to its end just now.
                return Ok(self
                    .thread
                    .take()
                    .and_then(|thread| thread.join().ok()?.ok())
                    .map(|rows| self.written(rows)));
            }
            thread::sleep(PAUSE);
        }
        let rows = self.join()?;
        Ok(Some(self.written(rows)))
    }

    fn written(&self, rows: u64) -> Written {
        Written { rows, lost: self.shared.lost.load(Relaxed) }
    }

    /// Has its thread end without the file, and waits for that a while.
    fn leave(&mut self) {
        self.shared.is_wanted.store(false, Relaxed);
        self.shared.is_over.store(true, Release);
        let began = Instant::now();
        while self.is_writing() && began.elapsed() < LEAVE {
            thread::sleep(PAUSE);
        }
        if self.is_writing() {
            self.thread = None;
        }
    }

    fn is_writing(&self) -> bool {
        self.thread.as_ref().is_some_and(|thread| !thread.is_finished())
    }

    fn join(&mut self) -> Result<u64, StoreError> {
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(written)) => written,
            Some(Err(panicked)) => std::panic::resume_unwind(panicked),
            None => Ok(0),
        }
    }
}

impl Drop for SampleLog {
    fn drop(&mut self) {
        // Whoever did not wait for its end wants none of it.
        self.leave();
    }
}

impl Joining {
    /// What a thread hands its samples over by, which is timed together with so many in all.
    pub fn tap(&self, series: &str, placement: Placement, together: usize) -> Tap {
        let room = (ROOM / together.max(1)).max(LEAST_ROOM);
        let (tap, observed) = Tap::with_room(room, self.lost.clone());
        // A file that is full takes nobody any more; its samples are then lost.
        let _ = self.members.send(Member { source: Source::new(series, placement.cpu), observed });
        tap
    }
}

/// Samples that have a row.
fn write(path: &Path, mut rows: Rows, joining: &Receiver<Member>, shared: &Shared) -> Result<u64, StoreError> {
    write_whole_by(path, |put| {
        let mut members = Members::default();
        rows.begin(put)?;
        loop {
            // Looked at first: what was handed over before is there.
            let is_over = shared.is_over.load(Acquire);
            members.welcome(joining);
            members.take(&mut rows, put)?;
            rows.flush(put)?;
            if is_over {
                break;
            }
            thread::sleep(LOOK);
        }
        match shared.is_wanted.load(Relaxed) {
            true => rows.end(put),
            false => Err(StoreError::Io { path: path.into(), error: io::Error::other("it is not wanted") }),
        }
    })?;
    Ok(rows.count())
}

/// Those that hand samples over, and whose CPUs the writing thread keeps off.
#[derive(Default)]
struct Members {
    all: Vec<Member>,
    cpus: Vec<u32>,
    avoided: Option<AvoidCpu>,
}

impl Members {
    fn welcome(&mut self, joining: &Receiver<Member>) {
        let known = self.all.len();
        self.all.extend(joining.try_iter());
        let new: Vec<u32> = self.all[known..].iter().filter_map(|member| member.source.cpu()).collect();
        if new.iter().any(|cpu| !self.cpus.contains(cpu)) {
            self.cpus.extend(new);
            self.avoided = None;
            self.avoided = AvoidCpu::from_most(&self.cpus);
        }
    }

    fn take(&mut self, rows: &mut Rows, put: Put<'_>) -> Result<(), StoreError> {
        for member in &mut self.all {
            while let Ok(observed) = member.observed.pop() {
                rows.add(&member.source, observed, put)?;
            }
        }
        self.all.retain(|member| !member.observed.is_abandoned() || !member.observed.is_empty());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
