//! One trial: flows through a switch for some time, and what became of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_record::switching;
use ontick_rt::clock::ClockId;

use super::analysis::{Analysis, Envelope, Limit, Link, Terms};
use super::causes;
use super::flow::{CHECK, Flow};
use super::frame_log::FrameLog;
use super::receiver::{Ahead, Receiver, Strays};
use super::sender::{self, Count, Offer, Rate};
use super::under_test::{CountersError, Lost, UnderTest, Worker};
use crate::user::core::Stall;
use crate::user::packet::{PacketPort, PacketReader, Stamps};
use crate::user::time::Distance;
use ontick_tsn::model::Switch;
use ontick_tsn::schedule::Schedule;

/// Flows start so long after everything is ready, in ns.
const LEAD_NS: u64 = 50_000_000;
/// Whoever runs is looked after this often.
const TEND: Duration = Duration::from_millis(40);
/// When nothing has come for so long and two cycles after the last frame was sent, and the switch has counted what is
/// missing, nothing will.
const QUIET: Duration = Duration::from_millis(400);
/// What is missing and not counted is waited for so long, as RFC 2544 (section 23) has it: a switch that does not run
/// still has frames in its rings.
const RESIDUAL: Duration = Duration::from_secs(2);
/// Gates that come into force later than this are not waited for, in ns.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Stalls that a record keeps, at most.
const STALLS: usize = 1_000;
/// Arrivals are kept one by one after flows have run in for so long, in ns.
const RUN_IN_NS: u64 = 20_000_000;

/// What is to be sent, and how it is judged.
#[derive(Debug, Clone)]
pub struct TrialSpec {
    /// `gates on`, `gates off`, `shaped`.
    pub name: String,
    /// Whether the gates are in force.
    pub gates: bool,
    /// Flows and how much of each.
    pub offers: Vec<Offer>,
    /// The gates that arrivals are held against.
    pub schedule: Schedule,
    /// What the shaped class of each flow is held to; those that are not there are not shaped.
    pub limits: Vec<Option<Limit>>,
    /// The clock that they follow.
    pub clock: ClockId,
    /// For how long frames are sent, in ns.
    pub duration_ns: u64,
    /// So much before its window a frame may begin, and after it end, in ns.
    pub guard_ns: u64,
    /// Bits per second of the model of a virtual link; nothing where frames arrive by a real one.
    pub modelled_rate: Option<u64>,
    /// Bits per second of the real link, if it tells.
    pub link_rate: Option<u64>,
    /// Whether frames are logged one by one.
    pub log_frames: bool,
    /// Into how many parts the cycle is divided.
    pub bins: usize,
    /// For how many cycles arrivals are kept one by one.
    pub kept_cycles: u32,
    /// The port where flows go in, and the one where they come out: places in the model.
    pub ports: (usize, usize),
}

/// How far a trial is.
#[derive(Debug, Clone)]
pub struct TrialProgress {
    /// Share of its time, 0 to 1.
    pub done: f64,
    /// Frames sent so far.
    pub sent: u64,
    /// Frames received so far.
    pub received: u64,
    /// Of them outside their window.
    pub outside: u64,
    /// Stretches of time in which the switch did not run, since the last such look.
    pub stalls: Vec<Stall>,
    /// The thread that does its work, where it has one.
    pub worker: Option<Worker>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// For the record.
    pub trial: switching::Trial,
    /// Who stamped the arrivals.
    pub stamps: Stamps,
    /// How long frames were taken to be on the link.
    pub link: Link,
    /// Every frame that arrived, where that was asked for.
    pub log: FrameLog,
    /// Sentences that a reader must see beside the figures.
    pub notes: Vec<String>,
}

/// Why there is none.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrialError {
    /// The gates come into force too late.
    #[error("the gates' base time is {0} s ahead: take one that comes sooner, or `next second`")]
    FarAhead(u64),
    /// The receiver failed.
    #[error("frames could not be received: {0}")]
    Receive(std::io::Error),
    /// The switch does not report its counters.
    #[error(transparent)]
    Counters(#[from] CountersError),
}

/// What is counted while it goes on.
#[derive(Default)]
struct Progress {
    received: AtomicU64,
    outside: AtomicU64,
    /// Frames that the switch has lost and counted.
    gone: AtomicU64,
}

/// Sends by `port` and receives by `reader` what comes through the switch in between.
pub fn run(
    switch: &Switch,
    spec: &TrialSpec,
    port: &mut PacketPort,
    reader: PacketReader,
    under_test: &mut dyn UnderTest,
    stop: &AtomicBool,
    look: &mut dyn FnMut(TrialProgress),
) -> Result<Outcome, TrialError> {
    let before = under_test.lost(spec.ports.0, spec.ports.1)?;
    let mut reported = SwitchReport { notes: under_test.service(), stalls: Vec::new() };
    // What was before does not count.
    under_test.stalls();
    // All that takes long is done: a slow machine would spend the trial on it.
    let from_ns = begin_ns(spec)?;
    let until_ns = from_ns + spec.duration_ns;
    let flows: Vec<Flow> = spec.offers.iter().map(|offer| offer.flow.clone()).collect();
    let queues: Vec<u8> = flows.iter().map(|flow| flow.queue).collect();
    let stamps = reader.stamps();
    let link = link(spec, stamps);
    let mut analysis = Analysis::new(terms(spec, link, from_ns), &queues);
    for (flow, limit) in spec.limits.iter().enumerate() {
        limit.clone().into_iter().for_each(|limit| analysis.hold_to(flow, limit));
    }
    let counts: Vec<Count> = flows.iter().map(|_| Count::default()).collect();
    let log = FrameLog::new(spec.log_frames);
    let receiver = Receiver::new(reader, &flows, ahead(spec.clock), log);

    let cycles = 2 * Duration::from_nanos(spec.schedule.cycle_ns());
    let (all_sent, progress) = (AtomicBool::new(false), Progress::default());
    let sent = || counts.iter().map(|count| count.sent.get()).sum::<u64>();
    let (received, took_ns) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            before_others();
            let began_ns = spec.clock.now_ns().max(from_ns);
            sender::send(port, &spec.offers, spec.clock, from_ns, until_ns, &counts, stop);
            all_sent.store(true, Relaxed);
            spec.clock.now_ns().clamp(began_ns, until_ns.max(began_ns)) - from_ns.min(began_ns)
        });
        let receiving = scope.spawn(|| {
            before_others();
            let enough = |analysis: &Analysis, quiet: Duration| {
                let counted = analysis.received() + progress.gone.load(Relaxed) >= sent();
                analysis.received() >= sent() || quiet > cycles + if counted { QUIET } else { RESIDUAL }
            };
            receiver.receive(&mut analysis, &all_sent, enough, |analysis| progress.publish(analysis))
        });
        while !receiving.is_finished() {
            // Where it cannot be read, the last reading below says so.
            if all_sent.load(Relaxed) {
                let lost = under_test.lost(spec.ports.0, spec.ports.1).map_or(0, |lost| lost.since(&before).gone());
                progress.gone.store(lost, Relaxed);
            }
            let stalls = reported.ask(under_test);
            look(TrialProgress { stalls, worker: under_test.worker(), ..moment(spec, from_ns, sent(), &progress) });
            std::thread::sleep(TEND);
        }
        let took_ns = sending.join().expect("the sender does not panic");
        (receiving.join().expect("the receiver does not panic"), took_ns)
    });
    let stalls = reported.ask(under_test);
    look(TrialProgress { stalls, worker: under_test.worker(), ..moment(spec, from_ns, sent(), &progress) });
    let (strays, log) = received.map_err(TrialError::Receive)?;
    let lost = under_test.lost(spec.ports.0, spec.ports.1)?.since(&before);
    let trial =
        TrialFindings { switch, spec, analysis: &analysis, counts: &counts, strays: &strays, lost, from_ns, took_ns };
    let trial = trial.recorded(&reported.stalls);
    reported.notes.extend(beside(&strays, &counts));
    if log.left_out > 0 {
        reported.notes.push(format!("{} further frames are not in the table of frames", log.left_out));
    }
    reported.notes.extend(under_test.drop_reasons(spec.ports.1));
    Ok(Outcome { trial, stamps, link, log, notes: reported.notes })
}

/// The calling thread comes before ordinary work of this machine, where that is allowed: whoever sends and receives late
/// tests less than was asked for.
fn before_others() {
    let _ = rustix::process::nice(-10);
}

/// When sending begins: soon, and not before the gates are in force.
fn begin_ns(spec: &TrialSpec) -> Result<u64, TrialError> {
    let now_ns = spec.clock.now_ns();
    let base_ns = spec.schedule.base_ns();
    if base_ns > now_ns + PATIENCE_NS {
        return Err(TrialError::FarAhead((base_ns - now_ns) / 1_000_000_000));
    }
    Ok(base_ns.max(now_ns + LEAD_NS))
}

/// When frames end, as far as it can be known.
fn link(spec: &TrialSpec, stamps: Stamps) -> Link {
    match (spec.modelled_rate, stamps, spec.link_rate) {
        (Some(rate), _, _) => Link::Modelled(rate),
        (None, Stamps::Hardware, Some(rate)) => Link::Stamped(rate),
        _ => Link::Unknown,
    }
}

fn terms(spec: &TrialSpec, link: Link, from_ns: u64) -> Terms {
    let run_in_ns = RUN_IN_NS.min(spec.duration_ns / 4);
    Terms {
        schedule: spec.schedule.clone(),
        guard_ns: spec.guard_ns,
        link,
        bins: spec.bins,
        kept_from_ns: from_ns + run_in_ns,
        kept_cycles: spec.kept_cycles,
    }
}

/// How much the gates' clock is ahead of those that stamp.
fn ahead(clock: ClockId) -> Ahead {
    let [of_software_ns, of_hardware_ns] = [Stamps::Software, Stamps::Hardware].map(|by| ahead_ns(clock, by));
    Ahead { of_software_ns, of_hardware_ns }
}

/// How much the gates' clock is ahead of the one that stamps, in ns. A port's own clock is taken for TAI, which
/// linuxptp keeps it on.
fn ahead_ns(clock: ClockId, stamps: Stamps) -> i64 {
    let stamping = match stamps {
        Stamps::Software => ClockId::Realtime,
        Stamps::Hardware => ClockId::Tai,
    };
    let ahead_ns = Distance::of(clock).ns() - Distance::of(stamping).ns();
    // TAI and UTC are whole seconds apart; what was read otherwise is the reading's error.
    match [clock, stamping].contains(&ClockId::Monotonic) {
        true => ahead_ns,
        false => (ahead_ns as f64 / 1e9).round() as i64 * 1_000_000_000,
    }
}

fn moment(spec: &TrialSpec, from_ns: u64, sent: u64, progress: &Progress) -> TrialProgress {
    let passed_ns = spec.clock.now_ns().saturating_sub(from_ns);
    TrialProgress {
        done: (passed_ns as f64 / spec.duration_ns.max(1) as f64).min(1.0),
        sent,
        received: progress.received.load(Relaxed),
        outside: progress.outside.load(Relaxed),
        stalls: Vec::new(),
        worker: None,
    }
}

impl Progress {
    fn publish(&self, analysis: &Analysis) {
        self.received.store(analysis.received(), Relaxed);
        self.outside.store(analysis.flows().iter().map(|flow| flow.outside).sum(), Relaxed);
    }
}

/// What the switch said of itself meanwhile.
struct SwitchReport {
    notes: Vec<String>,
    stalls: Vec<Stall>,
}

impl SwitchReport {
    /// Stalls since this was last asked come back.
    fn ask(&mut self, under_test: &mut dyn UnderTest) -> Vec<Stall> {
        for note in under_test.service() {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        let stalls = under_test.stalls();
        self.stalls.extend(&stalls);
        stalls
    }
}

fn beside(strays: &Strays, counts: &[Count]) -> Vec<String> {
    let left_out: u64 = counts.iter().map(|count| count.left_out.get()).sum();
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(format!("the sender was kept from its CPU: {left_out} frames that were to be sent were not"));
    }
    if strays.overflowed > 0 {
        notes.push(format!(
            "the receiver was kept from its CPU: {} frames arrived and were not looked at",
            strays.overflowed
        ));
    }
    notes
}

/// All that a trial found.
struct TrialFindings<'a> {
    switch: &'a Switch,
    spec: &'a TrialSpec,
    analysis: &'a Analysis,
    counts: &'a [Count],
    strays: &'a Strays,
    lost: Lost,
    from_ns: u64,
    took_ns: u64,
}

impl TrialFindings<'_> {
    fn recorded(&self, stalls: &[Stall]) -> switching::Trial {
        let mut elsewhere: Vec<(String, u64)> = self.lost.elsewhere.clone();
        elsewhere.push(("ring of the receiver".into(), self.strays.overflowed));
        let lost = |(place, frames): (String, u64)| switching::Lost { place, frames };
        let stall = |stall: &Stall| switching::Stall {
            at_ns: stall.from_ns as i64 - self.from_ns as i64,
            length_ns: stall.until_ns.saturating_sub(stall.from_ns),
            cause: None,
        };
        switching::Trial {
            name: self.spec.name.clone(),
            gates: self.spec.gates,
            duration_ns: self.took_ns,
            kept_cycles: self.spec.kept_cycles,
            classes: (0..self.spec.offers.len()).map(|flow| self.class(flow)).collect(),
            elsewhere: elsewhere.into_iter().filter(|(_, frames)| *frames > 0).map(lost).collect(),
            violations: self.violations(stalls),
            more_violations: self.analysis.more_violations(),
            stalls: stalls.iter().take(STALLS).map(stall).collect(),
            more_stalls: stalls.len().saturating_sub(STALLS) as u64,
        }
    }

    fn class(&self, place: usize) -> switching::Class {
        let (offer, found, count) = (&self.spec.offers[place], &self.analysis.flows()[place], &self.counts[place]);
        let class = offer.flow.class;
        let causes = self.lost.classes.get(class).into_iter().flatten().filter(|(_, frames)| *frames > 0);
        let drops: Vec<switching::Lost> =
            causes.map(|(cause, frames)| switching::Lost { place: cause.clone(), frames: *frames }).collect();
        switching::Class {
            name: self.switch.classes[class].name.clone(),
            queue: offer.flow.queue,
            octets: offer.flow.octets() + CHECK,
            offered: match offer.rate {
                Rate::Saturating => None,
                Rate::PerSecond(frames) => Some(frames),
            },
            windows: self.analysis.windows(place).to_vec(),
            shaped: found.shaped.as_ref().map(recorded),
            sent: count.sent.get(),
            refused: count.refused.get(),
            received: found.order.received,
            dropped: drops.iter().map(|lost| lost.frames).sum(),
            drops,
            duplicates: found.order.duplicates,
            out_of_order: found.order.out_of_order,
            damaged: self.strays.damaged[place],
            judged: found.judged,
            outside: found.outside,
            ends_outside: found.ends_outside,
            // Gates that do not move have no opening.
            first: if self.spec.gates { found.first_histogram() } else { Default::default() },
            unqueued: if self.spec.gates { found.unqueued } else { 0 },
            early: if self.spec.gates { found.early } else { 0 },
            delay: found.delay.histogram(),
            jitter: found.jitter.histogram(),
            folded: found.folded.clone(),
            arrivals: found.kept.iter().map(|at_ns| at_ns - self.analysis.kept_from_ns()).collect(),
        }
    }

    fn violations(&self, stalls: &[Stall]) -> Vec<switching::Violation> {
        let record = |violation: &super::analysis::Violation| {
            let class = self.spec.offers[violation.flow].flow.class;
            switching::Violation {
                class: self.switch.classes[class].name.clone(),
                at_ns: violation.at_ns.saturating_sub(self.from_ns),
                frames: violation.frames,
                by_ns: violation.by_ns,
                late: violation.late,
                ends: violation.ends,
                cause: self.spec.gates.then(|| causes::of(violation, stalls)).flatten(),
            }
        };
        self.analysis.violations().iter().map(record).collect()
    }
}

fn recorded(envelope: &Envelope) -> switching::Shaped {
    switching::Shaped {
        idle_slope: envelope.limit().oper_slope,
        burst_bits: envelope.limit().burst_bits,
        observed_burst_bits: envelope.most_bits(),
        beyond: envelope.beyond,
        observed_rate: envelope.rate(),
    }
}

/// Lets the switch learn where the flows' receivers are, and waits until a frame of theirs has come through: then the
/// way is open. Gates that let none through are not waited for longer than `patience`.
pub fn announce(flows: &[Flow], receiver: &mut PacketPort, sender: &mut PacketPort, patience: Duration) -> bool {
    use crate::user::port::{Port, Received, Sent};
    /// For experiments (IEEE 802.1Q clause H.1).
    const EXPERIMENT: [u8; 2] = [0x88, 0xb5];
    let hello = |flow: &Flow| {
        // Nobody is a group.
        let from = [flow.header.to[0] & !1, flow.header.to[1], flow.header.to[2]];
        let mut frame = [&flow.header.from[..], &from, &flow.header.to[3..], &EXPERIMENT].concat();
        frame.resize(60, 0);
        frame
    };
    let hellos: Vec<Vec<u8>> = flows.iter().map(hello).collect();
    let (began, mut slot) = (Instant::now(), [0; 2048]);
    while began.elapsed() < patience {
        let all = hellos.iter().all(|frame| receiver.send(frame) == Sent::Done);
        if all && sender.wait(Duration::from_millis(50)).unwrap_or(false) {
            while let Received::Frame(octets) = sender.receive(&mut slot) {
                if hellos.iter().any(|frame| slot[..octets.min(14)] == frame[..14]) {
                    return true;
                }
            }
        } else if !all {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    false
}

#[cfg(test)]
mod tests;
