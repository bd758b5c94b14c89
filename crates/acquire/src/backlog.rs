//! What was encoded lately, for readers of different speed.
//!
//! One thread adds batches of whole records; any number of readers take them, each at its own place. Memory is
//! bounded: the oldest batches go, and a reader that had not taken them yet learns how many samples it missed.
//! Nobody waits for a reader.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Records that were encoded together.
#[derive(Debug, Clone)]
struct Batch {
    bytes: Arc<[u8]>,
    samples: u64,
}

/// Batches, the newest last.
#[derive(Debug)]
pub struct Backlog {
    inner: Mutex<Inner>,
    came: Condvar,
    most_bytes: usize,
}

#[derive(Debug, Default)]
struct Inner {
    batches: VecDeque<Batch>,
    /// Number of the oldest batch, and of the first sample in it.
    first: u64,
    first_sample: u64,
    bytes: usize,
    ended: bool,
}

/// A reader's place.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    batch: u64,
    sample: u64,
}

impl Cursor {
    /// Samples of the whole run that lie before it.
    pub fn samples_before(self) -> u64 {
        self.sample
    }
}

/// What a reader gets.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Whole records, and how many samples were missed before them.
    Batch {
        /// The records.
        bytes: Arc<[u8]>,
        /// Samples in them.
        samples: u64,
        /// Samples that were forgotten before this reader took them.
        missed: u64,
    },
    /// Nothing came in this time.
    Nothing,
    /// There will be no more.
    End,
}

impl Backlog {
    /// One that keeps at most this much, and always the newest batch.
    pub fn new(most_bytes: usize) -> Self {
        Self { inner: Mutex::default(), came: Condvar::new(), most_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a batch, and forgets the oldest that no longer fit.
    pub fn push(&self, bytes: &[u8], samples: u64) {
        let batch = Batch { bytes: bytes.into(), samples };
        let mut inner = self.lock();
        inner.bytes += bytes.len();
        inner.batches.push_back(batch);
        while inner.bytes > self.most_bytes && inner.batches.len() > 1 {
            let Some(old) = inner.batches.pop_front() else { break };
            inner.bytes -= old.bytes.len();
            inner.first += 1;
            inner.first_sample += old.samples;
        }
        drop(inner);
        self.came.notify_all();
    }

    /// No more will come.
    pub fn end(&self) {
        self.lock().ended = true;
        self.came.notify_all();
    }

    /// The place after the newest batch: where one begins who joins now.
    pub fn now(&self) -> Cursor {
        let inner = self.lock();
        let samples: u64 = inner.batches.iter().map(|batch| batch.samples).sum();
        Cursor { batch: inner.first + inner.batches.len() as u64, sample: inner.first_sample + samples }
    }

    /// Samples that a reader at this place has not taken yet.
    pub fn behind(&self, place: Cursor) -> u64 {
        let inner = self.lock();
        let samples: u64 = inner.batches.iter().map(|batch| batch.samples).sum();
        (inner.first_sample + samples).saturating_sub(place.sample)
    }

    /// The batch after the place, waiting for it for so long.
    pub fn next(&self, place: &mut Cursor, patience: Duration) -> Next {
        let is_idle = |inner: &mut Inner| !inner.ended && place.batch >= inner.first + inner.batches.len() as u64;
        let waited = self.came.wait_timeout_while(self.lock(), patience, is_idle);
        let (inner, _) = waited.unwrap_or_else(|poisoned| poisoned.into_inner());
        let missed = inner.first_sample.saturating_sub(place.sample);
        if missed > 0 || place.batch < inner.first {
            *place = Cursor { batch: inner.first, sample: inner.first_sample };
        }
        match inner.batches.get((place.batch - inner.first) as usize) {
            Some(Batch { bytes, samples }) => {
                *place = Cursor { batch: place.batch + 1, sample: place.sample + samples };
                Next::Batch { bytes: bytes.clone(), samples: *samples, missed }
            }
            None if inner.ended => Next::End,
            None => Next::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(backlog: &Backlog, place: &mut Cursor) -> Next {
        backlog.next(place, Duration::ZERO)
    }

    fn batch(bytes: &[u8], samples: u64, missed: u64) -> Next {
        Next::Batch { bytes: bytes.into(), samples, missed }
    }

    #[test]
    fn each_reader_has_its_own_place() {
        let backlog = Backlog::new(100);
        let mut early = backlog.now();
        backlog.push(b"one", 1);
        let mut late = backlog.now();
        backlog.push(b"two", 2);
        assert_eq!(take(&backlog, &mut early), batch(b"one", 1, 0));
        assert_eq!(backlog.behind(early), 2);
        assert_eq!(take(&backlog, &mut late), batch(b"two", 2, 0));
        assert_eq!(take(&backlog, &mut late), Next::Nothing);
        backlog.end();
        assert_eq!(take(&backlog, &mut early), batch(b"two", 2, 0));
        assert_eq!(take(&backlog, &mut early), Next::End);
    }

    #[test]
    fn a_slow_reader_learns_what_it_missed() {
        let backlog = Backlog::new(10);
        let mut slow = backlog.now();
        for samples in 1..=10 {
            backlog.push(b"12345", samples);
        }
        // Two batches fit: those of 9 and of 10 samples.
        assert_eq!(take(&backlog, &mut slow), batch(b"12345", 9, 36));
        assert_eq!(take(&backlog, &mut slow), batch(b"12345", 10, 0));
    }

    #[test]
    fn one_batch_is_kept_however_long() {
        let backlog = Backlog::new(2);
        let mut place = backlog.now();
        backlog.push(b"longer than that", 1);
        assert_eq!(take(&backlog, &mut place), batch(b"longer than that", 1, 0));
    }

    #[test]
    fn every_sample_is_taken_or_reported_as_missed() {
        let backlog = Backlog::new(64);
        let all = 5_000;
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..3)
                .map(|reader| {
                    let (backlog, mut place) = (&backlog, backlog.now());
                    scope.spawn(move || {
                        let mut seen = 0;
                        loop {
                            match backlog.next(&mut place, Duration::from_secs(60)) {
                                Next::Batch { samples, missed, .. } => seen += samples + missed,
                                Next::Nothing => panic!("nothing for a minute"),
                                Next::End => return seen,
                            }
                            (0..reader * 20).for_each(|_| std::thread::yield_now());
                        }
                    })
                })
                .collect();
            (0..all).for_each(|_| backlog.push(b"12345678", 1));
            backlog.end();
            for reader in readers {
                assert_eq!(reader.join().unwrap(), all);
            }
        });
    }
}
