//! What the registers of each board are like.

use super::layout::Layout;
use super::{am335x, bcm, rp1};
use crate::board::Board;

impl Board {
    /// How many lines it has, from 0 on.
    pub fn lines(self) -> u32 {
        match self {
            Board::Bcm2835 | Board::Bcm2836 | Board::Bcm2837 => 54,
            Board::Bcm2711 => 58,
            Board::Rp1 => rp1::LINES,
            Board::Am335x => 4 * am335x::BANK_LINES,
        }
    }

    pub(super) fn layout(self) -> &'static dyn Layout {
        match self {
            Board::Bcm2835 | Board::Bcm2836 | Board::Bcm2837 => &bcm::BCM2835,
            Board::Bcm2711 => &bcm::BCM2711,
            Board::Rp1 => &rp1::Rp1,
            Board::Am335x => &am335x::Am335x,
        }
    }
}
