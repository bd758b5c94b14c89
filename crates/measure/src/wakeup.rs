//! `latency wakeup`: from one thread's call to another thread's running, across two CPUs.

mod calls;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use ontick_record::Case;
use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::{ThreadSetup, block_signals};
use ontick_rt::wait::{Sleep, Wait};
use rustix::event::EventfdFlags;
use rustix::pipe::PipeFlags;
use rustix::thread::futex;

use crate::clock_readings::Timing;
use crate::named_method::named_method;
use crate::probe::{Probe, Sample};
use crate::session::{self, Member, run_together};
use crate::{Error, Limits, Observer, Placement, series};
use calls::Calls;

/// What one thread wakes the other with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// futex(2).
    Futex,
    /// eventfd(2).
    EventFd,
    /// A byte through a pipe(2).
    Pipe,
    /// A mutex with a condition variable (the standard library's, on futexes).
    Condvar,
}

impl Method {
    /// Every mechanism.
    pub const ALL: [Method; 4] = [Method::Futex, Method::EventFd, Method::Pipe, Method::Condvar];

    /// The name on the command line and in records.
    pub fn name(self) -> &'static str {
        match self {
            Method::Futex => "futex",
            Method::EventFd => "eventfd",
            Method::Pipe => "pipe",
            Method::Condvar => "condvar",
        }
    }
}

named_method!(Method, Method::ALL, "wake-up by");

/// Measures the wake-up of a thread at `placement` by one on another CPU (`waker_cpu`, or the first other one)
/// every `interval_ns`. The latency runs from just before the waking call to the first clock reading of the
/// woken thread.
pub fn measure(
    name: &str,
    method: Method,
    interval_ns: u64,
    waker_cpu: Option<u32>,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Series, Error> {
    check(interval_ns)?;
    let waker_placement = peer(placement, waker_cpu)?;
    let prepare = |_: &ThreadSetup| {
        Wakeup::start(method, interval_ns, waker_placement).map_err(Error::system("a wake-up's start"))
    };
    session::run(name, placement, limits, prepare, observer)
}

/// The waking thread's placement.
fn peer(placement: Placement, waker_cpu: Option<u32>) -> Result<Placement, Error> {
    placement.peer(waker_cpu.map(|cpu| (cpu, "--from-cpu")), "a wake-up between CPUs")
}

fn on_each_cpu(
    on: &[u32],
    method: Method,
    interval_ns: u64,
    waker_cpu: Option<u32>,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    check(interval_ns)?;
    let cases: Vec<Case> = cases(&[method], on).collect();
    let names: Vec<String> = cases.iter().map(Case::to_string).collect();
    let next = on.iter().cycle().skip(1).copied();
    let from = |(cpu, next): (&u32, u32)| {
        let placement = Placement { cpu: Some(*cpu), ..placement };
        let next = Some(next).filter(|next| next != cpu);
        peer(placement, waker_cpu.or(next)).map(|waker| (placement, waker))
    };
    let pairs: Vec<(Placement, Placement)> = on.iter().zip(next).map(from).collect::<Result<_, _>>()?;
    let member = |((placement, waker), name)| Member {
        name,
        placement,
        prepare: move |_: &ThreadSetup| {
            Wakeup::start(method, interval_ns, waker).map_err(Error::system("a wake-up's start"))
        },
    };
    let members = pairs.into_iter().zip(names.iter().map(String::as_str)).map(member).collect();
    let mut all = run_together(members, limits, observer)?;
    all.iter_mut().zip(cases).for_each(|(series, case)| series.case = case);
    Ok(all)
}

/// The same, by each method in turn, of threads on several CPUs at once; each is woken from the next CPU of the list, or
/// from `waker_cpu`.
pub fn each_on_each_cpu(
    methods: &[Method],
    on: &[u32],
    interval_ns: u64,
    waker_cpu: Option<u32>,
    placement: Placement,
    limits: Limits,
    observer: &mut Observer,
) -> Result<Vec<Series>, Error> {
    series::each_together(methods, on.len(), observer, |method, observer| {
        on_each_cpu(on, *method, interval_ns, waker_cpu, placement, limits, observer)
    })
}

/// What tells the series of several CPUs apart.
pub fn cases<'a>(methods: &'a [Method], on: &'a [u32]) -> impl Iterator<Item = Case> + 'a {
    let case = |method: &Method, cpu| Case { method: Some(method.name().into()), cpu: Some(cpu), ..Case::default() };
    methods.iter().flat_map(move |method| on.iter().map(move |cpu| case(method, *cpu)))
}

fn check(interval_ns: u64) -> Result<(), Error> {
    match interval_ns {
        10_000..=1_000_000_000 => Ok(()),
        _ => Err(Error::Impossible("the interval of wake-ups must be from 10us to 1s".into())),
    }
}

/// What both threads share.
struct Shared {
    bell: Bell,
    calls: Calls,
    stop: AtomicBool,
}

enum Bell {
    Futex(AtomicU32),
    EventFd(OwnedFd),
    Pipe(OwnedFd, OwnedFd),
    Condvar(Mutex<bool>, Condvar),
}

impl Bell {
    fn new(method: Method) -> io::Result<Self> {
        Ok(match method {
            Method::Futex => Bell::Futex(AtomicU32::new(0)),
            Method::EventFd => Bell::EventFd(rustix::event::eventfd(0, EventfdFlags::CLOEXEC)?),
            Method::Pipe => {
                let (read, write) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
                Bell::Pipe(read, write)
            }
            Method::Condvar => Bell::Condvar(Mutex::new(false), Condvar::new()),
        })
    }

    /// Sleeps until it is rung.
    fn wait(&self) {
        match self {
            Bell::Futex(word) => {
                while word.swap(0, Ordering::Acquire) == 0 {
                    let _ = futex::wait(word, futex::Flags::PRIVATE, 0, None);
                }
            }
            Bell::EventFd(fd) | Bell::Pipe(fd, _) => {
                while rustix::io::read(fd, &mut [0u8; 8]) == Err(rustix::io::Errno::INTR) {}
            }
            Bell::Condvar(rung, condvar) => {
                let guard = rung.lock().unwrap_or_else(|e| e.into_inner());
                let mut guard = condvar.wait_while(guard, |rung| !*rung).unwrap_or_else(|e| e.into_inner());
                *guard = false;
            }
        }
    }

    fn ring(&self) {
        match self {
            Bell::Futex(word) => {
                word.store(1, Ordering::Release);
                let _ = futex::wake(word, futex::Flags::PRIVATE, 1);
            }
            Bell::EventFd(fd) | Bell::Pipe(_, fd) => {
                // An eventfd takes eight bytes, a pipe any number.
                let _ = rustix::io::write(fd, &1u64.to_ne_bytes());
            }
            Bell::Condvar(rung, condvar) => {
                *rung.lock().unwrap_or_else(|e| e.into_inner()) = true;
                condvar.notify_one();
            }
        }
    }
}

struct Wakeup {
    method: Method,
    interval_ns: u64,
    waker_cpu: Option<u32>,
    shared: Arc<Shared>,
    clock: Clock,
    waker: Option<JoinHandle<()>>,
}

impl Wakeup {
    fn start(method: Method, interval_ns: u64, placement: Placement) -> io::Result<Self> {
        let shared =
            Arc::new(Shared { bell: Bell::new(method)?, calls: Calls::default(), stop: AtomicBool::new(false) });
        let waker = std::thread::Builder::new().name("ontick-waker".into()).spawn({
            let shared = shared.clone();
            move || wake(&shared, interval_ns, placement)
        })?;
        let clock = Clock::new(ClockId::Monotonic);
        Ok(Self { method, interval_ns, waker_cpu: placement.cpu, shared, clock, waker: Some(waker) })
    }
}

/// The other thread: calls at every interval, unless the last call was not answered yet.
fn wake(shared: &Shared, interval_ns: u64, placement: Placement) {
    block_signals();
    let _ready = placement.take_and_settle();
    let mut clock = Clock::new(ClockId::Monotonic);
    let mut deadline_ns = clock.now_ns();
    while !shared.stop.load(Ordering::Relaxed) {
        deadline_ns = next_call(deadline_ns, interval_ns, clock.now_ns());
        Sleep.until(&mut clock, deadline_ns);
        if shared.calls.call(|| clock.now_ns()) {
            shared.bell.ring();
        }
    }
}

/// Always in the future: a waker whose interval is shorter than a sleep takes would else never sleep, and
/// keep its CPU from everybody.
fn next_call(last_ns: u64, interval_ns: u64, now_ns: u64) -> u64 {
    let next_ns = last_ns + interval_ns;
    if next_ns > now_ns { next_ns } else { now_ns + interval_ns }
}

impl Probe for Wakeup {
    fn next(&mut self) -> Sample {
        self.shared.bell.wait();
        let now_ns = self.clock.now_ns();
        let (called_ns, missed) = self.shared.calls.answer();
        Sample { now_ns, latency_ns: Some(now_ns.saturating_sub(called_ns)), missed, early_ns: 0, napped: false }
    }

    fn clock(&mut self) -> Option<&mut Clock> {
        Some(&mut self.clock)
    }

    fn timing(&self) -> Timing {
        Timing::Between
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = self.method.name().into();
        settings.interval_ns = self.interval_ns;
        settings.peer_cpu = self.waker_cpu;
        settings.clock = self.clock.name();
    }

    fn is_described_first(&self) -> bool {
        true
    }
}

impl Drop for Wakeup {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(waker) = self.waker.take() {
            let _ = waker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Length;
    use ontick_rt::cpus;

    #[test]
    fn every_bell_wakes() {
        if cpus::allowed().len() < 2 {
            return;
        }
        for method in Method::ALL {
            let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
            let mut observer = Observer::new(&stop, &mut look);
            let limits = Limits::new(Length::Count(50));
            let series = measure(
                method.name(),
                method,
                200_000,
                None,
                Placement { cpu: Some(cpus::preferred()), ..Placement::stock() },
                limits,
                &mut observer,
            )
            .unwrap();
            assert_eq!(series.latency.count(), 50, "{method}");
        }
    }

    #[test]
    fn a_waker_that_is_behind_still_sleeps() {
        assert_eq!(next_call(100, 10, 105), 110);
        assert_eq!(next_call(100, 10, 110), 120);
        assert_eq!(next_call(100, 10, 500), 510);
    }

    #[test]
    fn one_cpu_cannot_wake_itself() {
        let (stop, mut look) = (AtomicBool::new(false), |_: &crate::Live| {});
        let cpu = cpus::preferred();
        let placement = Placement { cpu: Some(cpu), ..Placement::stock() };
        let result = measure(
            "x",
            Method::Futex,
            100_000,
            Some(cpu),
            placement,
            Limits::new(Length::Count(1)),
            &mut Observer::new(&stop, &mut look),
        );
        assert!(result.unwrap_err().to_string().contains("two CPUs"));
    }
}
