//! Lines of registers, on machines made of ordinary files: every word that is touched is looked at.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use ontick_gpio::registers::Board;
use ontick_gpio::{Backend, Bias, Debounce, Edges, Error, Group, Line, OnExit, Outputs, Request};
use proptest::prelude::*;
use rustix::fs::FlockOperation;
use tempfile::TempDir;

/// A machine whose registers are in a file.
struct Machine {
    root: TempDir,
    registers: PathBuf,
    /// Where they begin there.
    start: u64,
    bytes: usize,
}

/// How a machine is made: its device tree, and where its registers are.
#[derive(Debug, Clone, Copy)]
struct Kind {
    board: Board,
    compatible: &'static str,
    device: &'static str,
    start: u64,
    bytes: usize,
}

const PAGE: usize = 0x1000;
/// After reset: no function; output disabled, pulled down.
const RP1_CONTROL: u32 = 0x1f;
const RP1_PAD: u32 = 0x96;
const KINDS: [Kind; 6] = [
    bcm(Board::Bcm2835, "raspberrypi,model-zero-w\0brcm,bcm2835\0"),
    bcm(Board::Bcm2836, "raspberrypi,2-model-b\0brcm,bcm2836\0"),
    bcm(Board::Bcm2837, "raspberrypi,3-model-b\0brcm,bcm2837\0"),
    bcm(Board::Bcm2711, "raspberrypi,4-model-b\0brcm,bcm2711\0"),
    Kind {
        board: Board::Rp1,
        compatible: "raspberrypi,5-model-b\0brcm,bcm2712\0",
        device: "dev/gpiomem0",
        start: 0,
        bytes: 0x3_0000,
    },
    beaglebone(0x4804_c000),
];

const fn bcm(board: Board, compatible: &'static str) -> Kind {
    Kind { board, compatible, device: "dev/gpiomem", start: 0, bytes: PAGE }
}

const fn beaglebone(start: u64) -> Kind {
    let compatible = "ti,am335x-bone-black\0ti,am335x-bone\0ti,am33xx\0";
    Kind { board: Board::Am335x, compatible, device: "dev/mem", start, bytes: PAGE }
}

impl Kind {
    fn build(self) -> Machine {
        let root = tempfile::tempdir().unwrap();
        let registers = root.path().join(self.device);
        write(&root.path().join("proc/device-tree/compatible"), self.compatible.as_bytes());
        write(&registers, &[]);
        File::options().write(true).open(&registers).unwrap().set_len(self.start + self.bytes as u64).unwrap();
        let machine = Machine { root, registers, start: self.start, bytes: self.bytes };
        if self.board == Board::Am335x {
            for control in [0x44e0_0408, 0x44e0_00ac, 0x44e0_00b0, 0x44e0_00b4] {
                machine.at(control, 2);
            }
        }
        if self.board == Board::Rp1 {
            for line in 0..28 {
                machine.set(8 * line + 4, RP1_CONTROL);
                machine.set(0x2_0004 + 4 * line, RP1_PAD);
            }
        }
        machine
    }

    /// A line whose registers are in the file.
    fn line(self, chosen: u32) -> u32 {
        match self.board {
            Board::Am335x => 32 + chosen % 32,
            board => chosen % board.lines(),
        }
    }

    /// Where the manual has the words that set, clear and show a line, and its bit there.
    fn words(self, line: u32) -> (usize, usize, usize, u32) {
        let bit = 1 << (line % 32);
        match self.board {
            Board::Rp1 => (0x1_2000, 0x1_3000, 0x1_0008, bit),
            Board::Am335x => (0x194, 0x190, 0x138, bit),
            _ if line < 32 => (0x1c, 0x28, 0x34, bit),
            _ => (0x20, 0x2c, 0x38, bit),
        }
    }

    /// The word with the line's function, its bits there, and the values for an input, an output and a peripheral.
    fn function(self, line: u32) -> (usize, u32, [u32; 3]) {
        match self.board {
            Board::Rp1 => (8 * line as usize + 4, 0x1f, [5, 5, 4]),
            // The pins of an AM335x tell in words that are elsewhere.
            Board::Am335x => (0x134, 1 << (line % 32), [u32::MAX, 0, u32::MAX]),
            _ => {
                let shift = line % 10 * 3;
                (line as usize / 10 * 4, 7 << shift, [0, 1 << shift, 4 << shift])
            }
        }
    }
}

fn write(path: &std::path::Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

impl Machine {
    fn at(&self, offset: u64, value: u32) {
        let file = File::options().write(true).open(&self.registers).unwrap();
        file.write_all_at(&value.to_ne_bytes(), offset).unwrap();
    }

    fn words(&self) -> Vec<u32> {
        let mut bytes = vec![0; self.bytes];
        File::open(&self.registers).unwrap().read_exact_at(&mut bytes, self.start).unwrap();
        bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
    }

    fn word(&self, offset: usize) -> u32 {
        self.words()[offset / 4]
    }

    fn set(&self, offset: usize, value: u32) {
        self.at(self.start + offset as u64, value);
    }

    /// Puts noise everywhere, so that a word that is written shows.
    fn fill(&self, seed: u32) {
        let noise = |index: usize| (index as u32 + 1).wrapping_mul(seed | 1).wrapping_mul(0x9e37_79b9);
        let bytes: Vec<u8> = (0..self.bytes / 4).flat_map(|index| noise(index).to_ne_bytes()).collect();
        File::options().write(true).open(&self.registers).unwrap().write_all_at(&bytes, self.start).unwrap();
    }

    /// The words that are not as before: where, and what is there now.
    fn changes(&self, before: &[u32]) -> Vec<(usize, u32)> {
        let differ = |(index, (now, before))| (now != before).then_some((4 * index, now));
        self.words().into_iter().zip(before.iter().copied()).enumerate().filter_map(differ).collect()
    }

    fn open(&self, line: u32, request: Request) -> Result<Line, Error> {
        Line::open_register_under(self.root.path(), line, &request)
    }

    fn refusal(&self, line: u32, request: Request) -> String {
        self.open(line, request).unwrap_err().to_string()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_write_is_one_word_and_a_read_none(kind in 0..KINDS.len(), chosen in any::<u32>(), seed in any::<u32>()) {
        let kind = KINDS[kind];
        let (machine, line) = (kind.build(), kind.line(chosen));
        let (set, clear, level, bit) = kind.words(line);
        let mut pin = machine.open(line, Request::output(false)).unwrap();
        prop_assert_eq!(machine.word(clear), bit);
        machine.fill(seed);

        let before = machine.words();
        pin.write(true).unwrap();
        let expected: Vec<_> = [(set, bit)].into_iter().filter(|&(at, bit)| before[at / 4] != bit).collect();
        prop_assert_eq!(machine.changes(&before), expected);

        let before = machine.words();
        pin.write(false).unwrap();
        let expected: Vec<_> = [(clear, bit)].into_iter().filter(|&(at, bit)| before[at / 4] != bit).collect();
        prop_assert_eq!(machine.changes(&before), expected);

        for value in [bit, !bit, 0, u32::MAX] {
            machine.set(level, value);
            let before = machine.words();
            prop_assert_eq!(pin.read().unwrap(), value & bit != 0);
            pin.flush().unwrap();
            prop_assert_eq!(machine.changes(&before), []);
        }
    }

    #[test]
    fn taking_and_releasing_a_line_leaves_all_others_alone(
        kind in 0..KINDS.len(), chosen in any::<u32>(), seed in any::<u32>(), value in any::<bool>(), keep in any::<bool>()
    ) {
        let kind = KINDS[kind];
        let (machine, line) = (kind.build(), kind.line(chosen));
        let (set, clear, _, bit) = kind.words(line);
        let (function, mask, [input, output, _]) = kind.function(line);
        machine.fill(seed);
        machine.set(function, machine.word(function) & !mask | input & mask);
        machine.set(set, 0);
        machine.set(clear, 0);
        let before = machine.words();

        let on_exit = if keep { OnExit::Keep } else { OnExit::Input };
        let pin = machine.open(line, Request::output(value).on_exit(on_exit)).unwrap();
        prop_assert_eq!(pin.backend(), Backend::Registers(kind.board));
        prop_assert_eq!(machine.word(function) & mask, output & mask);
        prop_assert_eq!((machine.word(set), machine.word(clear)), if value { (bit, 0) } else { (0, bit) });
        drop(pin);
        prop_assert_eq!(machine.word(function) & mask, if keep { output } else { input } & mask);

        let level = if value { set } else { clear };
        for (at, now) in machine.changes(&before) {
            let was = before[at / 4];
            match (kind.board, at) {
                (_, at) if at == level => {}
                (Board::Rp1, 0x1_2004 | 0x1_3004) => prop_assert_eq!(now, bit, "output enable"),
                (Board::Rp1, at) if at == function => prop_assert_eq!((now ^ was) & !0xf01f, 0, "overrides"),
                (Board::Rp1, at) if at == 0x2_0004 + 4 * line as usize => prop_assert_eq!((now ^ was) & !0xc0, 0, "pad"),
                (_, at) if at == function => prop_assert_eq!((now ^ was) & !mask, 0, "neighbours"),
                (_, at) => prop_assert!(false, "{:?}: {at:#x} was {was:#x} and is {now:#x}", kind.board),
            }
        }
    }

    #[test]
    fn listening_to_a_peripheral_touches_nothing(kind in 0..5usize, chosen in any::<u32>(), seed in any::<u32>()) {
        let kind = KINDS[kind];
        let (machine, line) = (kind.build(), kind.line(chosen));
        let (function, mask, [_, _, peripheral]) = kind.function(line);
        machine.fill(seed);
        machine.set(function, machine.word(function) & !mask | peripheral);
        if kind.board == Board::Rp1 {
            machine.set(0x2_0004 + 4 * line as usize, 0x56);
        }
        let before = machine.words();
        drop(machine.open(line, Request::input()).unwrap());
        drop(machine.open(line, Request::as_is()).unwrap());
        let refused = machine.refusal(line, Request::output(true));
        prop_assert!(refused.contains("in use by a peripheral"), "{}", refused);
        let checked = Line::check_register_under(machine.root.path(), line).unwrap_err();
        prop_assert_eq!(checked.to_string(), refused);
        prop_assert_eq!(machine.changes(&before), []);
    }
}

#[test]
fn an_input_takes_a_line_that_was_left_driven() {
    for kind in KINDS {
        let (machine, line) = (kind.build(), kind.line(17));
        let (function, mask, [input, output, _]) = kind.function(line);
        drop(machine.open(line, Request::output(true)).unwrap());
        assert_eq!(machine.word(function) & mask, output & mask);
        drop(machine.open(line, Request::input()).unwrap());
        assert_eq!(machine.word(function) & mask, input & mask);
    }
}

#[test]
fn a_look_changes_nothing() {
    for kind in KINDS {
        let (machine, line) = (kind.build(), kind.line(17));
        drop(machine.open(line, Request::output(true)).unwrap());
        let before = machine.words();
        drop(machine.open(line, Request::as_is()).unwrap());
        assert_eq!(machine.changes(&before), []);
    }
    let machine = KINDS[4].build();
    let refused = machine.refusal(17, Request::as_is());
    assert!(refused.contains("the pin's receiver is off"), "{refused}");
    let before = machine.words();
    Line::check_register_under(machine.root.path(), 17).expect("an output needs no receiver");
    assert_eq!(machine.changes(&before), []);
}

#[test]
fn active_low_turns_words_around() {
    let machine = KINDS[2].build();
    let mut pin = machine.open(17, Request::output(true).active_low(true).on_exit(OnExit::Low)).unwrap();
    assert_eq!((machine.word(0x1c), machine.word(0x28)), (0, 1 << 17));
    machine.set(0x34, 1 << 17);
    assert!(!pin.read().unwrap());
    drop(pin);
    assert_eq!(machine.word(0x1c), 1 << 17, "low as the user sees it is high on the wire");
}

#[test]
fn a_resistor_is_chosen_where_programs_can() {
    let machine = KINDS[3].build();
    drop(machine.open(17, Request::input().bias(Bias::PullUp)).unwrap());
    assert_eq!(machine.word(0xe8), 0b01 << 2);
    let machine = KINDS[4].build();
    drop(machine.open(17, Request::input().bias(Bias::PullUp)).unwrap());
    assert_eq!(machine.word(0x2_0048), 0x5a);
    let refused = KINDS[5].build().refusal(48, Request::input().bias(Bias::PullUp));
    assert!(refused.starts_with("line reg:48: AM335x register lines cannot be held by a resistor"), "{refused}");
    assert!(refused.contains("config-pin"), "{refused}");
}

#[test]
fn edges_are_refused_and_the_line_left_as_it_was() {
    let machine = KINDS[2].build();
    machine.fill(1);
    let before = machine.words();
    let refused = machine.refusal(17, Request::input().edges(Edges::Both));
    assert!(refused.starts_with("line reg:17: BCM2837 register lines cannot wait for edges"), "{refused}");
    assert!(refused.contains("character device"), "{refused}");
    let refused = machine.refusal(17, Request::input().debounce(Debounce::from_ns(1_000).ok()));
    let said = "line reg:17: BCM2837 register lines cannot be debounced: registers have no filter for the level";
    assert!(refused.starts_with(said), "{refused}");
    assert_eq!(machine.changes(&before), []);
    let mut pin = machine.open(41, Request::input()).unwrap();
    assert_eq!(pin.edge(0).unwrap(), None);
}

#[test]
fn each_board_has_so_many_lines() {
    for (kind, last) in KINDS.into_iter().zip([53, 53, 53, 57, 27, 127]) {
        let machine = kind.build();
        let refused = machine.open(last + 1, Request::input()).unwrap_err();
        assert!(matches!(refused, Error::NoSuchLine { last: named, .. } if named == last), "{refused}");
    }
    for kind in &KINDS[..5] {
        let machine = kind.build();
        drop(machine.open(kind.board.lines() - 1, Request::output(true)).unwrap());
    }
}

#[test]
fn all_memory_does_where_there_is_no_device_for_gpio() {
    let cells = |cells: &[u32]| cells.iter().flat_map(|cell| cell.to_be_bytes()).collect::<Vec<u8>>();
    for (kind, parent_cells, ranges, start) in [
        (KINDS[0], 1, cells(&[0x7e00_0000, 0x2000_0000, 0x0200_0000]), 0x2020_0000),
        (KINDS[2], 1, cells(&[0x7e00_0000, 0x3f00_0000, 0x0100_0000]), 0x3f20_0000),
        (KINDS[3], 2, cells(&[0x7e00_0000, 0, 0xfe00_0000, 0x0180_0000]), 0xfe20_0000),
    ] {
        let machine = Kind { device: "dev/mem", start, ..kind }.build();
        let tree = machine.root.path().join("proc/device-tree");
        write(&tree.join("#address-cells"), &cells(&[parent_cells]));
        write(&tree.join("soc/#address-cells"), &cells(&[1]));
        write(&tree.join("soc/#size-cells"), &cells(&[1]));
        write(&tree.join("soc/ranges"), &ranges);
        drop(machine.open(17, Request::output(true)).unwrap());
        assert_eq!((machine.word(0x04), machine.word(0x1c)), (1 << 21, 1 << 17));
    }
}

#[test]
fn the_pci_express_region_does_where_a_pi_5_has_no_device_for_gpio() {
    let device = "sys/bus/pci/devices/0002:01:00.0/resource1";
    let machine = Kind { device, start: 0xd_0000, ..KINDS[4] }.build();
    let other = machine.root.path().join("sys/bus/pci/devices/0001:01:00.0");
    write(&other.join("vendor"), b"0x144d\n");
    write(&other.join("device"), b"0x0001\n");
    assert!(machine.refusal(17, Request::input()).contains("there is no"));
    let rp1 = machine.registers.parent().unwrap();
    write(&rp1.join("vendor"), b"0x1de4\n");
    write(&rp1.join("device"), b"0x0001\n");
    drop(machine.open(17, Request::output(true)).unwrap());
    assert_eq!((machine.word(0x8c), machine.word(0x1_2000), machine.word(0x1_2004)), (5, 1 << 17, 1 << 17));
}

#[test]
fn a_bank_without_clock_is_not_touched() {
    let machine = beaglebone(0x481a_e000).build();
    drop(machine.open(127, Request::output(true)).unwrap());
    assert_eq!(machine.word(0x194), 1 << 31);
    machine.at(0x44e0_00b4, 0x3_0000);
    let before = machine.words();
    let refused = machine.refusal(127, Request::output(false));
    assert!(refused.contains("clock of GPIO bank 3 is stopped"), "{refused}");
    assert_eq!(machine.changes(&before), []);
}

#[test]
fn machines_that_are_not_known_are_refused_in_a_sentence() {
    let machine = KINDS[0].build();
    write(&machine.root.path().join("proc/device-tree/compatible"), b"radxa,rock-4\0rockchip,rk3399\0");
    write(&machine.root.path().join("proc/device-tree/model"), b"Radxa ROCK 4\0");
    let refused = machine.refusal(17, Request::input());
    assert!(refused.contains("this machine (Radxa ROCK 4) is none of them"), "{refused}");
    fs::remove_dir_all(machine.root.path().join("proc")).unwrap();
    let refused = machine.refusal(17, Request::input());
    assert!(refused.contains("no device tree") && refused.contains("gpiochip0:17"), "{refused}");
    for kind in KINDS {
        let machine = kind.build();
        fs::remove_file(&machine.registers).unwrap();
        let refused = machine.refusal(kind.line(17), Request::input());
        assert!(refused.contains("/dev/") && !refused.contains('\n'), "{refused}");
    }
}

#[test]
fn registers_that_end_too_early_are_refused() {
    let machine = KINDS[4].build();
    File::options().write(true).open(&machine.registers).unwrap().set_len(0x1000).unwrap();
    let refused = machine.refusal(17, Request::input());
    assert!(refused.contains("ends before its registers do"), "{refused}");
}

#[test]
fn nothing_is_done_while_somebody_else_sets_up_a_line() {
    let machine = KINDS[2].build();
    let pin = machine.open(4, Request::output(true).on_exit(OnExit::Input)).unwrap();
    let before = machine.words();
    let somebody = File::open(&machine.registers).unwrap();
    rustix::fs::flock(&somebody, FlockOperation::LockExclusive).unwrap();
    let refused = machine.refusal(17, Request::output(true));
    assert!(refused.contains("waiting for another program that sets up a line of the BCM2837"), "{refused}");
    assert_eq!(machine.changes(&before), []);
    drop(pin);
    assert_eq!(machine.changes(&before), [(0, 0)], "an output is released all the same");
}

#[test]
fn lines_of_a_bank_are_changed_by_one_store_up_and_one_down() {
    let machine = KINDS[2].build();
    let request = Request::output(false).on_exit(OnExit::Low);
    let mut outputs = Outputs::open_registers_under(machine.root.path(), &[4, 5, 17, 18], 0b0001, &request).unwrap();
    assert_eq!(outputs.backends(), [Backend::Registers(Board::Bcm2837)]);
    let ((set, clear, ..), before) = (KINDS[2].words(4), machine.words());
    outputs.write(0b0110, 0b0111).unwrap();
    let mut changed = machine.changes(&before);
    changed.sort_unstable();
    assert_eq!(changed, [(set, 1 << 5 | 1 << 17), (clear, 1 << 4)]);
    drop(outputs);
    assert_eq!(machine.word(clear), 1 << 4 | 1 << 5 | 1 << 17 | 1 << 18);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_group_is_the_words_of_its_banks(kind in 0..KINDS.len(), low in any::<u32>(), high in any::<u32>()) {
        let kind = KINDS[kind];
        let machine = kind.build();
        let lines: Vec<u32> = match kind.board {
            Board::Am335x => (32..64).rev().collect(),
            board => (0..board.lines()).rev().collect(),
        };
        let mut group = Group::open_registers_under(machine.root.path(), &lines, &Request::input()).unwrap();
        for (line, word) in [(lines[lines.len() - 1], low), (lines[0], high)] {
            let (_, _, level, _) = kind.words(line);
            machine.set(level, word);
        }
        let one_bank = kind.words(lines[0]).2 == kind.words(lines[lines.len() - 1]).2;
        let word = |line: u32| if one_bank || line >= 32 { high } else { low };
        let wanted: u64 = lines.iter().enumerate().map(|(n, line)| u64::from(word(*line) >> (line % 32) & 1) << n).sum();
        prop_assert_eq!(group.read(), Ok(wanted));
    }
}
