//! A board's lines as their registers show them, none of them taken.

use std::path::Path;

use super::layout::Function;
use super::register_window::{RegisterWindow, is_clocked, recognise};
use super::window::Access;
use crate::board::Board;
use crate::{Error, Name};

/// A line as it is.
#[derive(Debug, PartialEq, Eq)]
pub struct PinState {
    pub line: u32,
    pub output: bool,
    /// The peripheral's function that the pin serves instead of its line.
    pub function: Option<&'static str>,
    /// `None` where the pin's receiver is off.
    pub level: Option<bool>,
}

/// The board of the system whose files are under `root`, and those of its lines that can be reached now.
pub fn pin_states(root: &Path) -> Result<(Board, Vec<PinState>), Error> {
    let (board, _) = recognise(&Name::Register(0), root)?;
    let mut lines = Vec::new();
    for line in 0..board.lines() {
        let name = Name::Register(line);
        if is_clocked(&name, root, board, line)? {
            lines.push(pin_state(RegisterWindow::open(&name, root, line)?, line));
        }
    }
    Ok((board, lines))
}

fn pin_state(RegisterWindow { board, window, .. }: RegisterWindow, line: u32) -> PinState {
    let layout = board.layout();
    let mut access = Access::new(window, layout.words(line));
    let function = layout.function(access.window(), line);
    let level = layout.receives(access.window(), line).then(|| access.read());
    let peripheral = match function {
        Function::Peripheral(name) => Some(name),
        Function::Input | Function::Output => None,
    };
    PinState { line, output: function == Function::Output, function: peripheral, level }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::FileExt;

    use super::*;

    /// A machine whose device of this name holds these words; the rest of it is zeros.
    fn machine(compatible: &str, device: &str, bytes: u64, words: &[(u64, u32)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("proc/device-tree")).unwrap();
        fs::write(root.path().join("proc/device-tree/compatible"), compatible).unwrap();
        fs::create_dir(root.path().join("dev")).unwrap();
        let file = File::create(root.path().join("dev").join(device)).unwrap();
        file.set_len(bytes).unwrap();
        for (at, word) in words {
            file.write_all_at(&word.to_ne_bytes(), *at).unwrap();
        }
        root
    }

    #[test]
    fn a_look_tells_function_and_level_of_each_line() {
        let words = [(0x04, 0o0_001_040_000), (0x34, 1 << 14 | 1 << 2)];
        let root = machine("brcm,bcm2835\0", "gpiomem", 0x1000, &words);
        let (board, lines) = pin_states(root.path()).unwrap();
        assert_eq!((board, lines.len()), (Board::Bcm2835, 54));
        let state = |line, output, function, level| PinState { line, output, function, level: Some(level) };
        assert_eq!(lines[2], state(2, false, None, true));
        assert_eq!(lines[14], state(14, false, Some("ALT0"), true));
        assert_eq!(lines[16], state(16, true, None, false));
    }

    #[test]
    fn a_bank_that_sleeps_is_left_out() {
        let words = [(0x44e0_0408, 0x3_0000), (0x44e0_00ac, 2), (0x44e0_00b4, 2), (0x481a_e134, u32::MAX)];
        let root = machine("ti,am33xx\0", "mem", 0x481a_f000, &words);
        let lines = pin_states(root.path()).unwrap().1;
        let numbers: Vec<u32> = lines.iter().map(|seen| seen.line).collect();
        assert_eq!(numbers, (32..64).chain(96..128).collect::<Vec<_>>());
        assert!(lines[0].output && !lines[32].output);
    }

    #[test]
    fn a_receiver_that_is_off_tells_no_level() {
        let words = [(0x2_0004, 0x56), (0x1_0008, u32::MAX), (4, 0x1f)];
        let root = machine("brcm,bcm2712\0", "gpiomem0", 0x3_0000, &words);
        let lines = pin_states(root.path()).unwrap().1;
        assert_eq!((lines[0].level, lines[0].function), (Some(true), None));
        assert_eq!((lines[1].level, lines[1].function), (None, Some("alt0")));
    }
}
