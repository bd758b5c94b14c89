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
mod steal;
mod tally;
pub mod timeline;
pub(crate) mod tracefs;
pub(crate) mod tracer;

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
        let index = self.tally.add(&cause, outlier.latency_ns);
        self.record(index, &cause, outlier, spans);
        Outlier { cause: Some(index), ..outlier }
    }

    fn record(&mut self, index: u32, cause: &Cause, outlier: Outlier, spans: &[Span]) {
        let latency_ns = outlier.latency_ns;
        let larger = self.reported.partition_point(|(_, reported)| reported.latency_ns >= latency_ns);
        let of_this_cause = self.reported[..larger].iter().filter(|(of, _)| *of == index).count();
        if larger >= DESCRIBED || of_this_cause >= DESCRIBED_OF_A_CAUSE {
            return;
        }
        self.reported.insert(larger, (index, narrative::reported(cause, outlier, spans)));
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
    waiting: Vec<Outlier>,
}

enum Evidence {
    Tracing(Box<Tracer>),
    Counters(Counters),
}

impl Explainer {
    /// Begins; where tracing is not to be had, counters must do, and the second value says why.
    pub fn start(placement: Placement) -> (Self, Option<String>) {
        let cpus = placement.cpu.map_or_else(cpus::online, |cpu| vec![cpu]);
        let (evidence, machine, note) = match Tracer::start(&cpus) {
            Ok(mut tracer) => {
                let (usual, real_time) = usual(&mut tracer, placement);
                let machine = machine::describe(real_time, tracer.missing(), usual);
                let note = (!machine.records_all).then(|| {
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
                self.idle_exits.infer(recorded, &mut self.events);
                self.events.sort_by_key(|event| event.at_ns);
                let settled_ns = settled_ns(ended, ClockId::Monotonic.now_ns());
                let (ready, waiting): (Vec<_>, Vec<_>) =
                    self.waiting.drain(..).partition(|outlier| outlier.at_ns <= settled_ns);
                self.waiting = waiting;
                let firmware = self.firmware.as_ref();
                let explain = |outlier| explain(&self.events, tid, outlier, &self.machine, firmware, findings);
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
    }

    /// Ends; what tracing did is added to the findings.
    pub fn end(self, findings: &mut Findings) {
        if let Evidence::Tracing(tracer) = self.evidence {
            let totals = tracer.totals();
            findings.tracing.events += totals.events;
            findings.tracing.lost += totals.lost;
            findings.tracing.event_cost_ns = tracer.event_cost_ns();
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
    findings: &mut Findings,
) -> Outlier {
    let (cause, spans) = attributed(events, tid, outlier, machine);
    let cause = match firmware {
        Some(firmware) => firmware.refine(cause, window(outlier)),
        None => cause,
    };
    findings.add(cause, outlier, &spans)
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
mod tests {
    use super::events::Kind;
    use super::*;

    fn explainer(events: Vec<Event>, waiting: Vec<Outlier>) -> Explainer {
        let evidence = Evidence::Counters(Counters::start(None));
        Explainer {
            evidence,
            machine: Machine::default(),
            firmware: None,
            cpu: None,
            events,
            idle_exits: IdleExits::default(),
            waiting,
        }
    }

    fn event(at_ns: u64) -> Event {
        Event { at_ns, cpu: 0, pid: 0, kind: Kind::PageFault }
    }

    /// Who had the CPU before the deadline of an outlier that waits is asked for later.
    #[test]
    fn events_that_may_be_asked_for_are_kept() {
        let times = || [100, 200, 300, 400].map(|ms: u64| event(ms * 1_000_000)).to_vec();
        let kept = |waiting: &[(u64, u64)], kept_ms: u64| {
            let waiting = waiting.iter().map(|&(at_ms, late_ms)| Outlier {
                at_ns: at_ms * 1_000_000,
                latency_ns: late_ms * 1_000_000,
                cause: None,
            });
            let mut explainer = explainer(times(), waiting.collect());
            explainer.forget(kept_ms * 1_000_000);
            explainer.events.iter().map(|event| event.at_ns / 1_000_000).collect::<Vec<_>>()
        };
        assert_eq!(kept(&[], 0), [100, 200, 300, 400]);
        // 60 ms before are kept.
        assert_eq!(kept(&[], 360), [300, 400]);
        assert_eq!(kept(&[], 361), [400]);
        assert_eq!(kept(&[], 1_000), [0; 0]);
        // An outlier's deadline, not when it was seen.
        assert_eq!(kept(&[(900, 540)], 1_000), [300, 400]);
        assert_eq!(kept(&[(900, 10), (950, 650)], 1_000), [300, 400]);
        assert_eq!(kept(&[(900, 10)], 260), [200, 300, 400]);
    }

    #[test]
    fn a_flood_of_events_is_cut_at_its_old_end() {
        let mut explainer = explainer((0..EVENTS_KEPT as u64 + 5).map(event).collect(), Vec::new());
        explainer.forget(0);
        assert_eq!((explainer.events.len(), explainer.events[0].at_ns), (EVENTS_KEPT, 5));
    }

    fn traced(cost_ns: u64) -> (tempfile::TempDir, Explainer) {
        let (folder, tracer) = tracer::tests::tracer(cost_ns);
        let explainer =
            Explainer { evidence: Evidence::Tracing(Box::new(tracer)), ..explainer(Vec::new(), Vec::new()) };
        (folder, explainer)
    }

    /// Blocks of a series add to it; what an event costs is that of the last.
    #[test]
    fn what_tracing_did_is_added_at_the_end() {
        let mut findings = Findings::default();
        traced(40).1.end(&mut findings);
        assert_eq!(findings.tracing, Tracing { events: 35, lost: 1_200, event_cost_ns: 40, outliers: 0 });
        traced(50).1.end(&mut findings);
        assert_eq!(findings.tracing, Tracing { events: 70, lost: 2_400, event_cost_ns: 50, outliers: 0 });
        explainer(Vec::new(), Vec::new()).end(&mut findings);
        assert_eq!(findings.tracing.events, 70, "counters trace nothing");
    }

    #[test]
    fn an_outlier_settles_after_so_long() {
        assert_eq!(settled_ns(false, 1_000_000_000), 980_000_000);
        assert_eq!(settled_ns(true, 1_000_000_000), u64::MAX);
    }

    /// The largest of each cause, and of all causes the largest.
    #[test]
    fn so_many_outliers_are_reported_in_full() {
        let reported = |outliers: &[(usize, u64)]| {
            let mut findings = Findings::default();
            for (cause, latency_ns) in outliers {
                let cause = Cause::DeviceInterrupt(format!("dev{cause}"));
                findings.add(cause, Outlier { at_ns: 1 << 40, latency_ns: *latency_ns, cause: None }, &[]);
            }
            findings.reported.iter().map(|(_, reported)| reported.latency_ns).collect::<Vec<_>>()
        };
        let of_one: Vec<(usize, u64)> = [3, 1, 9, 4, 12, 7, 10, 2, 11, 8, 5, 6].map(|ns| (0, ns)).to_vec();
        assert_eq!(reported(&of_one), [12, 11, 10, 9, 8, 7, 6, 5]);
        // Those of a cause that was seen before do not lose to another's.
        let of_two = [&of_one[..], &[(1, 1), (1, 20)]].concat();
        assert_eq!(reported(&of_two), [20, 12, 11, 10, 9, 8, 7, 6, 5, 1]);
        let of_ten: Vec<(usize, u64)> = (0..100).map(|n| (n as usize % 10, 1_000 + n)).collect();
        assert_eq!(reported(&of_ten), (1_050..1_100).rev().collect::<Vec<_>>());
        let falling: Vec<(usize, u64)> = of_ten.iter().rev().copied().collect();
        assert_eq!(reported(&falling), (1_050..1_100).rev().collect::<Vec<_>>());
    }

    fn cause_of(events: &[Event], outlier: Outlier) -> &'static str {
        let machine = Machine { edge_ns: 3_000, records_all: true, ..Machine::default() };
        let mut findings = Findings::default();
        explain(events, tracer::tests::TID, outlier, &machine, None, &mut findings);
        let [name] = &findings.tally.names(0)[..] else { panic!("one cause") };
        ["page fault", "outside the kernel", "steal", "unknown"].into_iter().find(|of| name.cause == *of).unwrap()
    }

    /// What happened 60 ms before the deadline still counts, and accounts up to 20 ms after the sample.
    #[test]
    fn an_outlier_is_explained_by_what_is_around_it() {
        const MS: u64 = 1_000_000;
        let thread = events::Task::unnamed(tracer::tests::TID);
        let at = |at_ns, kind| Event { at_ns, cpu: 0, pid: tracer::tests::TID, kind };
        let came = |at_ns| at(at_ns, Kind::Switch { prev: events::Task::unnamed(0), state: 0, next: thread });
        // Its deadline is at 100 ms.
        let outlier = Outlier { at_ns: 101 * MS, latency_ns: MS, cause: None };
        assert_eq!(cause_of(&[came(40 * MS)], outlier), "outside the kernel");
        assert_eq!(cause_of(&[came(40 * MS - 1)], outlier), "unknown");
        // Of an account of 20 ms, most was stolen.
        let closed = |at_ns| {
            let accounts = [(at_ns - 21 * MS, 20 * MS), (at_ns, 0)];
            let ran = accounts.map(|(at_ns, ns)| at(at_ns, Kind::Ran { pid: thread.pid, ns }));
            cause_of(&[&[came(60 * MS)][..], &ran].concat(), outlier)
        };
        assert_eq!([closed(121 * MS), closed(121 * MS + 1)], ["steal", "outside the kernel"]);
    }

    /// The ring is left alone until there are outliers: to read it costs time.
    #[test]
    fn without_outliers_nothing_is_read() {
        let (_folder, mut explainer) = traced(0);
        assert_eq!(explainer.explain(Vec::new(), tracer::tests::TID, true, &mut Findings::default()), []);
        assert_eq!(explainer.events, []);
        let Evidence::Tracing(tracer) = &explainer.evidence else { unreachable!("as made") };
        assert_eq!(tracer.totals().events, 35, "as before");
    }

    #[test]
    fn a_series_says_of_tracing_only_what_was_traced() {
        let mut findings = Findings::default();
        findings.add(Cause::Steal, Outlier { at_ns: 9, latency_ns: 5_000, cause: None }, &[]);
        let described = |findings: &Findings| {
            let mut series = Series::default();
            findings.describe(&mut series);
            (series.causes.len(), series.explained.len(), series.tracing)
        };
        assert_eq!(described(&findings), (1, 1, None), "counters name causes too");
        traced(40).1.end(&mut findings);
        let tracing = Tracing { events: 35, lost: 1_200, event_cost_ns: 40, outliers: 1 };
        assert_eq!(described(&findings), (1, 1, Some(tracing)));
    }

    /// An outlier waits until the kernel has accounted the time; once the thread has ended, none does.
    #[test]
    fn an_outlier_is_explained_once_it_has_settled() {
        let (_folder, mut explainer) = traced(0);
        let mut findings = Findings::default();
        let outlier = |at_ns| Outlier { at_ns, latency_ns: 5_000, cause: None };
        let (early, late) = (outlier(1_012_000), outlier(u64::MAX >> 2));
        let explained = explainer.explain(vec![late, early], tracer::tests::TID, false, &mut findings);
        assert_eq!(explained, [Outlier { cause: Some(0), ..early }]);
        assert_eq!(findings.tally.names(0)[0].cause, "page fault");
        assert_eq!(explainer.waiting, [late]);
        let explained = explainer.explain(Vec::new(), tracer::tests::TID, true, &mut findings);
        assert_eq!(explained, [Outlier { cause: Some(1), ..late }]);
        assert_eq!((explainer.waiting.len(), findings.tally.total()), (0, 2));
    }

    /// What was asked for is not what counts: only a real-time thread is kept waiting by the fair server.
    #[test]
    fn a_thread_is_real_time_if_it_runs_so() {
        let mut explainer = explainer(Vec::new(), Vec::new());
        let mut looked_at = |tid| {
            explainer.machine.real_time = true;
            explainer.explain(Vec::new(), tid, false, &mut Findings::default());
            explainer.machine.real_time
        };
        let this = rustix::thread::gettid().as_raw_nonzero().get();
        assert_eq!(looked_at(this), in_force(0).unwrap().is_real_time());
        assert!(looked_at(i32::MAX), "a thread that is gone was what it was last");
    }

    #[test]
    fn each_cause_is_journalled_once() {
        let mut findings = Findings::default();
        let add = |findings: &mut Findings, cause: Cause| {
            findings.add(cause, Outlier { at_ns: 9, latency_ns: 5_000, cause: None }, &[]).cause
        };
        assert_eq!(findings.fresh_causes(), []);
        assert_eq!(add(&mut findings, Cause::Steal), Some(0));
        assert_eq!(add(&mut findings, Cause::DeviceInterrupt("mmc0".into())), Some(1));
        let fresh: Vec<String> = findings.fresh_causes().into_iter().map(|name| name.detail).collect();
        assert_eq!(fresh, ["", "mmc0"]);
        assert_eq!(add(&mut findings, Cause::Steal), Some(0));
        assert_eq!(add(&mut findings, Cause::DeviceInterrupt("eth0".into())), Some(2));
        let fresh: Vec<String> = findings.fresh_causes().into_iter().map(|name| name.detail).collect();
        assert_eq!(fresh, ["eth0"]);
    }
}
