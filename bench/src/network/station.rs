//! One talker with a thousand streams, and who takes them in.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use ontick_network::Expected;
use ontick_network::endpoint::{
    Incoming, Job as Talk, Listener, Outgoing, Outlet, Reader, TalkerThread, Way, quiet_base,
};
use ontick_record::Histogram;
use ontick_rt::clock::ClockId;
use ontick_rt::cpus;
use ontick_rt::thread::{Policy, set_affinity};
use ontick_switch::user::CorePlacement;
use ontick_switch::user::packet::{PacketReader, PacketSender, Stamps};
use ontick_switch::verify::namespace::Namespace;

use crate::side::Job;

/// A message is handed over in time that is no later than this.
pub const LATE_NS: u64 = 3_000;
/// From one message to the next.
pub const SLOT_NS: u64 = 3_300;
const MILLISECOND: u64 = 1_000_000;
/// Periods in milliseconds, and how many streams have each.
const STREAMS: [(u64, u64); 4] = [(1, 40), (2, 120), (4, 240), (8, 600)];
/// Frames of the listener's ring: an eighth of a second.
const RING: u32 = 32_768;
const SECOND: u64 = 1_000_000_000;

/// When the first periods begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    /// Where messages lie apart from what recurs on the CPU.
    Quiet,
    /// Half a second from now.
    Chance,
}

/// What came of a turn.
pub struct Sent {
    /// How late messages were handed over.
    pub lateness: Histogram,
    /// Messages that were not, because their time was over.
    pub left_out: u64,
    pub sent: u64,
    pub seconds: f64,
    /// Frames at the listener, if there was one, and those that found no room there.
    pub received: Option<u64>,
    pub overflowed: u64,
}

impl Sent {
    /// Messages that were due.
    pub fn due(&self) -> u64 {
        self.lateness.count() + self.left_out
    }

    /// Those that were not handed over in time.
    pub fn late(&self) -> u64 {
        self.due() - self.lateness.below(LATE_NS + 1).min(self.due())
    }

    pub fn in_time(&self) -> f64 {
        1.0 - self.late() as f64 / self.due().max(1) as f64
    }

    pub fn rate(&self) -> f64 {
        self.sent as f64 / self.seconds
    }

    /// Frames that did not come.
    pub fn lost(&self) -> Option<u64> {
        self.received.map(|received| self.sent.saturating_sub(received))
    }
}

/// A turn of so many seconds, with or without a listener.
pub fn send(job: &Job, seconds: u64, heard: bool, base: Base) -> Result<Sent, String> {
    let done = std::thread::scope(|scope| {
        let work = || {
            // The talker's CPU is left to it by whoever listens.
            let others: Vec<u32> = cpus::allowed().into_iter().filter(|cpu| *cpu != job.cpu).collect();
            set_affinity(&others).map_err(|e| format!("no CPU is left for the listener: {e}"))?;
            turn(job, seconds, heard, base)
        };
        scope.spawn(work).join()
    });
    done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn turn(job: &Job, seconds: u64, heard: bool, base: Base) -> Result<Sent, String> {
    let reported = |e: &dyn std::fmt::Display| format!("network: {e}");
    let (here, there) = (Namespace::new().map_err(|e| reported(&e))?, Namespace::new().map_err(|e| reported(&e))?);
    here.join("talker", &there, "listener").map_err(|e| reported(&e))?;
    let sender = here.within(|| PacketSender::open("talker")).map_err(|e| reported(&e))?.map_err(|e| reported(&e))?;
    let streams = streams();
    let mut listening = match heard {
        true => {
            let open = || PacketReader::open("listener", RING, Stamps::Software);
            let reader = there.within(open).map_err(|e| reported(&e))?.map_err(|e| reported(&e))?;
            Some((Reader::new(reader), Listener::new(streams.iter().map(expected).collect(), 0)))
        }
        false => None,
    };
    let place = CorePlacement { cpu: Some(job.cpu), policy: Policy::Fifo(job.priority), never_rest: false };
    let base_ns = match base {
        Base::Quiet => quiet_base(&streams, place, SECOND / 2).map_err(|e| reported(&e))?.base_ns,
        Base::Chance => ClockId::Tai.now_ns() + SECOND / 2,
    };
    let until_ns = base_ns + seconds * SECOND;
    let outlets = vec![Outlet::Packet(sender)];
    let talk = Talk { streams, payloads: Vec::new(), outlets, base_ns, from_ns: base_ns, until_ns, plan: 0 };
    let talkers = TalkerThread::start(talk, place).map_err(|e| reported(&e))?;
    let ended = AtomicBool::new(false);
    let talked = std::thread::scope(|scope| {
        let listens = listening.as_mut().map(|(reader, listener)| scope.spawn(|| listen(reader, listener, &ended)));
        let talked = talkers.end();
        ended.store(true, Relaxed);
        let listened = listens.map_or(Ok(()), |thread| thread.join().expect("a listener does not panic"));
        listened.and(talked).map_err(|e| reported(&e))
    })?;
    let counts = talked.counts.iter().fold((0, 0), |(sent, left), of| (sent + of.0, left + of.1 + of.2));
    Ok(Sent {
        lateness: talked.lateness,
        left_out: counts.1,
        sent: counts.0,
        seconds: seconds as f64,
        received: listening.as_ref().map(|(_, listener)| listener.frames()),
        overflowed: listening.map_or(0, |(_, listener)| listener.strays().overflowed),
    })
}

fn listen(reader: &mut Reader, listener: &mut Listener, ended: &AtomicBool) -> std::io::Result<()> {
    loop {
        // Asked before the ring is: what came before it was set is in the ring then.
        let over = ended.load(Relaxed);
        if reader.take(listener, |_| {}) == 0 {
            if over {
                break;
            }
            reader.wait_for_many(listener, Duration::from_millis(20))?;
        }
    }
    reader.count_overflowed(listener);
    Ok(())
}

/// One message each slot, in such an order that each millisecond has as many.
fn streams() -> Vec<Outgoing> {
    let mut all = Vec::new();
    let mut slot = 0;
    for (period_ms, streams) in STREAMS {
        let each_ms = streams / period_ms;
        for n in 0..streams {
            let (within, which) = (n % each_ms, n / each_ms);
            all.push(Outgoing {
                stream: all.len(),
                name: format!("f{}", all.len()),
                to: [2, 0, 0, 0, (all.len() >> 8) as u8, all.len() as u8],
                pcp: 7,
                vlan: 0,
                offset_ns: which * MILLISECOND + (slot + within) * SLOT_NS,
                period_ns: period_ms * MILLISECOND,
                size: 42,
                parts: 1,
                ports: vec![0],
            });
        }
        slot += each_ms;
    }
    all
}

fn expected(of: &Outgoing) -> Incoming {
    let expected = Expected {
        stream: of.stream,
        listener: 1,
        parts: 1,
        deadline_ns: of.period_ns,
        planned_ns: None,
        window_ns: None,
    };
    Incoming {
        expected,
        name: of.name.clone(),
        pcp: of.pcp,
        vlan: of.vlan,
        offset_ns: of.offset_ns,
        period_ns: of.period_ns,
        way: Way { link: 0, links: 1 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thousand_streams_never_meet_and_leave_a_gap() {
        let streams = streams();
        assert_eq!(streams.len(), 1_000);
        let mut times: Vec<u64> = streams
            .iter()
            .flat_map(|of| (0..8 * MILLISECOND / of.period_ns).map(|n| of.offset_ns + n * of.period_ns))
            .collect();
        times.sort_unstable();
        assert_eq!(times.len(), 8 * 235);
        assert!(times.windows(2).all(|pair| pair[1] - pair[0] >= SLOT_NS), "each has its slot");
        assert!(times.iter().all(|at| at % MILLISECOND <= 775_000));
    }
}
