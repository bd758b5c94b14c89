//! What the lines of a simulated chip are doing, without taking any.

use super::owner::Owner;
use super::wire::{self, Wire};
use super::{LINES, chip};
use crate::Error;

/// What one line of a chip is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineState {
    /// Its number.
    pub line: u32,
    /// Its level now.
    pub level: bool,
    /// Whether it is an output.
    pub driven: bool,
    /// The program that has it as an output, and its process.
    pub owner: Option<String>,
    /// Its wire, and the line at the other end.
    pub wire: Option<(u32, Wire)>,
    /// Edges it was driven through, mod 2^20.
    pub edges: u32,
}

/// Looks at every line of a chip that there is, without taking any.
pub fn line_states(chip: &str) -> Result<Vec<LineState>, Error> {
    let page = chip::open_existing(chip)?;
    let chip = page.chip();
    let now_ns = || ontick_rt::clock::ClockId::Monotonic.now_ns();
    Ok((0..LINES)
        .map(|line| LineState {
            line,
            level: chip.level(line, now_ns),
            driven: chip.setup[line as usize].is_driven(),
            owner: Owner::load(&chip.setup[line as usize].owner).map(|owner| owner.to_string()),
            wire: wire::of(chip, line),
            edges: chip.tracks[line as usize].newest().count(),
        })
        .collect())
}
