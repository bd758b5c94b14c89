//! What is to be sent, read on a thread of its own so that nobody waits for it.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

const BLOCK: usize = 65_536;
/// Blocks that are read ahead.
const AHEAD: usize = 4;
/// Bytes that come one after the other are sent together if they come this close.
const TOGETHER: Duration = Duration::from_millis(20);

/// Bytes to send.
pub struct Feed {
    blocks: Receiver<io::Result<Vec<u8>>>,
    pending: Vec<u8>,
    ended: bool,
}

/// What there is to send now.
#[derive(Debug)]
pub enum Fed {
    /// These bytes; none where none came in time.
    Bytes(Vec<u8>),
    /// These and no more.
    Last(Vec<u8>),
}

impl Feed {
    /// Reads ahead, until the end or until this is dropped.
    pub fn new(mut from: impl Read + Send + 'static) -> io::Result<Self> {
        let (sender, blocks) = sync_channel(AHEAD);
        std::thread::Builder::new().name("ontick-feed".into()).spawn(move || {
            loop {
                let mut block = vec![0; BLOCK];
                let read = match from.read(&mut block) {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    other => other,
                };
                let ends = matches!(read, Ok(0) | Err(_));
                let reported = sender.send(read.map(|length| {
                    block.truncate(length);
                    block
                }));
                if ends || reported.is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { blocks, pending: Vec::new(), ended: false })
    }

    /// Up to `most` bytes; waits so long for the first.
    pub(super) fn take(&mut self, most: usize, wait: Duration) -> io::Result<Fed> {
        let first_by = Instant::now() + wait;
        while self.pending.len() < most && !self.ended {
            let patience = match self.pending.is_empty() {
                true => first_by.saturating_duration_since(Instant::now()),
                false => TOGETHER.min(wait),
            };
            match self.blocks.recv_timeout(patience) {
                Ok(block) => {
                    let block = block?;
                    self.ended = block.is_empty();
                    self.pending.extend(block);
                }
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => self.ended = true,
            }
        }
        let rest = self.pending.split_off(most.min(self.pending.len()));
        let bytes = std::mem::replace(&mut self.pending, rest);
        Ok(if self.ended && self.pending.is_empty() { Fed::Last(bytes) } else { Fed::Bytes(bytes) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_handed_out_in_pieces_and_the_last_is_marked() {
        let data: Vec<u8> = (0..200_000u32).map(|n| n as u8).collect();
        let mut feed = Feed::new(io::Cursor::new(data.clone())).unwrap();
        let mut got = Vec::new();
        loop {
            match feed.take(1000, Duration::from_secs(10)).unwrap() {
                Fed::Bytes(bytes) => {
                    assert!(!bytes.is_empty() && bytes.len() <= 1000);
                    got.extend(bytes);
                }
                Fed::Last(bytes) => {
                    got.extend(bytes);
                    break;
                }
            }
        }
        assert_eq!(got, data);
        let mut nothing = Feed::new(io::empty()).unwrap();
        assert!(matches!(nothing.take(10, Duration::from_secs(10)), Ok(Fed::Last(bytes)) if bytes.is_empty()));
    }
}
