//! The thread that takes edges from a Pico while something is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use ontick_pico::Command;
use ontick_rt::thread::block_signals;

use super::collected::Collected;
use super::connection::Connection;
use crate::avoid_cpu::AvoidCpu;
use crate::beside::{Ended, ended_early};

/// What is under way is ended by its own flag, and its last answer is waited for.
static NEVER: AtomicBool = AtomicBool::new(false);

/// What came of a Pico, and what a reader must know of how it came.
struct Heard {
    collected: Collected,
    notes: Vec<String>,
}

/// A Pico under way. It ends when this is dropped.
pub struct Recording {
    thread: Option<JoinHandle<Heard>>,
    stop: Arc<AtomicBool>,
}

impl Recording {
    /// From now on edges of these lines are timed, off this CPU.
    pub fn start(mut pico: Connection, lines: &[u8], cpu: Option<u32>, cancel: &AtomicBool) -> Result<Self, String> {
        let mut collected = Collected::new(lines);
        pico.command(Command::Start, cancel, &mut |message| collected.take(message))?;
        let stop = Arc::new(AtomicBool::new(false));
        let _avoided = cpu.and_then(AvoidCpu::from);
        let thread = std::thread::Builder::new().name("ontick-pico".into()).spawn({
            let stop = stop.clone();
            move || {
                block_signals();
                let early = collect(&mut pico, &stop, &mut collected).err().map(|why| ended_early(&why));
                Heard { collected, notes: early.into_iter().chain(damaged(&pico)).collect() }
            }
        });
        let thread = thread.map_err(|error| format!("no thread to listen to it: {error}"))?;
        Ok(Self { thread: Some(thread), stop })
    }

    /// Ends it, and hands on what it recorded.
    pub fn end(mut self, channels: Vec<String>) -> Ended {
        self.stop.store(true, Relaxed);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Heard { collected, mut notes })) => {
                notes.extend(collected.notes());
                Ended { recorded: Ok(collected.finish(channels)), notes }
            }
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
        pico.listen(&NEVER, &mut |message| collected.take(message))?;
    }
    pico.command(Command::Stop, &NEVER, &mut |message| collected.take(message))
}

/// What did not arrive as it was sent.
fn damaged(pico: &Connection) -> Option<String> {
    (pico.missing > 0 || pico.foreign() > 0).then(|| {
        format!("sent {} frames that did not arrive, and {} bytes that are none", pico.missing, pico.foreign())
    })
}
