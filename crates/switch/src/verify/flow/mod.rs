//! Numbered flows: one for each class, of frames that the class's rules want.

mod build;
mod choose;
mod mark;

pub use mark::{Mark, Nonce};
use ontick_tsn::frame::Header;
use ontick_tsn::model::Switch;
use ontick_tsn::wire;

/// Octets of the check sequence, which the port adds and takes off; they are part of a frame's size as people say it.
pub const CHECK: u32 = 4;
/// Sizes of an untagged frame with its check sequence. A tag adds four.
pub const SIZES: std::ops::RangeInclusive<u32> = 64..=1518;

/// A flow of frames that are alike but for their marks.
#[derive(Debug, Clone)]
pub struct Flow {
    /// The place of its class in the switch's classes.
    pub class: usize,
    /// The class's queue.
    pub queue: u8,
    /// What the frames say of themselves.
    pub header: Header,
    /// A frame without a mark.
    frame: Vec<u8>,
    /// Where the mark is.
    mark_at: usize,
    /// Where the UDP or TCP checksum is, and its sum without the mark.
    checksum: Option<(usize, u32)>,
    /// What tells this flow's frames of this run from all others.
    nonce: Nonce,
}

/// Why a class has no flow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoFlow {
    /// Its rules ask for the priority of a sending socket, which frames from elsewhere do not have.
    #[error("class {0}: its rules ask for the priority of a sending socket, which no frame from elsewhere has")]
    OwnFrames(String),
    /// Whatever fits it fits a class before it too.
    #[error("class {0}: no frame was found that fits it and no class before it")]
    Unreachable(String),
    /// A bridge keeps frames with this destination to itself.
    #[error("class {0}: its frames go to an address that no bridge forwards")]
    Reserved(String),
}

impl Flow {
    /// A flow for a class. `size` is that of an untagged frame with its check sequence; frames whose headers and mark
    /// need more are longer.
    pub fn new(switch: &Switch, class: usize, size: u32, nonce: Nonce) -> Result<Self, NoFlow> {
        let header = choose::header(switch, class)?;
        let octets = (*SIZES.end()).min(size).max(*SIZES.start()) - CHECK;
        Ok(Self::of(class, switch.classes[class].queue, header, octets, nonce))
    }

    /// A flow of frames with this header.
    fn of(class: usize, queue: u8, header: Header, octets: u32, nonce: Nonce) -> Self {
        let octets = octets + if header.tag.is_some() { wire::TAG } else { 0 };
        let built = build::frame(&header, octets as usize, class as u16);
        Self { class, queue, header, frame: built.octets, mark_at: built.mark_at, checksum: built.checksum, nonce }
    }

    /// Octets of a frame, without its check sequence.
    pub fn octets(&self) -> u32 {
        self.frame.len() as u32
    }

    /// A frame to put marks into.
    pub fn frame(&self) -> Vec<u8> {
        self.frame.clone()
    }

    /// Puts a mark into a frame of this flow, and its checksum right.
    #[inline]
    pub fn stamp(&self, frame: &mut [u8], number: u64, sent_ns: u64) {
        let mark = Mark { number, sent_ns }.octets(self.nonce, self.class as u8);
        frame[self.mark_at..self.mark_at + Mark::OCTETS].copy_from_slice(&mark);
        if let Some((at, sum)) = self.checksum {
            frame[at..at + 2].copy_from_slice(&build::finished(build::sum(sum, &mark)));
        }
    }

    /// Reads the mark of a frame that arrived at `at_ns`. `frame` is as it was on the wire, tag included, and may be cut
    /// behind the mark; `octets` is its whole length.
    pub fn read(&self, frame: &[u8], octets: usize, at_ns: u64) -> Reading {
        let Some(found) = frame.get(self.mark_at..self.mark_at + Mark::OCTETS) else { return Reading::Other };
        let Some(mark) = Mark::read(found, self.nonce, self.class as u8, at_ns) else { return Reading::Other };
        let whole = octets == self.frame.len();
        let alike = match self.checksum {
            Some((at, sum)) => {
                let right = build::finished(build::sum(sum, found));
                frame[..at] == self.frame[..at]
                    && frame[at..at + 2] == right
                    && frame[at + 2..self.mark_at] == self.frame[at + 2..self.mark_at]
            }
            None => frame[..self.mark_at] == self.frame[..self.mark_at],
        };
        if whole && alike { Reading::Frame(mark) } else { Reading::Damaged }
    }
}

/// What a frame that arrived is to a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Somebody else's.
    Other,
    /// Of this flow, as it was sent.
    Frame(Mark),
    /// Of this flow, but changed on its way.
    Damaged,
}

/// The flow of each class that can have one, with frames of this size, and why the others have none.
pub fn of_all_classes(switch: &Switch, size: impl Fn(usize) -> u32, nonce: Nonce) -> (Vec<Flow>, Vec<NoFlow>) {
    let flows = (0..switch.classes.len()).map(|class| Flow::new(switch, class, size(class), nonce));
    let (made, not): (Vec<_>, Vec<_>) = flows.partition(Result::is_ok);
    (made.into_iter().flatten().collect(), not.into_iter().filter_map(Result::err).collect())
}

#[cfg(test)]
mod tests;
