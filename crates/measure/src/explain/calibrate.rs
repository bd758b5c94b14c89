//! How long the ways in and out of the kernel, its own interrupts and idle take on this machine, now: made a
//! few times and looked up in the trace before the run. A hypervisor has a part in all of them, so no figure
//! fits every machine.

use ontick_rt::clock::ClockId;
use ontick_rt::thread::{Policy, in_force};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::events::{Event, Kind};
use crate::Placement;

/// Interrupts and sleeps that are made; together some 30 ms.
const INTERRUPTS: u32 = 150;
const SLEEPS: u32 = 30;
/// An interrupt is made this long after its timer is set, and waited for no longer than twice that, in ns.
const AHEAD_NS: u64 = 50_000;
const SLEEP_NS: u64 = 400_000;
/// A median of fewer tells nothing.
const ENOUGH: usize = 10;

/// What was made, when.
pub struct Calibration {
    tid: i32,
    /// Whether the thread was a real-time one: the policy of its place may be refused.
    pub real_time: bool,
    /// Around each interrupt: the last reading of the time before it and the first after it, in ns.
    interrupted: Vec<(u64, u64)>,
}

/// Medians, in ns; `None` where too few could be seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Overheads {
    /// From the thread into the kernel and back, without what the kernel's events tell of.
    pub edge_ns: Option<u64>,
    /// The longest stretch without an event in the interrupt.
    pub handler_ns: Option<u64>,
    /// From the moment at which a timer must wake an idle CPU to the CPU's first event.
    pub idle_exit_ns: Option<u64>,
}

/// Makes interrupts and sleeps on a thread of its own at `placement`, while the kernel is traced.
pub fn make(placement: Placement) -> Option<Calibration> {
    let thread = std::thread::Builder::new().name("ontick-timed".into());
    let made = move || {
        let _ready = placement.take();
        let interrupted = (0..INTERRUPTS).filter_map(|_| interrupt()).collect();
        (0..SLEEPS).for_each(|_| sleep());
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        Calibration { tid, real_time: in_force(0).is_ok_and(Policy::is_real_time), interrupted }
    };
    thread.spawn(made).ok()?.join().ok()
}

fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as _ }
}

/// Has a timer interrupt this thread; returns the readings of the time around the longest gap.
fn interrupt() -> Option<(u64, u64)> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).ok()?;
    let once = Itimerspec { it_interval: timespec(0), it_value: timespec(AHEAD_NS) };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once).ok()?;
    Some(longest_gap(|| ClockId::Monotonic.now_ns()))
}

/// Reads the time again and again until the interrupt must have come.
fn longest_gap(mut now_ns: impl FnMut() -> u64) -> (u64, u64) {
    let began = now_ns();
    let (mut last, mut longest) = (began, (began, began));
    while last < began + 2 * AHEAD_NS {
        let now = now_ns();
        if now - last > longest.1 - longest.0 {
            longest = (last, now);
        }
        last = now;
    }
    longest
}

fn sleep() {
    ClockId::Monotonic.sleep_until(ClockId::Monotonic.now_ns() + SLEEP_NS);
}

/// Looks up in the trace what was made.
pub fn usual(events: &[Event], made: &Calibration) -> Overheads {
    let seen: Vec<(u64, u64)> = made.interrupted.iter().filter_map(|gap| interrupted(events, made.tid, *gap)).collect();
    Overheads {
        edge_ns: median(seen.iter().map(|(unaccounted_ns, _)| *unaccounted_ns)),
        handler_ns: median(seen.iter().map(|(_, silent_ns)| *silent_ns)),
        idle_exit_ns: median(idle_exits(events, made.tid)),
    }
}

fn median(of: impl Iterator<Item = u64>) -> Option<u64> {
    let mut sorted: Vec<u64> = of.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().filter(|_| sorted.len() >= ENOUGH)
}

/// Of a gap in which the thread met a timer's interrupt: how much of it no event tells of, and the longest
/// stretch between two events.
fn interrupted(events: &[Event], tid: i32, (from_ns, to_ns): (u64, u64)) -> Option<(u64, u64)> {
    let from = events.partition_point(|event| event.at_ns < from_ns);
    let to = events.partition_point(|event| event.at_ns <= to_ns);
    let cpu = events[from..to].iter().find(|event| event.pid == tid)?.cpu;
    let inside: Vec<&Event> = events[from..to].iter().filter(|event| event.cpu == cpu).collect();
    let fired = inside.iter().any(|event| matches!(event.kind, Kind::TimerFires { .. }));
    let reported_ns = inside.last()?.at_ns - inside.first()?.at_ns;
    let silent_ns = inside.windows(2).map(|pair| pair[1].at_ns - pair[0].at_ns).max()?;
    fired.then_some((to_ns - from_ns - reported_ns, silent_ns))
}

/// How late the CPU's first event came where the thread slept and left the CPU idle.
fn idle_exits(events: &[Event], tid: i32) -> impl Iterator<Item = u64> {
    let slept = events.iter().enumerate().filter_map(move |(index, event)| match event.kind {
        Kind::TimerStart { hard_ns, .. } if event.pid == tid => Some((index, event.cpu, hard_ns)),
        _ => None,
    });
    slept.filter_map(move |(index, cpu, hard_ns)| {
        let mut later = events[index + 1..].iter().filter(|later| later.cpu == cpu);
        let idle = later.by_ref().find_map(|later| match later.kind {
            Kind::Switch { prev, next, .. } if prev.pid == tid => Some(next.pid == 0),
            _ => None,
        });
        let woke_ns = later.find(|later| later.at_ns >= hard_ns)?.at_ns;
        (idle == Some(true)).then_some(woke_ns - hard_ns)
    })
}

#[cfg(test)]
mod tests {
    use super::super::events::{Task, Vector};
    use super::*;

    fn event(at_ns: u64, pid: i32, kind: Kind) -> Event {
        Event { at_ns, cpu: 1, pid, kind }
    }

    /// An interrupt whose edges take 700 ns, and a sleep that the CPU leaves 6 µs late, `n` times.
    fn made(n: u64) -> (Vec<Event>, Calibration) {
        let (mut events, mut made) = (Vec::new(), Calibration { tid: 7, real_time: false, interrupted: Vec::new() });
        for i in 0..n {
            let at = i * 1_000_000;
            events.extend([
                event(at + 500, 7, Kind::VectorEntry(Vector::Timer)),
                event(at + 900, 7, Kind::TimerFires { timer: 1, function: 1 }),
                event(at + 3_000, 7, Kind::VectorExit(Vector::Timer)),
            ]);
            made.interrupted.push((at, at + 3_200));
        }
        for i in n..2 * n {
            let at = i * 1_000_000;
            let hard_ns = at + 400_000;
            let switch = Kind::Switch { prev: Task::unnamed(7), state: 1, next: Task::unnamed(0) };
            events.extend([
                event(at, 7, Kind::TimerStart { timer: 2, soft_ns: hard_ns, hard_ns }),
                event(at + 1_000, 7, switch),
                event(hard_ns + 6_000, 0, Kind::VectorEntry(Vector::Timer)),
            ]);
        }
        (events, made)
    }

    #[test]
    fn medians_of_what_was_made_are_reported() {
        let (events, made) = made(20);
        let usual = usual(&events, &made);
        assert_eq!(usual, Overheads { edge_ns: Some(700), handler_ns: Some(2_100), idle_exit_ns: Some(6_000) });
    }

    #[test]
    fn disturbances_of_a_third_do_not_move_them() {
        let (events, mut made) = made(21);
        made.interrupted.iter_mut().step_by(3).for_each(|gap| gap.1 += 400_000);
        assert_eq!(usual(&events, &made).edge_ns, Some(700));
    }

    /// Whatever the machine does: the time goes on between two readings, and both are of now.
    #[test]
    fn an_interrupt_lies_between_two_readings_of_the_time() {
        let began = ClockId::Monotonic.now_ns();
        let (last, first) = interrupt().unwrap();
        let ended = ClockId::Monotonic.now_ns();
        assert!(began <= last && last < first && first <= ended, "{began} {last} {first} {ended}");
        assert!(ended - began >= 2 * AHEAD_NS, "the interrupt is waited for: {began} {ended}");
    }

    #[test]
    fn the_first_of_the_longest_gaps_is_the_interrupts() {
        let mut readings = [1_000, 1_010, 1_100, 40_000, 40_010, 78_910, 78_920, 100_999, 101_000].into_iter();
        assert_eq!(longest_gap(|| readings.next().expect("no more is read than is waited for")), (1_100, 40_000));
        assert_eq!(readings.next(), None, "it is waited for twice as long as it may take");
    }

    #[test]
    fn a_median_is_of_enough() {
        assert_eq!([median(0..9), median((0..10).rev()), median((0..21).rev())], [None, Some(5), Some(10)]);
    }

    /// An interrupt that begins and ends with the readings around it has no edges.
    #[test]
    fn events_at_the_ends_of_a_gap_are_in_it() {
        let events = [
            event(1_000, 7, Kind::VectorEntry(Vector::Timer)),
            event(1_400, 7, Kind::TimerFires { timer: 1, function: 1 }),
            event(3_000, 7, Kind::VectorExit(Vector::Timer)),
        ];
        assert_eq!(interrupted(&events, 7, (1_000, 3_000)), Some((0, 1_600)));
        assert_eq!(interrupted(&events, 7, (1_001, 2_999)), None, "one event has no length");
    }

    #[test]
    fn so_many_interrupts_are_made_on_a_thread_of_their_own() {
        let made = make(Placement::stock()).unwrap();
        assert_eq!(made.interrupted.len(), INTERRUPTS as usize);
        assert!(made.interrupted.is_sorted());
        assert!(made.tid > 1 && made.tid != rustix::thread::gettid().as_raw_nonzero().get());
    }

    #[test]
    fn a_sleep_is_no_shorter_than_asked() {
        let began = ClockId::Monotonic.now_ns();
        sleep();
        assert!(ClockId::Monotonic.now_ns() >= began + SLEEP_NS);
    }

    #[test]
    fn few_tell_nothing() {
        let (events, made) = made(9);
        assert_eq!(usual(&events, &made), Overheads::default());
    }

    #[test]
    fn times_are_seconds_and_the_rest() {
        let parts = |ns| (timespec(ns).tv_sec, timespec(ns).tv_nsec);
        assert_eq!([parts(0), parts(50_000)], [(0, 0), (0, 50_000)]);
        assert_eq!([parts(999_999_999), parts(3_000_000_007)], [(0, 999_999_999), (3, 7)]);
    }

    /// An interrupt that fired nothing was no timer's, and one on another CPU is not the thread's.
    #[test]
    fn only_interrupts_of_timers_on_the_threads_cpu_count() {
        let (events, made) = made(20);
        let without: Vec<Event> =
            events.iter().filter(|event| !matches!(event.kind, Kind::TimerFires { .. })).cloned().collect();
        assert_eq!(usual(&without, &made).edge_ns, None);
        // Another CPU's events in between do not shorten the silence.
        let mut others = events.clone();
        others.extend((0..20).map(|i| Event { cpu: 2, ..event(i * 1_000_000 + 1_500, 9, Kind::PageFault) }));
        others.sort_by_key(|event| event.at_ns);
        assert_eq!(usual(&others, &made), usual(&events, &made));
        // One that left its CPU to another task met no idle CPU.
        let busy = |event: &Event| match event.kind {
            Kind::Switch { prev, state, .. } => Kind::Switch { prev, state, next: Task::unnamed(9) },
            ref other => other.clone(),
        };
        let busy: Vec<Event> = events.iter().map(|event| Event { kind: busy(event), ..event.clone() }).collect();
        assert_eq!(usual(&busy, &made).idle_exit_ns, None);
    }
}
