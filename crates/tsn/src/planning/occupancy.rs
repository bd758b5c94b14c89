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

/// What streams of one period see of a link's uses, as far as it was asked for.
#[derive(Debug, Clone)]
struct View {
    intervals: PeriodicIntervals,
    /// How many of the link's uses are in it; those that came later are added when it is asked for again.
    known: usize,
}

impl View {
    fn new(period_ns: u64) -> Self {
        Self { intervals: PeriodicIntervals::new(period_ns), known: 0 }
    }

    fn size(&self) -> usize {
        1 + self.intervals.busy().len()
    }

    /// With all uses of the link in it, from the time on that `from_ns` says of each, if that one is in it at all. `kept` is
    /// the size of all views.
    fn updated(&mut self, uses: &[Use], from_ns: impl Fn(&Use) -> Option<u64>, kept: &mut usize) -> &PeriodicIntervals {
        if self.known < uses.len() {
            let before = self.size();
            for one in &uses[self.known..] {
                if let Some(from_ns) = from_ns(one) {
                    self.intervals.add(from_ns, one.end_ns - from_ns, one.period_ns);
                }
            }
            self.known = uses.len();
            *kept = *kept + self.size() - before;
        }
        &self.intervals
    }
}

/// What was asked for before, in order: periods are few, and hashing them is most of a look.
#[derive(Debug, Clone)]
struct Views<K>(Vec<(K, View)>);

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
        self.0.iter().map(|(_, view)| view.size()).sum()
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
            let place = self.make_room(place);
            self.tracks[link].wire.0.insert(place, (period_ns, View::new(period_ns)));
            place
        });
        let Track { uses, wire, .. } = &mut self.tracks[link];
        wire.0[place].1.updated(uses, |one| Some(one.from_ns), &mut self.kept)
    }

    /// When frames are in a queue, as a stream of this period sees it.
    pub fn queue(&mut self, link: LinkId, queue: u8, period_ns: u64) -> &PeriodicIntervals {
        let key = (queue, period_ns);
        let place = self.tracks[link].queue.place(key).unwrap_or_else(|place| {
            let place = self.make_room(place);
            self.tracks[link].queue.0.insert(place, (key, View::new(period_ns)));
            place
        });
        let Track { uses, queue: views, .. } = &mut self.tracks[link];
        let from_ns = |one: &Use| (one.queue == queue).then_some(one.arrives_ns);
        views.0[place].1.updated(uses, from_ns, &mut self.kept)
    }

    /// Before another view is kept at this place among others: where it is then.
    fn make_room(&mut self, place: usize) -> usize {
        let full = self.kept >= self.most_kept;
        if full {
            self.tracks.iter_mut().for_each(Track::forget);
            self.kept = 0;
        }
        self.kept += 1;
        if full { 0 } else { place }
    }

    /// Whether a queue's stays differ from its transmissions.
    pub fn lingers(&self, link: LinkId, queue: u8) -> bool {
        self.tracks[link].lingering[usize::from(queue)] > 0
    }

    /// Adds a use.
    pub fn add(&mut self, link: LinkId, one: Use) {
        let track = &mut self.tracks[link];
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
    use super::super::random::Random;
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

    /// Whenever it is asked for, and whoever has come or gone since it was asked for last.
    #[test]
    fn a_view_has_all_uses_of_its_link_in_it() {
        let mut random = Random::new(11);
        let mut taken = Occupancy::new(2);
        let mut late = 0;
        for stream in 0..3_000 {
            let link = random.below(2) as usize;
            let period_ns = [10_000, 20_000, 40_000][random.below(3) as usize];
            match random.below(10) {
                0..4 if taken.uses(link).len() > 40 => {
                    while taken.uses(link).len() > 10 {
                        let gone = taken.uses(link)[random.below(10) as usize].stream;
                        taken.remove(link, gone);
                    }
                }
                0..6 => {
                    let arrives_ns = random.below(period_ns);
                    let from_ns = arrives_ns + random.below(100);
                    let (queue, end_ns) = (6 + random.below(2) as u8, from_ns + 1 + random.below(100));
                    taken.add(link, Use { stream, period_ns, queue, arrives_ns, from_ns, end_ns });
                }
                _ => {
                    let (mut wire, mut queue) = (PeriodicIntervals::new(period_ns), PeriodicIntervals::new(period_ns));
                    for one in taken.uses(link) {
                        wire.add(one.from_ns, one.end_ns - one.from_ns, one.period_ns);
                        if one.queue == 7 {
                            queue.add(one.arrives_ns, one.end_ns - one.arrives_ns, one.period_ns);
                        }
                    }
                    let view = taken.tracks[link].wire.0.iter().find(|(of_ns, _)| *of_ns == period_ns);
                    late += usize::from(view.is_some_and(|(_, view)| view.known + 1 < taken.uses(link).len()));
                    assert_eq!(taken.wire(link, period_ns), &wire);
                    assert_eq!(taken.queue(link, 7, period_ns), &queue);
                }
            }
        }
        assert!(late > 100, "{late}");
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
