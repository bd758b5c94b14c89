//! What was encoded lately, for readers of different speed.
//!
//! One thread adds batches of whole records; any number of readers take them, each at its own place. Memory is
//! bounded: the oldest batches go, and a reader that had not taken them yet learns how many samples it missed, and how many
//! were missing in what it missed.
//! Nobody waits for a reader.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Records that were encoded together.
#[derive(Debug, Clone)]
struct Batch {
    bytes: Arc<[u8]>,
    samples: u64,
    gaps: Gaps,
}

/// Samples that are missing for everybody: taken too late, and those that found the ring full.
pub type Gaps = [u64; 2];

/// What a batch takes of the memory beside its bytes: its place in the queue, which may have twice as many as are used, what
/// counts its readers, and what the heap adds.
const BESIDE: usize = 2 * size_of::<Batch>() + 4 * size_of::<usize>();

fn sum([late, full]: Gaps, [more_late, more_full]: Gaps) -> Gaps {
    [late + more_late, full + more_full]
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
    /// Number of the oldest batch, of the first sample in it, and what was missing before it.
    first: u64,
    first_sample: u64,
    first_gaps: Gaps,
    bytes: usize,
    ended: bool,
}

/// A reader's place.
#[derive(Debug, Clone, Copy)]
pub struct Cursor {
    batch: u64,
    sample: u64,
    gaps: Gaps,
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
        /// Samples that are missing before them: those that came too late or found the ring full, as far as their gaps were
        /// forgotten, and those that were forgotten before this reader took them. By reason, as
        /// [`Why::ALL`](crate::format::Why::ALL) has them.
        missed: [u64; 3],
    },
    /// Nothing came in this time.
    Nothing,
    /// There will be no more.
    End,
}

impl Backlog {
    /// One that takes at most so much memory, but always keeps the newest batch.
    pub fn new(most_bytes: usize) -> Self {
        Self { inner: Mutex::default(), came: Condvar::new(), most_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds a batch, and forgets the oldest that no longer fit. `gaps` are those among its records.
    pub fn push(&self, bytes: &[u8], samples: u64, gaps: Gaps) {
        let batch = Batch { bytes: bytes.into(), samples, gaps };
        let mut inner = self.lock();
        inner.bytes += bytes.len() + BESIDE;
        inner.batches.push_back(batch);
        while inner.bytes > self.most_bytes && inner.batches.len() > 1 {
            let Some(old) = inner.batches.pop_front() else { break };
            inner.bytes -= old.bytes.len() + BESIDE;
            inner.first += 1;
            inner.first_sample += old.samples;
            inner.first_gaps = sum(inner.first_gaps, old.gaps);
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
        let gaps = inner.batches.iter().fold(inner.first_gaps, |gaps, batch| sum(gaps, batch.gaps));
        Cursor { batch: inner.first + inner.batches.len() as u64, sample: inner.first_sample + samples, gaps }
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
        let mut missed = [0; 3];
        if place.batch < inner.first {
            let ([late, full], [late_before, full_before]) = (inner.first_gaps, place.gaps);
            missed = [late - late_before, full - full_before, inner.first_sample - place.sample];
            *place = Cursor { batch: inner.first, sample: inner.first_sample, gaps: inner.first_gaps };
        }
        match inner.batches.get((place.batch - inner.first) as usize) {
            Some(Batch { bytes, samples, gaps }) => {
                let (sample, gaps) = (place.sample + samples, sum(place.gaps, *gaps));
                *place = Cursor { batch: place.batch + 1, sample, gaps };
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

    fn batch(bytes: &[u8], samples: u64, slow: u64) -> Next {
        Next::Batch { bytes: bytes.into(), samples, missed: [0, 0, slow] }
    }

    #[test]
    fn each_reader_has_its_own_place() {
        let backlog = Backlog::new(2 * (3 + BESIDE));
        let mut early = backlog.now();
        backlog.push(b"one", 1, [0; 2]);
        let mut late = backlog.now();
        backlog.push(b"two", 2, [0; 2]);
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
        let backlog = Backlog::new(2 * (5 + BESIDE));
        let mut slow = backlog.now();
        for samples in 1..=10 {
            backlog.push(b"12345", samples, [0; 2]);
        }
        // Two batches fit: those of 9 and of 10 samples.
        assert_eq!(take(&backlog, &mut slow), batch(b"12345", 9, 36));
        assert_eq!(take(&backlog, &mut slow), batch(b"12345", 10, 0));
    }

    #[test]
    fn one_batch_is_kept_however_long() {
        let backlog = Backlog::new(2);
        let mut place = backlog.now();
        backlog.push(b"longer than that", 1, [0; 2]);
        assert_eq!(take(&backlog, &mut place), batch(b"longer than that", 1, 0));
    }

    #[test]
    fn a_slow_reader_learns_of_gaps_in_what_it_missed() {
        let backlog = Backlog::new(2 * (5 + BESIDE));
        let (mut slow, mut slower) = (backlog.now(), backlog.now());
        backlog.push(b"12345", 1, [2, 0]);
        assert_eq!(take(&backlog, &mut slow), batch(b"12345", 1, 0));
        for gaps in [[0, 40], [500, 0], [0, 6_000], [70_000, 0]] {
            backlog.push(b"12345", 1, gaps);
        }
        // Those of the last two batches are in their records.
        let missed =
            |late, full, slow| Next::Batch { bytes: b"12345"[..].into(), samples: 1, missed: [late, full, slow] };
        assert_eq!(take(&backlog, &mut slow), missed(500, 40, 2));
        assert_eq!(take(&backlog, &mut slow), batch(b"12345", 1, 0));
        assert_eq!(take(&backlog, &mut slower), missed(502, 40, 3));
        // Who comes now has missed none of them.
        let mut late = backlog.now();
        (0..3).for_each(|_| backlog.push(b"12345", 1, [1, 1]));
        assert_eq!(take(&backlog, &mut late), missed(1, 1, 1));
    }

    #[test]
    fn every_sample_is_taken_or_reported_as_missed() {
        let backlog = Backlog::new(8 * (8 + BESIDE));
        let all = 5_000;
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..3)
                .map(|reader| {
                    let (backlog, mut place) = (&backlog, backlog.now());
                    scope.spawn(move || {
                        let mut seen = 0;
                        loop {
                            match backlog.next(&mut place, Duration::from_secs(60)) {
                                Next::Batch { samples, missed: [0, 0, slow], .. } => seen += samples + slow,
                                Next::Batch { missed, .. } => panic!("{missed:?}"),
                                Next::Nothing => panic!("nothing for a minute"),
                                Next::End => return seen,
                            }
                            (0..reader * 20).for_each(|_| std::thread::yield_now());
                        }
                    })
                })
                .collect();
            (0..all).for_each(|_| backlog.push(b"12345678", 1, [0; 2]));
            backlog.end();
            for reader in readers {
                assert_eq!(reader.join().unwrap(), all);
            }
        });
    }
}
