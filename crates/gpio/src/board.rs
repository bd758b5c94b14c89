//! The boards whose registers are known, and how one is recognised.

use std::fmt;

/// A chip whose GPIO registers are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Board {
    /// Raspberry Pi 0 and 1.
    Bcm2835,
    /// Raspberry Pi 2.
    Bcm2836,
    /// Raspberry Pi 3, Zero 2 and later Pi 2.
    Bcm2837,
    /// Raspberry Pi 4 and 400.
    Bcm2711,
    /// Raspberry Pi 5 and 500: the lines belong to a second chip behind PCI Express.
    Rp1,
    /// BeagleBone.
    Am335x,
}

/// What a device tree calls them, the names of Raspberry Pi's older kernels included.
const COMPATIBLE: [(&str, Board); 9] = [
    ("brcm,bcm2835", Board::Bcm2835),
    ("brcm,bcm2708", Board::Bcm2835),
    ("brcm,bcm2836", Board::Bcm2836),
    ("brcm,bcm2709", Board::Bcm2836),
    ("brcm,bcm2837", Board::Bcm2837),
    ("brcm,bcm2710", Board::Bcm2837),
    ("brcm,bcm2711", Board::Bcm2711),
    ("brcm,bcm2712", Board::Rp1),
    ("ti,am33xx", Board::Am335x),
];

impl Board {
    /// The board whose device tree says that it is compatible with these, each ended by a zero byte.
    pub(crate) fn compatible_with(compatible: &[u8]) -> Option<Self> {
        let mut names = compatible.split(|&byte| byte == 0);
        names.find_map(|name| COMPATIBLE.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, board)| board))
    }

    /// The chip's name.
    pub fn chip(self) -> &'static str {
        match self {
            Board::Bcm2835 => "BCM2835",
            Board::Bcm2836 => "BCM2836",
            Board::Bcm2837 => "BCM2837",
            Board::Bcm2711 => "BCM2711",
            Board::Rp1 => "RP1",
            Board::Am335x => "AM335x",
        }
    }

    /// What its lines are called in records and beside every figure.
    pub(crate) fn backend(self) -> &'static str {
        match self {
            Board::Bcm2835 => "BCM2835 register",
            Board::Bcm2836 => "BCM2836 register",
            Board::Bcm2837 => "BCM2837 register",
            Board::Bcm2711 => "BCM2711 register",
            Board::Rp1 => "RP1 register",
            Board::Am335x => "AM335x register",
        }
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.chip())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boards_are_recognised_by_what_their_device_trees_say() {
        for (compatible, board) in [
            ("raspberrypi,model-zero-w\0brcm,bcm2835\0", Board::Bcm2835),
            ("raspberrypi,2-model-b\0brcm,bcm2836\0", Board::Bcm2836),
            ("raspberrypi,3-model-b\0brcm,bcm2837\0", Board::Bcm2837),
            ("raspberrypi,4-model-b\0brcm,bcm2711\0", Board::Bcm2711),
            ("raspberrypi,5-model-b\0brcm,bcm2712\0", Board::Rp1),
            ("ti,am335x-bone-black\0ti,am335x-bone\0ti,am33xx\0", Board::Am335x),
        ] {
            assert_eq!(Board::compatible_with(compatible.as_bytes()), Some(board), "{compatible:?}");
            assert_eq!(board.backend(), format!("{board} register"));
        }
        for compatible in ["", "\0", "rockchip,rk3399\0", "brcm,bcm2837-more\0", "ti,am33"] {
            assert_eq!(Board::compatible_with(compatible.as_bytes()), None, "{compatible:?}");
        }
    }
}
