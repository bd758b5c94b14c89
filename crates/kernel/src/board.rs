//! The boards that a kernel is made for, and what each needs beside being real-time.

use super::options::Arch;

/// A board, or a kind of machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Board {
    /// As the command line names it.
    pub name: &'static str,
    /// In words.
    pub model: &'static str,
    /// What it can run; the first is what is built unless another is named.
    pub arches: &'static [Arch],
    /// Whether it has more than one processor core.
    pub several_cores: bool,
    /// Ticks a second: a slow single core feels a thousand of them.
    pub hz: u32,
    /// The configurations of vendors' and the kernel's own trees to start from, the best first, by architecture.
    pub bases: &'static [(Arch, &'static [&'static str])],
    /// The platforms of the kernel's configuration that it can be (arm64); empty for any.
    pub platforms: &'static [&'static str],
    /// What it needs beside: options, their values, why.
    pub needs: &'static [(&'static str, &'static str, &'static str)],
}

const BEAGLE: &[(&str, &str, &str)] = &[
    ("REMOTEPROC", "y", "its coprocessors (PRU)"),
    ("PRU_REMOTEPROC", "m", "its coprocessors (PRU)"),
    ("TI_PRUSS", "m", "its coprocessors (PRU)"),
];
const BROADCOM: &[&str] = &["ARCH_BCM", "ARCH_BCM2835", "ARCH_BRCMSTB"];
const ARM_V6: (Arch, &[&str]) = (Arch::Arm, &["bcmrpi_defconfig", "bcm2835_defconfig"]);
const ARM_V7: (Arch, &[&str]) = (Arch::Arm, &["bcm2709_defconfig", "multi_v7_defconfig"]);
const ARM_PI4: (Arch, &[&str]) = (Arch::Arm, &["bcm2711_defconfig", "multi_v7_defconfig"]);
const ARM64_PI: (Arch, &[&str]) = (Arch::Arm64, &["bcm2711_defconfig", "bcmrpi3_defconfig", "defconfig"]);
const ARM64_PI5: (Arch, &[&str]) = (Arch::Arm64, &["bcm2712_defconfig", "bcm2711_defconfig", "defconfig"]);

/// All that are known.
pub const BOARDS: &[Board] = &[
    pi("rpi0", "Raspberry Pi Zero", &[Arch::Arm], &[ARM_V6]),
    pi("rpi1", "Raspberry Pi 1", &[Arch::Arm], &[ARM_V6]),
    pi("rpi2", "Raspberry Pi 2", &[Arch::Arm], &[ARM_V7]),
    pi("rpi3", "Raspberry Pi 3, Zero 2", &[Arch::Arm64, Arch::Arm], &[ARM64_PI, ARM_V7]),
    pi("rpi4", "Raspberry Pi 4", &[Arch::Arm64, Arch::Arm], &[ARM64_PI, ARM_PI4]),
    pi("rpi5", "Raspberry Pi 5", &[Arch::Arm64], &[ARM64_PI5]),
    Board {
        name: "bbb",
        model: "BeagleBone Black",
        arches: &[Arch::Arm],
        several_cores: false,
        hz: 250,
        bases: &[(Arch::Arm, &["bb.org_defconfig", "omap2plus_defconfig", "multi_v7_defconfig"])],
        platforms: &[],
        needs: BEAGLE,
    },
    Board {
        name: "generic",
        model: "any machine",
        arches: &[Arch::X86, Arch::Arm64, Arch::Arm],
        several_cores: true,
        hz: 1000,
        bases: &[
            (Arch::X86, &["x86_64_defconfig"]),
            (Arch::Arm64, &["defconfig"]),
            (Arch::Arm, &["multi_v7_defconfig"]),
        ],
        platforms: &[],
        needs: &[],
    },
];

const fn pi(
    name: &'static str,
    model: &'static str,
    arches: &'static [Arch],
    bases: &'static [(Arch, &'static [&'static str])],
) -> Board {
    let several_cores = !matches!(name.as_bytes()[3], b'0' | b'1');
    Board {
        name,
        model,
        arches,
        several_cores,
        hz: if several_cores { 1000 } else { 250 },
        bases,
        platforms: BROADCOM,
        needs: &[],
    }
}

/// Why no kernel can be made for a board.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// None has this name.
    #[error("there is no board \"{0}\" here: one of {names}", names = BOARDS.iter().map(|board| board.name).collect::<Vec<_>>().join(", "))]
    Unknown(String),
    /// It has another processor.
    #[error(
        "a {} does not run {}, but {}",
        board.model, arch.name(), board.arches.iter().map(|arch| arch.name()).collect::<Vec<_>>().join(" or ")
    )]
    Architecture {
        /// The board.
        board: Board,
        /// What was asked for.
        arch: Arch,
    },
}

impl Board {
    /// The board of this name.
    pub fn named(name: &str) -> Result<&'static Self, BoardError> {
        BOARDS.iter().find(|board| board.name == name).ok_or_else(|| BoardError::Unknown(name.into()))
    }

    /// The architecture to build for: the one that is asked for, if the board can run it.
    pub fn arch(&self, asked: Option<Arch>) -> Result<Arch, BoardError> {
        // Any machine: the one at hand, unless another is named.
        let own =
            || Arch::named(std::env::consts::ARCH).filter(|own| self.name == "generic" && self.arches.contains(own));
        let arch = asked.or_else(own).unwrap_or(self.arches[0]);
        match self.arches.contains(&arch) {
            true => Ok(arch),
            false => Err(BoardError::Architecture { board: *self, arch }),
        }
    }

    /// Configurations to start from, the best first.
    pub fn bases(&self, arch: Arch) -> &'static [&'static str] {
        self.bases.iter().find(|(for_arch, _)| *for_arch == arch).map_or(&[], |(_, bases)| bases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_board_has_a_configuration_to_start_from_for_all_that_it_runs() {
        for board in BOARDS {
            assert!(board.arches.iter().all(|arch| !board.bases(*arch).is_empty()), "{}", board.name);
            assert_eq!(Board::named(board.name), Ok(board));
        }
        assert!(Board::named("rpi9").unwrap_err().to_string().contains("rpi5"));
    }

    #[test]
    fn a_board_is_built_for_what_it_runs() {
        let pi3 = Board::named("rpi3").unwrap();
        assert_eq!(pi3.arch(None), Ok(Arch::Arm64));
        assert_eq!(pi3.arch(Some(Arch::Arm)), Ok(Arch::Arm));
        assert_eq!(
            Board::named("rpi0").unwrap().arch(Some(Arch::Arm64)).unwrap_err().to_string(),
            "a Raspberry Pi Zero does not run arm64, but arm"
        );
        assert!(!Board::named("rpi1").unwrap().several_cores && pi3.several_cores);
    }
}
