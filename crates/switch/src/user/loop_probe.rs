//! Looks for loops by frames, before the switch runs.

use std::io;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::Timespec;

use super::open::OpenError;
use super::packet::PacketPort;
use super::port::{Port, Received, Sent};
use crate::loops::{Joined, Loop, Prober};

/// How long a probe may take to come back.
pub const LISTEN: Duration = Duration::from_millis(200);
/// Room for what else comes in meanwhile.
const FRAMES: u32 = 1024;

/// What probes found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Each pair of ports once.
    pub loops: Vec<Loop>,
    /// Ports that no probe could be sent out of, because they are down: nothing is known about these.
    pub unknown: Vec<String>,
}

/// Sends probes out of each of these interfaces and looks for so long whether they come in at another one. They must be
/// up, and be in the calling thread's network namespace; nothing is changed about them that lasts.
pub fn probe(ports: &[&str], listen: Duration) -> Result<Findings, OpenError> {
    /// Probes out of each port, spread over the first half of the time: one may get lost.
    const ROUNDS: u32 = 2;
    let prober = Prober::new();
    let mut open = ports.iter().map(|name| PacketPort::open(name, FRAMES)).collect::<Result<Vec<_>, _>>()?;
    let mut findings = Findings::default();
    let begun = Instant::now();
    for round in 1..=ROUNDS {
        for (number, port) in open.iter_mut().enumerate() {
            let sent = port.send(&prober.frame(number as u16));
            if sent == Sent::Down && !findings.unknown.contains(&ports[number].to_string()) {
                findings.unknown.push(ports[number].to_string());
            }
        }
        let until = begun + if round < ROUNDS { listen * round / (2 * (ROUNDS - 1)) } else { listen };
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            wait(&open, left).map_err(|source| OpenError::new(ports[0], "wait for frames", "2.6", FRAMES, source))?;
            for (from, to) in came_back(&prober, &mut open) {
                note(&mut findings.loops, ports[from.min(to)], ports[from.max(to)]);
            }
        }
    }
    Ok(findings)
}

/// Waits until any port has a frame, or the time is over.
fn wait(ports: &[PacketPort], at_most: Duration) -> io::Result<()> {
    let mut fds: Vec<PollFd<'_>> = ports.iter().map(|port| PollFd::new(port, PollFlags::IN)).collect();
    match poll(&mut fds, Timespec::try_from(at_most).ok().as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Probes that came in at another port than they left by: as numbers of both.
fn came_back(prober: &Prober, ports: &mut [PacketPort]) -> Vec<(usize, usize)> {
    /// Frames that are looked at before the other ports have their turn.
    const TURN: u32 = 2 * FRAMES;
    let mut back = Vec::new();
    let mut slot = [0; 2048];
    for (to, port) in ports.iter_mut().enumerate() {
        for _ in 0..TURN {
            match port.receive(&mut slot) {
                Received::Nothing => break,
                Received::Oversized => (),
                Received::Frame(octets) => {
                    let from = prober.port_of(&slot[..octets]).map(usize::from);
                    back.extend(from.filter(|from| *from != to).map(|from| (from, to)));
                }
            }
        }
    }
    back
}

/// Each pair once, in the order of the ports.
fn note(loops: &mut Vec<Loop>, port: &str, other: &str) {
    let found = Loop { port: port.to_owned(), other: other.to_owned(), by: Joined::Outside };
    if !loops.contains(&found) {
        loops.push(found);
    }
}
