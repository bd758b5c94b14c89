//! Outliers of threads that are timed for a moment now and then, on one CPU after the other: one tracing instance for all
//! of them, which records while one is timed and rests otherwise.

use std::io;

use ontick_record::run::Outlier;

use super::attribute::Machine;
use super::cause::Cause;
use super::infer::IdleExits;
use super::tracer::Tracer;
use super::{SETTLED_NS, attributed, machine, usual};
use crate::Placement;

/// Rings of each CPU in kB: a moment's events. They are read, and so cost time, where there was an outlier.
const RINGS_KB: [u32; 2] = [1 << 10, 256];

/// Why nothing can be traced.
#[derive(Debug, thiserror::Error)]
#[error("the kernel's tracing cannot be used ({0}; it needs root and tracefs)")]
pub struct TracingError(#[from] io::Error);

/// Explains the outliers of blocks.
pub struct BlockExplainer {
    tracer: Tracer,
    machine: Machine,
}

impl BlockExplainer {
    /// Begins, and rests. Threads will be timed on these CPUs, in the manner of `placement`, which names one of them.
    pub fn start(cpus: &[u32], placement: Placement) -> Result<Self, TracingError> {
        let mut tracer = Tracer::start_with(RINGS_KB, cpus)?;
        let (usual, real_time) = usual(&mut tracer, placement);
        let machine = machine::describe(real_time, tracer.missing(), usual);
        tracer.pause()?;
        Ok(Self { tracer, machine })
    }

    /// A thread is timed on this CPU from now on.
    pub fn begin(&mut self, cpu: u32) -> Result<(), TracingError> {
        Ok(self.tracer.resume(cpu)?)
    }

    /// The thread is through, and these were its outliers; of each its cause, in the same order.
    pub fn end(&mut self, cpu: u32, tid: i32, outliers: &[Outlier]) -> Result<Vec<Cause>, TracingError> {
        if !outliers.is_empty() {
            // The kernel accounts what a task used a little later.
            std::thread::sleep(std::time::Duration::from_nanos(SETTLED_NS));
        }
        self.tracer.pause()?;
        if outliers.is_empty() {
            return Ok(Vec::new());
        }
        let mut recorded = Vec::new();
        self.tracer.take_of(|of| of == cpu, |event| recorded.push(event));
        let mut events = Vec::new();
        IdleExits::default().infer(recorded, &mut events);
        events.sort_by_key(|event| event.at_ns);
        Ok(outliers.iter().map(|outlier| attributed(&events, tid, *outlier, &self.machine).0).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::tracer;

    /// The ring's page fault made the thread late; without an outlier the ring is not read.
    #[test]
    fn a_block_is_recorded_and_its_outliers_have_causes() {
        let (folder, tracer) = tracer::tests::tracer(0);
        let mut explainer = BlockExplainer { tracer, machine: Machine::default() };
        let on = || std::fs::read_to_string(folder.path().join("tracing_on")).unwrap();
        explainer.begin(1).unwrap();
        assert_eq!(on(), "1");
        assert_eq!(explainer.end(1, tracer::tests::TID, &[]).unwrap(), []);
        assert_eq!(on(), "0");
        explainer.begin(1).unwrap();
        let outlier = Outlier { at_ns: 1_012_000, latency_ns: 5_000, cause: None };
        assert_eq!(explainer.end(1, tracer::tests::TID, &[outlier]).unwrap(), [Cause::PageFault]);
        assert_eq!(on(), "0");
    }
}
