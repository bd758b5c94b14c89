//! Samples on their way from the timed thread to the others: a lock-free ring of words (rtrb), each sample a
//! header and its raw values.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Acquire, Ordering::Release};

use rtrb::{Consumer, Producer, RingBuffer};

/// Words before the values.
const HEADER: usize = 4;
/// No number of dropped samples: the writer is there still.
const RUNNING: u64 = u64::MAX;

/// One sample. Times are ns on the monotonic clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Number of the slot it was taken in. Slots that were missed leave their numbers out.
    pub number: u64,
    /// When its sources were read.
    pub at_ns: u64,
    /// From the trigger (its deadline or edge) until then.
    pub latency_ns: u64,
    /// Samples so far that found the ring full.
    pub dropped: u64,
    /// One per channel, as read.
    pub raw: &'a [i64],
}

/// The timed thread's end.
#[derive(Debug)]
pub struct Writer {
    words: Producer<u64>,
    channels: usize,
    dropped: u64,
    at_end: Arc<AtomicU64>,
}

/// The other end.
#[derive(Debug)]
pub struct Reader {
    words: Consumer<u64>,
    raw: Vec<i64>,
    at_end: Arc<AtomicU64>,
}

/// A ring for this many samples of this many channels.
pub fn new(samples: usize, channels: usize) -> (Writer, Reader) {
    let (producer, consumer) = RingBuffer::new(samples.max(1) * (HEADER + channels));
    let at_end = Arc::new(AtomicU64::new(RUNNING));
    let writer = Writer { words: producer, channels, dropped: 0, at_end: at_end.clone() };
    (writer, Reader { words: consumer, raw: vec![0; channels], at_end })
}

impl Writer {
    /// Puts a sample in, or counts it if there is no room.
    #[inline]
    pub fn push(&mut self, number: u64, at_ns: u64, latency_ns: u64, raw: &[i64]) {
        debug_assert_eq!(raw.len(), self.channels);
        match self.words.write_chunk_uninit(HEADER + self.channels) {
            Ok(chunk) => {
                let header = [number, at_ns, latency_ns, self.dropped];
                chunk.fill_from_iter(header.into_iter().chain(raw.iter().map(|value| *value as u64)));
            }
            Err(_) => self.dropped += 1,
        }
    }

    /// Samples so far that found the ring full.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// The last samples of all may find the ring full: no later one reports them.
impl Drop for Writer {
    fn drop(&mut self) {
        self.at_end.store(self.dropped, Release);
    }
}

impl Reader {
    /// Hands on the oldest sample, if there is one.
    pub fn pop<T>(&mut self, take: impl FnOnce(Sample) -> T) -> Option<T> {
        let words = HEADER + self.raw.len();
        let chunk = self.words.read_chunk(words).ok()?;
        let mut header = [0; HEADER];
        for (index, word) in chunk.into_iter().enumerate() {
            match index.checked_sub(HEADER) {
                None => header[index] = word,
                Some(channel) => self.raw[channel] = word as i64,
            }
        }
        let [number, at_ns, latency_ns, dropped] = header;
        Some(take(Sample { number, at_ns, latency_ns, dropped, raw: &self.raw }))
    }

    /// How full the ring is, 0 to 1.
    pub fn level(&self) -> f64 {
        self.words.slots() as f64 / self.words.buffer().capacity() as f64
    }

    /// Once the timed thread's end is gone: how many samples found the ring full. What it put in is still there.
    pub fn ended(&self) -> Option<u64> {
        Some(self.at_end.load(Acquire)).filter(|dropped| *dropped != RUNNING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_out_as_they_went_in() {
        let (mut writer, mut reader) = new(3, 2);
        for number in 0..3 {
            writer.push(number, 100 + number, 7, &[-1, number as i64]);
        }
        for number in 0..3 {
            let whole = Sample { number, at_ns: 100 + number, latency_ns: 7, dropped: 0, raw: &[-1, number as i64] };
            assert!(reader.pop(|sample| sample == whole).unwrap());
        }
        assert_eq!(reader.pop(|_| ()), None);
    }

    #[test]
    fn what_finds_no_room_is_reported_with_the_next() {
        let (mut writer, mut reader) = new(2, 1);
        (0..5).for_each(|number| writer.push(number, 0, 0, &[0]));
        assert_eq!((writer.dropped(), reader.level()), (3, 1.0));
        assert_eq!(reader.pop(|sample| (sample.number, sample.dropped)), Some((0, 0)));
        writer.push(5, 0, 0, &[0]);
        reader.pop(|_| ()).unwrap();
        assert_eq!(reader.pop(|sample| (sample.number, sample.dropped)), Some((5, 3)));
    }

    #[test]
    fn what_finds_no_room_at_the_end_is_reported_with_the_end() {
        let (mut writer, mut reader) = new(2, 1);
        (0..5).for_each(|number| writer.push(number, 0, 0, &[0]));
        assert_eq!(reader.ended(), None);
        drop(writer);
        assert_eq!(reader.ended(), Some(3));
        assert_eq!(
            reader.pop(|sample| (sample.number, sample.dropped)),
            Some((0, 0)),
            "what was put in is still there"
        );
    }

    #[test]
    fn nothing_is_lost_or_reordered_between_threads() {
        let (mut writer, mut reader) = new(64, 3);
        let all = 20_000u64;
        std::thread::scope(|scope| {
            scope.spawn(move || (0..all).for_each(|n| writer.push(n, n, n, &[n as i64, 0, -(n as i64)])));
            let (mut taken, mut next, mut dropped) = (0, 0, 0);
            loop {
                let ended = reader.ended();
                while let Some(seen) = reader.pop(|sample| {
                    assert_eq!(sample.raw, [sample.number as i64, 0, -(sample.number as i64)]);
                    (sample.number, sample.dropped)
                }) {
                    assert_eq!(seen.0 - next, seen.1 - dropped, "gaps are what was dropped");
                    (taken, next, dropped) = (taken + 1, seen.0 + 1, seen.1);
                }
                if let Some(in_all) = ended {
                    assert!(dropped <= in_all && next <= all);
                    assert_eq!(taken + in_all, all);
                    break;
                }
            }
        });
    }
}
