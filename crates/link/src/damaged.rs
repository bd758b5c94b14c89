//! What came of frames that were damaged, for when they are sent again.

use std::collections::VecDeque;

use crate::frame::Header;

/// Frames that are kept, at most.
const MOST: usize = 64;

/// Blocks of a frame, by their place.
pub type Blocks = Vec<Option<Vec<u8>>>;

/// The blocks of the last frames that were damaged.
#[derive(Debug, Default)]
pub struct DamagedFrames {
    frames: VecDeque<(Header, Blocks)>,
}

impl DamagedFrames {
    /// Keeps what came of a frame; the oldest goes when there are too many.
    pub fn keep(&mut self, header: Header, blocks: Blocks) {
        if self.frames.len() == MOST {
            self.frames.pop_front();
        }
        self.frames.push_back((header, blocks));
    }

    /// These blocks of a frame, and those that came of it before. What came last counts.
    pub fn add_to(&mut self, header: &Header, blocks: &Blocks) -> Option<Blocks> {
        let place = self.frames.iter().position(|(kept, _)| kept.is_of(header))?;
        let (_, mut all) = self.frames.remove(place)?;
        all.resize(all.len().max(blocks.len()), None);
        for (before, now) in all.iter_mut().zip(blocks) {
            if now.is_some() {
                before.clone_from(now);
            }
        }
        Some(all)
    }
}
