//! Faults that make a timed thread late, each with the times at which it was made.

pub mod network;
pub mod timers;
pub mod truth;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ontick_measure::probe::{Probe, Sample};
use ontick_measure::timer::{self, Job};
use ontick_measure::{Error, Length, Limits, Live, Method, Observer, Placement, session};
use ontick_record::run::{Series, Settings};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::{Policy, Setup, ThreadSetup};
use ontick_rt::wait::{Sleep, Wait};
use rustix::process::{Pid, Signal, kill_process};

use truth::{Making, judged};

/// A fault: what it is called, and which causes name it rightly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A normal task that wants the CPU of a thread that never sleeps.
    Hog,
    /// A thread with a higher priority.
    HigherPriority,
    /// Many timers of another thread that fire in one interrupt.
    Timers,
    /// Datagrams from another CPU, delivered to many by a software interrupt.
    Network,
    /// Calls from another CPU.
    Membarrier,
    /// Memory that is not there when it is used.
    Page,
    /// SIGSTOP and SIGCONT.
    Stop,
}

impl Fault {
    /// All.
    pub const ALL: [Fault; 7] =
        [Fault::Hog, Fault::HigherPriority, Fault::Timers, Fault::Network, Fault::Membarrier, Fault::Page, Fault::Stop];

    /// Name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Fault::Hog => "hog",
            Fault::HigherPriority => "higher-priority",
            Fault::Timers => "timers",
            Fault::Network => "network",
            Fault::Membarrier => "membarrier",
            Fault::Page => "page-fault",
            Fault::Stop => "stop",
        }
    }

    /// Whether a cause names this fault.
    pub fn is_named_by(self, cause: &str, detail: &str) -> bool {
        match self {
            Fault::Hog => matches!(cause, "fair server" | "RT throttling"),
            Fault::HigherPriority => cause == "another task" && detail.starts_with("inject-higher (fifo:60)"),
            Fault::Timers => cause == "other timer" && detail.contains("timerfd"),
            Fault::Network => cause == "softirq" && detail == "NET_RX",
            Fault::Membarrier => cause == "inter-processor call" && detail == "function call",
            Fault::Page => cause == "page fault",
            Fault::Stop => cause == "stopped",
        }
    }

    /// Measures a thread that meets this fault. [`Fault::Stop`] is the parent's business: nothing is made here.
    pub fn measure(self, cpu: u32, length: Duration) -> (Series, Vec<Making>) {
        let (stop, mut look) = (AtomicBool::new(false), |_: &Live| {});
        let mut observer = Observer::new(&stop, &mut look);
        observer.explain();
        let limits = Limits::new(Length::Duration(length.as_nanos() as u64));
        let placement = Placement { policy: Policy::Fifo(50), ..Placement::dedicated(Some(cpu)) };
        let job = |method| Job::new(1_000_000, method);
        let timer = |job, limits, observer: &mut Observer| {
            timer::measure("timer", job, placement, limits, observer).expect("the timer is measured")
        };
        let beside = |fault: fn(u32, &AtomicBool) -> Vec<Making>, measure: &mut dyn FnMut() -> Series| {
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let fault = scope.spawn(|| fault(cpu, &done));
                let series = measure();
                done.store(true, Relaxed);
                (series, fault.join().expect("the fault ends"))
            })
        };
        match self {
            Fault::Hog => {
                let job = Job { duty: 1.0, ..job(Method::Spin) };
                // The hog starts first: the spinning thread would keep it from it.
                beside(hog, &mut || timer(job, limits, &mut observer))
            }
            Fault::HigherPriority => beside(higher, &mut || timer(job(Method::Hybrid), limits, &mut observer)),
            Fault::Timers => beside(timers::fire, &mut || timer(job(Method::Hybrid), limits, &mut observer)),
            Fault::Network => beside(network::broadcast, &mut || timer(job(Method::Hybrid), limits, &mut observer)),
            Fault::Membarrier => {
                // A call is served in less than the usual threshold.
                let limits = Limits { outlier_ns: 2_000, ..limits };
                beside(membarrier, &mut || timer(job(Method::Spin), limits, &mut observer))
            }
            Fault::Page => page_fault(placement, limits, &mut observer),
            Fault::Stop => (timer(job(Method::Hybrid), limits, &mut observer), Vec::new()),
        }
    }
}

fn now_ns() -> u64 {
    ClockId::Monotonic.now_ns()
}

fn spin_until(end_ns: u64) -> u64 {
    loop {
        let now = now_ns();
        if now >= end_ns {
            return now;
        }
    }
}

fn sleep(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

/// Between two readings of the time the hog had the CPU for certain if they are no further apart, in ns: an
/// interrupt fits.
const HELD_NS: u64 = 20_000;

/// Wants the CPU all the time; a making is a stretch in which it had it.
fn hog(cpu: u32, done: &AtomicBool) -> Vec<Making> {
    let _ready = Setup::new().cpu(cpu).strict().expect("the hog is pinned");
    let mut makings = Vec::new();
    let (mut from, mut last) = (now_ns(), now_ns());
    while !done.load(Relaxed) {
        let now = now_ns();
        if now - last > HELD_NS {
            makings.push(Making::sure(from, last));
            from = now;
        }
        last = now;
    }
    makings.push(Making::sure(from, last));
    makings
}

/// Readings of the clock; each takes some 15 to 50 ns.
const HIGHER_WORK: u32 = 12_000;

/// Takes the CPU for about 0.3 ms, now and then: always for the same work, so that it takes longer where the
/// CPU is taken from it.
fn higher(cpu: u32, done: &AtomicBool) -> Vec<Making> {
    rustix::thread::set_name(c"inject-higher").expect("a thread may name itself");
    let _ready = Setup::new().cpu(cpu).policy(Policy::Fifo(60)).strict().expect("a higher priority");
    let mut windows = Vec::new();
    while !done.load(Relaxed) {
        sleep(7_300);
        let from = now_ns();
        let mut to = from;
        for _ in 0..HIGHER_WORK {
            to = now_ns();
        }
        windows.push(Making::timed(from, to));
    }
    judged(windows)
}

/// A call that no other CPU had to serve returns sooner, in ns.
const UNSERVED_NS: u64 = 1_500;

/// Has all CPUs that run this process pass a barrier, again and again, in bursts. A call returns when the
/// others have served it, so each is a making.
fn membarrier(cpu: u32, done: &AtomicBool) -> Vec<Making> {
    use rustix::thread::{MembarrierCommand, membarrier};
    let other = ontick_rt::cpus::online().into_iter().find(|other| *other != cpu).expect("another CPU");
    let _ready = Setup::new().cpu(other).strict().expect("the caller is pinned");
    membarrier(MembarrierCommand::RegisterPrivateExpedited).expect("the kernel has membarrier");
    let mut windows = Vec::new();
    while !done.load(Relaxed) {
        sleep(100_000);
        let burst = now_ns();
        let mut from = burst;
        while from < burst + 30_000_000 {
            membarrier(MembarrierCommand::PrivateExpedited).expect("registered before");
            let to = now_ns();
            if to - from > UNSERVED_NS {
                windows.push(Making::timed(from, to));
            }
            from = to;
        }
    }
    judged(windows)
}

/// A thread that uses memory which is not there, after every [`FAULTY`]th deadline.
struct Faulty<'w> {
    clock: Clock,
    deadline_ns: u64,
    memory: *mut u8,
    ticks: u32,
    windows: &'w mut Vec<Making>,
}

const PAGES: usize = 128;
const FAULTY: u32 = 11;

impl Probe for Faulty<'_> {
    fn next(&mut self) -> Sample {
        let faulty = self.ticks % FAULTY == FAULTY - 1;
        self.ticks += 1;
        if faulty {
            // SAFETY: the region is this thread's alone; dropped pages read as zero.
            let done = unsafe { libc::madvise(self.memory.cast(), PAGES * 4096, libc::MADV_DONTNEED) };
            assert_eq!(done, 0, "the kernel drops pages");
        }
        self.deadline_ns = self.deadline_ns.max(self.clock.now_ns()) + 1_000_000;
        Sleep.until(&mut self.clock, self.deadline_ns - 300_000);
        spin_until(self.deadline_ns);
        if faulty {
            let from = now_ns();
            for page in 0..PAGES {
                // SAFETY: within the region, which is writable.
                unsafe { self.memory.add(page * 4096).write_volatile(1) };
            }
            self.windows.push(Making::timed(from, now_ns()));
        }
        let now_ns = now_ns();
        let latency_ns = Some(now_ns - self.deadline_ns);
        Sample { now_ns, latency_ns, missed: 0, early_ns: 0, napped: false }
    }

    fn describe(&mut self, settings: &mut Settings) {
        settings.method = "hybrid".into();
    }
}

/// Lets the compiler know that it is called only once.
fn once<'w, F: FnOnce(&ThreadSetup) -> Result<Faulty<'w>, Error>>(prepare: F) -> F {
    prepare
}

fn page_fault(placement: Placement, limits: Limits, observer: &mut Observer) -> (Series, Vec<Making>) {
    let mut windows = Vec::with_capacity(100_000);
    // Locked memory could not be dropped.
    let placement = Placement { prepared: false, wake_within_us: None, ..placement };
    let recorded = &mut windows;
    let prepare = once(move |_: &ThreadSetup| {
        let (read_write, private) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new mapping, at a place of the kernel's choice; it stays until the process ends.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), PAGES * 4096, read_write, private, -1, 0) };
        assert_ne!(memory, libc::MAP_FAILED, "memory");
        // SAFETY: as above; huge pages would make one fault of many.
        unsafe { libc::madvise(memory, PAGES * 4096, libc::MADV_NOHUGEPAGE) };
        let clock = Clock::new(ClockId::Monotonic);
        Ok(Faulty { clock, deadline_ns: 0, memory: memory.cast(), ticks: 0, windows: recorded })
    });
    let series = session::run("page faults", placement, limits, prepare, observer).expect("the thread is measured");
    (series, judged(windows))
}

/// Stops a process this many times, for 15 ms each, once it has begun.
pub fn stop(pid: Pid, begun: Duration, times: u32) -> Vec<Making> {
    std::thread::sleep(begun);
    let once = |_| {
        sleep(60_000);
        let from = now_ns();
        kill_process(pid, Signal::STOP).expect("the process is there");
        sleep(15_000);
        kill_process(pid, Signal::CONT).expect("the process is there");
        Making::sure(from, now_ns())
    };
    (0..times).map(once).collect()
}
