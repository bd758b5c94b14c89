//! Who had the timed thread's CPU, moment by moment.

use super::events::{Event, Kind, Task, Vector};

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
    let mut follower = Follower {
        tid,
        cpus: first_tasks(events),
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
fn first_tasks(events: &[Event]) -> Vec<Cpu> {
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
        task.get_or_insert(Task::unnamed(event.pid));
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
            let (from_ns, thread, timer) = (self.since_ns, self.thread, self.timer);
            let woken_here = self.woken_here && thread == Thread::Woken;
            let span = Span { from_ns, to_ns: at_ns, who, thread, timer, fault, frequency, migrated, woken_here };
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
            Kind::LeftIdle(next) => self.switch(event, &Task::unnamed(0), 0, next),
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
        self.cpu(event.cpu).task = Some(Task::unnamed(event.pid));
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
mod tests {
    use super::*;

    const TID: i32 = 7;

    fn event(at_ns: u64, pid: i32, kind: Kind) -> Event {
        Event { at_ns, cpu: 1, pid, kind }
    }

    fn switch(prev: i32, state: i64, next: i32) -> Kind {
        Kind::Switch { prev: Task::unnamed(prev), state, next: Task::unnamed(next) }
    }

    fn armed(timer: u64) -> Kind {
        Kind::TimerStart { timer, soft_ns: 500, hard_ns: 600 }
    }

    fn fires(timer: u64, function: u64) -> Kind {
        Kind::TimerFires { timer, function }
    }

    /// From, to and who.
    fn occupants(events: &[Event], until_ns: u64) -> Vec<(u64, u64, Occupant)> {
        timeline(events, TID, until_ns).into_iter().map(|span| (span.from_ns, span.to_ns, span.who)).collect()
    }

    #[test]
    fn interrupts_lie_in_one_another_and_end_what_is_inside() {
        let device = || Occupant::Device("mmc0".into());
        let events = [
            event(0, TID, Kind::PageFault),
            event(10, TID, Kind::IrqEntry { irq: 3, name: "mmc0".into() }),
            event(20, TID, Kind::VectorEntry(Vector::Call)),
            event(30, TID, Kind::VectorExit(Vector::Call)),
            event(40, TID, Kind::IrqExit),
            event(50, TID, Kind::SoftirqEntry(3)),
            event(60, TID, Kind::VectorEntry(Vector::Reschedule)),
            // Its end was not recorded.
            event(70, TID, Kind::SoftirqExit),
            // This end's beginning was not.
            event(80, TID, Kind::VectorExit(Vector::Work)),
        ];
        let expected = [
            (0, 10, Occupant::Thread),
            (10, 20, device()),
            (20, 30, Occupant::Vector(Vector::Call)),
            (30, 40, device()),
            (40, 50, Occupant::Thread),
            (50, 60, Occupant::Softirq(3)),
            (60, 70, Occupant::Vector(Vector::Reschedule)),
            (70, 80, Occupant::Thread),
            (80, 95, Occupant::Thread),
        ];
        assert_eq!(occupants(&events, 95), expected);
        // Arm's timer is a device to the kernel, and its end is that of a device.
        let arm = [event(0, TID, Kind::IrqEntry { irq: 3, name: "arch_timer".into() }), event(10, TID, Kind::IrqExit)];
        assert_eq!(occupants(&arm, 20), [(0, 10, Occupant::Timer(Fires::Nothing)), (10, 20, Occupant::Thread)]);
    }

    #[test]
    fn what_a_timer_interrupt_fires_is_its_own_before_all_others() {
        let reported = |fired: &[(u64, u64)]| {
            let mut events = vec![event(0, TID, armed(1)), event(10, TID, Kind::VectorEntry(Vector::Timer))];
            events
                .extend(fired.iter().zip(20..).map(|((timer, function), at)| event(at, TID, fires(*timer, *function))));
            events.push(event(90, TID, Kind::VectorExit(Vector::Timer)));
            let spans = timeline(&events, TID, 100);
            // As the interrupt ends; and whether the timer is still to fire.
            let last = &spans[spans.len() - 2..];
            (last[0].who.clone(), last[1].who.clone(), last[1].timer.is_some())
        };
        let timer = |fires, waits| (Occupant::Timer(fires), Occupant::Thread, waits);
        assert_eq!(reported(&[]), timer(Fires::Nothing, true));
        assert_eq!(reported(&[(1, 9)]), timer(Fires::Own, false));
        assert_eq!(reported(&[(2, 9)]), timer(Fires::Other(9), true));
        assert_eq!(reported(&[(2, 9), (3, 8)]), timer(Fires::Other(9), true), "the first of others");
        assert_eq!(reported(&[(2, 9), (1, 8), (3, 7)]), timer(Fires::Own, false));
    }

    #[test]
    fn a_thread_is_what_switches_and_wake_ups_make_it() {
        let threads = |prev_state: i64| {
            let events = [
                event(0, TID, switch(TID, prev_state, 9)),
                event(10, 9, Kind::Wakeup(TID)),
                event(20, 9, switch(9, 0, TID)),
            ];
            timeline(&events, TID, 30).iter().map(|span| (span.thread, span.woken_here)).collect::<Vec<_>>()
        };
        let after = |thread| vec![(thread, false), (Thread::Woken, true), (Thread::Running, false)];
        assert_eq!(threads(1), after(Thread::Sleeping));
        assert_eq!(threads(0x100), after(Thread::Preempted));
        assert_eq!([threads(4), threads(8)], [after(Thread::Stopped), after(Thread::Stopped)]);
        // One that runs needs no waking.
        let runs = [event(0, TID, Kind::PageFault), event(10, TID, Kind::Wakeup(TID))];
        assert_eq!(timeline(&runs, TID, 20)[1].thread, Thread::Running);
    }

    #[test]
    fn a_thread_that_waits_for_a_page_goes_on_with_its_fault() {
        let events = [
            event(0, TID, Kind::PageFault),
            event(10, TID, switch(TID, 2, 9)),
            event(20, 9, switch(9, 0, TID)),
            event(30, 9, Kind::PageFault),
        ];
        let spans: Vec<_> = timeline(&events, TID, 25).iter().map(|span| (span.thread, span.fault)).collect();
        assert_eq!(spans, [(Thread::Running, true), (Thread::Faulting, false), (Thread::Running, true)]);
    }

    /// Another CPU matters only for what it tells of the thread: where it goes, and who wakes it.
    #[test]
    fn the_thread_is_followed_from_cpu_to_cpu() {
        let on = |cpu, event: Event| Event { cpu, ..event };
        let events = [
            event(0, TID, switch(TID, 1, 0)),
            on(2, event(10, 9, Kind::IrqEntry { irq: 3, name: "mmc0".into() })),
            on(2, event(20, 9, Kind::Wakeup(TID))),
            on(2, event(25, 9, Kind::Migrate { pid: 5, from: 1, to: 0 })),
            on(2, event(30, 9, Kind::Migrate { pid: TID, from: 1, to: 2 })),
            on(2, event(40, 9, Kind::IrqExit)),
            on(2, event(50, 9, switch(9, 0, TID))),
            on(1, event(60, 0, Kind::Idle(Some(1)))),
        ];
        let spans = timeline(&events, TID, 70);
        let all: Vec<_> =
            spans.iter().map(|span| (span.from_ns, span.thread, span.migrated, span.woken_here)).collect();
        let expected = [
            (0, Thread::Woken, false, false),
            (30, Thread::Woken, true, false),
            (40, Thread::Woken, false, false),
            (50, Thread::Running, false, false),
        ];
        assert_eq!(all, expected, "{spans:?}");
        let who: Vec<_> = spans.into_iter().map(|span| span.who).collect();
        let task = Occupant::Task(Task::unnamed(9));
        assert_eq!(who, [Occupant::Idle, Occupant::Device("mmc0".into()), task, Occupant::Thread]);
    }

    /// A change of frequency belongs to what was before and what comes after.
    #[test]
    fn a_change_of_frequency_is_reported_on_both_sides() {
        let events = [
            event(0, TID, Kind::SoftirqEntry(1)),
            event(10, TID, Kind::SoftirqExit),
            event(20, TID, Kind::Frequency(1_500_000)),
            event(30, TID, Kind::SoftirqEntry(1)),
            event(40, TID, Kind::SoftirqExit),
        ];
        let changed: Vec<bool> = timeline(&events, TID, 50).iter().map(|span| span.frequency).collect();
        assert_eq!(changed, [false, true, true, false, false]);
    }

    /// A timer that an interrupt arms is not the thread's, and one that it armed ends with its sleep.
    #[test]
    fn only_the_threads_own_timers_are_its() {
        let events = [
            event(0, TID, Kind::SoftirqEntry(1)),
            event(10, TID, armed(2)),
            event(20, TID, Kind::SoftirqExit),
            event(30, TID, armed(1)),
            event(40, TID, switch(TID, 1, 0)),
            event(50, 0, armed(3)),
            event(60, 0, switch(0, 0, TID)),
        ];
        let timers: Vec<_> = timeline(&events, TID, 70).iter().map(|span| span.timer.map(|own| own.timer)).collect();
        assert_eq!(timers, [None, None, None, Some(1), Some(1), Some(1), None]);
    }

    #[test]
    fn the_threads_cpu_is_where_it_is_seen_first() {
        let on = |cpu, event: Event| Event { cpu, ..event };
        let home_of = |reported: Event| {
            let before = on(3, event(0, 9, switch(9, 0, 8)));
            home(&[before.clone(), on(4, event(5, 9, Kind::LeftIdle(Task::unnamed(9)))), on(5, reported), before], TID)
        };
        assert_eq!([switch(TID, 1, 0), switch(0, 0, TID)].map(|kind| home_of(event(10, 0, kind))), [5, 5]);
        assert_eq!(home_of(event(10, 0, Kind::LeftIdle(Task::unnamed(TID)))), 5);
        assert_eq!(home_of(event(10, TID, Kind::PageFault)), 5);
        assert_eq!(home_of(event(10, 9, Kind::PageFault)), 3, "nowhere: the first there is");
    }

    #[test]
    fn a_page_fault_of_another_is_not_the_threads() {
        let events = [
            event(0, TID, Kind::SoftirqEntry(1)),
            event(10, TID, Kind::SoftirqExit),
            Event { cpu: 2, ..event(15, 9, Kind::PageFault) },
            event(20, TID, Kind::SoftirqEntry(1)),
        ];
        assert!(timeline(&events, TID, 30).iter().all(|span| !span.fault));
    }

    /// That it left idle is not recorded, but known: it was idle before.
    #[test]
    fn a_cpu_that_left_idle_was_idle() {
        let events = [
            event(0, 0, Kind::SoftirqEntry(1)),
            event(10, 0, Kind::SoftirqExit),
            event(20, 0, Kind::LeftIdle(Task::unnamed(TID))),
        ];
        let expected = [(0, 10, Occupant::Softirq(1)), (10, 20, Occupant::Idle), (20, 30, Occupant::Thread)];
        assert_eq!(occupants(&events, 30), expected);
    }

    /// Whom the first switch takes it from had the CPU before, with the name and priority that it tells.
    #[test]
    fn who_had_the_cpu_first_is_known_from_its_first_switch() {
        let other = Task { priority: 49, ..Task::unnamed(9) };
        let events = [
            event(0, 9, Kind::SoftirqEntry(1)),
            event(10, 9, Kind::SoftirqExit),
            event(20, 9, Kind::Switch { prev: other, state: 0, next: Task::unnamed(TID) }),
        ];
        let expected = [(0, 10, Occupant::Softirq(1)), (10, 20, Occupant::Task(other)), (20, 30, Occupant::Thread)];
        assert_eq!(occupants(&events, 30), expected);
    }

    /// Nothing is known of where it goes, which is no reason to fail.
    #[test]
    fn a_thread_may_go_to_a_cpu_that_says_nothing() {
        let events = [event(0, TID, switch(TID, 1, 0)), event(10, 0, Kind::Migrate { pid: TID, from: 1, to: 5 })];
        let spans: Vec<_> =
            timeline(&events, TID, 30).into_iter().map(|span| (span.from_ns, span.who, span.migrated)).collect();
        assert_eq!(spans, [(0, Occupant::Idle, false), (10, Occupant::Idle, true)]);
    }
}
