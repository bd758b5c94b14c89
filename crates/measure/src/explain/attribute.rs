//! One named cause for a late sample.
//!
//! The time between the deadline and the sample is divided into stretches in which nothing was reported, each is
//! given to who or what had the CPU, and the cause with most of the time is named. Where an account says that
//! the hypervisor took time, it took it in the longest stretch, and that stretch is its own if it took at
//! least half of it.

use super::cause::Cause;
use super::events::{Event, Kind, Task, Vector};
use super::steal::{Bookkeeping, Theft, thefts};
use super::timeline::{Fires, Occupant, Span, Thread, timeline};

/// What is known of the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Entering and leaving the kernel takes no longer than this, in ns; a hypervisor adds to it.
    pub edge_ns: u64,
    /// Coming out of idle takes no longer than this, in ns.
    pub idle_exit_ns: u64,
    /// A handler of the CPU's own interrupts is not silent for longer than this, in ns.
    pub handler_ns: u64,
    /// It is a guest.
    pub guest: bool,
    /// Kernel functions of timers: address and name.
    pub timers: Vec<(u64, String)>,
    /// Normal tasks that starve are served also when real-time throttling is off (Linux ≥ 6.12).
    pub fair_server: bool,
    /// Real-time tasks are throttled.
    pub throttling: bool,
    /// The timed thread runs under a real-time policy.
    pub real_time: bool,
    /// Interrupts of the CPU's own are reported, so that a gap is known to be one.
    pub records_all: bool,
    /// Accounts of tasks leave interrupts out.
    pub accounts_without_interrupts: bool,
    /// In its window the thread waits for what others do, as for an answer: time of which nothing is reported may be theirs.
    pub waits_for_others: bool,
}

/// A late sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When the thread should have run, in ns.
    pub deadline_ns: u64,
    /// When it did, in ns.
    pub now_ns: u64,
}

/// Names the cause. `events` begin well before the window and are in the order of time; the second value is
/// what was seen, for those who want to read it.
pub fn attribute(events: &[Event], tid: i32, window: Window, machine: &Machine) -> (Cause, Vec<Span>) {
    let events = after_loss(events, window.now_ns);
    let spans = timeline(events, tid, window.now_ns);
    let first = spans.first().map_or(u64::MAX, |span| span.from_ns);
    if first > window.deadline_ns {
        return (Cause::Unknown("the trace does not reach back"), spans);
    }
    let kept = Bookkeeping { edge_ns: machine.edge_ns, without_interrupts: machine.accounts_without_interrupts };
    let stolen: Vec<usize> = thefts(events, &spans, window.deadline_ns, window.now_ns, kept)
        .iter()
        .filter_map(|theft| stolen(theft, &spans, window))
        .collect();
    let mut shares: Vec<(Cause, u64)> = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        match span.within(window.deadline_ns, window.now_ns) {
            0 => {}
            inside if stolen.contains(&index) => add(&mut shares, Cause::Steal, inside),
            _ => divide(&spans, index, window, machine, &mut |cause, ns| add(&mut shares, cause, ns)),
        }
    }
    let most = shares.into_iter().filter(|(_, ns)| *ns > 0).max_by_key(|(_, ns)| *ns);
    (most.map_or(Cause::Unknown("nothing was traced"), |(cause, _)| cause), spans)
}

/// What came before a loss tells nothing of what came after it.
fn after_loss(events: &[Event], now_ns: u64) -> &[Event] {
    let seen = events.partition_point(|event| event.at_ns <= now_ns);
    let lost = events[..seen].iter().rposition(|event| event.kind == Kind::Lost);
    lost.map_or(events, |index| &events[index + 1..])
}

fn add(shares: &mut Vec<(Cause, u64)>, cause: Cause, ns: u64) {
    match shares.iter_mut().find(|(of, _)| *of == cause) {
        Some((_, sum)) => *sum += ns,
        None => shares.push((cause, ns)),
    }
}

/// The stretch that a theft was in: nothing is recorded meanwhile, so it makes one long. `None` where it made no
/// half of the longest: what had the CPU there had most of it in truth.
fn stolen(theft: &Theft, spans: &[Span], window: Window) -> Option<usize> {
    let (from_ns, to_ns) = (theft.from_ns.max(window.deadline_ns), theft.to_ns.min(window.now_ns));
    let (index, longest_ns) = spans
        .iter()
        .enumerate()
        .filter(|(_, span)| span.within(from_ns, to_ns) > 0)
        .map(|(index, span)| (index, silent_ns(span, window)))
        .max_by_key(|(_, ns)| *ns)?;
    (theft.ns >= longest_ns.div_ceil(2)).then_some(index)
}

/// How long a stretch is that a theft would explain. An interrupt is all work; of a task's or the thread's
/// time only that in the window was not to be expected.
fn silent_ns(span: &Span, window: Window) -> u64 {
    if span.who.interrupts() { span.length_ns() } else { span.within(window.deadline_ns, window.now_ns) }
}

/// Gives the part of a span inside the window to its causes.
fn divide(spans: &[Span], index: usize, window: Window, machine: &Machine, give: &mut dyn FnMut(Cause, u64)) {
    let span = &spans[index];
    let (from_ns, to_ns) = (span.from_ns.max(window.deadline_ns), span.to_ns.min(window.now_ns));
    if span.thread == Thread::Sleeping && !span.who.interrupts() {
        if let Some(timer) = span.timer {
            // Until it may fire the thread is not late by its timer; until it must, the kernel may take its time.
            let part = |a: u64, b: u64| to_ns.min(b).saturating_sub(from_ns.max(a));
            if machine.waits_for_others {
                give(WAITED, part(0, timer.soft_ns));
            }
            give(Cause::TimerSlack, part(timer.soft_ns, timer.hard_ns));
            give(overdue(span, timer.hard_ns, machine), part(timer.hard_ns, u64::MAX));
            return;
        }
    }
    let cause = match span.who {
        Occupant::Thread if span.thread == Thread::Running => undisturbed(spans, index, window, machine),
        // An interrupt of the CPU's own does nothing for so long: its handler met the hypervisor.
        Occupant::Timer(_) | Occupant::Vector(_) if machine.guest && span.length_ns() > machine.handler_ns => {
            gap(machine)
        }
        _ => cause(span, machine),
    };
    give(cause, to_ns - from_ns);
}

/// The thread's timer should have fired, and has not.
fn overdue(span: &Span, hard_ns: u64, machine: &Machine) -> Cause {
    let late_ns = span.to_ns.saturating_sub(span.from_ns.max(hard_ns));
    match &span.who {
        _ if span.frequency => Cause::Frequency,
        Occupant::Idle if late_ns <= machine.idle_exit_ns => Cause::IdleExit,
        Occupant::Task(_) if late_ns <= machine.edge_ns => Cause::WakeUpPath,
        // A task can hold interrupts off, but a guest loses its CPU far more often.
        Occupant::Task(task) if !machine.guest => Cause::task(task),
        _ => gap(machine),
    }
}

const WAITED: Cause = Cause::Unknown("it waited for the answer");

/// The thread may have waited, or something unseen may have had the CPU.
fn unseen(machine: &Machine) -> Cause {
    if machine.waits_for_others { WAITED } else { gap(machine) }
}

fn gap(machine: &Machine) -> Cause {
    if machine.records_all { Cause::OutsideTheKernel } else { Cause::Unknown("this kernel records too little") }
}

fn cause(span: &Span, machine: &Machine) -> Cause {
    match (&span.who, span.thread) {
        (_, Thread::Stopped) => Cause::Stopped,
        // Being rescheduled or served by the own timer is how a sleeping thread comes to run.
        (Occupant::Timer(Fires::Own), _) => Cause::WakeUpPath,
        (Occupant::Vector(Vector::Reschedule), Thread::Woken | Thread::Sleeping) => Cause::WakeUpPath,
        (Occupant::Timer(Fires::Other(function)), _) => timer(*function, machine),
        (Occupant::Timer(Fires::Nothing), _) => Cause::TimerTick,
        (Occupant::Device(name), _) => Cause::DeviceInterrupt(name.to_string()),
        (Occupant::Vector(vector), _) => Cause::vector(*vector),
        (Occupant::Softirq(number), _) => Cause::softirq(*number),
        (_, Thread::Faulting) => Cause::PageFault,
        (Occupant::Thread, _) => Cause::WakeUpPath,
        (Occupant::Idle, Thread::Preempted) if machine.real_time => Cause::Throttling,
        // As where its group has used up its quota of the CPU.
        (Occupant::Idle, Thread::Preempted) => Cause::Unknown("the CPU was idle while the thread wanted to run"),
        (Occupant::Idle, Thread::Woken) => woken_in_idle(span, machine),
        (Occupant::Task(task), Thread::Woken) => woken(span, Cause::task(task), machine),
        (Occupant::Task(task), Thread::Preempted) if task.is_normal() && machine.real_time => share(task, machine),
        (Occupant::Task(task), Thread::Preempted) => Cause::task(task),
        (Occupant::Idle | Occupant::Task(_), Thread::Sleeping) if machine.waits_for_others => WAITED,
        (Occupant::Idle | Occupant::Task(_), _) => Cause::Unknown("the thread was not woken yet"),
    }
}

/// A normal task runs although a real-time thread wants to.
fn share(task: &Task, machine: &Machine) -> Cause {
    match (machine.fair_server, machine.throttling) {
        (true, false) => Cause::FairServer(""),
        // Both take 5 % of a second after 95 % of it, and the kernel does not tell which it was.
        (true, true) => Cause::FairServer("or RT throttling"),
        (false, true) => Cause::Throttling,
        (false, false) => Cause::task(task),
    }
}

/// Between waking and running: a short way is the kernel's own.
fn woken(span: &Span, longer: Cause, machine: &Machine) -> Cause {
    match span {
        Span { migrated: true, .. } => Cause::Migration,
        _ if span.length_ns() <= machine.edge_ns => Cause::WakeUpPath,
        _ => longer,
    }
}

/// A CPU that woke the thread itself was out of idle by then.
fn woken_in_idle(span: &Span, machine: &Machine) -> Cause {
    match span {
        Span { woken_here: false, .. } if span.length_ns() <= machine.idle_exit_ns => Cause::IdleExit,
        Span { woken_here: false, .. } => gap(machine),
        _ => woken(span, gap(machine), machine),
    }
}

fn timer(function: u64, machine: &Machine) -> Cause {
    match machine.timers.iter().find(|(address, _)| *address == function) {
        Some((_, name)) if name.starts_with("tick_") => Cause::TimerTick,
        Some((_, name)) => Cause::OtherTimer(name.clone()),
        // Without the kernel's symbols: the tick is by far the most frequent.
        None => Cause::TimerTick,
    }
}

/// The thread has the CPU, nothing interrupts it, and still it does not see the deadline.
fn undisturbed(spans: &[Span], index: usize, window: Window, machine: &Machine) -> Cause {
    let span = &spans[index];
    if span.fault {
        return Cause::PageFault;
    }
    if span.frequency {
        return Cause::Frequency;
    }
    if span.within(window.deadline_ns, window.now_ns) > machine.edge_ns {
        return unseen(machine);
    }
    // Short stretches are ways in and out of the kernel: they belong to what comes next if that took the CPU
    // before the deadline, else to what went before.
    let (before, after) = (index.checked_sub(1).and_then(|i| spans.get(i)), spans.get(index + 1));
    let neighbours = if span.from_ns < window.deadline_ns { [after, before] } else { [before, after] };
    match neighbours.into_iter().flatten().find(|span| span.who != Occupant::Thread || span.fault) {
        Some(Span { fault: true, .. }) => Cause::PageFault,
        Some(span) => match cause(span, machine) {
            Cause::Unknown(_) | Cause::IdleExit => Cause::WakeUpPath,
            cause => cause,
        },
        None => unseen(machine),
    }
}

#[cfg(test)]
mod tests;
