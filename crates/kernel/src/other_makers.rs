//! The chips of other makers: the kernel's own configuration for arm64 is for every board there is, and most of what it
//! compiles is drivers that one board never has.

use super::board::Board;
use super::fragment::OptionRequest;
use super::source::Source;

/// The configuration that is for all makers' boards.
pub const FOR_ALL: &str = "defconfig";
const PLATFORMS: &str = "arch/arm64/Kconfig.platforms";

/// Asks for none of the platforms in the tree but the board's own; for nothing where the board may have any.
pub fn left_out(source: &Source, board: &Board) -> Vec<OptionRequest> {
    if board.platforms.is_empty() {
        return Vec::new();
    }
    // A tree without this file has other platforms: all of them stay, which costs only time.
    let text = std::fs::read_to_string(source.folder.join(PLATFORMS)).unwrap_or_default();
    let others = platforms(&text).filter(|name| !board.platforms.contains(name));
    others.map(|name| OptionRequest::off(name, "another maker's chips, which the board cannot have")).collect()
}

fn platforms(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let name = line.strip_prefix("config ").or_else(|| line.strip_prefix("menuconfig "))?.trim();
        name.starts_with("ARCH_").then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Version;

    #[test]
    fn only_the_boards_own_platform_stays() {
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join(PLATFORMS);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = "menu \"Platforms\"\nconfig ARCH_SUNXI\n\tbool \"A\"\nmenuconfig ARCH_BCM\n\tbool \"B\"\n\
                    if ARCH_BCM\nconfig ARCH_BCM2835\n\tselect ARCH_X\nconfig BROKEN\nendif\n";
        std::fs::write(file, text).unwrap();
        let source = Source { folder: tree.path().into(), version: Version::default() };
        let asked = |board| -> Vec<String> {
            left_out(&source, Board::named(board).unwrap()).iter().map(OptionRequest::line).collect()
        };
        assert_eq!(asked("rpi4"), ["# CONFIG_ARCH_SUNXI is not set"]);
        assert_eq!(asked("generic"), [""; 0]);
    }
}
