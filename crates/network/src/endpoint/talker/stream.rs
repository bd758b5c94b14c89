//! One stream of a talker: its frames, made beforehand, and when its next message is due.

use ontick_switch::user::port::Sent;

use super::SendError;
use crate::endpoint::header::{HEADER, Header};
use crate::endpoint::outlet::Transmit;
use crate::endpoint::payload::PayloadReader;
use crate::endpoint::planned::{Outgoing, data_octets};
use crate::frame;

/// One stream.
#[derive(Debug)]
pub(super) struct Stream {
    pub name: String,
    pub period_ns: u64,
    /// Number of the next message.
    pub message: u64,
    /// When it is to be sent, in ns of TAI, and how long before that it is handed over.
    planned_ns: u64,
    ahead_ns: u64,
    /// The time of the one that left last. Whose clock is set back by less than a period has it before it again, and a second
    /// message for it would be a copy to whoever listens.
    sent_for_ns: Option<u64>,
    /// When the first one was to be sent.
    first_ns: u64,
    /// The first period for which a program has sent no message of its own.
    own_period: u64,
    room: usize,
    /// Where a program puts what it carries.
    pub payloads: Option<PayloadReader>,
    /// By the ports that it leaves by.
    lanes: Vec<Lane>,
    pub sent: u64,
    pub refused: u64,
    pub skipped: u64,
}

/// The frames of a message by one port.
#[derive(Debug)]
struct Lane {
    outlet: usize,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    octets: Vec<u8>,
    /// Where its header begins.
    at: usize,
    header: Header,
}

impl Part {
    fn new(of: &Outgoing, part: u32, from: Option<[u8; 6]>, plan: u32) -> Self {
        let header = Header {
            plan,
            stream: of.stream as u32,
            part: part as u16,
            payload: 0,
            message: 0,
            planned_ns: 0,
            sent_ns: 0,
        };
        let data = data_octets(of.size, part).max(HEADER);
        let mut octets = match from {
            Some(from) => frame::ethernet(of.address(from)).to_vec(),
            // A datagram: the stack makes what is in front of it.
            None => Vec::new(),
        };
        let at = octets.len();
        octets.resize(at + data, 0);
        Self { octets, at, header }
    }

    fn data(&mut self) -> &mut [u8] {
        &mut self.octets[self.at..]
    }

    /// Takes of the payload what it has room for, and gives the rest.
    fn fill<'p>(&mut self, payload: &'p [u8]) -> &'p [u8] {
        let room = &mut self.data()[HEADER..];
        let (own, rest) = payload.split_at(payload.len().min(room.len()));
        room.fill(0);
        room[..own.len()].copy_from_slice(own);
        self.header.payload = own.len() as u16;
        rest
    }
}

impl Stream {
    pub fn new(of: &Outgoing, outlets: &[impl Transmit], base_ns: u64, plan: u32) -> Self {
        let lane = |outlet: &usize| {
            let from = outlets[*outlet].address();
            Lane { outlet: *outlet, parts: (0..of.parts).map(|part| Part::new(of, part, from, plan)).collect() }
        };
        let first_ns = base_ns + of.offset_ns;
        Self {
            name: of.name.clone(),
            period_ns: of.period_ns.max(1),
            message: 0,
            planned_ns: first_ns,
            ahead_ns: of.ports.iter().map(|outlet| outlets[*outlet].ahead_ns()).max().unwrap_or(0),
            sent_for_ns: None,
            first_ns,
            own_period: 0,
            room: of.room(),
            payloads: None,
            lanes: of.ports.iter().map(lane).collect(),
            sent: 0,
            refused: 0,
            skipped: 0,
        }
    }

    /// Frames of a message, by all ports.
    #[inline]
    pub fn frames(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.parts.len() as u64).sum()
    }

    /// When the next message is to be handed over.
    #[inline]
    pub fn due_ns(&self) -> u64 {
        self.planned_ns.saturating_sub(self.ahead_ns)
    }

    pub fn set_payload(&mut self, payload: &[u8]) -> Result<(), SendError> {
        if payload.len() > self.room {
            return Err(SendError::TooLong { name: self.name.clone(), payload: payload.len(), room: self.room });
        }
        fill(&mut self.lanes, payload);
        Ok(())
    }

    /// Carries what the program put there, if it is new.
    #[inline]
    pub fn take_payload(&mut self) {
        let lanes = &mut self.lanes;
        if let Some(payloads) = &mut self.payloads {
            payloads.take(|payload| fill(lanes, payload));
        }
    }

    /// Messages that left, that the kernel did not take, and that were left out.
    #[inline]
    pub fn counts(&self) -> (u64, u64, u64) {
        (self.sent, self.refused, self.skipped)
    }

    /// The next message is sent where the plan has it from `now_ns` on.
    pub fn plan_from(&mut self, now_ns: u64) {
        self.planned_ns = next(self.first_ns, self.period_ns, now_ns + self.ahead_ns);
        if self.was_sent_for() {
            self.planned_ns += self.period_ns;
        }
        self.own_period = 0;
    }

    /// The next message is sent at this offset of the next period that has no message yet.
    pub fn plan_at(&mut self, base_ns: u64, offset_ns: u64, now_ns: u64) {
        let first_ns = base_ns + offset_ns;
        let soonest_ns = next(first_ns, self.period_ns, now_ns + self.ahead_ns + 1);
        let period = ((soonest_ns - first_ns) / self.period_ns).max(self.own_period);
        self.planned_ns = first_ns + period * self.period_ns;
        self.own_period = period + 1;
        if self.was_sent_for() {
            self.planned_ns += self.period_ns;
            self.own_period += 1;
        }
    }

    fn was_sent_for(&self) -> bool {
        self.sent_for_ns == Some(self.planned_ns)
    }

    /// Leaves messages out.
    #[inline]
    pub fn skip(&mut self, messages: u64) {
        if messages > 0 {
            self.message += messages;
            self.planned_ns += messages * self.period_ns;
            self.skipped += messages;
        }
    }

    /// Hands the message over, of which the first frame is sent at `begun_ns`, and plans the next.
    #[inline]
    pub fn transmit(&mut self, outlets: &mut [impl Transmit], begun_ns: u64, mut now_ns: impl FnMut() -> u64) -> Sent {
        let (mut sent_ns, mut result) = (Some(begun_ns), Sent::Done);
        for lane in &mut self.lanes {
            for part in &mut lane.parts {
                part.header.message = self.message;
                part.header.planned_ns = self.planned_ns;
                part.header.sent_ns = sent_ns.take().unwrap_or_else(&mut now_ns);
                let header = part.header;
                if let Some(to) = part.data().first_chunk_mut() {
                    header.write(to);
                }
                let sent = outlets[lane.outlet].transmit(&part.octets, self.planned_ns);
                if sent != Sent::Done {
                    result = sent;
                }
            }
        }
        self.message += 1;
        self.sent_for_ns = Some(self.planned_ns);
        self.planned_ns += self.period_ns;
        match result {
            Sent::Done => self.sent += 1,
            _ => self.refused += 1,
        }
        result
    }
}

/// By each port, all frames carry it.
fn fill(lanes: &mut [Lane], payload: &[u8]) {
    for lane in lanes {
        lane.parts.iter_mut().fold(payload, |rest, part| part.fill(rest));
    }
}

/// The first of `first_ns`, `first_ns + period_ns`, … that is not before `from_ns`.
fn next(first_ns: u64, period_ns: u64, from_ns: u64) -> u64 {
    first_ns + from_ns.saturating_sub(first_ns).div_ceil(period_ns) * period_ns
}
