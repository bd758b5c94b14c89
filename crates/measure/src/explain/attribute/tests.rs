//! Short traces, made by hand, and the cause that they show.

use super::super::events::{Comm, Kind};
use super::*;
use proptest::prelude::*;

const TID: i32 = 7;
const DEADLINE: u64 = 10_000_000;

fn task(pid: i32, priority: i32) -> Task {
    Task { pid, priority, comm: Comm::new(format!("task{pid}").as_bytes()) }
}

fn switch(prev: Task, state: i64, next: Task) -> Kind {
    Kind::Switch { prev, state, next }
}

/// Events at µs after the deadline, on one CPU; the current task follows from the switches.
fn events(reported: Vec<(i64, Kind)>) -> Vec<Event> {
    let mut pid = match reported
        .iter()
        .find_map(|(_, k)| if let Kind::Switch { prev, .. } = k { Some(prev.pid) } else { None })
    {
        Some(pid) => pid,
        None => TID,
    };
    let mut events = Vec::new();
    for (us, kind) in reported {
        let next = if let Kind::Switch { next, .. } = &kind { next.pid } else { pid };
        events.push(Event { at_ns: (DEADLINE as i64 + us * 1_000) as u64, cpu: 1, pid, kind });
        pid = next;
    }
    events
}

fn cause_of(reported: Vec<(i64, Kind)>, late_us: u64, machine: &Machine) -> Cause {
    let window = Window { deadline_ns: DEADLINE, now_ns: DEADLINE + late_us * 1_000 };
    attribute(&events(reported), TID, window, machine).0
}

fn machine() -> Machine {
    Machine {
        edge_ns: 3_000,
        idle_exit_ns: 50_000,
        handler_ns: 50_000,
        real_time: true,
        records_all: true,
        ..Machine::default()
    }
}

fn thread() -> Task {
    task(TID, 0)
}

#[test]
fn a_device_and_its_softirq_are_told_apart_by_their_time() {
    let irq = |softirq_us: i64| {
        vec![
            (-300, switch(task(0, 120), 0, thread())),
            (-2, Kind::IrqEntry { irq: 36, name: "mmc0".into() }),
            (6, Kind::IrqExit),
            (6, Kind::SoftirqEntry(4)),
            (6 + softirq_us, Kind::SoftirqExit),
        ]
    };
    assert_eq!(cause_of(irq(20), 27, &machine()), Cause::Softirq("BLOCK".into()));
    assert_eq!(cause_of(irq(4), 11, &machine()), Cause::DeviceInterrupt("mmc0".into()));
}

#[test]
fn a_gap_without_events_is_outside_the_kernel_only_where_all_is_reported() {
    let reported = || vec![(-300, switch(task(0, 120), 0, thread()))];
    assert_eq!(cause_of(reported(), 80, &machine()), Cause::OutsideTheKernel);
    let blind = Machine { records_all: false, ..machine() };
    assert!(matches!(cause_of(reported(), 80, &blind), Cause::Unknown(_)));
}

/// A thread that looks for an answer, or sleeps until it comes, loses nothing meanwhile.
#[test]
fn the_time_until_an_answer_comes_is_no_gap() {
    let asks = Machine { waits_for_others: true, ..machine() };
    let waited = Cause::Unknown("it waited for the answer");
    let looks = || vec![(-300, switch(task(0, 120), 0, thread()))];
    assert_eq!(cause_of(looks(), 1_000, &asks), waited);
    let asleep = |timeout_us: Option<i64>| {
        let at = |us: i64| (DEADLINE as i64 + us * 1_000) as u64;
        let timer = |us| (4, Kind::TimerStart { timer: 1, soft_ns: at(us), hard_ns: at(us) });
        let came = [
            (5, switch(thread(), 1, task(0, 120))),
            (990, Kind::SoftirqEntry(3)),
            (992, Kind::Wakeup(TID)),
            (995, Kind::SoftirqExit),
            (998, switch(task(0, 120), 0, thread())),
        ];
        looks().into_iter().chain(timeout_us.map(timer)).chain(came).collect::<Vec<_>>()
    };
    assert_eq!(
        [asleep(None), asleep(Some(5_000))].map(|slept| cause_of(slept, 1_000, &asks)),
        [waited.clone(), waited]
    );
    // What had the CPU for longer than it waited is named as ever, and so is a timer that is late.
    let kept = [(10, Kind::SoftirqEntry(3)), (900, Kind::SoftirqExit)];
    let kept = looks().into_iter().chain(kept).collect();
    assert_eq!(cause_of(kept, 1_000, &asks), Cause::Softirq("NET_RX".into()));
    assert_eq!(cause_of(asleep(Some(20)), 1_000, &asks), Cause::OutsideTheKernel);
}

#[test]
fn an_account_that_falls_short_is_steal() {
    let reported = vec![
        (-300, switch(task(0, 120), 0, thread())),
        (5_100, Kind::VectorEntry(Vector::Timer)),
        (5_101, Kind::Ran { pid: TID, ns: 401_000 }),
        (5_105, Kind::VectorExit(Vector::Timer)),
    ];
    assert_eq!(cause_of(reported, 5_050, &machine()), Cause::Steal);
}

/// 0.2 ms of a software interrupt, and an account of 4 ms that lacks `lacking_us`.
fn account(lacking_us: u64) -> Vec<(i64, Kind)> {
    vec![
        (-3_000, switch(task(0, 120), 0, thread())),
        (-50, Kind::SoftirqEntry(3)),
        (150, Kind::SoftirqExit),
        (1_000, Kind::VectorEntry(Vector::Timer)),
        (1_000, Kind::Ran { pid: TID, ns: (4_000 - lacking_us) * 1_000 }),
        (1_003, Kind::VectorExit(Vector::Timer)),
    ]
}

#[test]
fn stolen_time_is_where_the_account_has_room_for_it() {
    // Before the deadline the thread spins and a theft would not show: it may have been there.
    assert_eq!(cause_of(account(60), 152, &machine()), Cause::Softirq("NET_RX".into()));
    assert_eq!(cause_of(account(120), 152, &machine()), Cause::Steal);
    let apart = Machine { accounts_without_interrupts: true, ..machine() };
    assert_eq!(cause_of(account(120), 152, &apart), Cause::Softirq("NET_RX".into()));
}

/// A theft has a stretch from half of it on: at less, what had the CPU had most of it.
#[test]
fn a_theft_of_half_a_stretch_is_its_cause() {
    assert_eq!(cause_of(account(99), 152, &machine()), Cause::Softirq("NET_RX".into()));
    assert_eq!(cause_of(account(100), 152, &machine()), Cause::Steal);
}

#[test]
fn what_was_before_the_deadline_does_not_count() {
    let reported = |softirq_us: i64| {
        vec![
            (-3_000, switch(task(0, 120), 0, thread())),
            (-500, Kind::IrqEntry { irq: 36, name: "mmc0".into() }),
            (20, Kind::IrqExit),
            (20, Kind::SoftirqEntry(4)),
            (20 + softirq_us, Kind::SoftirqExit),
        ]
    };
    // Of the interrupt's 520 us, 20 are after the deadline.
    assert_eq!(cause_of(reported(30), 51, &machine()), Cause::Softirq("BLOCK".into()));
    assert_eq!(cause_of(reported(10), 31, &machine()), Cause::DeviceInterrupt("mmc0".into()));
}

#[test]
fn an_account_that_ended_before_the_deadline_does_not_name_a_window() {
    let other = task(9, 39);
    let reported = |account_ends_us: i64| {
        vec![
            (-3_000, switch(task(0, 120), 0, other)),
            (account_ends_us, Kind::Ran { pid: 9, ns: 1_000_000 }),
            (account_ends_us, Kind::Wakeup(TID)),
            (300, switch(other, 0, thread())),
        ]
    };
    assert_eq!(cause_of(reported(-1), 301, &machine()), Cause::AnotherTask("task9 (fifo:60)".into()));
    assert_eq!(cause_of(reported(200), 301, &machine()), Cause::Steal);
}

#[test]
fn a_theft_elsewhere_does_not_name_a_window_of_another_account() {
    let other = task(9, 39);
    let reported = vec![
        (-3_000, switch(task(0, 120), 0, thread())),
        (-100, Kind::Ran { pid: TID, ns: 1_000_000 }),
        (-100, switch(thread(), 0, other)),
        (200, Kind::Ran { pid: 9, ns: 300_000 }),
        (200, switch(other, 1, thread())),
        (900, Kind::Ran { pid: TID, ns: 700_000 }),
    ];
    assert_eq!(cause_of(reported, 202, &machine()), Cause::AnotherTask("task9 (fifo:60)".into()));
}

#[test]
fn a_cpu_that_wakes_the_thread_itself_is_out_of_idle() {
    let woken_on = |cpu: u32, runs_us: i64| {
        let mut reported = events(vec![
            (-300, switch(thread(), 1, task(0, 120))),
            (-2, Kind::VectorEntry(Vector::Timer)),
            (-1, Kind::Wakeup(TID)),
            (0, Kind::VectorExit(Vector::Timer)),
            (runs_us, switch(task(0, 120), 0, thread())),
        ]);
        reported[2].cpu = cpu;
        let window = Window { deadline_ns: DEADLINE, now_ns: DEADLINE + runs_us as u64 * 1_000 + 1_000 };
        attribute(&reported, TID, window, &machine()).0
    };
    assert_eq!(woken_on(1, 2), Cause::WakeUpPath);
    assert_eq!(woken_on(1, 30), Cause::OutsideTheKernel);
    assert_eq!(woken_on(0, 30), Cause::IdleExit);
    assert_eq!(woken_on(0, 300), Cause::OutsideTheKernel);
}

#[test]
fn a_timer_that_is_not_due_yet_explains_nothing() {
    let at = |us: i64| (DEADLINE as i64 + us * 1_000) as u64;
    let reported = vec![
        (-300, Kind::TimerStart { timer: 1, soft_ns: at(500), hard_ns: at(600) }),
        (-299, switch(thread(), 1, task(0, 120))),
    ];
    assert_eq!(cause_of(reported, 100, &machine()), Cause::Unknown("nothing was traced"));
}

#[test]
fn what_was_traced_begins_behind_the_loss() {
    let reported = vec![
        (-900, switch(task(0, 120), 0, thread())),
        (-5, Kind::Lost),
        (2, Kind::IrqEntry { irq: 36, name: "mmc0".into() }),
        (25, Kind::IrqExit),
    ];
    assert_eq!(cause_of(reported, 25, &machine()), Cause::Unknown("the trace does not reach back"));
}

/// What lies beside an account, however long, was not robbed in it.
#[test]
fn a_theft_is_in_a_stretch_of_its_account() {
    let reported = vec![
        (-3_000, switch(task(0, 120), 0, thread())),
        (-300, Kind::SoftirqEntry(3)),
        (10, Kind::Ran { pid: TID, ns: 3_010_000 }),
        (10, Kind::SoftirqExit),
        (110, Kind::Ran { pid: TID, ns: 40_000 }),
    ];
    assert_eq!(cause_of(reported, 110, &machine()), Cause::Steal);
}

/// A sleeping thread's timer does not explain what interrupts the CPU meanwhile.
#[test]
fn an_interrupt_while_a_timer_may_fire_is_reported_by_its_device() {
    let at = |us: i64| (DEADLINE as i64 + us * 1_000) as u64;
    let reported = vec![
        (-300, Kind::TimerStart { timer: 1, soft_ns: at(0), hard_ns: at(50) }),
        (-299, switch(thread(), 1, task(0, 120))),
        (2, Kind::IrqEntry { irq: 36, name: "mmc0".into() }),
        (40, Kind::IrqExit),
    ];
    assert_eq!(cause_of(reported, 44, &machine()), Cause::DeviceInterrupt("mmc0".into()));
}

#[test]
fn a_timer_that_is_overdue_while_the_frequency_changes_was_held_up_by_that() {
    let at = |us: i64| (DEADLINE as i64 + us * 1_000) as u64;
    let reported = vec![
        (-300, Kind::TimerStart { timer: 1, soft_ns: at(0), hard_ns: at(0) }),
        (-299, switch(thread(), 1, task(0, 120))),
        (0, Kind::Frequency(1_500_000)),
    ];
    assert_eq!(cause_of(reported, 30, &machine()), Cause::Frequency);
}

/// Elsewhere the kernel keeps no share for normal tasks.
#[test]
fn only_a_normal_task_before_a_real_time_thread_has_a_share() {
    let instead = |other: Task, real_time| {
        let reported = vec![
            (-300, switch(task(0, 120), 0, thread())),
            (-5, switch(thread(), 0, other)),
            (900, switch(other, 1, thread())),
        ];
        cause_of(reported, 905, &Machine { fair_server: true, real_time, ..machine() })
    };
    assert_eq!(instead(task(9, 120), true), Cause::FairServer(""));
    assert_eq!(instead(task(9, 120), false), Cause::AnotherTask("task9 (other)".into()));
    assert_eq!(instead(task(9, 39), true), Cause::AnotherTask("task9 (fifo:60)".into()));
}

#[test]
fn a_thread_that_was_moved_to_a_busy_cpu_waits_by_its_move() {
    let waits = |moves: bool| {
        let mut reported = events(vec![
            (-300, switch(thread(), 1, task(9, 39))),
            (0, Kind::Wakeup(TID)),
            (1, if moves { Kind::Migrate { pid: TID, from: 1, to: 2 } } else { Kind::PageFault }),
            (300, switch(task(9, 39), 0, thread())),
        ]);
        if moves {
            reported.iter_mut().skip(1).for_each(|event| event.cpu = 2);
            reported[0].cpu = 1;
        }
        let window = Window { deadline_ns: DEADLINE, now_ns: DEADLINE + 300_000 };
        attribute(&reported, TID, window, &machine()).0
    };
    assert_eq!(waits(true), Cause::Migration);
    assert_eq!(waits(false), Cause::AnotherTask("task9 (fifo:60)".into()));
}

#[test]
fn a_timer_is_reported_by_what_it_calls() {
    let timers = vec![(16, "tick_nohz_handler".to_string()), (32, "posix_timer_fn".to_string())];
    let machine = Machine { timers, ..machine() };
    let fired = |function| {
        let reported = vec![
            (-300, switch(task(0, 120), 0, thread())),
            (0, Kind::VectorEntry(Vector::Timer)),
            (1, Kind::TimerFires { timer: 9, function }),
            (40, Kind::VectorExit(Vector::Timer)),
        ];
        cause_of(reported, 41, &machine)
    };
    let expected = [Cause::TimerTick, Cause::OtherTimer("posix_timer_fn".into()), Cause::TimerTick];
    assert_eq!([16, 32, 48].map(fired), expected, "one that is not known is the tick, most likely");
}

/// The hypervisor is where a guest's interrupt of the CPU's own does nothing for longer than one takes.
#[test]
fn a_guests_interrupt_that_takes_too_long_was_outside_the_kernel() {
    let cause = |took_us: i64, guest| {
        let reported = vec![
            (-300, switch(task(0, 120), 0, thread())),
            (0, Kind::VectorEntry(Vector::Call)),
            (took_us, Kind::VectorExit(Vector::Call)),
        ];
        cause_of(reported, took_us as u64 + 1, &Machine { guest, ..machine() })
    };
    assert_eq!([cause(50, true), cause(51, false)], [Cause::vector(Vector::Call), Cause::vector(Vector::Call)]);
    assert_eq!(cause(51, true), Cause::OutsideTheKernel);
}

/// A CPU that the thread was moved to and that took longer out of idle than it can lost the time outside the kernel.
#[test]
fn being_moved_does_not_explain_an_idle_cpu_that_is_late() {
    let moved = |runs_us: i64| {
        let mut reported = events(vec![
            (-300, switch(thread(), 1, task(0, 120))),
            (0, Kind::Wakeup(TID)),
            (0, Kind::Migrate { pid: TID, from: 1, to: 2 }),
            (runs_us, switch(task(0, 120), 0, thread())),
        ]);
        // Another CPU wakes the thread and moves it.
        reported[1..3].iter_mut().for_each(|event| event.cpu = 0);
        reported[3].cpu = 2;
        let window = Window { deadline_ns: DEADLINE, now_ns: DEADLINE + runs_us as u64 * 1_000 };
        attribute(&reported, TID, window, &machine()).0
    };
    assert_eq!([50, 51].map(moved), [Cause::IdleExit, Cause::OutsideTheKernel]);
}

/// A task that holds interrupts off only as long as a way into the kernel takes did not hold them off.
#[test]
fn a_timer_that_is_overdue_by_little_was_on_its_way() {
    let overdue = |fires_us: i64, machine: &Machine| {
        let at = |us: i64| (DEADLINE as i64 + us * 1_000) as u64;
        let reported = vec![
            (-300, Kind::TimerStart { timer: 1, soft_ns: at(0), hard_ns: at(0) }),
            (-299, switch(thread(), 1, task(9, 120))),
            (fires_us, Kind::VectorEntry(Vector::Timer)),
            (fires_us, Kind::TimerFires { timer: 1, function: 5 }),
        ];
        cause_of(reported, fires_us as u64 + 1, machine)
    };
    assert_eq!(overdue(3, &machine()), Cause::WakeUpPath);
    assert_eq!(overdue(4, &machine()), Cause::AnotherTask("task9 (other)".into()));
    assert_eq!(overdue(4, &Machine { guest: true, ..machine() }), Cause::OutsideTheKernel);
}

#[test]
fn an_idle_that_was_left_unseen_ends_with_the_interrupt_that_woke() {
    let reported = |late_us| {
        let reported = vec![
            (-300, switch(thread(), 1, task(0, 120))),
            (-200, Kind::VectorEntry(Vector::Timer)),
            (-199, Kind::Wakeup(TID)),
            (-195, Kind::VectorExit(Vector::Timer)),
            (-195, Kind::LeftIdle(thread())),
        ];
        cause_of(reported, late_us, &machine())
    };
    assert_eq!(reported(40), Cause::OutsideTheKernel);
}

#[test]
fn what_was_lost_is_not_guessed() {
    let reported = |lost_us: i64| {
        vec![
            (-900, switch(task(0, 120), 0, thread())),
            (lost_us, Kind::Lost),
            (lost_us, Kind::IrqEntry { irq: 36, name: "mmc0".into() }),
            (lost_us + 20, Kind::IrqExit),
        ]
    };
    assert!(matches!(cause_of(reported(2), 25, &machine()), Cause::Unknown(_)));
    assert_eq!(cause_of(reported(-5), 16, &machine()), Cause::DeviceInterrupt("mmc0".into()));
}

#[test]
fn who_had_the_cpu_instead_is_reported_with_its_right_to_it() {
    let instead = |other: Task, state| {
        vec![
            (-300, switch(task(0, 120), 0, thread())),
            (-5, switch(thread(), state, other)),
            (900, switch(other, 1, thread())),
        ]
    };
    let fifo = task(9, 39);
    assert_eq!(cause_of(instead(fifo, 0x100), 905, &machine()), Cause::AnotherTask("task9 (fifo:60)".into()));
    let normal = task(9, 120);
    let new = Machine { fair_server: true, ..machine() };
    assert_eq!(cause_of(instead(normal, 0), 905, &new), Cause::FairServer(""));
    let old = Machine { throttling: true, ..machine() };
    assert_eq!(cause_of(instead(normal, 0), 905, &old), Cause::Throttling);
    assert_eq!(cause_of(instead(task(0, 120), 0), 905, &old), Cause::Throttling);
    let for_a_normal_thread = Machine { real_time: false, ..old };
    assert!(matches!(cause_of(instead(task(0, 120), 0), 905, &for_a_normal_thread), Cause::Unknown(_)));
    assert_eq!(cause_of(instead(normal, 4), 905, &new), Cause::Stopped);
}

#[test]
fn a_late_timer_is_slack_before_it_must_fire_and_idle_exit_after() {
    let asleep = |hard_us: i64, fires_us: i64| {
        let at = |us: i64| (DEADLINE as i64 + us * 1_000) as u64;
        vec![
            (-300, Kind::TimerStart { timer: 1, soft_ns: at(0), hard_ns: at(hard_us) }),
            (-299, switch(thread(), 1, task(0, 120))),
            (fires_us, Kind::VectorEntry(Vector::Timer)),
            (fires_us, Kind::TimerFires { timer: 1, function: 5 }),
            (fires_us + 1, Kind::Wakeup(TID)),
            (fires_us + 2, Kind::VectorExit(Vector::Timer)),
            (fires_us + 3, switch(task(0, 120), 0, thread())),
        ]
    };
    assert_eq!(cause_of(asleep(50, 55), 60, &machine()), Cause::TimerSlack);
    assert_eq!(cause_of(asleep(0, 30), 36, &machine()), Cause::IdleExit);
    assert_eq!(cause_of(asleep(0, 900), 906, &machine()), Cause::OutsideTheKernel);
    assert_eq!(cause_of(asleep(0, 2), 8, &machine()), Cause::WakeUpPath);
}

/// A way into the kernel is part of what took the CPU before the deadline; one out of it of what went before.
#[test]
fn a_short_stretch_belongs_to_what_lies_beside_it() {
    let softirq = |number, from, to| [(from, Kind::SoftirqEntry(number)), (to, Kind::SoftirqExit)];
    let between = |from, to, late_us| {
        let reported = [(-300, switch(task(0, 120), 0, thread()))].into_iter();
        let reported = reported.chain(softirq(3, -200, from)).chain(softirq(4, to, to + 50));
        cause_of(reported.collect(), late_us, &machine())
    };
    let (before, after) = (Cause::Softirq("NET_RX".into()), Cause::Softirq("BLOCK".into()));
    assert_eq!(between(-2, 2, 3), after, "it began before the deadline");
    assert_eq!(between(0, 2, 3), before, "it began at the deadline");
    // So far it is a way; longer, it is not.
    assert_eq!(between(0, 3, 4), before);
    assert_eq!(between(0, 4, 5), Cause::OutsideTheKernel);
    // Where the trace begins with it, what comes next is all that is known.
    let first = [(0, switch(task(0, 120), 0, thread()))].into_iter().chain(softirq(4, 2, 50));
    assert_eq!(cause_of(first.collect(), 3, &machine()), after);
    // Of nothing beside it but the thread's own, nothing is reported.
    let alone = vec![(-300, switch(task(0, 120), 0, thread()))];
    assert_eq!(cause_of(alone, 2, &machine()), Cause::OutsideTheKernel);
}

#[test]
fn a_thread_that_waits_for_a_page_is_not_asleep() {
    let reported = vec![
        (-300, switch(task(0, 120), 0, thread())),
        (-20, Kind::PageFault),
        (-10, switch(thread(), 2, task(0, 120))),
        (800, switch(task(0, 120), 0, thread())),
    ];
    assert_eq!(cause_of(reported, 810, &machine()), Cause::PageFault);
}

#[test]
fn a_switch_that_was_not_recorded_shows_by_the_current_task() {
    let mut reported = events(vec![
        (-300, switch(thread(), 1, task(0, 120))),
        (-50, Kind::VectorEntry(Vector::Call)),
        (-49, Kind::VectorExit(Vector::Call)),
    ]);
    reported[1].pid = TID;
    reported[2].pid = TID;
    let window = Window { deadline_ns: DEADLINE, now_ns: DEADLINE + 40_000 };
    assert_eq!(attribute(&reported, TID, window, &machine()).0, Cause::OutsideTheKernel);
}

#[test]
fn nothing_is_made_up_where_the_trace_begins_too_late() {
    let late = vec![(10, switch(task(0, 120), 0, thread()))];
    assert!(matches!(cause_of(late, 20, &machine()), Cause::Unknown(_)));
    assert!(matches!(cause_of(Vec::new(), 20, &machine()), Cause::Unknown(_)));
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let any_task = (0i32..12, -1i32..140).prop_map(|(pid, priority)| task(pid, priority));
    prop_oneof![
        (any_task.clone(), 0i64..0x200, any_task).prop_map(|(prev, state, next)| switch(prev, state, next)),
        Just(Kind::IrqEntry { irq: 1, name: "x".into() }),
        Just(Kind::IrqExit),
        (0u32..12).prop_map(Kind::SoftirqEntry),
        Just(Kind::SoftirqExit),
        Just(Kind::VectorEntry(Vector::Timer)),
        Just(Kind::VectorExit(Vector::Timer)),
        Just(Kind::VectorEntry(Vector::Call)),
        (0i32..12).prop_map(Kind::Wakeup),
        (0i32..12, 0u64..9).prop_map(|(pid, ns)| Kind::Ran { pid, ns: ns * 100_000 }),
        (0u64..3, 0u64..2_000_000).prop_map(|(timer, ns)| Kind::TimerStart {
            timer,
            soft_ns: ns,
            hard_ns: ns + 50_000
        }),
        (0u64..3).prop_map(|timer| Kind::TimerFires { timer, function: 3 }),
        (0i32..12, 0u32..4).prop_map(|(pid, to)| Kind::Migrate { pid, from: 0, to }),
        Just(Kind::PageFault),
        Just(Kind::Frequency(1)),
    ]
}

proptest! {
    #[test]
    fn spans_follow_each_other_whatever_happens(
        happened in proptest::collection::vec((0u64..2_000_000, 0u32..3, 0i32..12, any_kind()), 0..60),
        deadline_ns in 0u64..2_000_000, late_ns in 0u64..500_000, guest in any::<bool>(),
    ) {
        let mut events: Vec<Event> =
            happened.into_iter().map(|(at_ns, cpu, pid, kind)| Event { at_ns, cpu, pid, kind }).collect();
        events.sort_by_key(|event| event.at_ns);
        let window = Window { deadline_ns, now_ns: deadline_ns + late_ns };
        let (_, spans) = attribute(&events, TID, window, &Machine { guest, ..machine() });
        for pair in spans.windows(2) {
            prop_assert_eq!(pair[0].to_ns, pair[1].from_ns);
        }
        prop_assert!(spans.iter().all(|span| span.from_ns < span.to_ns));
        prop_assert!(spans.last().is_none_or(|span| span.to_ns == window.now_ns));
    }
}
