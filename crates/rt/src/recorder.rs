//! Latencies, recorded by a timed thread and read live by another.
//!
//! Memory is fixed when the [`channel`] is made. Recording is wait-free: a few plain stores, no lock, no
//! allocation, no system call. There is one [`Writer`]; the [`Reader`] may look at any moment.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use crate::buckets;
use crate::squares::Squares;

/// Seconds that the largest latency of each is kept before the reader must have taken it.
const SECONDS: usize = 64;
/// Outliers that may wait for the reader: on a busy machine it may be away for a second, and a hundred thousand samples a
/// second have thousands.
const OUTLIERS: usize = 1 << 14;

/// One late sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outlier {
    /// When it was seen, in ns on the cycle's clock.
    pub at_ns: u64,
    /// How late it was, in ns.
    pub latency_ns: u64,
}

struct Shared {
    counts: Box<[AtomicU64]>,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    sum_ns: AtomicU64,
    squares: Squares,
    missed: AtomicU64,
    early: AtomicU64,
    outliers: AtomicU64,
    threshold_ns: u64,
    /// Latencies above this are handed over: the threshold, or less if the reader wants more of them.
    hand_over_above_ns: AtomicU64,
    /// When the first latency was recorded, in ns + 1; 0 before.
    began: AtomicU64,
    /// Largest latency of each second: (second + 1) in the one, ns in the other.
    seconds: [(AtomicU64, AtomicU64); SECONDS],
}

/// The timed thread's end.
pub struct Writer {
    shared: Arc<Shared>,
    ring: rtrb::Producer<Outlier>,
    second: u64,
    second_ends_ns: u64,
    began_ns: Option<u64>,
}

/// The other end.
pub struct Reader {
    shared: Arc<Shared>,
    ring: rtrb::Consumer<Outlier>,
    taken: u64,
}

/// A new recorder. Latencies above `threshold_ns` are also handed over one by one.
pub fn channel(threshold_ns: u64) -> (Writer, Reader) {
    let shared = Arc::new(Shared {
        counts: (0..buckets::COUNT).map(|_| AtomicU64::new(0)).collect(),
        min_ns: AtomicU64::new(u64::MAX),
        max_ns: AtomicU64::new(0),
        sum_ns: AtomicU64::new(0),
        squares: Squares::default(),
        missed: AtomicU64::new(0),
        early: AtomicU64::new(0),
        outliers: AtomicU64::new(0),
        threshold_ns,
        hand_over_above_ns: AtomicU64::new(threshold_ns),
        began: AtomicU64::new(0),
        seconds: std::array::from_fn(|_| Default::default()),
    });
    let (producer, consumer) = rtrb::RingBuffer::new(OUTLIERS);
    let writer = Writer { shared: shared.clone(), ring: producer, second: 0, second_ends_ns: 0, began_ns: None };
    (writer, Reader { shared, ring: consumer, taken: 0 })
}

/// Adds without a locked instruction: there is only one writer.
#[inline]
fn add(cell: &AtomicU64, n: u64) -> u64 {
    let sum = cell.load(Relaxed).wrapping_add(n);
    cell.store(sum, Relaxed);
    sum
}

impl Writer {
    /// Records that at `now_ns` the thread was `latency_ns` late. The first call begins the first second.
    #[inline]
    pub fn record(&mut self, now_ns: u64, latency_ns: u64) {
        let s = &*self.shared;
        add(&s.sum_ns, latency_ns);
        s.squares.add_square_of(latency_ns);
        if latency_ns < s.min_ns.load(Relaxed) {
            s.min_ns.store(latency_ns, Relaxed);
        }
        if latency_ns > s.max_ns.load(Relaxed) {
            s.max_ns.store(latency_ns, Relaxed);
        }
        let count = &s.counts[buckets::index(latency_ns)];
        // Release: whoever sees the sample counted sees it in the figures above too.
        count.store(count.load(Relaxed).wrapping_add(1), Release);
        if now_ns >= self.second_ends_ns {
            self.begin_second(now_ns);
        }
        let of_second = &self.shared.seconds[self.second as usize % SECONDS].1;
        if latency_ns > of_second.load(Relaxed) {
            of_second.store(latency_ns, Relaxed);
        }
        if latency_ns > self.shared.hand_over_above_ns.load(Relaxed) {
            if latency_ns > self.shared.threshold_ns {
                add(&self.shared.outliers, 1);
            }
            // A full ring means that thousands wait already: the count still has this one.
            let _ = self.ring.push(Outlier { at_ns: now_ns, latency_ns });
        }
    }

    #[cold]
    fn begin_second(&mut self, now_ns: u64) {
        let began_ns = *self.began_ns.get_or_insert(now_ns);
        self.shared.began.store(began_ns.saturating_add(1), Relaxed);
        self.second = (now_ns - began_ns) / 1_000_000_000;
        self.second_ends_ns = began_ns + (self.second + 1) * 1_000_000_000;
        let (number, max_ns) = &self.shared.seconds[self.second as usize % SECONDS];
        max_ns.store(0, Relaxed);
        number.store(self.second + 1, Release);
    }

    /// Counts periods that were skipped.
    #[inline]
    pub fn missed(&mut self, periods: u64) {
        add(&self.shared.missed, periods);
    }

    /// Counts a wait that ended before its time.
    #[inline]
    pub fn early(&mut self) {
        add(&self.shared.early, 1);
    }
}

/// What was recorded up to a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    counts: Vec<u64>,
    /// Smallest latency, in ns; `None` without samples.
    pub min_ns: Option<u64>,
    /// Largest latency, in ns; `None` without samples.
    pub max_ns: Option<u64>,
    /// Sum of all latencies, in ns (for the mean).
    pub sum_ns: u64,
    /// Sum of their squares, in ns² (for the standard deviation).
    pub sum_of_squares: u128,
    /// Periods skipped.
    pub missed: u64,
    /// Waits that ended before their time.
    pub early: u64,
    /// Latencies above the threshold.
    pub outliers: u64,
}

impl Snapshot {
    /// The buckets that hold samples: smallest value, width, count; ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(index, count)| {
            let (low_ns, width_ns) = buckets::range(index);
            (low_ns, width_ns, *count)
        })
    }

    /// Number of samples.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What came since `earlier`, bucket by bucket: smallest value, width, count.
    pub fn buckets_since<'a>(&'a self, earlier: Option<&'a Snapshot>) -> impl Iterator<Item = (u64, u64, u64)> + 'a {
        let before = move |index: usize| earlier.map_or(0, |e| e.counts[index]);
        self.counts.iter().enumerate().filter(move |(i, count)| **count > before(*i)).map(move |(i, count)| {
            let (low_ns, width_ns) = buckets::range(i);
            (low_ns, width_ns, count - before(i))
        })
    }
}

impl Reader {
    /// Everything recorded so far. The writer goes on meanwhile: what is counted is in the sums and extremes too, and
    /// these may have more already; the other figures are each of a moment of their own.
    pub fn snapshot(&self) -> Snapshot {
        let s = &*self.shared;
        let counts: Vec<u64> = s.counts.iter().map(|count| count.load(Acquire)).collect();
        let any = counts.iter().any(|count| *count > 0);
        Snapshot {
            counts,
            min_ns: any.then(|| s.min_ns.load(Relaxed)),
            max_ns: any.then(|| s.max_ns.load(Relaxed)),
            sum_ns: s.sum_ns.load(Relaxed),
            sum_of_squares: s.squares.read(),
            missed: s.missed.load(Relaxed),
            early: s.early.load(Relaxed),
            outliers: s.outliers.load(Relaxed),
        }
    }

    /// The largest latency of each second that has ended since the last call, in order; 0 for a second
    /// without a sample. Must be called at least once a minute. `all` also takes the second that is still
    /// running, at the end of a run.
    pub fn take_seconds(&mut self, all: bool) -> Vec<u64> {
        let newest = self.shared.seconds.iter().map(|(number, _)| number.load(Acquire)).max();
        let newest = newest.unwrap_or(0);
        let end = if all { newest } else { newest.saturating_sub(1) };
        let taken = (self.taken + 1..=end)
            .map(|number| {
                let (held, max_ns) = &self.shared.seconds[(number - 1) as usize % SECONDS];
                if held.load(Relaxed) == number { max_ns.load(Relaxed) } else { 0 }
            })
            .collect();
        self.taken = self.taken.max(end);
        taken
    }

    /// Also hands over latencies below the threshold, if they are above this. They are not counted as outliers. Nothing
    /// is handed over between this and the threshold until it is called.
    pub fn hand_over_above(&self, ns: u64) {
        self.shared.hand_over_above_ns.store(ns.min(self.shared.threshold_ns), Relaxed);
    }

    /// When the first latency was recorded, in ns on the cycle's clock; nothing before.
    pub fn began_ns(&self) -> Option<u64> {
        self.shared.began.load(Relaxed).checked_sub(1)
    }

    /// The next outlier that the writer handed over, or the next latency above what [`Self::hand_over_above`] set.
    pub fn next_outlier(&mut self) -> Option<Outlier> {
        self.ring.pop().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn seconds_come_once_and_in_order() {
        let (mut writer, mut reader) = channel(u64::MAX);
        for (at_s, latency) in [(10.0, 5), (10.4, 9), (11.0, 3), (11.2, 1), (13.5, 7)] {
            writer.record((at_s * 1e9) as u64, latency);
        }
        assert_eq!(reader.take_seconds(false), [9, 3, 0]);
        assert_eq!(reader.take_seconds(false), [] as [u64; 0]);
        assert_eq!(reader.take_seconds(true), [7]);
        assert_eq!(reader.take_seconds(true), [] as [u64; 0]);
    }

    #[test]
    fn buckets_are_reported_from_those_of_an_earlier_moment() {
        let (mut writer, reader) = channel(u64::MAX);
        let of = |latency_ns, count| {
            let (low_ns, width_ns) = buckets::range(buckets::index(latency_ns));
            (low_ns, width_ns, count)
        };
        [5, 5, 1_000].into_iter().for_each(|latency_ns| writer.record(0, latency_ns));
        let earlier = reader.snapshot();
        [5, 70_000].into_iter().for_each(|latency_ns| writer.record(0, latency_ns));
        let now = reader.snapshot();
        assert_eq!(earlier.buckets().collect::<Vec<_>>(), [of(5, 2), of(1_000, 1)]);
        assert_eq!(now.buckets_since(Some(&earlier)).collect::<Vec<_>>(), [of(5, 1), of(70_000, 1)]);
        assert!(now.buckets_since(None).eq(now.buckets()));
        assert_eq!(now.sum_ns, 71_015);
    }

    #[test]
    fn outliers_are_handed_over_and_counted_beyond_the_ring() {
        let (mut writer, mut reader) = channel(100);
        (0..5000).for_each(|i| writer.record(i, 100 + i % 2));
        assert_eq!(reader.snapshot().outliers, 2500);
        assert_eq!(reader.next_outlier(), Some(Outlier { at_ns: 1, latency_ns: 101 }));
        assert_eq!(std::iter::from_fn(|| reader.next_outlier()).count(), 2499);
        (0..20_000).for_each(|i| writer.record(i, 200));
        assert_eq!(std::iter::from_fn(|| reader.next_outlier()).count(), OUTLIERS);
        assert_eq!(reader.snapshot().outliers, 22_500);
    }

    #[test]
    fn latencies_below_the_threshold_are_handed_over_on_demand_and_not_counted() {
        let (mut writer, mut reader) = channel(100);
        assert_eq!(reader.began_ns(), None);
        writer.record(0, 60);
        reader.hand_over_above(50);
        [50, 51, 100, 101].into_iter().zip(1..).for_each(|(latency_ns, at_ns)| writer.record(at_ns, latency_ns));
        // No outlier is missed by a level above the threshold.
        reader.hand_over_above(1_000);
        [100, 102].into_iter().zip(5..).for_each(|(latency_ns, at_ns)| writer.record(at_ns, latency_ns));
        let came: Vec<_> = std::iter::from_fn(|| reader.next_outlier()).map(|o| (o.at_ns, o.latency_ns)).collect();
        assert_eq!(came, [(2, 51), (3, 100), (4, 101), (6, 102)]);
        assert_eq!((reader.snapshot().outliers, reader.began_ns()), (2, Some(0)));
    }

    #[test]
    fn squares_beyond_64_bits_are_read_whole() {
        let (mut writer, reader) = channel(u64::MAX);
        // Each square is a quarter of what the low half holds.
        const LATENCY: u64 = 1 << 31;
        const SAMPLES: u64 = 400_000;
        std::thread::scope(|scope| {
            scope.spawn(move || (0..SAMPLES).for_each(|i| writer.record(i, LATENCY)));
            let (mut last, end) = (0, u128::from(SAMPLES) * u128::from(LATENCY).pow(2));
            while last < end {
                let now = reader.snapshot().sum_of_squares;
                assert!(now >= last && now <= end, "{now:#x} after {last:#x}");
                last = now;
            }
        });
        let (mut writer, reader) = channel(u64::MAX);
        writer.record(0, u64::MAX);
        assert_eq!(reader.snapshot().sum_of_squares, u128::from(u64::MAX).pow(2));
    }

    #[test]
    fn nothing_recorded_has_no_extremes() {
        let (mut writer, reader) = channel(100);
        let empty = reader.snapshot();
        assert_eq!((empty.min_ns, empty.max_ns, empty.count(), empty.buckets().count()), (None, None, 0, 0));
        // Waits that ended early and skipped periods are no samples.
        writer.missed(3);
        writer.missed(2);
        writer.early();
        let seen = reader.snapshot();
        assert_eq!((seen.missed, seen.early, seen.outliers, seen.min_ns), (5, 1, 0, None));
        writer.record(0, 0);
        assert_eq!((reader.snapshot().min_ns, reader.snapshot().max_ns), (Some(0), Some(0)));
    }

    #[test]
    fn a_second_has_its_own_maximum_also_when_its_place_is_used_again() {
        let (mut writer, mut reader) = channel(u64::MAX);
        let second = 1_000_000_000;
        writer.record(7, 900);
        // The last moment of the first second, and the first of the next.
        writer.record(7 + second - 1, 901);
        writer.record(7 + second, 5);
        assert_eq!(reader.take_seconds(false), [901]);
        for n in 2..=SECONDS as u64 {
            writer.record(7 + n * second, n);
        }
        let seconds = reader.take_seconds(true);
        assert_eq!((seconds.len(), seconds[0], seconds[SECONDS - 1]), (SECONDS, 5, SECONDS as u64));
        // Too long away: what was overwritten is not passed off as another second's.
        for n in 0..2 * SECONDS as u64 {
            writer.record(7 + (100 + n) * second, 3);
        }
        let seconds = reader.take_seconds(true);
        assert_eq!(seconds.len(), 99 + 2 * SECONDS - SECONDS);
        assert!(seconds[..seconds.len() - SECONDS].iter().all(|max_ns| *max_ns == 0), "{seconds:?}");
        assert!(seconds[seconds.len() - SECONDS..].iter().all(|max_ns| *max_ns == 3), "{seconds:?}");
    }

    #[test]
    fn a_live_reader_sees_counts_that_only_grow() {
        let (mut writer, reader) = channel(u64::MAX);
        std::thread::scope(|scope| {
            scope.spawn(move || (0..200_000u64).for_each(|i| writer.record(i, i)));
            let mut last = 0;
            while last < 200_000 {
                let now = reader.snapshot().count();
                assert!(now >= last);
                last = now;
            }
        });
    }

    proptest! {
        #[test]
        fn nothing_is_lost(latencies in prop::collection::vec(any::<u64>().prop_map(|v| v >> (v % 64)), 1..300)) {
            let (mut writer, reader) = channel(u64::MAX);
            latencies.iter().for_each(|l| writer.record(0, *l));
            let seen = reader.snapshot();
            prop_assert_eq!(seen.count(), latencies.len() as u64);
            prop_assert_eq!(seen.max_ns, latencies.iter().max().copied());
            prop_assert_eq!(seen.min_ns, latencies.iter().min().copied());
            let squares = latencies.iter().fold(0u128, |sum, l| sum.wrapping_add(u128::from(*l).pow(2)));
            prop_assert_eq!(seen.sum_of_squares, squares);
        }
    }
}
