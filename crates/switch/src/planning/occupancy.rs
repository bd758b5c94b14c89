//! Which link and which queue is taken when.

use super::folded::Folded;
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
struct Views<K>(Vec<(K, Folded)>);

impl<K> Default for Views<K> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy> Views<K> {
    fn get(&mut self, key: K, make: impl FnOnce() -> Folded) -> &Folded {
        let place = match self.0.binary_search_by_key(&key, |(key, _)| *key) {
            Ok(place) => place,
            Err(place) => {
                self.0.insert(place, (key, make()));
                place
            }
        };
        &self.0[place].1
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

/// All links' uses.
#[derive(Debug, Clone)]
pub struct Occupancy {
    tracks: Vec<Track>,
}

impl Occupancy {
    /// Of so many links, all free.
    pub fn new(links: usize) -> Self {
        Self { tracks: vec![Track::default(); links] }
    }

    /// Uses of a link, in the order in which they came.
    pub fn uses(&self, link: LinkId) -> &[Use] {
        &self.tracks[link].uses
    }

    /// When the link is taken, as a stream of this period sees it.
    pub fn wire(&mut self, link: LinkId, period_ns: u64) -> &Folded {
        let track = &mut self.tracks[link];
        let uses = &track.uses;
        track.wire.get(period_ns, || {
            let mut folded = Folded::new(period_ns);
            uses.iter().for_each(|one| folded.add(one.from_ns, one.end_ns - one.from_ns, one.period_ns));
            folded
        })
    }

    /// When frames are in a queue, as a stream of this period sees it.
    pub fn queue(&mut self, link: LinkId, queue: u8, period_ns: u64) -> &Folded {
        let track = &mut self.tracks[link];
        let uses = &track.uses;
        track.queue.get((queue, period_ns), || {
            let mut folded = Folded::new(period_ns);
            for one in uses.iter().filter(|one| one.queue == queue) {
                folded.add(one.arrives_ns, one.end_ns - one.arrives_ns, one.period_ns);
            }
            folded
        })
    }

    /// Whether a queue's stays differ from its transmissions.
    pub fn lingers(&self, link: LinkId, queue: u8) -> bool {
        self.tracks[link].lingering[usize::from(queue)] > 0
    }

    /// Adds a use.
    pub fn add(&mut self, link: LinkId, one: Use) {
        let track = &mut self.tracks[link];
        for (_, folded) in &mut track.wire.0 {
            folded.add(one.from_ns, one.end_ns - one.from_ns, one.period_ns);
        }
        for ((queue, _), folded) in &mut track.queue.0 {
            if *queue == one.queue {
                folded.add(one.arrives_ns, one.end_ns - one.arrives_ns, one.period_ns);
            }
        }
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
        track.wire.0.clear();
        track.queue.0.clear();
    }
}
