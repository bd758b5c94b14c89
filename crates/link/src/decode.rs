//! Edges to frames.

use std::collections::VecDeque;

use crate::block::{Block, DecodedBlock};
use crate::code::Code;
use crate::damaged::{Blocks, DamagedFrames};
use crate::eye::Eye;
use crate::frame::{Damage, Frame, Header, MOST_BLOCKS};
use crate::scale::{STRETCHES, Scales, Width};
use crate::wave::{self, HEADER};

/// A frame of which nothing came for so long will get no more, in ns.
const GIVEN_UP_NS: u64 = 25_000_000;
/// So many stretches without a block are noise.
const NOISE: u64 = 1 << 16;

/// What a receiver saw on its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEvent {
    /// A change.
    Edge {
        /// Up, else down.
        rising: bool,
        /// When, in ns.
        time_ns: u64,
        /// Changes that are known to have been missed since the one before.
        lost: u16,
        /// Nobody looked at the line for so long before, beyond what is usual: the edge may be that much older, and
        /// others may have been missed. In ns.
        blind_ns: u32,
    },
    /// No change until then, in ns, that was not reported.
    Quiet(u64),
}

/// What a receiver made of what it saw.
#[derive(Debug, Clone, PartialEq)]
pub enum Decoded {
    /// A whole frame.
    Frame {
        /// It.
        frame: Frame,
        /// Blocks that parity replaced.
        mended: usize,
        /// The blocks as they came.
        came: Blocks,
    },
    /// A frame that cannot be used.
    Damaged {
        /// What is wrong with it.
        damage: Damage,
        /// The blocks as they came.
        came: Blocks,
    },
    /// No frame at all.
    Noise {
        /// Stretches that were heard.
        stretches: u64,
    },
}

/// Reads what is seen. Takes whatever comes, in bounded memory.
#[derive(Debug)]
pub struct Decoder {
    code: Code,
    level: bool,
    since_ns: u64,
    /// How uncertain the time of the last edge is, in ns.
    unsure_ns: u32,
    /// The last stretch, which a glitch may turn out to have cut in two.
    last: Option<Stretch>,
    glitch: bool,
    /// What came since the line rested, until it is known whether it is a preamble.
    start: Vec<Stretch>,
    starting: bool,
    scales: Scales,
    block: Block,
    frame: Assembly,
    kept: DamagedFrames,
    out: VecDeque<Decoded>,
    eye: Eye,
    glitches: u64,
    blocks: u64,
}

/// The line was high or low for so long.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    high: bool,
    ns: u64,
    sure: bool,
}

/// The blocks of a frame.
#[derive(Debug, Default)]
struct Assembly {
    header: Option<Header>,
    blocks: Blocks,
    last: Option<u8>,
    /// The header came again, after the blocks.
    ended: bool,
    /// The line has rested since the last block.
    rested: bool,
    stretches: u64,
}

impl Decoder {
    /// For this code, on a line that is low or that nobody has looked at.
    pub fn new(code: Code) -> Self {
        Self {
            code,
            level: false,
            since_ns: 0,
            unsure_ns: 0,
            last: None,
            glitch: false,
            start: Vec::with_capacity(STRETCHES),
            starting: true,
            scales: Scales::of(code),
            block: Block::new(code),
            frame: Assembly::default(),
            kept: DamagedFrames::default(),
            out: VecDeque::new(),
            eye: Eye::new(code),
            glitches: 0,
            blocks: 0,
        }
    }

    /// Takes what was seen next.
    pub fn take(&mut self, seen: LineEvent) {
        match seen {
            LineEvent::Quiet(until_ns) => self.quiet(until_ns),
            LineEvent::Edge { rising, time_ns, lost, blind_ns } => {
                self.quiet(time_ns);
                self.edge(rising, time_ns, lost, blind_ns);
            }
        }
    }

    /// The next that was made of it.
    pub fn pop(&mut self) -> Option<Decoded> {
        self.out.pop_front()
    }

    /// How wide the pulses of whole blocks were.
    pub fn eye(&self) -> &Eye {
        &self.eye
    }

    /// Stretches much shorter than any that are sent: noise, taken out again.
    pub fn glitches(&self) -> u64 {
        self.glitches
    }

    /// Blocks that came whole so far, headers among them.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    fn quiet(&mut self, now_ns: u64) {
        let rested_ns = now_ns.saturating_sub(self.since_ns);
        if self.level || rested_ns < self.code.idle_ns() {
            return;
        }
        self.flush(rested_ns);
        if self.frame.is_whole() || rested_ns >= GIVEN_UP_NS.max(2 * self.code.idle_ns()) {
            self.finish();
        }
        (self.frame.rested, self.starting) = (true, true);
    }

    /// Nothing follows what is still held back, but the gap that is a rest by now.
    fn flush(&mut self, rested_ns: u64) {
        self.glitch = false;
        let Some(last) = self.last.take() else { return };
        self.stretch(last);
        self.replay();
        if last.high {
            self.read(Stretch { high: false, ns: rested_ns, sure: true });
        }
    }

    /// It was no preamble.
    fn replay(&mut self) {
        self.starting = false;
        let mut start = std::mem::take(&mut self.start);
        start.drain(..).for_each(|stretch| self.read(stretch));
        self.start = start;
    }

    fn edge(&mut self, rising: bool, time_ns: u64, lost: u16, blind_ns: u32) {
        let whole_ns = time_ns.saturating_sub(self.since_ns);
        let limit_ns = (self.code.step_ns / 2) as u32;
        let sure = lost == 0 && blind_ns.max(self.unsure_ns) <= limit_ns;
        if rising != self.level {
            self.come(Stretch { high: self.level, ns: whole_ns, sure });
        } else {
            // One edge at least is missing in between.
            for (high, ns) in [(self.level, whole_ns / 2), (!self.level, whole_ns - whole_ns / 2)] {
                self.come(Stretch { high, ns, sure: false });
            }
        }
        (self.level, self.since_ns, self.unsure_ns) = (rising, time_ns, blind_ns);
    }

    /// Merges a stretch that is shorter than any that is sent with those around it.
    fn come(&mut self, stretch: Stretch) {
        let shortest_ns = self.code.shortest_ns / 4;
        match &mut self.last {
            // The low before the first pulse is no part of anything.
            None if !stretch.high => {}
            None => self.last = Some(stretch),
            Some(last) if std::mem::take(&mut self.glitch) => {
                *last = Stretch { ns: last.ns.saturating_add(stretch.ns), sure: last.sure && stretch.sure, ..*last };
            }
            Some(last) if stretch.ns < shortest_ns && stretch.sure => {
                last.ns = last.ns.saturating_add(stretch.ns);
                self.glitch = true;
                self.glitches += 1;
            }
            Some(last) => {
                let before = std::mem::replace(last, stretch);
                self.stretch(before);
            }
        }
    }

    fn stretch(&mut self, stretch: Stretch) {
        if !self.starting {
            return self.read(stretch);
        }
        self.start.push(stretch);
        if self.start.len() < STRETCHES {
            return;
        }
        let stretches: Vec<u64> = self.start.iter().map(|stretch| stretch.ns).collect();
        match Scales::learn(&stretches, self.code) {
            Some(scales) => {
                self.start.clear();
                self.starting = false;
                self.finish();
                self.scales = scales;
                self.block.forget();
            }
            // A preamble that was not seen whole, or the rest of a frame whose sender was stopped.
            None => self.replay(),
        }
    }

    fn read(&mut self, Stretch { high, ns, sure }: Stretch) {
        self.frame.stretches += 1;
        if self.frame.is_empty() && self.frame.stretches > NOISE {
            self.finish();
        }
        let scale = if high { self.scales.pulse } else { self.scales.gap };
        let width = scale.read(ns as f64);
        if !high {
            self.block.gap(width, sure);
        } else if width == Width::Mark {
            if let Some(ended) = self.block.mark() {
                self.place(ended);
            }
        } else {
            self.block.pulse(width, sure, ns);
        }
    }

    fn place(&mut self, DecodedBlock { bytes, sure, pulses }: DecodedBlock) {
        let Some((number, data)) = wave::checked(&bytes).filter(|_| sure) else { return };
        self.blocks += 1;
        if number == HEADER {
            if let Some(header) = Header::read(data) {
                self.header(header);
            }
        } else if usize::from(number) < MOST_BLOCKS {
            if self.frame.last.is_some_and(|last| number < last) {
                self.finish();
            }
            self.frame.put(number, data.to_vec());
            self.eye.add(&pulses, self.scales.pulse);
        }
    }

    fn header(&mut self, header: Header) {
        let is_anothers = match self.frame.header {
            Some(own) => own != header,
            // Whose beginning was missed, too: after a rest a header is the first of its frame.
            None => self.frame.rested && self.frame.last.is_some(),
        };
        if is_anothers {
            self.finish();
        }
        self.frame.ended = self.frame.last.is_some();
        self.frame.header = Some(header);
        self.frame.rested = false;
    }

    /// Nothing more comes of this frame.
    fn finish(&mut self) {
        let Assembly { header, blocks, stretches, .. } = std::mem::take(&mut self.frame);
        let heard = match header {
            None if blocks.is_empty() && stretches == 0 => return,
            None if blocks.is_empty() => Decoded::Noise { stretches },
            None => Decoded::Damaged { damage: Damage::Header, came: blocks },
            Some(header) => match self.join(&header, &blocks) {
                Ok((frame, mended)) => Decoded::Frame { frame, mended, came: blocks },
                Err(damage) => Decoded::Damaged { damage, came: blocks },
            },
        };
        self.out.push_back(heard);
    }

    /// The frame of these blocks, or of these and what came of it when it was sent before.
    fn join(&mut self, header: &Header, blocks: &Blocks) -> Result<(Frame, usize), Damage> {
        let all = self.kept.add_to(header, blocks);
        let (joined, came) = match header.join(blocks) {
            Err(Damage::Missing { .. }) if all.is_some() => {
                let all = all.unwrap_or_default();
                (header.join(&all), all)
            }
            other => (other, blocks.clone()),
        };
        // Those of another stream with the same number would spoil all that follow.
        if let Err(Damage::Missing { .. }) = joined {
            self.kept.keep(*header, came);
        }
        joined
    }
}

impl Assembly {
    fn is_empty(&self) -> bool {
        self.header.is_none() && self.blocks.is_empty()
    }

    fn put(&mut self, number: u8, data: Vec<u8>) {
        let place = usize::from(number);
        if self.blocks.len() <= place {
            self.blocks.resize(place + 1, None);
        }
        self.blocks[place] = Some(data);
        (self.last, self.rested) = (Some(number), false);
    }

    /// Whether nothing more is to come.
    fn is_whole(&self) -> bool {
        self.ended || self.header.is_some_and(|header| self.blocks.iter().flatten().count() == header.wanted())
    }
}

#[cfg(test)]
mod tests;
