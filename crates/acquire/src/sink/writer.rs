//! From a stream to one reader, for as long as both are there.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::Client;
use crate::backlog::{Cursor, Next};
use crate::format::{Gap, Why};
use crate::hub::Stream;

/// What a reader's bytes are written to.
pub trait Output {
    /// How long nothing may come before [`flush`](Self::flush).
    const PATIENCE: Duration = Duration::from_secs(3600);

    /// What comes first.
    fn begin(&mut self, begin: &[u8]) -> io::Result<()> {
        self.write(begin)
    }

    /// Whole records.
    fn write(&mut self, records: &[u8]) -> io::Result<()>;

    /// Nothing came for a while: what is held can be written.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Nothing will come any more.
    fn end(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Samples that were written, where that may be fewer than were taken.
    fn written(&self) -> Option<u64> {
        None
    }
}

/// Bytes are written as they come.
pub struct Plain<F>(pub F);

impl<F: FnMut(&[u8]) -> io::Result<()>> Output for Plain<F> {
    fn write(&mut self, records: &[u8]) -> io::Result<()> {
        self.0(records)
    }
}

/// Writes all that comes, from `place` on, until the stream ends or the reader is gone.
pub fn feed<O: Output>(stream: &Stream, place: Cursor, client: &Client, output: &mut O) -> io::Result<()> {
    let fed = hand_on(stream, place, client, output).and_then(|()| output.end());
    if let (Err(_), Some(written)) = (&fed, output.written()) {
        client.samples.store(written, Relaxed);
    }
    fed
}

fn hand_on<O: Output>(stream: &Stream, mut place: Cursor, client: &Client, output: &mut O) -> io::Result<()> {
    output.begin(&stream.begin)?;
    let mut reported = Vec::new();
    loop {
        match stream.backlog.next(&mut place, O::PATIENCE) {
            Next::Batch { bytes, samples, missed } => {
                reported.clear();
                Gap::each(missed).for_each(|gap| stream.encoder.gap(gap, &mut reported));
                if !reported.is_empty() {
                    output.write(&reported)?;
                    client.missed.fetch_add(missed[Why::Slow as usize], Relaxed);
                }
                output.write(&bytes)?;
                client.samples.fetch_add(samples, Relaxed);
            }
            Next::Nothing => output.flush()?,
            Next::End => return Ok(()),
        }
    }
}
