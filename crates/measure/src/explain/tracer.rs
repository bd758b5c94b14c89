//! Tracing of some CPUs in a private instance.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;

use super::cost;
use super::events::{Event, Kind};
use super::parse::{Parser, Reader, STACK, WANTED};
use super::ring_buffer_page::{self, Header};
use super::tracefs::{Instance, Tracefs};

/// Rings of each traced CPU, the first that the kernel has memory for: some four seconds of 100 000 events each,
/// as the thread that reads them may wait long for a CPU of a machine that is under load, or one second.
const RINGS_KB: [u32; 2] = [16 << 10, 4 << 10];

/// What is recorded.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Events, and how their records are read.
    pub events: &'static [(&'static str, Reader)],
    /// Those without which the others tell nothing.
    pub needed: &'static [&'static str],
    /// What the kernel does besides at an event.
    pub trigger: Option<Trigger>,
    /// Of an event the records that this is true of; of others all.
    pub filters: &'static [(&'static str, &'static str)],
}

/// What the kernel does at an event.
#[derive(Debug, Clone, Copy)]
pub struct Trigger {
    on: &'static str,
    what: &'static str,
    /// The record that it makes of it.
    makes: (&'static str, Reader),
}

/// What the cause of a latency is found by.
const OF_CAUSES: Asked = Asked { events: WANTED, needed: &["sched/sched_switch"], trigger: None, filters: &[] };
/// The same, and where in the kernel a task is when a timer interrupts it.
const WITH_STACKS: Asked = Asked {
    trigger: Some(Trigger { on: "timer/hrtimer_expire_entry", what: "stacktrace if common_pid != 0", makes: STACK }),
    ..OF_CAUSES
};

/// Tracing, from its start until it is dropped.
pub struct Tracer {
    // The readers close before the instance is removed.
    pipes: Vec<(u32, File)>,
    page: Vec<u8>,
    header: Header,
    parser: Parser,
    missing: Vec<&'static str>,
    event_cost_ns: u64,
    read: u64,
    instance: Instance,
}

/// What tracing did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Events that the kernel recorded.
    pub events: u64,
    /// Events that it could not record.
    pub lost: u64,
}

impl Tracer {
    /// Begins to trace these CPUs.
    pub fn start(cpus: &[u32]) -> io::Result<Self> {
        Self::start_with(RINGS_KB, cpus)
    }

    /// The same, with stacks of what timers interrupt.
    pub fn start_with_stacks(cpus: &[u32]) -> io::Result<Self> {
        Self::start_asked(WITH_STACKS, RINGS_KB, cpus)
    }

    /// The first with rings of this size in kB each, or of the second where the kernel has no memory for the first.
    pub fn start_with(rings_kb: [u32; 2], cpus: &[u32]) -> io::Result<Self> {
        Self::start_asked(OF_CAUSES, rings_kb, cpus)
    }

    /// The same with what is asked for.
    pub fn start_asked(asked: Asked, rings_kb: [u32; 2], cpus: &[u32]) -> io::Result<Self> {
        let tracefs = Tracefs::find()?;
        tracefs.clean();
        Self::start_in(tracefs.instance()?, asked, rings_kb, cpus, cost::timer_call_ns)
    }

    /// Begins in this instance; `call_ns` times a system call that makes one event.
    fn start_in(
        instance: Instance,
        asked: Asked,
        rings_kb: [u32; 2],
        cpus: &[u32],
        call_ns: impl Fn() -> Option<u64>,
    ) -> io::Result<Self> {
        instance.set("tracing_on", "0")?;
        // Stamps compare with what the timed thread reads.
        instance.set("trace_clock", "mono")?;
        for cpu in cpus {
            let ring = format!("per_cpu/cpu{cpu}/buffer_size_kb");
            let [large, small] = rings_kb.map(|kb| kb.to_string());
            instance.set(&ring, &large).or_else(|_| instance.set(&ring, &small))?;
        }
        let header = Header::parse(&instance.get("events/header_page")?);
        let header = header.ok_or_else(|| io::Error::other("the ring buffer's pages have a form that is not known"))?;
        let quiet = call_ns();
        let (mut parser, mut missing) = enable(&instance, asked)?;
        instance.set("tracing_on", "1")?;
        let event_cost_ns = call_ns().zip(quiet).map_or(0, |(traced, quiet)| traced.saturating_sub(quiet));
        if let Some(Trigger { on, what, makes }) = asked.trigger {
            let format = instance.get(&format!("events/{}/format", makes.0));
            let known = format.is_ok_and(|format| parser.learn(&format, makes.1));
            if !known || instance.set(&format!("events/{on}/trigger"), what).is_err() {
                missing.push(makes.0);
            }
        }
        for (event, filter) in asked.filters {
            // Without it there is more to read, and no less.
            let _ = instance.set(&format!("events/{event}/filter"), filter);
        }
        instance.set("tracing_cpumask", &mask(cpus))?;
        instance.set("trace", "")?;
        let pipes = cpus.iter().map(|cpu| Ok((*cpu, pipe(&instance, *cpu)?))).collect::<io::Result<_>>()?;
        let page = vec![0; rustix::param::page_size()];
        Ok(Self { pipes, page, header, parser, missing, event_cost_ns, read: 0, instance })
    }

    /// Records nothing until [`resume`](Self::resume). Events stay enabled: to switch them would interrupt every CPU.
    pub fn pause(&self) -> io::Result<()> {
        self.instance.set("tracing_on", "0")
    }

    /// Records again, on this CPU alone.
    pub fn resume(&self, cpu: u32) -> io::Result<()> {
        self.instance.set("tracing_cpumask", &mask(&[cpu]))?;
        self.instance.set("tracing_on", "1")
    }

    /// Events that this kernel does not have.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// What recording an event costs the CPU that it happens on, in ns; 0 where that could not be measured.
    pub fn event_cost_ns(&self) -> u64 {
        self.event_cost_ns
    }

    /// Takes what the rings hold, CPU by CPU in the order of time, and gives each event to `each`.
    pub fn take(&mut self, each: impl FnMut(Event)) {
        self.take_of(|_| true, each);
    }

    /// The same of some CPUs.
    pub fn take_of(&mut self, wanted: impl Fn(u32) -> bool, mut each: impl FnMut(Event)) {
        for (cpu, pipe) in self.pipes.iter_mut().filter(|(cpu, _)| wanted(*cpu)) {
            loop {
                match pipe.read(&mut self.page) {
                    Ok(length @ 1..) => {
                        let page = &self.page[..length];
                        let mut lost = ring_buffer_page::follows_loss(page);
                        ring_buffer_page::records(page, self.header, |at_ns, record| {
                            self.read += 1;
                            if std::mem::take(&mut lost) {
                                each(Event { at_ns, cpu: *cpu, pid: 0, kind: Kind::Lost });
                            }
                            if let Some(event) = self.parser.event(at_ns, *cpu, record) {
                                each(event);
                            }
                        });
                    }
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    // Nothing more for now, or for ever: the next look will tell.
                    Ok(0) | Err(_) => break,
                }
            }
        }
    }

    /// What it did so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { events: self.read, lost: 0 };
        for (cpu, _) in &self.pipes {
            let stats = self.instance.get(&format!("per_cpu/cpu{cpu}/stats")).unwrap_or_default();
            let number = |name: &str| {
                let line = stats.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
                line.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0)
            };
            // What was overwritten before anybody wanted it was recorded all the same.
            totals.events += number("entries") + number("overrun");
            totals.lost += number("dropped events") + number("commit overrun");
        }
        totals
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        let _ = self.instance.set("tracing_on", "0");
        self.pipes.clear();
    }
}

/// Enables what this kernel has, and tells what it does not have.
fn enable(instance: &Instance, asked: Asked) -> io::Result<(Parser, Vec<&'static str>)> {
    let (mut parser, mut missing) = (Parser::default(), Vec::new());
    for (name, reader) in asked.events {
        let format = instance.get(&format!("events/{name}/format"));
        let known = format.is_ok_and(|format| parser.learn(&format, *reader));
        if !known || instance.set(&format!("events/{name}/enable"), "1").is_err() {
            missing.push(*name);
        }
    }
    match asked.needed.iter().find(|name| missing.contains(name)) {
        Some(name) => Err(io::Error::other(format!("this kernel does not trace {name}"))),
        None => Ok((parser, missing)),
    }
}

fn pipe(instance: &Instance, cpu: u32) -> io::Result<File> {
    let path = instance.file(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)
}

/// A CPU mask as the kernel reads it: hexadecimal, in groups of 32 from the highest.
fn mask(cpus: &[u32]) -> String {
    let groups = cpus.iter().max().map_or(0, |max| max / 32) + 1;
    let group = |n: u32| cpus.iter().filter(|cpu| *cpu / 32 == n).fold(0u32, |bits, cpu| bits | 1 << (cpu % 32));
    (0..groups).rev().map(|n| format!("{:08x}", group(n))).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
pub(super) mod tests;
