//! What happened, for a person to read.

use ontick_record::run::{Explained, Happening, Outlier};

use super::cause::Cause;
use super::events::{Vector, softirq};
use super::timeline::{Fires, Occupant, Span, Thread};

/// Stretches described, at most, and how long before the deadline they begin.
const LINES: usize = 40;
const BEFORE_NS: u64 = 100_000;

/// The outlier with who had the CPU, in order.
pub fn reported(cause: &Cause, outlier: Outlier, spans: &[Span]) -> Explained {
    let deadline_ns = outlier.at_ns.saturating_sub(outlier.latency_ns);
    let near = spans.iter().filter(|span| span.to_ns > deadline_ns.saturating_sub(BEFORE_NS));
    let happened = near.map(|span| Happening {
        from_ns: span.from_ns as i64 - deadline_ns as i64,
        length_ns: span.length_ns(),
        what: what(span),
    });
    let happened: Vec<Happening> = happened.collect();
    // The end matters most: there the thread came to run.
    let skipped = happened.len().saturating_sub(LINES);
    Explained {
        at_ns: outlier.at_ns,
        latency_ns: outlier.latency_ns,
        cause: cause.name().into(),
        detail: cause.detail().into(),
        happened: happened.into_iter().skip(skipped).collect(),
        stack: Vec::new(),
        stack_of: String::new(),
    }
}

fn what(span: &Span) -> String {
    let who = match &span.who {
        Occupant::Idle => "idle".into(),
        Occupant::Thread => "the thread".into(),
        Occupant::Task(task) => task.to_string(),
        Occupant::Device(name) => format!("interrupt {name}"),
        Occupant::Vector(Vector::Call) => "call from another CPU".into(),
        Occupant::Vector(Vector::Reschedule) => "reschedule call".into(),
        Occupant::Vector(_) => "interrupt of the CPU's own".into(),
        Occupant::Timer(Fires::Own) => "timer interrupt, for the thread".into(),
        Occupant::Timer(_) => "timer interrupt".into(),
        Occupant::Softirq(number) => format!("softirq {}", softirq(*number)),
    };
    let thread = match span.thread {
        Thread::Preempted => ", the thread wants to go on",
        Thread::Woken => ", the thread is woken",
        Thread::Sleeping => ", the thread sleeps",
        Thread::Faulting => ", the thread waits for a page",
        Thread::Stopped => ", the thread is stopped",
        Thread::Unknown | Thread::Running => "",
    };
    let fault = if span.fault { ", page fault" } else { "" };
    format!("{who}{thread}{fault}")
}

#[cfg(test)]
mod tests {
    use super::super::events::{Comm, Task};
    use super::*;

    fn span(who: Occupant, thread: Thread, fault: bool) -> Span {
        Span {
            from_ns: 0,
            to_ns: 10,
            cpu: 0,
            who,
            thread,
            timer: None,
            fault,
            frequency: false,
            migrated: false,
            woken_here: false,
        }
    }

    /// Times are from the deadline on; what ended long before it is left out, and so is what is too much to read.
    #[test]
    fn a_story_is_of_what_lies_around_the_deadline() {
        let between = |from_ns, to_ns| Span { from_ns, to_ns, ..span(Occupant::Idle, Thread::Unknown, false) };
        let outlier = Outlier { at_ns: 507_000, latency_ns: 7_000, cause: None };
        let cause = Cause::DeviceInterrupt("mmc0".into());
        let spans = [between(0, 400_000), between(400_000, 400_001), between(400_001, 507_000)];
        let happening = |from_ns, length_ns| Happening { from_ns, length_ns, what: "idle".into() };
        let expected = Explained {
            at_ns: 507_000,
            latency_ns: 7_000,
            cause: "device interrupt".into(),
            detail: "mmc0".into(),
            happened: vec![happening(-100_000, 1), happening(-99_999, 106_999)],
            stack: Vec::new(),
            stack_of: String::new(),
        };
        assert_eq!(reported(&cause, outlier, &spans), expected);
        let many: Vec<Span> = (0..45).map(|n| between(450_000 + n, 450_001 + n)).collect();
        let happened = reported(&cause, outlier, &many).happened;
        assert_eq!((happened.len(), happened[0].from_ns, happened[39].from_ns), (40, -49_995, -49_956));
    }

    #[test]
    fn a_story_says_who_had_the_cpu_and_what_the_thread_did() {
        let other = Task { pid: 9, priority: 49, comm: Comm::new(b"other") };
        let said = |who, thread| what(&span(who, thread, false));
        assert_eq!(said(Occupant::Idle, Thread::Sleeping), "idle, the thread sleeps");
        assert_eq!(said(Occupant::Task(other), Thread::Preempted), "other (fifo:50), the thread wants to go on");
        assert_eq!(said(Occupant::Device("mmc0".into()), Thread::Woken), "interrupt mmc0, the thread is woken");
        assert_eq!(said(Occupant::Softirq(3), Thread::Faulting), "softirq NET_RX, the thread waits for a page");
        assert_eq!(said(Occupant::Timer(Fires::Own), Thread::Unknown), "timer interrupt, for the thread");
        assert_eq!(said(Occupant::Timer(Fires::Nothing), Thread::Stopped), "timer interrupt, the thread is stopped");
        assert_eq!(said(Occupant::Vector(Vector::Call), Thread::Running), "call from another CPU");
        assert_eq!(said(Occupant::Vector(Vector::Reschedule), Thread::Running), "reschedule call");
        assert_eq!(said(Occupant::Vector(Vector::Work), Thread::Running), "interrupt of the CPU's own");
        assert_eq!(what(&span(Occupant::Thread, Thread::Running, true)), "the thread, page fault");
    }
}
