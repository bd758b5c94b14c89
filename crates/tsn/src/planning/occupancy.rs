//! Which link and which queue is taken when.

use super::periodic_intervals::PeriodicIntervals;
use crate::network::{LinkId, StreamId};

/// One stream's use of one link, in each of its periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// Whose.
    pub stream: StreamId,
    /// Its period, in ns.
    pub period_ns: u64,
    /// The queue its frames wait in.
    pub queue: u8,
    /// From when on a frame may be in the queue, from the period's beginning.
    pub arrives_ns: u64,
    /// From when on the link is kept for it: the same if it runs through, else the gate's opening.
    pub from_ns: u64,
    /// When the last bit has left, and the gap behind it is over.
    pub end_ns: u64,
}

impl Use {
    /// Whether frames stay in the queue while others of that queue could come.
    fn lingers(&self) -> bool {
        self.arrives_ns < self.from_ns
    }
}

/// What was asked for before, in order: periods are few, and hashing them is most of a look.
#[derive(Debug, Clone)]
struct Views<K>(Vec<(K, PeriodicIntervals)>);

impl<K> Default for Views<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy> Views<K> {
    fn place(&self, key: K) -> Result<usize, usize> {
        self.0.binary_search_by_key(&key, |(key, _)| *key)
    }

    /// Busy times in all of them; each counts as one more.
    fn size(&self) -> usize {
        self.0.iter().map(|(_, intervals)| 1 + intervals.busy().len()).sum()
    }
}

/// A link's uses, and what streams of each period see of them.
#[derive(Debug, Clone, Default)]
struct Track {
    uses: Vec<Use>,
    /// Transmissions, by period.
    wire: Views<u64>,
    /// Stays in a queue, by queue and period; kept where some stay is longer than its transmission.
    queue: Views<(u8, u64)>,
    /// Uses of each queue that linger.
    lingering: [u32; 8],
}

impl Track {
    fn size(&self) -> usize {
        self.wire.size() + self.queue.size()
    }

    fn forget(&mut self) {
        self.wire.0.clear();
        self.queue.0.clear();
    }
}

/// Busy times that are kept at most, of all links and periods together: 64 MiB. What is beyond is reckoned anew each time
/// that it is asked for.
const MOST_KEPT: usize = 1 << 22;

/// All links' uses.
#[derive(Debug, Clone)]
pub struct Occupancy {
    tracks: Vec<Track>,
    /// Busy times that are kept, and how many may be.
    kept: usize,
    most_kept: usize,
}

impl Occupancy {
    /// Of so many links, all free.
    pub fn new(links: usize) -> Self {
        Self { tracks: vec![Track::default(); links], kept: 0, most_kept: MOST_KEPT }
    }

    /// Uses of a link, in the order in which they came.
    pub fn uses(&self, link: LinkId) -> &[Use] {
        &self.tracks[link].uses
    }

    /// When the link is taken, as a stream of this period sees it.
    pub fn wire(&mut self, link: LinkId, period_ns: u64) -> &PeriodicIntervals {
        let place = self.tracks[link].wire.place(period_ns).unwrap_or_else(|place| {
            let mut intervals = PeriodicIntervals::new(period_ns);
            let uses = self.tracks[link].uses.iter();
            uses.for_each(|one| intervals.add(one.from_ns, one.end_ns - one.from_ns, one.period_ns));
            let place = self.make_room(&intervals, place);
            self.tracks[link].wire.0.insert(place, (period_ns, intervals));
            place
        });
        &self.tracks[link].wire.0[place].1
    }

    /// When frames are in a queue, as a stream of this period sees it.
    pub fn queue(&mut self, link: LinkId, queue: u8, period_ns: u64) -> &PeriodicIntervals {
        let key = (queue, period_ns);
        let place = self.tracks[link].queue.place(key).unwrap_or_else(|place| {
            let mut intervals = PeriodicIntervals::new(period_ns);
            let uses = self.tracks[link].uses.iter().filter(|one| one.queue == queue);
            uses.for_each(|one| intervals.add(one.arrives_ns, one.end_ns - one.arrives_ns, one.period_ns));
            let place = self.make_room(&intervals, place);
            self.tracks[link].queue.0.insert(place, (key, intervals));
            place
        });
        &self.tracks[link].queue.0[place].1
    }

    /// Before busy times are kept at this place among others: where it is then.
    fn make_room(&mut self, intervals: &PeriodicIntervals, place: usize) -> usize {
        let size = 1 + intervals.busy().len();
        self.kept += size;
        if self.kept <= self.most_kept {
            return place;
        }
        self.tracks.iter_mut().for_each(Track::forget);
        self.kept = size;
        0
    }

    /// Whether a queue's stays differ from its transmissions.
    pub fn lingers(&self, link: LinkId, queue: u8) -> bool {
        self.tracks[link].lingering[usize::from(queue)] > 0
    }

    /// Adds a use.
    pub fn add(&mut self, link: LinkId, one: Use) {
        let track = &mut self.tracks[link];
        self.kept -= track.size();
        for (_, intervals) in &mut track.wire.0 {
            intervals.add(one.from_ns, one.end_ns - one.from_ns, one.period_ns);
        }
        for ((queue, _), intervals) in &mut track.queue.0 {
            if *queue == one.queue {
                intervals.add(one.arrives_ns, one.end_ns - one.arrives_ns, one.period_ns);
            }
        }
        self.kept += track.size();
        track.lingering[usize::from(one.queue)] += u32::from(one.lingers());
        track.uses.push(one);
    }

    /// Takes a stream's use away.
    pub fn remove(&mut self, link: LinkId, stream: StreamId) {
        let track = &mut self.tracks[link];
        let Some(place) = track.uses.iter().position(|one| one.stream == stream) else { return };
        let one = track.uses.swap_remove(place);
        track.lingering[usize::from(one.queue)] -= u32::from(one.lingers());
        // What was merged cannot be taken apart: it is made anew when it is asked for.
        self.kept -= track.size();
        track.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(stream: StreamId, period_ns: u64) -> Use {
        let at_ns = 100 * stream as u64;
        Use { stream, period_ns, queue: 7, arrives_ns: at_ns, from_ns: at_ns, end_ns: at_ns + 50 }
    }

    /// What is forgotten for want of room is reckoned anew, and the same.
    #[test]
    fn busy_times_that_are_kept_are_bounded() {
        let mut plenty = Occupancy::new(3);
        let mut little = Occupancy { most_kept: 40, ..plenty.clone() };
        let periods = [1_000, 2_000, 8_000, 64_000];
        for stream in 0..9 {
            for taken in [&mut plenty, &mut little] {
                taken.add(stream % 3, one(stream, periods[stream % 4]));
            }
            if stream % 4 == 3 {
                plenty.remove((stream - 1) % 3, stream - 1);
                little.remove((stream - 1) % 3, stream - 1);
            }
            for (link, period_ns) in (0..3).flat_map(|link| periods.map(|period_ns| (link, period_ns))) {
                assert_eq!(little.wire(link, period_ns), plenty.wire(link, period_ns));
                assert_eq!(little.queue(link, 7, period_ns), plenty.queue(link, 7, period_ns));
                for taken in [&plenty, &little] {
                    assert_eq!(taken.kept, taken.tracks.iter().map(Track::size).sum::<usize>());
                }
                // One view alone may be larger.
                assert!(little.kept <= 40 + 66, "{}", little.kept);
            }
        }
        assert!(plenty.kept > 150, "{}", plenty.kept);
    }

    /// As long as somebody stays in a queue before the gate opens, that queue is looked at.
    #[test]
    fn a_queue_is_lingered_in_until_the_last_that_waits_is_taken_away() {
        let mut taken = Occupancy::new(2);
        let lingers = |taken: &Occupancy| [(0, 7), (0, 6), (1, 7)].map(|(link, queue)| taken.lingers(link, queue));
        taken.add(0, one(1, 1_000));
        assert_eq!(lingers(&taken), [false; 3]);
        for stream in [2, 3] {
            taken.add(0, Use { arrives_ns: 100 * stream as u64 - 1, ..one(stream, 1_000) });
        }
        assert_eq!(lingers(&taken), [true, false, false]);
        taken.remove(0, 1);
        taken.remove(0, 2);
        taken.remove(1, 3);
        assert_eq!(lingers(&taken), [true, false, false]);
        taken.remove(0, 3);
        assert_eq!(lingers(&taken), [false; 3]);
        assert!(taken.uses(0).is_empty());
    }
}
