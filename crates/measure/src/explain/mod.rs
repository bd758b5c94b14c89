//! Why a sample was late: what happened on the timed thread's CPU between the deadline and the sample, and
//! one named cause.
//!
//! The kernel's own events tell it, from a private tracing instance that is gone after the run (and, if the
//! run is killed, removed by [`clean`]). The ring is overwritten and left alone until there are outliers.

pub mod attribute;
pub mod blocks;
mod calibrate;
pub mod cause;
mod cost;
pub mod counters;
pub mod events;
mod firmware;
pub(crate) mod format;
mod infer;
mod machine;
mod names;
mod narrative;
pub mod parse;
pub(crate) mod ring_buffer_page;
mod stacks;
mod steal;
mod symbols;
mod tally;
pub mod timeline;
pub(crate) mod tracefs;
pub(crate) mod tracer;

use std::io;

use ontick_machine::Root;
use ontick_record::journal::CauseName;
use ontick_record::run::{Explained, Outlier, Series, Tracing};
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use ontick_rt::thread::in_force;

use crate::Placement;
use crate::avoid_cpu::AvoidCpu;
use attribute::{Machine, Window, attribute};
use calibrate::Overheads;
use cause::Cause;
use counters::Counters;
use events::Event;
use firmware::FirmwareInterrupts;
use infer::IdleExits;
use stacks::{Stacks, Told};
use symbols::Symbols;
use tally::Tally;
use timeline::Span;
use tracefs::Tracefs;
use tracer::Tracer;

/// Outliers that are described in full: the largest, and of each cause the largest few.
const DESCRIBED: usize = 50;
const DESCRIBED_OF_A_CAUSE: usize = 8;
/// An outlier is looked at this long after it was seen: the kernel accounts CPU time only now and then, in ns.
const SETTLED_NS: u64 = 20_000_000;
/// Events are kept this long before an outlier's deadline: who had the CPU then, in ns.
const BEFORE_NS: u64 = 60_000_000;
/// Events of so long before a look are kept for outliers that are handed over at the next: the looking thread may
/// wait long for a CPU, and the outlier's own latency lies before it, in ns.
const KEPT_NS: u64 = 2_000_000_000;
/// Events kept, at most; a flood is cut at its old end.
const EVENTS_KEPT: usize = 1 << 20;

/// Removes what runs that were killed left in the kernel's tracing, which costs time as long as it is there.
/// Without the right to, nothing happens.
pub fn clean() -> Vec<String> {
    Tracefs::find().map(|tracefs| tracefs.clean()).unwrap_or_default()
}

/// Causes of one series; blocks of the same series add to it.
#[derive(Default)]
pub struct Findings {
    tally: Tally,
    /// Largest first, with the index of their cause.
    reported: Vec<(u32, Explained)>,
    tracing: Tracing,
    /// So many causes stand in the journal.
    journalled: usize,
}

impl Findings {
    /// Causes that were not journalled yet.
    pub fn fresh_causes(&mut self) -> Vec<CauseName> {
        let fresh = self.tally.names(self.journalled);
        self.journalled += fresh.len();
        fresh
    }

    /// Writes what was found to a series.
    pub fn describe(&self, series: &mut Series) {
        series.causes = self.tally.causes();
        series.explained = self.reported.iter().map(|(_, reported)| reported.clone()).collect();
        series.tracing = (self.tracing.events > 0).then_some(Tracing { outliers: self.tally.total(), ..self.tracing });
    }

    /// Counts an outlier, and returns it with its cause.
    fn add(&mut self, cause: Cause, outlier: Outlier, spans: &[Span]) -> Outlier {
        self.add_with(cause, outlier, spans, |_| None)
    }

    /// The same, with a stack.
    fn add_with(
        &mut self,
        cause: Cause,
        outlier: Outlier,
        spans: &[Span],
        stack: impl FnOnce(&Cause) -> Option<Told>,
    ) -> Outlier {
        let index = self.tally.add(&cause, outlier.latency_ns);
        self.record(index, &cause, outlier, spans, stack);
        Outlier { cause: Some(index), ..outlier }
    }

    fn record(
        &mut self,
        index: u32,
        cause: &Cause,
        outlier: Outlier,
        spans: &[Span],
        stack: impl FnOnce(&Cause) -> Option<Told>,
    ) {
        let latency_ns = outlier.latency_ns;
        let larger = self.reported.partition_point(|(_, reported)| reported.latency_ns >= latency_ns);
        let of_this_cause = self.reported[..larger].iter().filter(|(of, _)| *of == index).count();
        if larger >= DESCRIBED || of_this_cause >= DESCRIBED_OF_A_CAUSE {
            return;
        }
        let Told { task, functions } = stack(cause).unwrap_or_default();
        let reported = Explained { stack: functions, stack_of: task, ..narrative::reported(cause, outlier, spans) };
        self.reported.insert(larger, (index, reported));
        let mut of_this_cause = (0..self.reported.len()).filter(|i| self.reported[*i].0 == index);
        if let Some(smallest) = of_this_cause.nth(DESCRIBED_OF_A_CAUSE) {
            self.reported.remove(smallest);
        }
        self.reported.truncate(DESCRIBED);
    }
}

/// Explains the outliers of one timed thread while it runs.
pub struct Explainer {
    evidence: Evidence,
    machine: Machine,
    firmware: Option<FirmwareInterrupts>,
    cpu: Option<u32>,
    events: Vec<Event>,
    idle_exits: IdleExits,
    stacks: Option<Stacks>,
    waiting: Vec<Outlier>,
}

enum Evidence {
    Tracing(Box<Tracer>),
    Counters(Counters),
}

impl Explainer {
    /// Begins; where tracing is not to be had, counters must do, and the second value says why.
    pub fn start(placement: Placement) -> (Self, Option<String>) {
        Self::begin(placement, None, Tracer::start)
    }

    /// The same, with the stacks of what timers interrupt meanwhile: each costs the CPU some microseconds.
    pub fn start_with_stacks(placement: Placement) -> (Self, Option<String>) {
        let symbols = Symbols::read();
        if !symbols.is_empty() {
            return Self::begin(placement, Some(Stacks::new(symbols)), Tracer::start_with_stacks);
        }
        let (explainer, note) = Self::start(placement);
        let hidden = "no stack is kept: /proc/kallsyms hides the kernel's functions (kernel.kptr_restrict)";
        (explainer, Some(note.map_or_else(|| hidden.into(), |note| format!("{note}; {hidden}"))))
    }

    fn begin(
        placement: Placement,
        stacks: Option<Stacks>,
        trace: impl Fn(&[u32]) -> io::Result<Tracer>,
    ) -> (Self, Option<String>) {
        let cpus = placement.cpu.map_or_else(cpus::online, |cpu| vec![cpu]);
        let (evidence, machine, note) = match trace(&cpus) {
            Ok(mut tracer) => {
                let (usual, real_time) = usual(&mut tracer, placement);
                let machine = machine::describe(real_time, tracer.missing(), usual);
                let lacks_stacks = stacks.is_some() && tracer.missing().contains(&parse::STACK.0);
                let note = (!machine.records_all || lacks_stacks).then(|| {
                    let missing = tracer.missing().join(", ");
                    format!("this kernel does not trace {missing}: some causes stay unknown")
                });
                (Evidence::Tracing(Box::new(tracer)), machine, note)
            }
            Err(error) => {
                let note = format!(
                    "outliers are explained by counters, which say less: the kernel's tracing cannot be used ({error}; it needs root and tracefs)"
                );
                (
                    Evidence::Counters(Counters::start(placement.cpu)),
                    machine::describe(placement.policy.is_real_time(), &[], Overheads::default()),
                    Some(note),
                )
            }
        };
        // A guest's counter has the guest's own alone.
        let firmware = (!machine.guest).then(|| counted_beside(placement.cpu)).flatten();
        (
            Self {
                evidence,
                machine,
                firmware,
                cpu: placement.cpu,
                events: Vec::new(),
                idle_exits: IdleExits::default(),
                stacks,
                waiting: Vec::new(),
            },
            note,
        )
    }

    /// The thread waits for what others do in the time that is measured: this is not called a gap outside the kernel.
    pub fn waits_for_others(mut self) -> Self {
        self.machine.waits_for_others = true;
        self
    }

    /// Looks at outliers that came, and at those that waited; all of them if the thread has ended. Returns
    /// those that are explained now.
    pub fn explain(&mut self, outliers: Vec<Outlier>, tid: i32, ended: bool, findings: &mut Findings) -> Vec<Outlier> {
        self.waiting.extend(outliers);
        self.look_at(tid);
        if let Some(firmware) = &mut self.firmware {
            firmware.read(ClockId::Monotonic.now_ns());
        }
        match &mut self.evidence {
            Evidence::Counters(counters) => counters.explain(std::mem::take(&mut self.waiting), findings),
            Evidence::Tracing(_) if self.waiting.is_empty() => Vec::new(),
            Evidence::Tracing(tracer) => {
                let began_ns = ClockId::Monotonic.now_ns();
                let _avoided = self.cpu.and_then(AvoidCpu::from);
                let mut recorded = Vec::new();
                tracer.take(|event| recorded.push(event));
                self.stacks.iter_mut().for_each(|stacks| stacks.take(&mut recorded));
                self.idle_exits.infer(recorded, &mut self.events);
                self.events.sort_by_key(|event| event.at_ns);
                let settled_ns = settled_ns(ended, ClockId::Monotonic.now_ns());
                let (ready, waiting): (Vec<_>, Vec<_>) =
                    self.waiting.drain(..).partition(|outlier| outlier.at_ns <= settled_ns);
                self.waiting = waiting;
                let (firmware, stacks) = (self.firmware.as_ref(), self.stacks.as_ref());
                let explain = |outlier| explain(&self.events, tid, outlier, &self.machine, firmware, stacks, findings);
                let explained = ready.into_iter().map(explain).collect();
                self.forget(began_ns.saturating_sub(KEPT_NS));
                explained
            }
        }
    }

    /// What was asked for may be refused, and the watchdog may take it back. Of a thread that is gone the last counts.
    fn look_at(&mut self, tid: i32) {
        if let Ok(policy) = in_force(tid) {
            self.machine.real_time = policy.is_real_time();
        }
    }

    /// Drops events that neither outliers that wait nor those since `kept_ns` need.
    fn forget(&mut self, kept_ns: u64) {
        let deadlines = self.waiting.iter().map(|o| o.at_ns.saturating_sub(o.latency_ns));
        let needed_ns = deadlines.fold(kept_ns, u64::min).saturating_sub(BEFORE_NS);
        let old = self.events.partition_point(|event| event.at_ns < needed_ns);
        let many = self.events.len().saturating_sub(EVENTS_KEPT);
        self.events.drain(..old.max(many));
        self.stacks.iter_mut().for_each(|stacks| stacks.forget(needed_ns));
    }

    /// Ends; what tracing did is added to the findings.
    pub fn end(self, findings: &mut Findings) {
        if let Evidence::Tracing(tracer) = self.evidence {
            let totals = tracer.totals();
            findings.tracing.events += totals.events;
            findings.tracing.lost += totals.lost;
            findings.tracing.event_cost_ns = tracer.event_cost_ns();
            findings.tracing.stacks |= self.stacks.is_some() && !tracer.missing().contains(&parse::STACK.0);
        }
    }
}

/// Outliers up to this time are looked at now.
fn settled_ns(ended: bool, now_ns: u64) -> u64 {
    if ended { u64::MAX } else { now_ns - SETTLED_NS }
}

/// How long ways in and out of the kernel take now, as the trace tells it; and whether a thread there is a real-time one.
fn usual(tracer: &mut Tracer, placement: Placement) -> (Overheads, bool) {
    let Some(made) = calibrate::make(placement) else { return (Overheads::default(), placement.policy.is_real_time()) };
    let mut events = Vec::new();
    tracer.take(|event| events.push(event));
    events.sort_by_key(|event| event.at_ns);
    (calibrate::usual(&events, &made), made.real_time)
}

fn explain(
    events: &[Event],
    tid: i32,
    outlier: Outlier,
    machine: &Machine,
    firmware: Option<&FirmwareInterrupts>,
    stacks: Option<&Stacks>,
    findings: &mut Findings,
) -> Outlier {
    let (cause, spans) = attributed(events, tid, outlier, machine);
    let cause = match firmware {
        Some(firmware) => firmware.refine(cause, window(outlier)),
        None => cause,
    };
    let stacks = stacks.filter(|_| cause.is_seen_by_the_kernel());
    let stack = |cause: &Cause| stacks?.within(window(outlier), cause, &spans, tid);
    findings.add_with(cause, outlier, &spans, stack)
}

/// The counter of system management interrupts of a CPU that is not measured.
fn counted_beside(measured: Option<u32>) -> Option<FirmwareInterrupts> {
    let cpu = cpus::online().into_iter().find(|cpu| Some(*cpu) != measured)?;
    FirmwareInterrupts::start(Root::live(), cpu, ClockId::Monotonic.now_ns())
}

fn window(outlier: Outlier) -> Window {
    Window { deadline_ns: outlier.at_ns.saturating_sub(outlier.latency_ns), now_ns: outlier.at_ns }
}

/// The cause of an outlier among events that are in the order of time.
fn attributed(events: &[Event], tid: i32, outlier: Outlier, machine: &Machine) -> (Cause, Vec<Span>) {
    let window = window(outlier);
    let from = events.partition_point(|event| event.at_ns < window.deadline_ns.saturating_sub(BEFORE_NS));
    let to = events.partition_point(|event| event.at_ns <= window.now_ns + SETTLED_NS);
    attribute(&events[from..to], tid, window, machine)
}

#[cfg(test)]
mod tests;
