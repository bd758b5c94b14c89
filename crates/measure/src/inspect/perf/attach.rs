//! The events of one thread that need no tracepoint: they may be had without root.

use std::io;
use std::os::fd::OwnedFd;

use super::abi::{self, Attributes};
use super::records::{Body, Holds, Record, parse};
use super::sys::{self, Ring, Scope};
use super::tracepoints::{Trace, Tracepoints};

/// The rings of threads, in bytes.
const RING: usize = 1 << 18;
/// Without privileges little memory may be locked (`perf_event_mlock_kb`).
const SMALLEST_RING: usize = 1 << 14;

/// The events of one thread, recorded until this is dropped. Nothing of it outlives the process.
pub struct Attached {
    ring: Ring,
    events: Vec<(u64, Trace, OwnedFd)>,
}

/// A record, with the event that a sample is of.
pub type Traced = (Record, Option<Trace>);

impl Attached {
    /// Page faults of a thread that is inspected; context switches too, where they are not known otherwise.
    pub fn inspected(tid: i32, switches: bool) -> io::Result<Self> {
        Self::open(tid, &[Trace::MinorFault, Trace::MajorFault], switches)
    }

    /// Context switches of a thread that others may wait for.
    pub fn beside(tid: i32) -> io::Result<Self> {
        Self::open(tid, &[Trace::Switches], true)
    }

    fn open(tid: i32, wanted: &[Trace], switches: bool) -> io::Result<Self> {
        let mut events: Vec<(u64, Trace, OwnedFd)> = Vec::new();
        let mut ring = None;
        for trace in wanted {
            let mut attributes = trace.attributes(&Tracepoints::default());
            // The first event has the ring, and records what is no sample.
            if events.is_empty() && switches {
                attributes.flags |= abi::FLAG_CONTEXT_SWITCH | abi::FLAG_COMM | abi::FLAG_COMM_EXEC | abi::FLAG_TASK;
            }
            let event = match sys::open(&attributes, Scope::Thread(tid)) {
                // Without privileges only what happens in the program itself may be looked at.
                Err(error) if is_refusal(&error) => {
                    let flags = attributes.flags | abi::FLAG_EXCLUDE_KERNEL;
                    sys::open(&Attributes { flags, ..attributes }, Scope::Thread(tid))?
                }
                opened => opened?,
            };
            match events.first() {
                None => ring = Some(map(&event, RING)?),
                Some((_, _, first)) => sys::redirect(&event, first)?,
            }
            events.push((sys::id(&event)?, *trace, event));
        }
        let ring = ring.ok_or(io::ErrorKind::Unsupported)?;
        events.iter().try_for_each(|(_, _, event)| sys::enable(event))?;
        Ok(Self { ring, events })
    }

    /// What was recorded since.
    pub fn take(&mut self, buffer: &mut Vec<u8>, found: impl FnMut(Traced)) {
        take(&mut self.ring, &self.events, buffer, found);
    }
}

/// Whether the kernel denied something for want of rights.
pub fn is_refusal(error: &io::Error) -> bool {
    [Some(libc::EACCES), Some(libc::EPERM)].contains(&error.raw_os_error())
}

/// The records of a ring that some events share.
pub(super) fn take(
    ring: &mut Ring,
    events: &[(u64, Trace, OwnedFd)],
    buffer: &mut Vec<u8>,
    mut found: impl FnMut(Traced),
) {
    buffer.clear();
    ring.take(buffer);
    let trace = |id: u64| events.iter().find(|(of, ..)| *of == id).map(|(_, trace, _)| *trace);
    parse(
        buffer,
        |id| trace(id).map_or(Holds::default(), Trace::holds),
        |record| {
            let of = match record.body {
                Body::Sample { id, .. } => trace(id),
                _ => None,
            };
            found((record, of));
        },
    );
}

/// Maps a ring, a smaller one where so much memory may not be locked.
pub(super) fn map(event: &OwnedFd, size: usize) -> io::Result<Ring> {
    let mut size = size;
    loop {
        match Ring::map(event, size) {
            Err(_) if size > SMALLEST_RING => size /= 4,
            mapped => return mapped,
        }
    }
}
