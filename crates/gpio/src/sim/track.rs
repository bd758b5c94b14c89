//! One line's level and its last edges, in memory that several processes change at once.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::futex;

/// Edges that are remembered: a reader that falls further behind loses the oldest.
pub const REMEMBERED: usize = 4096;
/// Bits of the word that count edges; the others hold the time.
const COUNT_BITS: u32 = 20;
pub const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;
const TIME_MASK: u64 = u64::MAX >> COUNT_BITS;

/// The line after an edge: how many edges it has had (mod 2^20; odd: high) and when the last one was (mod
/// 2^44 ns, almost five hours). One word, so that level, count and time always belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// Up, else down.
    pub fn level(self) -> bool {
        self.0 & 1 == 1
    }

    /// Edges so far, mod 2^20.
    pub fn count(self) -> u32 {
        (self.0 & COUNT_MASK) as u32
    }

    /// When the edge was, in ns, given that it was in the past five hours.
    pub fn time_ns(self, now_ns: u64) -> u64 {
        // Another CPU's clock may be a hair ahead: a time just after now is not five hours ago.
        let ago = (now_ns + SKEW_NS).wrapping_sub(self.0 >> COUNT_BITS) & TIME_MASK;
        (now_ns + SKEW_NS).saturating_sub(ago)
    }

    /// The state before any edge.
    pub fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The count of the edge before this one.
    pub fn before(self) -> u32 {
        self.count().wrapping_sub(1) & COUNT_MASK as u32
    }

    /// The count of the edge after this one.
    pub fn after(self) -> u32 {
        (self.count() + 1) & COUNT_MASK as u32
    }

    fn next(self, now_ns: u64) -> Self {
        let count = (self.0 + 1) & COUNT_MASK;
        Self((now_ns & TIME_MASK) << COUNT_BITS | count)
    }

    fn is_after(self, other: Mark) -> bool {
        let ahead = self.count().wrapping_sub(other.count()) & COUNT_MASK as u32;
        (1..1 << (COUNT_BITS - 1)).contains(&ahead)
    }
}

/// Clocks of two CPUs, and of two ways to read them, differ by less than this.
const SKEW_NS: u64 = 1_000_000;

/// A line in shared memory. All zeros is a low line that never had an edge.
#[repr(C, align(64))]
pub struct Track<const LENGTH: usize = REMEMBERED, const STRETCH_BITS: u32 = { COUNT_BITS - 1 }> {
    newest: AtomicU64,
    /// Threads that sleep until the next edge.
    sleepers: AtomicU32,
    /// The stretch of 2^`STRETCH_BITS` edges that the newest is in, or, until somebody follows it, the one before: the counts
    /// of two stretches that follow each other are told apart, so that it is known which. Wraps after 2^51 edges.
    stretch: AtomicU32,
    _apart: [u8; 48],
    /// Every edge but the newest, by count.
    past: [AtomicU64; LENGTH],
}

/// One that is in no chip.
impl<const LENGTH: usize, const STRETCH_BITS: u32> Default for Track<LENGTH, STRETCH_BITS> {
    fn default() -> Self {
        Self {
            newest: AtomicU64::new(0),
            sleepers: AtomicU32::new(0),
            stretch: AtomicU32::new(0),
            _apart: [0; 48],
            past: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }
}

impl<const LENGTH: usize, const STRETCH_BITS: u32> Track<LENGTH, STRETCH_BITS> {
    /// The line as it is.
    #[inline]
    pub fn newest(&self) -> Mark {
        Mark(self.newest.load(Ordering::Acquire))
    }

    /// The same, and how many edges it has had in all.
    #[inline]
    pub fn counted(&self) -> (Mark, u64) {
        let mut stretch = self.stretch.load(Ordering::Acquire);
        loop {
            let newest = self.newest();
            let again = self.stretch.load(Ordering::Acquire);
            if again == stretch {
                let stretch = stretch.wrapping_add((stretch ^ Self::stretch_of(newest)) & 1);
                let within = u64::from(newest.count()) & ((1 << STRETCH_BITS) - 1);
                return (newest, u64::from(stretch) << STRETCH_BITS | within);
            }
            stretch = again;
        }
    }

    fn stretch_of(mark: Mark) -> u32 {
        mark.count() >> STRETCH_BITS
    }

    /// Whoever follows the first edge of a stretch notes that it has begun.
    #[inline]
    fn note_stretch(&self, newest: Mark) {
        let stretch = self.stretch.load(Ordering::Acquire);
        // Where another edge came meanwhile, that may be the stretch after.
        if (stretch ^ Self::stretch_of(newest)) & 1 == 1 && self.newest() == newest {
            let next = stretch.wrapping_add(1);
            let _ = self.stretch.compare_exchange(stretch, next, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    /// The edge with this count, if it is remembered still.
    pub fn edge(&self, count: u32) -> Option<Mark> {
        let newest = self.newest();
        let found = if newest.count() == count { newest } else { Mark(self.slot(count).load(Ordering::Acquire)) };
        (found.count() == count).then_some(found)
    }

    /// How many of the next `behind` edges after `count` are remembered no more.
    pub fn forgotten(&self, behind: u64) -> u64 {
        behind.saturating_sub(LENGTH as u64)
    }

    /// Brings the line to `level`; `now_ns` is asked only if that is an edge. Returns whether it was one. Where it is none,
    /// the edge before is filed, and the next takes less time.
    #[inline]
    pub fn set(&self, level: bool, mut now_ns: impl FnMut() -> u64) -> bool {
        let mut old = self.newest();
        self.remember(old);
        while old.level() != level {
            self.note_stretch(old);
            let new = old.next(now_ns());
            match self.newest.compare_exchange(old.0, new.0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(other) => old = Mark(other),
            }
            self.remember(old);
        }
        false
    }

    /// Whoever follows an edge files the one before, so that one whose writer died there is not missing.
    fn remember(&self, mark: Mark) {
        let slot = self.slot(mark.count());
        let filed = slot.load(Ordering::Acquire);
        // One that woke up late must not put an old edge over a newer one.
        if mark.is_after(Mark(filed)) {
            let _ = slot.compare_exchange(filed, mark.0, Ordering::AcqRel, Ordering::Relaxed);
        }
    }

    fn slot(&self, count: u32) -> &AtomicU64 {
        &self.past[count as usize % LENGTH]
    }

    /// Wakes who sleeps until an edge.
    #[inline]
    pub fn notify(&self) {
        // Whoever sleeps counts itself before it looks at the edge, and this looks at the count after the edge: with both
        // fences one of the two sees what the other did.
        fence(Ordering::SeqCst);
        if self.sleepers.load(Ordering::Relaxed) > 0 {
            futex::wake(&self.newest);
        }
    }

    /// Sleeps until there is an edge after `seen`, or for `timeout_ns`, or until a signal.
    pub fn sleep(&self, seen: Mark, timeout_ns: u64) {
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.newest() == seen {
            futex::wait(&self.newest, seen.0, timeout_ns);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize};

    use super::*;

    #[test]
    fn an_edge_is_level_count_and_time_at_once() {
        let track = Box::<Track>::default();
        assert!(track.set(true, || 1_000));
        assert_eq!(track.past[1].load(Ordering::Relaxed), 0);
        assert!(!track.set(true, || panic!("no edge, no time")));
        assert_eq!(Mark(track.past[1].load(Ordering::Relaxed)), track.newest(), "filed for the next");
        assert!(track.set(false, || 2_500));
        let newest = track.newest();
        assert_eq!((newest.level(), newest.count(), newest.time_ns(3_000)), (false, 2, 2_500));
        assert_eq!(track.edge(1).map(|mark| mark.time_ns(3_000)), Some(1_000));
    }

    #[test]
    fn times_are_known_for_hours() {
        let day = 86_400_000_000_000;
        let mark = Mark(0).next(day);
        for later in [0, 1, 4 * 3_600_000_000_000] {
            assert_eq!(mark.time_ns(day + later), day);
        }
        assert_eq!(mark.time_ns(day - 5_000), day);
    }

    #[test]
    fn a_forgotten_edge_is_not_taken_for_another() {
        let track = Box::<Track>::default();
        for n in 0..(REMEMBERED as u64 * 3) {
            track.set(n % 2 == 0, || n);
        }
        let newest = track.newest().count();
        assert_eq!(track.edge(5), None);
        let oldest = newest - REMEMBERED as u32;
        assert_eq!(track.edge(oldest).map(|mark| mark.count()), Some(oldest));
        assert_eq!(track.edge(oldest - 1), None);
    }

    /// What a writer that was held up files late must not overwrite what came since.
    #[test]
    fn a_late_writer_does_not_overwrite() {
        let track = Box::<Track>::default();
        for n in 0..(REMEMBERED as u64 * 2 + 10) {
            track.set(n % 2 == 0, || n);
        }
        let stale = Mark(3 << COUNT_BITS | 4);
        track.remember(stale);
        let newer = REMEMBERED as u32 * 2 + 4;
        assert_eq!(track.edge(newer).map(|mark| mark.count()), Some(newer));
    }

    #[test]
    fn counts_wrap() {
        let track = Box::<Track>::default();
        for n in 0..COUNT_MASK {
            track.set(n % 2 == 0, || n);
        }
        assert_eq!(track.newest().count(), COUNT_MASK as u32);
        assert!(track.set(false, || 7));
        assert_eq!((track.newest().count(), track.newest().level()), (0, false));
        assert_eq!(track.counted(), (track.newest(), COUNT_MASK + 1));
        assert_eq!(track.edge(COUNT_MASK as u32).map(|mark| mark.level()), Some(true));
    }

    #[test]
    fn edges_are_counted_beyond_the_word() {
        // Stretches of four edges; each count is that of a stretch that is noted, or not yet.
        let track = Track::<8, 2>::default();
        for n in 0..100u64 {
            assert_eq!(track.counted(), (track.newest(), n));
            assert!(track.set(n % 2 == 0, || n));
        }
    }

    /// Edges alternate, so every successful write of one side lies between two of the other: with several
    /// writers of both levels the count must be exactly the number of writes that said they made an edge.
    #[test]
    fn concurrent_writers_lose_and_invent_nothing() {
        let (track, made, done) = (Box::<Track>::default(), AtomicUsize::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|n| {
                    let (track, made) = (&track, &made);
                    scope.spawn(move || {
                        for turn in 0..3_000u64 {
                            made.fetch_add(track.set(n % 2 == 0, || turn) as usize, Ordering::Relaxed);
                        }
                    })
                })
                .collect();
            let reader = scope.spawn(|| {
                let mut seen = 0;
                loop {
                    let end = done.load(Ordering::Acquire);
                    let (newest, counted) = track.counted();
                    for back in 0..(counted - seen).min(REMEMBERED as u64 - 1) as u32 {
                        let count = newest.count().wrapping_sub(back) & COUNT_MASK as u32;
                        // Gone is allowed when the writers lapped the reader; another edge in its place is not.
                        if let Some(mark) = track.edge(count) {
                            assert_eq!((mark.count(), mark.level()), (count, count % 2 == 1));
                        }
                    }
                    seen = counted;
                    if end {
                        return counted as usize;
                    }
                }
            });
            for writer in writers {
                writer.join().unwrap();
            }
            done.store(true, Ordering::Release);
            assert_eq!(reader.join().unwrap(), made.load(Ordering::Relaxed));
        });
    }

    #[test]
    fn a_sleeper_is_woken_by_an_edge() {
        let track = Box::<Track>::default();
        std::thread::scope(|scope| {
            let sleeper = scope.spawn(|| {
                let seen = Mark(0);
                while track.newest() == seen {
                    track.sleep(seen, 60_000_000_000);
                }
            });
            while track.sleepers.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            track.set(true, || 5);
            track.notify();
            sleeper.join().unwrap();
        });
        assert_eq!(track.sleepers.load(Ordering::SeqCst), 0);
    }
}
