//! One named cause for a late sample.
//!
//! Each stretch between the deadline and the sample is given to a cause; the one with most of the time is
//! named. Two come before that rule: a stopped process explains all that happens while it is stopped, and
//! time that the hypervisor took makes whatever runs then look long.

use super::cause::Cause;
use super::events::{Event, Task, Vector};
use super::steal::stolen_ns;
use super::timeline::{Fires, Occupant, Span, Thread, timeline};

/// The longest stretch without an event in an interrupt of the CPU's own, in ns.
const OWN_INTERRUPT_NS: u64 = 50_000;

/// What is known of the machine.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Entering and leaving the kernel takes no longer than this, in ns; a hypervisor adds to it.
    pub edge_ns: u64,
    /// Coming out of idle takes no longer than this, in ns.
    pub idle_exit_ns: u64,
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
    /// Interrupts of the CPU's own are told, so that a gap is known to be one.
    pub tells_all: bool,
}

/// A late sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// When the thread should have run, in ns.
    pub deadline_ns: u64,
    /// When it did, in ns.
    pub now_ns: u64,
}

impl Window {
    fn length_ns(&self) -> u64 {
        self.now_ns - self.deadline_ns
    }
}

/// Names the cause. `events` begin well before the window and are in the order of time; the second value is
/// what was seen, for those who want to read it.
pub fn attribute(events: &[Event], tid: i32, window: Window, machine: &Machine) -> (Cause, Vec<Span>) {
    let spans = timeline(events, tid, window.now_ns);
    let first = spans.first().map_or(u64::MAX, |span| span.from_ns);
    if first > window.deadline_ns {
        return (Cause::Unknown("the trace does not reach back"), spans);
    }
    let mut shares: Vec<(Cause, u64)> = Vec::new();
    for (index, span) in spans.iter().enumerate() {
        let inside = span.within(window.deadline_ns, window.now_ns);
        if inside > 0 {
            divide(&spans, index, window, machine, &mut |cause, ns| add(&mut shares, cause, ns));
        }
    }
    (decide(shares, stolen(events, &spans, window), window), spans)
}

/// Interrupts are counted out of the account with all spans, also those before the window.
fn stolen(events: &[Event], spans: &[Span], window: Window) -> u64 {
    stolen_ns(events, spans, window.deadline_ns, window.now_ns)
}

fn add(shares: &mut Vec<(Cause, u64)>, cause: Cause, ns: u64) {
    match shares.iter_mut().find(|(of, _)| *of == cause) {
        Some((_, sum)) => *sum += ns,
        None => shares.push((cause, ns)),
    }
}

fn decide(shares: Vec<(Cause, u64)>, stolen_ns: u64, window: Window) -> Cause {
    let most = shares.into_iter().filter(|(_, ns)| *ns > 0).max_by_key(|(_, ns)| *ns);
    match most {
        Some((Cause::Stopped, _)) => Cause::Stopped,
        // Fair share and throttling take the CPU from the thread, not from the machine.
        Some((cause @ (Cause::FairServer(_) | Cause::Throttling), _)) => cause,
        _ if stolen_ns >= window.length_ns() / 2 => Cause::Steal,
        Some((cause, _)) => cause,
        None => Cause::Unknown("nothing was traced"),
    }
}

/// Gives the part of a span inside the window to its causes.
fn divide(spans: &[Span], index: usize, window: Window, machine: &Machine, give: &mut dyn FnMut(Cause, u64)) {
    let span = &spans[index];
    let (from_ns, to_ns) = (span.from_ns.max(window.deadline_ns), span.to_ns.min(window.now_ns));
    if span.thread == Thread::Sleeping && !span.who.interrupts() {
        if let Some(timer) = span.timer {
            // Until it may fire the thread is not late by its timer; until it must, the kernel may take its time.
            let part = |a: u64, b: u64| to_ns.min(b).saturating_sub(from_ns.max(a));
            give(Cause::TimerSlack, part(timer.soft_ns, timer.hard_ns));
            give(overdue(span, timer.hard_ns, machine), part(timer.hard_ns, u64::MAX));
            return;
        }
    }
    let cause = match span.who {
        Occupant::Thread if span.thread == Thread::Running => undisturbed(spans, index, window, machine),
        // An interrupt of the CPU's own does nothing for so long: its handler met the hypervisor.
        Occupant::Timer(_) | Occupant::Vector(_) if machine.guest && span.length_ns() > OWN_INTERRUPT_NS => {
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

fn gap(machine: &Machine) -> Cause {
    if machine.tells_all { Cause::OutsideTheKernel } else { Cause::Unknown("this kernel tells too little") }
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
        (Occupant::Idle, Thread::Preempted) => Cause::Throttling,
        (Occupant::Idle, Thread::Woken) => woken(span, Cause::IdleExit, machine),
        (Occupant::Task(task), Thread::Woken) => woken(span, Cause::task(task), machine),
        (Occupant::Task(task), Thread::Preempted) if task.is_normal() && machine.real_time => share(task, machine),
        (Occupant::Task(task), Thread::Preempted) => Cause::task(task),
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
        return gap(machine);
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
        None => gap(machine),
    }
}

#[cfg(test)]
mod tests;
