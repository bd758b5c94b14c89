//! Who had the timed thread's CPU, moment by moment.

use super::events::{Event, Kind, Task, Vector};
use super::names::Names;

/// Who has the CPU.
#[derive(Debug, Clone, PartialEq)]
pub enum Occupant {
    /// Nobody.
    Idle,
    /// The timed thread.
    Thread,
    /// Another task.
    Task(Task),
    /// A device's handler.
    Device(Box<str>),
    /// An interrupt of the CPU's own, other than the timer's.
    Vector(Vector),
    /// The CPU's timer, with what it fires.
    Timer(Fires),
    /// A software interrupt.
    Softirq(u32),
}

impl Occupant {
    /// Whether it interrupts whatever else has the CPU.
    pub fn interrupts(&self) -> bool {
        !matches!(self, Occupant::Idle | Occupant::Thread | Occupant::Task(_))
    }
}

/// What a timer interrupt was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fires {
    /// Nothing that was reported.
    Nothing,
    /// The timed thread's own timer.
    Own,
    /// Another timer, by the address of its function.
    Other(u64),
}

/// What the timed thread is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread {
    /// Not known yet.
    Unknown,
    /// It has the CPU, or what interrupts it has.
    Running,
    /// It had the CPU taken away and wants to go on.
    Preempted,
    /// It was woken and waits for the CPU.
    Woken,
    /// It sleeps.
    Sleeping,
    /// It waits for a page.
    Faulting,
    /// A signal or a debugger stopped it.
    Stopped,
}

/// A timer of the thread's: may fire, must fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timer {
    timer: u64,
    /// May fire from here on, in ns.
    pub soft_ns: u64,
    /// Must fire by here, in ns.
    pub hard_ns: u64,
}

/// A stretch in which nothing changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// Its beginning, in ns.
    pub from_ns: u64,
    /// Its end, in ns.
    pub to_ns: u64,
    /// The CPU: the one that the thread was on, or was to run on.
    pub cpu: u32,
    /// Who had the CPU.
    pub who: Occupant,
    /// What the timed thread did.
    pub thread: Thread,
    /// The thread's timer, as long as it has not fired.
    pub timer: Option<Timer>,
    /// It began with the thread's touching a page that was not there.
    pub fault: bool,
    /// It began or ended with a change of frequency.
    pub frequency: bool,
    /// The thread had just been moved here.
    pub migrated: bool,
    /// The thread was woken by something that this CPU did: it was not idle any more.
    pub woken_here: bool,
}

impl Span {
    /// How much of it lies between these times, in ns.
    pub fn within(&self, from_ns: u64, to_ns: u64) -> u64 {
        self.to_ns.min(to_ns).saturating_sub(self.from_ns.max(from_ns))
    }

    /// Its length, in ns.
    pub fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// Bits of a task's state that mean stopped or traced.
const STOPPED: i64 = 0x04 | 0x08;
/// Bits that mean that it cannot go on; above them stands the mark of a preemption.
const BLOCKED: i64 = 0xff;

/// What is known of one CPU.
#[derive(Default, Clone)]
struct Cpu {
    task: Option<Task>,
    interrupts: Vec<Occupant>,
}

/// Follows the events, in the order of time.
struct Follower {
    tid: i32,
    names: Names,
    cpus: Vec<Cpu>,
    home: u32,
    thread: Thread,
    timer: Option<Timer>,
    fault: bool,
    frequency: bool,
    migrated: bool,
    woken_here: bool,
    since_ns: u64,
    spans: Vec<Span>,
}

/// Spans of the CPU that thread `tid` is on, from the first event to `until_ns`; they overlap no other and
/// leave no gap. `events` are in the order of time, of one CPU or of all.
pub fn timeline(events: &[Event], tid: i32, until_ns: u64) -> Vec<Span> {
    let Some(first) = events.first() else { return Vec::new() };
    let names = Names::of(events);
    let mut follower = Follower {
        tid,
        cpus: first_tasks(events, &names),
        names,
        home: home(events, tid),
        thread: Thread::Unknown,
        timer: None,
        fault: false,
        frequency: false,
        migrated: false,
        woken_here: false,
        since_ns: first.at_ns,
        spans: Vec::new(),
    };
    if follower.cpu(follower.home).task.is_some_and(|task| task.pid == tid) {
        follower.thread = Thread::Running;
    }
    for event in events.iter().take_while(|event| event.at_ns <= until_ns) {
        follower.meet(event);
    }
    follower.close(until_ns);
    follower.spans
}

/// Who had each CPU before the first event: whom its first switch takes it from.
fn first_tasks(events: &[Event], names: &Names) -> Vec<Cpu> {
    let mut cpus = Vec::<Cpu>::new();
    for event in events {
        let index = event.cpu as usize;
        if cpus.len() <= index {
            cpus.resize(index + 1, Cpu::default());
        }
        let before = match &event.kind {
            Kind::Switch { prev, .. } => Some(*prev),
            Kind::LeftIdle(_) => Some(Task::unnamed(0)),
            _ => None,
        };
        cpus[index].task = cpus[index].task.or(before);
    }
    for event in events {
        let task = &mut cpus[event.cpu as usize].task;
        task.get_or_insert_with(|| names.task(event.pid));
    }
    cpus
}

/// The CPU on which the thread is seen first.
fn home(events: &[Event], tid: i32) -> u32 {
    let seen = events.iter().find(|event| match &event.kind {
        Kind::Switch { prev, next, .. } => prev.pid == tid || next.pid == tid,
        Kind::LeftIdle(next) => next.pid == tid,
        _ => event.pid == tid,
    });
    seen.or(events.first()).map_or(0, |event| event.cpu)
}

impl Follower {
    fn cpu(&mut self, cpu: u32) -> &mut Cpu {
        let index = cpu as usize;
        if self.cpus.len() <= index {
            self.cpus.resize(index + 1, Cpu::default());
        }
        &mut self.cpus[index]
    }

    fn who(&mut self) -> Occupant {
        let tid = self.tid;
        let cpu = self.cpu(self.home);
        match (cpu.interrupts.last(), cpu.task) {
            (Some(interrupt), _) => interrupt.clone(),
            (None, Some(task)) if task.pid == tid => Occupant::Thread,
            (None, Some(task)) if task.pid != 0 => Occupant::Task(task),
            _ => Occupant::Idle,
        }
    }

    /// Ends the span that is open.
    fn close(&mut self, at_ns: u64) {
        let (fault, frequency, migrated) = (self.fault, self.frequency, self.migrated);
        if at_ns > self.since_ns {
            let who = self.who();
            let (from_ns, cpu, thread, timer) = (self.since_ns, self.home, self.thread, self.timer);
            let woken_here = self.woken_here && thread == Thread::Woken;
            let span = Span { from_ns, to_ns: at_ns, cpu, who, thread, timer, fault, frequency, migrated, woken_here };
            self.spans.push(span);
            self.since_ns = at_ns;
            (self.fault, self.frequency, self.migrated) = (false, false, false);
        }
    }

    fn meet(&mut self, event: &Event) {
        let ours = event.pid == self.tid;
        // Other CPUs matter only for what they tell of the thread.
        if event.cpu == self.home || ours {
            self.close(event.at_ns);
        }
        self.heal(event);
        match &event.kind {
            Kind::IrqEntry { name, .. } if is_timer(name) => self.enter(event.cpu, Occupant::Timer(Fires::Nothing)),
            Kind::IrqEntry { name, .. } => self.enter(event.cpu, Occupant::Device(name.clone())),
            Kind::VectorEntry(Vector::Timer) => self.enter(event.cpu, Occupant::Timer(Fires::Nothing)),
            Kind::VectorEntry(vector) => self.enter(event.cpu, Occupant::Vector(*vector)),
            Kind::SoftirqEntry(number) => self.enter(event.cpu, Occupant::Softirq(*number)),
            Kind::IrqExit => self.leave(event.cpu, |o| matches!(o, Occupant::Device(_) | Occupant::Timer(_))),
            Kind::VectorExit(Vector::Timer) => self.leave(event.cpu, |o| matches!(o, Occupant::Timer(_))),
            Kind::VectorExit(vector) => self.leave(event.cpu, |o| *o == Occupant::Vector(*vector)),
            Kind::SoftirqExit => self.leave(event.cpu, |o| matches!(o, Occupant::Softirq(_))),
            Kind::Switch { prev, state, next } => self.switch(event, prev, *state, next),
            Kind::LeftIdle(next) => {
                let next = if next.is_named() { *next } else { self.names.task(next.pid) };
                self.switch(event, &Task::unnamed(0), 0, &next);
            }
            Kind::Wakeup(pid) if *pid == self.tid && self.thread != Thread::Running => {
                (self.thread, self.woken_here) = (Thread::Woken, event.cpu == self.home);
            }
            Kind::Migrate { pid, to, .. } if *pid == self.tid => {
                self.close(event.at_ns);
                (self.home, self.migrated) = (*to, true);
            }
            Kind::TimerStart { timer, soft_ns, hard_ns } if ours && self.is_thread(event.cpu) => {
                self.timer = Some(Timer { timer: *timer, soft_ns: *soft_ns, hard_ns: *hard_ns });
            }
            Kind::TimerFires { timer, function } => self.fires(event, *timer, *function),
            Kind::PageFault if ours => self.fault = true,
            Kind::Frequency(_) => {
                self.frequency = true;
                if let Some(last) = self.spans.last_mut() {
                    last.frequency = true;
                }
            }
            _ => {}
        }
    }

    /// Every event tells who is current: a switch that was not recorded shows by it.
    fn heal(&mut self, event: &Event) {
        let current = self.cpu(event.cpu).task.map(|task| task.pid);
        if current == Some(event.pid) || matches!(event.kind, Kind::Switch { .. } | Kind::LeftIdle(_)) {
            return;
        }
        let task = self.names.task(event.pid);
        self.cpu(event.cpu).task = Some(task);
        if event.pid == self.tid {
            (self.thread, self.home) = (Thread::Running, event.cpu);
        } else if current == Some(self.tid) {
            self.thread = Thread::Unknown;
        }
    }

    /// Whether the thread itself acts on this CPU, rather than what interrupts it.
    fn is_thread(&mut self, cpu: u32) -> bool {
        self.cpu(cpu).interrupts.is_empty()
    }

    fn enter(&mut self, cpu: u32, who: Occupant) {
        self.cpu(cpu).interrupts.push(who);
    }

    /// Ends the innermost of this kind and all inside it, whose ends were not recorded.
    fn leave(&mut self, cpu: u32, which: impl Fn(&Occupant) -> bool) {
        let interrupts = &mut self.cpu(cpu).interrupts;
        if let Some(index) = interrupts.iter().rposition(which) {
            interrupts.truncate(index);
        }
    }

    fn fires(&mut self, event: &Event, timer: u64, function: u64) {
        let own = self.timer.is_some_and(|own| own.timer == timer);
        if own {
            self.timer = None;
        }
        let mut interrupts = self.cpu(event.cpu).interrupts.iter_mut().rev();
        if let Some(Occupant::Timer(fires)) = interrupts.find(|o| matches!(o, Occupant::Timer(_))) {
            match (own, &fires) {
                (true, _) => *fires = Fires::Own,
                (false, Fires::Nothing) => *fires = Fires::Other(function),
                _ => {}
            }
        }
    }

    fn switch(&mut self, event: &Event, prev: &Task, state: i64, next: &Task) {
        // No switch happens inside an interrupt: what is still open there was not recorded.
        *self.cpu(event.cpu) = Cpu { task: Some(*next), interrupts: Vec::new() };
        if prev.pid == self.tid {
            let faulted = self.spans.last().is_some_and(|span| span.fault);
            self.thread = match state & BLOCKED {
                0 => Thread::Preempted,
                state if state & STOPPED != 0 => Thread::Stopped,
                _ if faulted => Thread::Faulting,
                _ => Thread::Sleeping,
            };
        }
        if next.pid == self.tid {
            // What it goes on with is still the fault.
            self.fault = self.thread == Thread::Faulting;
            (self.thread, self.timer, self.home) = (Thread::Running, None, event.cpu);
        }
    }
}

/// Arm's timers are devices to the kernel.
fn is_timer(name: &str) -> bool {
    name.contains("timer")
}

#[cfg(test)]
mod tests;
