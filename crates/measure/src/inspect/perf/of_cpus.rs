//! The tracepoints of all CPUs, of which the kernel records those of some threads.
//!
//! Events of a thread of its own would be simpler. But the kernel takes them off a CPU and puts them on one with every
//! context switch of the thread, which cost a loop of 1 kHz some 10 µs of its wake-up; these cost 3 to 6.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::abi;
use super::attach::{Traced, map, take};
use super::sys::{self, Ring, Scope};
use super::tracepoints::{Trace, Tracepoints};

/// Threads that a filter names, at most: the kernel takes a page of text.
pub const MOST: usize = 96;
/// The rings of all CPUs together, and of one, in bytes.
const ALL_RINGS: usize = 128 << 20;
const RING: usize = 4 << 20;

/// Events of some threads, recorded until this is dropped.
#[derive(Default)]
pub struct OfCpus(Vec<OfCpu>);

impl OfCpus {
    /// Records these events of `inspected`, and the context switches of all.
    pub fn open(
        traces: &[Trace],
        inspected: &[i32],
        all: &[i32],
        cpus: &[u32],
        tracepoints: &Tracepoints,
    ) -> io::Result<Self> {
        let filters: Vec<(Trace, CString)> = traces
            .iter()
            .filter(|trace| tracepoints.format(**trace).is_some())
            .map(|trace| (*trace, filter(*trace, inspected, all)))
            .collect();
        let size = RING.min(ALL_RINGS / cpus.len().max(1));
        cpus.iter().map(|cpu| open(*cpu, &filters, size, tracepoints)).collect::<io::Result<_>>().map(Self)
    }

    /// Waits so long, or until a ring is half full, as the kernel says where nothing else is asked for.
    pub fn wait(&self, longest: Duration) {
        let rings = self.0.iter().filter_map(|(_, events)| events.first());
        let mut rings: Vec<PollFd> = rings.map(|(.., event)| PollFd::new(event, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: longest.as_secs() as _, tv_nsec: longest.subsec_nanos().into() };
        // A signal ends it, too: there may be a reason to stop.
        let _ = poll(&mut rings, Some(&timeout));
    }

    /// What was recorded since.
    pub fn take(&mut self, buffer: &mut Vec<u8>, mut found: impl FnMut(Traced)) {
        for (ring, events) in &mut self.0 {
            take(ring, events, buffer, &mut found);
        }
    }
}

/// The ring of a CPU, and its events.
type OfCpu = (Ring, Vec<(u64, Trace, OwnedFd)>);

fn open(cpu: u32, filters: &[(Trace, CString)], size: usize, tracepoints: &Tracepoints) -> io::Result<OfCpu> {
    let mut events: Vec<(u64, Trace, OwnedFd)> = Vec::new();
    let mut ring = None;
    for (trace, filter) in filters {
        let mut attributes = trace.attributes(tracepoints);
        // The first event has the ring, and records which threads end, and which become another program.
        if events.is_empty() {
            attributes.flags |= abi::FLAG_COMM | abi::FLAG_COMM_EXEC | abi::FLAG_TASK;
        }
        let event = sys::open(&attributes, Scope::Cpu(cpu))?;
        sys::filter(&event, filter)?;
        match events.first() {
            None => ring = Some(map(&event, size)?),
            Some((_, _, first)) => sys::redirect(&event, first)?,
        }
        events.push((sys::id(&event)?, *trace, event));
    }
    let ring = ring.ok_or(io::ErrorKind::Unsupported)?;
    events.iter().try_for_each(|(_, _, event)| sys::enable(event))?;
    Ok((ring, events))
}

fn filter(trace: Trace, inspected: &[i32], all: &[i32]) -> CString {
    let (fields, threads): (&[&str], _) = match trace {
        Trace::Waking => (&["pid"], inspected),
        Trace::Switch => (&["prev_pid", "next_pid"], all),
        _ => (&["common_pid"], inspected),
    };
    let terms: Vec<String> =
        threads.iter().flat_map(|tid| fields.iter().map(move |field| format!("{field}=={tid}"))).collect();
    CString::new(terms.join("||")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_names_each_thread_and_fits_a_page() {
        let of = |trace| filter(trace, &[7], &[7, 812]).into_string().unwrap();
        assert_eq!(of(Trace::Waking), "pid==7");
        assert_eq!(of(Trace::Enter), "common_pid==7");
        assert_eq!(of(Trace::Switch), "prev_pid==7||next_pid==7||prev_pid==812||next_pid==812");
        // Numbers of threads end at 4194304 (proc(5), pid_max).
        assert!(filter(Trace::Switch, &[], &[4_194_304; MOST]).as_bytes().len() < 4_096);
    }
}
