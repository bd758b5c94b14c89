//! Commands to a Pico, and its messages.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_pico::{Command, LONGEST, Message, Reader, TICK_NS, TICKS_PER_SECOND, VERSION};

use super::port::Port;

/// How long is waited for bytes at once.
const LOOK: Duration = Duration::from_millis(50);
/// A Pico that is told to stop does so sooner.
const STOPS_WITHIN: Duration = Duration::from_secs(1);

pub struct Connection {
    port: Port,
    reader: Reader,
    bytes: Vec<u8>,
    sequence: u8,
    /// The number that the next frame must have.
    expected: Option<u8>,
    /// Frames that did not arrive, as far as their numbers tell.
    pub missing: u64,
    /// Bytes that belonged to no frame, and were sent to whoever had the port before.
    foreign_before: u64,
    /// A Pico that gets no further for so long is not there. One that times edges does so a hundred times a second.
    timeout: Duration,
    progressed: Instant,
    /// The latest tick of this capture that it spoke of.
    reached: u64,
    /// It has stopped by this tick, where it was told to: of later ones it has nothing to say.
    ends: Option<u64>,
}

impl Connection {
    /// Opens the port, and makes sure of who is there; why not in words, otherwise.
    pub fn open(path: &Path, timeout: Duration, cancel: &AtomicBool) -> Result<Self, String> {
        let mut connection = Self {
            port: Port::open(path)?,
            reader: Reader::default(),
            bytes: vec![0; 1 << 14],
            sequence: 0,
            expected: None,
            missing: 0,
            foreign_before: 0,
            timeout,
            progressed: Instant::now(),
            reached: 0,
            ends: None,
        };
        let mut info = None;
        let greeted = connection.command(Command::Hello { version: VERSION }, cancel, &mut |message| {
            if let Message::Info { version, ticks_per_second, .. } = *message {
                info = Some((version, ticks_per_second));
            }
        });
        match (greeted, info) {
            (_, Some((version, _))) if version != VERSION => Err(format!(
                "its firmware has version {version} of the protocol and this program version {VERSION}: flash the firmware of this version (docs/pico.md)"
            )),
            (Ok(()), Some((_, TICKS_PER_SECOND))) => {
                // What came before belonged to somebody else.
                connection.missing = 0;
                connection.foreign_before = connection.reader.foreign();
                Ok(connection)
            }
            (Ok(()), _) => Err("it says of itself what no firmware of ontick's does".into()),
            (Err(_), _) if connection.reader.foreign() > 0 => {
                Err("what it sends is not from ontick's firmware (docs/pico.md says how to flash it)".into())
            }
            (Err(problem), _) => Err(problem),
        }
    }

    /// Sends a command and waits for its answer; other messages that come before it are handed on.
    pub fn command(
        &mut self,
        command: Command,
        cancel: &AtomicBool,
        on_message: &mut dyn FnMut(&Message),
    ) -> Result<(), String> {
        let mut frame = [0; LONGEST];
        let length = command.write(self.sequence, &mut frame);
        self.sequence = self.sequence.wrapping_add(1);
        self.ends = (command == Command::Stop).then(|| self.at_the_latest());
        self.progressed = Instant::now();
        self.port.write(&frame[..length]).map_err(|_| GONE.to_string())?;
        let mut done = None;
        while done.is_none() {
            self.listen(cancel, &mut |message| match *message {
                Message::Done { command: kind, refusal } if kind == command.kind() => done = Some(refusal),
                _ => on_message(message),
            })?;
        }
        if command == Command::Start {
            self.reached = 0;
        }
        match done.flatten() {
            None => Ok(()),
            Some(refusal) => Err(format!("it refused a command ({refusal:?})")),
        }
    }

    /// Hands on what has come, if something does soon. A Pico that is gone, or gets no further, is an error; so is it where
    /// this is cancelled.
    pub fn listen(&mut self, cancel: &AtomicBool, on_message: &mut dyn FnMut(&Message)) -> Result<(), String> {
        if cancel.load(Relaxed) {
            return Err("it had not answered when the run was ended".into());
        }
        let count = self.port.read(&mut self.bytes, LOOK).map_err(|_| GONE.to_string())?;
        for byte in &self.bytes[..count] {
            let Some(frame) = self.reader.take(*byte) else { continue };
            if let Some(expected) = self.expected {
                self.missing += u64::from(frame.sequence.wrapping_sub(expected));
            }
            self.expected = Some(frame.sequence.wrapping_add(1));
            let Some(message) = Message::read(&frame) else { continue };
            // Whoever says the same for ever gets no further; nor does one who goes on after the end.
            let gets_on = |tick: &u64| *tick > self.reached && self.ends.is_none_or(|ends| *tick <= ends);
            if let Some(tick) = latest(&message).filter(gets_on) {
                (self.reached, self.progressed) = (tick, Instant::now());
            }
            on_message(&message);
        }
        if self.progressed.elapsed() > self.timeout {
            return Err("it does not answer: is ontick's firmware on it (docs/pico.md)?".into());
        }
        Ok(())
    }

    /// The tick by which a Pico that is told to stop now has done so: the last that it spoke of, and the time since then.
    fn at_the_latest(&self) -> u64 {
        self.reached.saturating_add(ticks(self.progressed.elapsed() + STOPS_WITHIN))
    }

    /// Bytes that belonged to no frame.
    pub fn foreign(&self) -> u64 {
        self.reader.foreign() - self.foreign_before
    }
}

fn ticks(time: Duration) -> u64 {
    u64::try_from(time.as_nanos() / u128::from(TICK_NS)).unwrap_or(u64::MAX)
}

/// The latest tick that a message speaks of.
fn latest(message: &Message) -> Option<u64> {
    match *message {
        Message::Edges(edges) => edges.last().map(|edge| edge.tick),
        Message::Lost(lost) => Some(lost.to),
        Message::Status { until, .. } => Some(until),
        Message::Info { .. } | Message::Done { .. } => None,
    }
}

const GONE: &str = "the device is gone";
