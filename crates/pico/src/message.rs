//! What is said: commands of the host, messages of the Pico.

use crate::BANKS;
use crate::edges::{Edges, TICK_BITS};
use crate::frame::{self, Frame, LONGEST, PAYLOAD};

const HELLO: u8 = 0x40;
const START: u8 = 0x41;
const STOP: u8 = 0x42;
const PULSES: u8 = 0x43;
const ANSWER: u8 = 0x44;

const INFO: u8 = 0x01;
const EDGES: u8 = 0x02;
const LOST: u8 = 0x03;
const STATUS: u8 = 0x04;
const DONE: u8 = 0x05;

/// Sent for lost edges whose number nobody knows.
const UNKNOWN: u32 = u32::MAX;

/// What the host asks for. Each is answered by [`Message::Done`], after what belongs to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Answered by [`Message::Info`] before: in every version of the protocol.
    Hello {
        /// The host's version.
        version: u8,
    },
    /// Time all edges from now on.
    Start,
    /// No more; what was timed is sent before the answer.
    Stop,
    /// Makes pulses on the pulse pin; none ends those under way.
    Pulses {
        /// How long each is high, in ticks.
        high: u32,
        /// How long it is low after that, in ticks.
        low: u32,
        /// How many.
        count: u32,
    },
    /// Has the answer pin follow a line.
    Answer {
        /// 0 to 7.
        line: u8,
        /// How much later than the change, in ticks; 0 ends it.
        after: u32,
    },
}

/// Why a command was not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The firmware has another version of the protocol, or the command is none.
    Unknown,
    /// A time or a line that the pins cannot have.
    OutOfRange,
}

/// Edges that are not among those sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lost {
    /// The lines that they were on.
    pub bank: u8,
    /// The tick of the first, or after the last edge that was seen.
    pub from: u64,
    /// The tick of the last, or since when edges are seen again.
    pub to: u64,
    /// How many; `None` where the Pico did not see them either.
    pub edges: Option<u32>,
}

/// What the Pico says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'f> {
    /// Who it is.
    Info {
        /// The firmware's version of the protocol.
        version: u8,
        /// Ticks per second.
        ticks_per_second: u32,
        /// Lines that it watches.
        lines: u8,
    },
    /// Edges of a bank.
    Edges(Edges<'f>),
    /// What is missing.
    Lost(Lost),
    /// A hundred times a second where all edges were sent, and at the end of a capture.
    Status {
        /// Until when all edges of all lines were sent, or said to be lost.
        until: u64,
        /// How many were sent, modulo 2^32.
        sent: u32,
        /// How many were lost and counted, modulo 2^32.
        lost: u32,
        /// How often edges were lost that nobody counted.
        gaps: u32,
    },
    /// A command is done, or was refused.
    Done {
        /// The command's kind.
        command: u8,
        /// Why not, if it was not.
        refusal: Option<Refusal>,
    },
}

impl Command {
    /// Its kind, which the answer names.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => HELLO,
            Self::Start => START,
            Self::Stop => STOP,
            Self::Pulses { .. } => PULSES,
            Self::Answer { .. } => ANSWER,
        }
    }

    /// Writes it as a frame; how long that is.
    pub fn write(&self, sequence: u8, to: &mut [u8; LONGEST]) -> usize {
        let mut payload = Payload::new();
        match *self {
            Self::Hello { version } => payload.put(&[version]),
            Self::Start | Self::Stop => {}
            Self::Pulses { high, low, count } => {
                [high, low, count].into_iter().for_each(|value| payload.put(&value.to_le_bytes()));
            }
            Self::Answer { line, after } => {
                payload.put(&[line]);
                payload.put(&after.to_le_bytes());
            }
        }
        frame::write(self.kind(), sequence, payload.bytes(), to)
    }

    /// Of a frame, if it is one.
    pub fn read(frame: &Frame) -> Option<Self> {
        let mut fields = Fields(frame.payload());
        let command = match frame.kind {
            HELLO => Self::Hello { version: fields.byte()? },
            START => Self::Start,
            STOP => Self::Stop,
            PULSES => Self::Pulses { high: fields.word()?, low: fields.word()?, count: fields.word()? },
            ANSWER => Self::Answer { line: fields.byte()?, after: fields.word()? },
            _ => return None,
        };
        fields.0.is_empty().then_some(command)
    }
}

impl<'f> Message<'f> {
    /// The kind of frames with edges, which are written in place.
    pub const EDGES: u8 = EDGES;

    /// Writes it as a frame; how long that is. Edges are written by an [`EdgeWriter`](crate::EdgeWriter).
    pub fn write(&self, sequence: u8, to: &mut [u8; LONGEST]) -> usize {
        let mut payload = Payload::new();
        let kind = match *self {
            Self::Info { version, ticks_per_second, lines } => {
                payload.put(&[version]);
                payload.put(&ticks_per_second.to_le_bytes());
                payload.put(&[lines]);
                INFO
            }
            Self::Edges(_) => return 0,
            Self::Lost(Lost { bank, from, to, edges }) => {
                payload.put(&[bank]);
                payload.put_tick(from);
                payload.put_tick(to);
                payload.put(&edges.unwrap_or(UNKNOWN).to_le_bytes());
                LOST
            }
            Self::Status { until, sent, lost, gaps } => {
                payload.put_tick(until);
                [sent, lost, gaps].into_iter().for_each(|value| payload.put(&value.to_le_bytes()));
                STATUS
            }
            Self::Done { command, refusal } => {
                let refusal = match refusal {
                    None => 0,
                    Some(Refusal::Unknown) => 1,
                    Some(Refusal::OutOfRange) => 2,
                };
                payload.put(&[command, refusal]);
                DONE
            }
        };
        frame::write(kind, sequence, payload.bytes(), to)
    }

    /// Of a frame, if it is one. Of an [`Info`](Self::Info), what a later version adds is left out.
    pub fn read(frame: &'f Frame) -> Option<Self> {
        let mut fields = Fields(frame.payload());
        let message = match frame.kind {
            INFO => {
                let (version, ticks_per_second, lines) = (fields.byte()?, fields.word()?, fields.byte()?);
                return Some(Self::Info { version, ticks_per_second, lines });
            }
            EDGES => return Edges::read(frame.payload()).map(Self::Edges),
            LOST => {
                let bank = fields.byte().filter(|bank| *bank < BANKS)?;
                let (from, to) = (fields.tick()?, fields.tick()?);
                Self::Lost(Lost { bank, from, to, edges: Some(fields.word()?).filter(|edges| *edges != UNKNOWN) })
            }
            STATUS => {
                let until = fields.tick()?;
                Self::Status { until, sent: fields.word()?, lost: fields.word()?, gaps: fields.word()? }
            }
            DONE => {
                let (command, refusal) = (fields.byte()?, fields.byte()?);
                let refusal = match refusal {
                    0 => None,
                    2 => Some(Refusal::OutOfRange),
                    _ => Some(Refusal::Unknown),
                };
                Self::Done { command, refusal }
            }
            _ => return None,
        };
        fields.0.is_empty().then_some(message)
    }
}

/// A payload that is written field by field.
struct Payload {
    bytes: [u8; PAYLOAD],
    length: usize,
}

impl Payload {
    fn new() -> Self {
        Self { bytes: [0; PAYLOAD], length: 0 }
    }

    fn put(&mut self, field: &[u8]) {
        self.bytes[self.length..self.length + field.len()].copy_from_slice(field);
        self.length += field.len();
    }

    fn put_tick(&mut self, tick: u64) {
        self.put(&tick.to_le_bytes()[..TICK_BITS as usize / 8]);
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// A payload that is read field by field.
struct Fields<'f>(&'f [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes().map(|[byte]| byte)
    }

    fn word(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn tick(&mut self) -> Option<u64> {
        self.bytes().map(|[a, b, c, d, e, f]| u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Reader;

    fn frame(bytes: &[u8]) -> Frame {
        let mut reader = Reader::default();
        bytes.iter().find_map(|byte| reader.take(*byte)).unwrap()
    }

    fn command() -> impl Strategy<Value = Command> {
        prop_oneof![
            any::<u8>().prop_map(|version| Command::Hello { version }),
            Just(Command::Start),
            Just(Command::Stop),
            any::<(u32, u32, u32)>().prop_map(|(high, low, count)| Command::Pulses { high, low, count }),
            any::<(u8, u32)>().prop_map(|(line, after)| Command::Answer { line, after }),
        ]
    }

    fn message() -> impl Strategy<Value = Message<'static>> {
        let tick = || 0_u64..1 << TICK_BITS;
        let refusal = prop_oneof![Just(None), Just(Some(Refusal::Unknown)), Just(Some(Refusal::OutOfRange))];
        prop_oneof![
            any::<(u8, u32, u8)>().prop_map(|(version, ticks_per_second, lines)| Message::Info {
                version,
                ticks_per_second,
                lines
            }),
            (0..BANKS, tick(), tick(), proptest::option::of(0..UNKNOWN))
                .prop_map(|(bank, from, to, edges)| Message::Lost(Lost { bank, from, to, edges })),
            (tick(), any::<(u32, u32, u32)>()).prop_map(|(until, (sent, lost, gaps))| Message::Status {
                until,
                sent,
                lost,
                gaps
            }),
            (any::<u8>(), refusal).prop_map(|(command, refusal)| Message::Done { command, refusal }),
        ]
    }

    proptest! {
        #[test]
        fn commands_come_back(command in command(), sequence in any::<u8>()) {
            let mut bytes = [0; LONGEST];
            let length = command.write(sequence, &mut bytes);
            let frame = frame(&bytes[..length]);
            prop_assert_eq!((Command::read(&frame), frame.sequence), (Some(command), sequence));
            prop_assert_eq!(Message::read(&frame), None);
        }

        #[test]
        fn messages_come_back(message in message(), sequence in any::<u8>()) {
            let mut bytes = [0; LONGEST];
            let length = message.write(sequence, &mut bytes);
            let frame = frame(&bytes[..length]);
            prop_assert_eq!((Message::read(&frame), frame.sequence), (Some(message), sequence));
            prop_assert_eq!(Command::read(&frame), None);
        }

        #[test]
        fn a_payload_of_another_length_is_none(command in command(), more in 1_usize..4) {
            let mut bytes = [0; LONGEST];
            let length = command.write(0, &mut bytes);
            let whole = frame(&bytes[..length]);
            let mut longer = [0; PAYLOAD];
            longer[..whole.payload().len()].copy_from_slice(whole.payload());
            let length = frame::write(whole.kind, 0, &longer[..whole.payload().len() + more], &mut bytes);
            prop_assert_eq!(Command::read(&frame(&bytes[..length])), None);
        }
    }
}
