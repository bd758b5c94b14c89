//! Commands to a Pico, and its messages.

use std::path::Path;
use std::time::{Duration, Instant};

use ontick_pico::{Command, LONGEST, Message, Reader, TICKS_PER_SECOND, VERSION};

use super::port::Port;

/// A Pico that says nothing for so long is not there; one that times edges says something a hundred times a second.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long is waited for bytes at once.
const LOOK: Duration = Duration::from_millis(50);

pub struct Connection {
    port: Port,
    reader: Reader,
    bytes: Vec<u8>,
    sequence: u8,
    /// The number that the next frame must have.
    expected: Option<u8>,
    /// Frames that did not arrive, as far as their numbers tell.
    pub missing: u64,
    heard: Instant,
}

impl Connection {
    /// Opens the port, and makes sure of who is there; why not in words, otherwise.
    pub fn open(path: &Path) -> Result<Self, String> {
        let (port, reader, bytes) = (Port::open(path)?, Reader::default(), vec![0; 1 << 14]);
        let mut connection =
            Self { port, reader, bytes, sequence: 0, expected: None, missing: 0, heard: Instant::now() };
        let mut info = None;
        let greeted = connection.command(Command::Hello { version: VERSION }, &mut |message| {
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
    pub fn command(&mut self, command: Command, on_message: &mut dyn FnMut(&Message)) -> Result<(), String> {
        let mut frame = [0; LONGEST];
        let length = command.write(self.sequence, &mut frame);
        self.sequence = self.sequence.wrapping_add(1);
        self.heard = Instant::now();
        self.port.write(&frame[..length]).map_err(|_| GONE.to_string())?;
        let mut done = None;
        while done.is_none() {
            self.listen(&mut |message| match *message {
                Message::Done { command: kind, refusal } if kind == command.kind() => done = Some(refusal),
                _ => on_message(message),
            })?;
        }
        match done.flatten() {
            None => Ok(()),
            Some(refusal) => Err(format!("it refused a command ({refusal:?})")),
        }
    }

    /// Hands on what has come, if something does soon. A Pico that is gone or silent is an error.
    pub fn listen(&mut self, on_message: &mut dyn FnMut(&Message)) -> Result<(), String> {
        let count = self.port.read(&mut self.bytes, LOOK).map_err(|_| GONE.to_string())?;
        for byte in &self.bytes[..count] {
            let Some(frame) = self.reader.take(*byte) else { continue };
            self.heard = Instant::now();
            if let Some(expected) = self.expected {
                self.missing += u64::from(frame.sequence.wrapping_sub(expected));
            }
            self.expected = Some(frame.sequence.wrapping_add(1));
            if let Some(message) = Message::read(&frame) {
                on_message(&message);
            }
        }
        if self.heard.elapsed() > PATIENCE {
            return Err("it does not answer: is ontick's firmware on it (docs/pico.md)?".into());
        }
        Ok(())
    }

    /// Bytes that belonged to no frame.
    pub fn foreign(&self) -> u64 {
        self.reader.foreign()
    }
}

const GONE: &str = "the device is gone";
