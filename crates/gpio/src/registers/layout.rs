//! What every board's registers can do, whatever their layout.

/// Where the words of a timed access are: bytes from the start of the registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Words {
    /// Writing the mask here makes the line high.
    pub set: usize,
    /// Writing it here makes the line low.
    pub clear: usize,
    /// The line is high when a bit of the mask is set here.
    pub level: usize,
    /// The line's bit.
    pub mask: u32,
}

/// Whom a line serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// Nobody, or whoever reads it.
    Input,
    /// Whoever sets and clears it.
    Output,
    /// One of the board's peripherals, by this name in the manual.
    Peripheral(&'static str),
}

/// What holds a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pull {
    Off,
    Down,
    Up,
}

/// Words at distances from the start of the registers, in bytes.
pub trait Registers {
    /// The word there.
    fn read(&mut self, offset: usize) -> u32;
    /// Writes the word there.
    fn write(&mut self, offset: usize, value: u32);
    /// Replaces the bits of `mask` by those of `bits`.
    fn change(&mut self, offset: usize, mask: u32, bits: u32) {
        let others = self.read(offset) & !mask;
        self.write(offset, others | bits & mask);
    }
}

/// The registers of one kind of chip. Only [`Layout::words`] matters to a timed loop; the rest changes words that other
/// lines share, and wants [`super::lock`].
pub trait Layout: Sync {
    /// Where a timed access goes.
    fn words(&self, line: u32) -> Words;
    /// Whom the line serves now.
    fn function(&self, registers: &mut dyn Registers, line: u32) -> Function;
    /// Whether its level can be read the way it is set up.
    fn receives(&self, _: &mut dyn Registers, _: u32) -> bool {
        true
    }
    /// Makes it an input.
    fn listen(&self, registers: &mut dyn Registers, line: u32);
    /// Makes it an output, at the level that was set before.
    fn drive(&self, registers: &mut dyn Registers, line: u32);
    /// Has it held. The reason, if registers that a program can reach do not do that.
    fn pull(&self, registers: &mut dyn Registers, line: u32, pull: Pull) -> Result<(), &'static str>;
}
