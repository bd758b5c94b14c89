//! Recordings of either kind that keeps all of a sample.

use std::io::{Chain, Cursor, Read};

use crate::Channel;
use crate::format::{Entry, ReadError, binary};

/// The bytes that tell the kind, then the others.
type Again<R> = Chain<Cursor<Vec<u8>>, R>;

/// A recording that is read.
#[derive(Debug)]
pub enum Recording<R> {
    /// In the binary format.
    Binary(binary::Recording<Again<R>>),
    /// An Arrow file or stream.
    #[cfg(feature = "arrow")]
    Arrow(crate::arrow::Recording<Again<R>>),
}

/// Reads the beginning of a recording.
pub fn read<R: Read>(mut from: R) -> Result<Recording<R>, ReadError> {
    let mut start = Vec::new();
    from.by_ref().take(8).read_to_end(&mut start)?;
    let is_binary = start == binary::MAGIC;
    let is_arrow = start.starts_with(b"ARROW1") || start.starts_with(&[0xff; 4]);
    let again = Cursor::new(start).chain(from);
    match () {
        _ if is_binary => binary::read(again).map(Recording::Binary),
        #[cfg(feature = "arrow")]
        _ if is_arrow => crate::arrow::read(again).map(Recording::Arrow),
        _ if is_arrow => Err(ReadError::Missing),
        _ => Err(ReadError::Foreign),
    }
}

impl<R: Read> Recording<R> {
    /// Its channels.
    pub fn channels(&self) -> &[Channel] {
        match self {
            Recording::Binary(recording) => &recording.channels,
            #[cfg(feature = "arrow")]
            Recording::Arrow(recording) => &recording.channels,
        }
    }

    /// The next record; `None` at the end. One that a killed writer left half-written is not one.
    #[allow(clippy::should_implement_trait)] // what is handed on is lent
    pub fn next(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        match self {
            Recording::Binary(recording) => recording.next(),
            #[cfg(feature = "arrow")]
            Recording::Arrow(recording) => recording.next(),
        }
    }
}
