//! The thread that takes edges from a Pico while something is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use ontick_pico::{Command, LINES_OF_BANK, Lost, Message, TICK_NS, TICKS_PER_SECOND, VERSION};
use ontick_record::capture::{Edge, Recorded};
use ontick_record::run::Instrument;
use ontick_rt::thread::block_signals;

use super::connection::Connection;
use crate::avoid_cpu::AvoidCpu;
use crate::beside::{Ended, ended_early};

/// Edges that are held of each line.
const MOST: usize = 1 << 21;
const NS: u64 = TICK_NS as u64;

/// A Pico under way. It ends when this is dropped.
pub struct Recording {
    thread: Option<JoinHandle<Collected>>,
    stop: Arc<AtomicBool>,
}

impl Recording {
    /// From now on edges of these lines are timed, off this CPU.
    pub fn start(mut pico: Connection, lines: &[u8], cpu: Option<u32>) -> Result<Self, String> {
        let mut collected = Collected::of(lines);
        pico.command(Command::Start, &mut |message| collected.take(message))?;
        let stop = Arc::new(AtomicBool::new(false));
        let _avoided = cpu.and_then(AvoidCpu::from);
        let thread = std::thread::Builder::new().name("ontick-pico".into()).spawn({
            let stop = stop.clone();
            move || {
                block_signals();
                collected.early = collect(&mut pico, &stop, &mut collected).err();
                (collected.missing, collected.foreign) = (pico.missing, pico.foreign());
                collected
            }
        });
        let thread = thread.map_err(|error| format!("no thread to listen to it: {error}"))?;
        Ok(Self { thread: Some(thread), stop })
    }

    /// Ends it, and hands on what it recorded.
    pub fn end(mut self, channels: Vec<String>) -> Ended {
        self.stop.store(true, Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(collected)) => collected.finish(channels),
            _ => Ended { recorded: Err("the thread that listened to it failed".into()), notes: Vec::new() },
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        // One that failed has nothing to say here.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Until it is to stop; then what was timed before.
fn collect(pico: &mut Connection, stop: &AtomicBool, collected: &mut Collected) -> Result<(), String> {
    while !stop.load(Relaxed) {
        pico.listen(&mut |message| collected.take(message))?;
    }
    pico.command(Command::Stop, &mut |message| collected.take(message))
}

/// What a Pico has sent.
#[derive(Default)]
struct Collected {
    lines: Vec<u8>,
    edges: Vec<Vec<Edge>>,
    until: u64,
    left_out: u64,
    lost: u64,
    gaps: u64,
    unseen_ns: u64,
    missing: u64,
    foreign: u64,
    early: Option<String>,
}

impl Collected {
    fn of(lines: &[u8]) -> Self {
        Self { lines: lines.to_vec(), edges: vec![Vec::new(); lines.len()], ..Self::default() }
    }

    fn take(&mut self, message: &Message) {
        match *message {
            Message::Edges(edges) => edges.for_each(|edge| self.add(edge)),
            Message::Lost(lost) if self.lines.iter().any(|line| line / LINES_OF_BANK == lost.bank) => self.lose(lost),
            Message::Status { until, .. } => self.until = until,
            _ => {}
        }
    }

    fn add(&mut self, edge: ontick_pico::Edge) {
        let Some(place) = self.lines.iter().position(|line| *line == edge.line) else { return };
        self.until = self.until.max(edge.tick);
        if self.edges[place].len() == MOST {
            self.left_out += 1;
        } else {
            self.edges[place].push(Edge { at_ns: edge.tick.saturating_mul(NS), rising: edge.rising });
        }
    }

    fn lose(&mut self, lost: Lost) {
        match lost.edges {
            Some(edges) => self.lost += u64::from(edges),
            None => {
                self.gaps += 1;
                self.unseen_ns += lost.to.saturating_sub(lost.from).saturating_mul(NS);
            }
        }
    }

    fn finish(self, channels: Vec<String>) -> Ended {
        let notes = self.notes();
        let instrument = Instrument {
            capture: "edges".into(),
            rate_hz: Some(u64::from(TICKS_PER_SECOND)),
            resolution_ps: NS * 1_000,
            edges: self.edges.iter().map(|edges| edges.len() as u64).sum(),
        };
        let tool = format!("ontick's firmware for the Pico, protocol {VERSION}");
        let ends_ns = self.until.saturating_mul(NS);
        Ended { recorded: Ok(Recorded { tool, channels, edges: self.edges, ends_ns, instrument }), notes }
    }

    /// What a reader must know of edges that are not there.
    fn notes(&self) -> Vec<String> {
        let early = self.early.as_deref().map(ended_early);
        let lost = (self.lost > 0)
            .then(|| format!("lost {} edges on its way here, where they came faster than they were taken", self.lost));
        let gaps = (self.gaps > 0).then(|| {
            let ms = self.unseen_ns as f64 / 1e6;
            format!(
                "did not see its lines {} times, {ms:.3} ms in all, as edges came faster than it can take them",
                self.gaps
            )
        });
        let damaged = (self.missing > 0 || self.foreign > 0).then(|| {
            format!("sent {} frames that did not arrive, and {} bytes that are none", self.missing, self.foreign)
        });
        let left_out = (self.left_out > 0)
            .then(|| format!("sent {} edges more than can be kept: they are not compared", self.left_out));
        [early, lost, gaps, damaged, left_out].into_iter().flatten().collect()
    }
}
