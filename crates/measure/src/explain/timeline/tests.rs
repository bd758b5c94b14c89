//! Who had the CPU, by made-up events.

use super::super::events::Comm;
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
        events.extend(fired.iter().zip(20..).map(|((timer, function), at)| event(at, TID, fires(*timer, *function))));
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
    let all: Vec<_> = spans.iter().map(|span| (span.from_ns, span.thread, span.migrated, span.woken_here)).collect();
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

/// A switch to it was not recorded, or the CPU left idle for it: another switch names it.
#[test]
fn a_task_that_no_switch_brought_has_the_name_of_another_switch() {
    let other = Task { priority: 49, comm: Comm::new(b"other"), ..Task::unnamed(9) };
    let brought = [
        event(0, TID, switch(TID, 1, 0)),
        event(20, 9, Kind::SoftirqEntry(1)),
        event(30, 9, Kind::SoftirqExit),
        event(40, 9, Kind::Switch { prev: other, state: 1, next: Task::unnamed(0) }),
    ];
    let softirq = (20, 30, Occupant::Softirq(1));
    let expected = [(0, 20, Occupant::Idle), softirq, (30, 40, Occupant::Task(other)), (40, 50, Occupant::Idle)];
    assert_eq!(occupants(&brought, 50), expected);
    let left = [
        event(0, TID, switch(TID, 1, 0)),
        event(20, 0, Kind::LeftIdle(Task::unnamed(9))),
        event(40, 9, Kind::Switch { prev: other, state: 1, next: Task::unnamed(0) }),
    ];
    assert_eq!(occupants(&left, 30)[1], (20, 30, Occupant::Task(other)));
    // It had the CPU before the first event, and another CPU knows it.
    let elsewhere = Kind::Switch { prev: Task::unnamed(0), state: 0, next: other };
    let first = [event(0, 9, Kind::SoftirqEntry(1)), Event { cpu: 2, ..event(40, 0, elsewhere) }];
    let softirq_ends = event(10, 9, Kind::SoftirqExit);
    let first = [first[0].clone(), softirq_ends, first[1].clone()];
    assert_eq!(occupants(&first, 30)[1], (10, 30, Occupant::Task(other)));
}

/// Nothing is known of where it goes, which is no reason to fail.
#[test]
fn a_thread_may_go_to_a_cpu_that_says_nothing() {
    let events = [event(0, TID, switch(TID, 1, 0)), event(10, 0, Kind::Migrate { pid: TID, from: 1, to: 5 })];
    let spans: Vec<_> =
        timeline(&events, TID, 30).into_iter().map(|span| (span.from_ns, span.who, span.migrated)).collect();
    assert_eq!(spans, [(0, Occupant::Idle, false), (10, Occupant::Idle, true)]);
}
