//! From a stream to one reader, for as long as both are there.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Client;
use crate::backlog::{Next, Place};
use crate::format::{Gap, Why};
use crate::hub::Stream;

/// Writes all that comes, from `place` on, until the stream ends or the reader is gone. `write` gets whole
/// records.
pub fn feed(
    stream: &Stream,
    mut place: Place,
    client: &Client,
    mut write: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    write(&stream.begin)?;
    let mut told = Vec::new();
    loop {
        match stream.backlog.next(&mut place, Duration::from_secs(3600)) {
            Next::Batch { bytes, samples, missed } => {
                if missed > 0 {
                    told.clear();
                    stream.encoder.gap(Gap { missed, why: Why::Slow }, &mut told);
                    write(&told)?;
                    client.missed.fetch_add(missed, Relaxed);
                }
                write(&bytes)?;
                client.samples.fetch_add(samples, Relaxed);
            }
            Next::Nothing => {}
            Next::End => return Ok(()),
        }
    }
}
