//! One thread's events put together: system calls with their durations, faults, changes of CPU.

use super::calls::Call;
use super::event::{Event, Kind, Waker};
use super::symbols::PlaceId;

/// What became of one or several events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happening {
    /// A system call ended.
    Call {
        /// The call.
        call: Call,
        /// Where in the program.
        place: Option<PlaceId>,
        /// Who ended the wait in it.
        woken_by: Option<Waker>,
    },
    /// A page fault.
    Fault {
        /// The page came from a disk.
        major: bool,
        /// Where in the program.
        place: Option<PlaceId>,
    },
    /// The thread goes on after it waited for the page of a fault.
    FaultWaited {
        /// For so long.
        ns: u64,
    },
    /// The thread is on another CPU.
    Moved {
        /// It was on this one.
        from: u32,
        /// And is on this one.
        to: u32,
    },
    /// It got a signal.
    Signal(i32),
    /// The handler of a signal ended.
    Handled {
        /// After so long.
        ns: u64,
    },
    /// It got a CPU after it was woken up.
    Started {
        /// So long after.
        ns: u64,
    },
    /// Whoever woke the thread up.
    Woken(Waker),
    /// It goes on after it waited of its own accord.
    Resumed,
}

/// What is known of a thread at some moment.
#[derive(Debug, Default)]
pub struct Track {
    call: Option<(Call, Option<PlaceId>)>,
    /// Since when it is off its CPU, and whether it was preempted.
    off: Option<(u64, bool)>,
    woken: Option<(u64, Waker)>,
    cpu: Option<u32>,
    /// A fault for whose page it may wait.
    fault: bool,
    signal: Option<u64>,
}

impl Track {
    /// Goes on by one event; `happened` gets what that completes.
    pub fn follow(&mut self, event: Event, mut happened: impl FnMut(u64, Happening)) {
        let at_ns = event.at_ns;
        match event.kind {
            Kind::Enter { number, arguments, file, place } => {
                if super::calls::known_name(number) == Some("rt_sigreturn") {
                    if let Some(since_ns) = self.signal.take() {
                        happened(at_ns, Happening::Handled { ns: at_ns.saturating_sub(since_ns) });
                    }
                }
                let call = Call { number, arguments, result: 0, at_ns, took_ns: 0, waited_ns: 0, file };
                (self.call, self.woken, self.fault) = (Some((call, place)), None, false);
            }
            Kind::Exit { result } => {
                self.fault = false;
                // One that began before tracing did is not known.
                let Some((mut call, place)) = self.call.take() else { return };
                (call.result, call.took_ns) = (result, at_ns.saturating_sub(call.at_ns));
                let woken_by = self.woken.take().map(|(_, waker)| waker);
                happened(at_ns, Happening::Call { call, place, woken_by });
            }
            Kind::Fault { major, place } => {
                self.fault = true;
                happened(at_ns, Happening::Fault { major, place });
            }
            Kind::Out { preempted } => self.off = Some((at_ns, preempted)),
            Kind::In => self.resume(at_ns, event.cpu, happened),
            Kind::Woken(waker) => {
                self.woken = Some((at_ns, waker.clone()));
                happened(at_ns, Happening::Woken(waker));
            }
            Kind::Signal(number) => {
                self.signal = Some(at_ns);
                happened(at_ns, Happening::Signal(number));
            }
            Kind::Exec => *self = Self::default(),
            Kind::Ended => self.call = None,
        }
    }

    fn resume(&mut self, at_ns: u64, cpu: u32, mut happened: impl FnMut(u64, Happening)) {
        if let Some(from) = self.cpu.replace(cpu).filter(|from| *from != cpu) {
            happened(at_ns, Happening::Moved { from, to: cpu });
        }
        let Some((since_ns, preempted)) = self.off.take() else { return };
        let ns = at_ns.saturating_sub(since_ns);
        if preempted {
            return;
        }
        match &mut self.call {
            Some((call, _)) => call.waited_ns += ns,
            None if self.fault => happened(at_ns, Happening::FaultWaited { ns }),
            None => {}
        }
        self.fault = false;
        happened(at_ns, Happening::Resumed);
        if let Some((woken_ns, _)) = &self.woken {
            happened(at_ns, Happening::Started { ns: at_ns.saturating_sub(*woken_ns) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(events: &[(u64, u32, Kind)]) -> Vec<(u64, Happening)> {
        let mut track = Track::default();
        let mut all = Vec::new();
        for (at_ns, cpu, kind) in events {
            let event = Event { at_ns: *at_ns, tid: 7, cpu: *cpu, kind: kind.clone() };
            track.follow(event, |at_ns, happening| all.push((at_ns, happening)));
        }
        all
    }

    fn enter(number: libc::c_long) -> Kind {
        Kind::Enter { number, arguments: [0; 6], file: None, place: None }
    }

    #[test]
    fn a_call_has_its_duration_its_wait_and_who_ended_it() {
        let waker = Waker { tid: 9, name: "holder".into(), ..Waker::default() };
        let all = follow(&[
            (90, 0, Kind::Exit { result: 0 }),
            (100, 0, enter(libc::SYS_futex)),
            (110, 0, Kind::Out { preempted: false }),
            (400, 0, Kind::Woken(waker.clone())),
            (430, 0, Kind::In),
            (440, 0, Kind::Exit { result: -11 }),
        ]);
        let Some((440, Happening::Call { call, woken_by, .. })) = all.last() else { panic!("{all:?}") };
        assert_eq!((call.took_ns, call.waited_ns, call.result), (340, 320, -11));
        assert_eq!(woken_by.as_ref(), Some(&waker));
        assert!(all.contains(&(430, Happening::Started { ns: 30 })) && all.contains(&(430, Happening::Resumed)));
        assert_eq!(all.iter().filter(|(_, h)| matches!(h, Happening::Call { .. })).count(), 1, "{all:?}");
    }

    #[test]
    fn time_without_a_cpu_is_no_wait_and_a_page_is_waited_for_outside_of_calls() {
        let all = follow(&[
            (100, 0, enter(libc::SYS_write)),
            (110, 0, Kind::Out { preempted: true }),
            (190, 1, Kind::In),
            (200, 1, Kind::Exit { result: 3 }),
            (300, 1, Kind::Fault { major: true, place: None }),
            (310, 1, Kind::Out { preempted: false }),
            (910, 1, Kind::In),
            (950, 1, Kind::Out { preempted: false }),
            (990, 1, Kind::In),
        ]);
        let Happening::Call { call, .. } = &all[0].1 else { panic!("{all:?}") };
        assert_eq!((call.took_ns, call.waited_ns), (100, 0));
        let waited: Vec<_> = all.iter().filter(|(_, h)| matches!(h, Happening::FaultWaited { .. })).collect();
        assert_eq!(waited, [&(910, Happening::FaultWaited { ns: 600 })]);
    }

    #[test]
    fn changes_of_cpu_and_handlers_are_noticed() {
        let all = follow(&[
            (10, 0, Kind::In),
            (20, 0, Kind::Out { preempted: false }),
            (30, 2, Kind::In),
            (40, 2, Kind::Signal(14)),
            (95, 2, enter(libc::SYS_rt_sigreturn)),
            (96, 2, Kind::Exec),
            (97, 0, Kind::In),
        ]);
        let expected = [
            (30, Happening::Moved { from: 0, to: 2 }),
            (30, Happening::Resumed),
            (40, Happening::Signal(14)),
            (95, Happening::Handled { ns: 55 }),
        ];
        assert_eq!(all, expected);
    }
}
