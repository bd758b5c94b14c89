//! A run of the simulator: what the host writes, what the pins do, and what came of it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use ontick_measure::pru::layout::{BLOCK, CELLS_COUNT, Kind, SHARED_LOCAL, at, state};

/// The firmware is ready, and has been asked to start, by then.
pub const STARTED: u64 = 2_000;
/// It has cleared its histogram, and works, by then.
pub const WORKS: u64 = 6_000;

/// What a read of the shared RAM, a read of a control register and a store take, in cycles.
pub type Costs = [u32; 3];
/// As gdb's simulator has them.
pub const SIMULATED: Costs = [3, 3, 3];
/// As TI has measured them on an AM335x at best.
pub const MEASURED: Costs = [3, 4, 1];
/// Where somebody else is always at the memory, too.
pub const BUSY: Costs = [11, 9, 6];

/// Where `packaging/pru-tools` and `make -C pru` leave what they make.
pub fn built(path: &str) -> Option<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/pru");
    let path = PathBuf::from(folder).join(path);
    if path.exists() {
        return Some(path);
    }
    let missing = format!("{} is not there: packaging/pru-tools and make -C pru build it", path.display());
    assert!(std::env::var_os("ONTICK_PRU").is_none_or(|value| value != "required"), "{missing}");
    ontick_skip::skipped!("{missing}");
    None
}

/// What happens around a PRU, cycle by cycle.
pub struct Script {
    kind: Kind,
    pru: u32,
    acts: Vec<(u64, String)>,
}

impl Script {
    pub fn new(kind: Kind, pru: u32) -> Self {
        Self { kind, pru, acts: Vec::new() }
    }

    /// What memory costs from the start.
    pub fn cost(&mut self, [ram, control, store]: Costs) -> &mut Self {
        self.acts.push((0, format!("cost {ram} {control} {store}")));
        self
    }

    /// The host writes a word of the block.
    pub fn write(&mut self, cycle: u64, offset: usize, value: u32) -> &mut Self {
        let address = self.address(offset);
        self.poke(cycle, address, value)
    }

    /// Somebody writes a word as the PRU sees it.
    pub fn poke(&mut self, cycle: u64, address: u32, value: u32) -> &mut Self {
        self.acts.push((cycle, format!("poke {address:#x} {value:#x}")));
        self
    }

    /// The input pins are at these levels from then on.
    pub fn input(&mut self, cycle: u64, pins: u32) -> &mut Self {
        self.acts.push((cycle, format!("in {pins:#x}")));
        self
    }

    /// The parameters, and the word to start.
    pub fn start(&mut self, parameters: &[(usize, u32)]) -> &mut Self {
        for (offset, value) in parameters {
            self.write(STARTED, *offset, *value);
        }
        self.write(STARTED, at::COMMAND, 1)
    }

    fn address(&self, offset: usize) -> u32 {
        SHARED_LOCAL + self.pru * BLOCK as u32 + offset as u32
    }

    /// Runs it until then; `None` where there is no simulator.
    pub fn run(&mut self, until: u64) -> Option<Outcome> {
        let (run, firmware) = (built("bin/pru-elf-run")?, built(&format!("firmware/{}", self.kind.file(self.pru)))?);
        let mut acts = self.acts.clone();
        acts.sort_by_key(|(cycle, _)| *cycle);
        let mut text = String::new();
        for (cycle, act) in acts {
            writeln!(text, "{cycle} {act}").unwrap();
        }
        let words = (0..0x80).step_by(4).chain((0..CELLS_COUNT).map(|cell| at::CELLS + 4 * cell));
        for offset in words {
            writeln!(text, "{until} peek {:#x}", self.address(offset)).unwrap();
        }
        writeln!(text, "{until} end").unwrap();

        let mut script = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut script, text.as_bytes()).unwrap();
        let mut command = Command::new("timeout");
        command.arg("60").arg(run).arg(firmware).env("PRU_SCRIPT", script.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "the simulator: {}", String::from_utf8_lossy(&output.stderr));
        Some(self.read(&String::from_utf8(output.stdout).unwrap()))
    }

    fn read(&self, text: &str) -> Outcome {
        let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let mut seen = Outcome { changes: Vec::new(), words: BTreeMap::new() };
        for line in text.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                // The instruction that began in this cycle changed the pins; they are changed at its end.
                [cycle, "out", pins] => seen.changes.push((cycle.parse::<u64>().unwrap() + 1, number(pins))),
                [_, "word", address, value] => {
                    seen.words.insert((number(address) - self.address(0)) as usize, number(value));
                }
                _ => panic!("the simulator says {line:?}"),
            }
        }
        seen
    }
}

/// What came of it.
pub struct Outcome {
    /// The output pins, each time they changed: in which cycle they had, and to what.
    pub changes: Vec<(u64, u32)>,
    words: BTreeMap<usize, u32>,
}

impl Outcome {
    pub fn word(&self, offset: usize) -> u32 {
        self.words[&offset]
    }

    /// The cells of the histogram that hold something.
    pub fn cells(&self) -> Vec<(u32, u32)> {
        let base = self.word(at::BASE);
        let cells = (0..CELLS_COUNT).map(|cell| (base + cell as u32, self.word(at::CELLS + 4 * cell)));
        cells.filter(|(_, count)| *count > 0).collect()
    }

    /// Ready, of the right kind and version, in this state.
    pub fn is(&self, kind: Kind, wanted: u32) {
        assert_eq!((self.word(at::KIND), self.word(at::STATE)), (kind.word(), wanted));
        assert_eq!(self.word(at::MAGIC), ontick_measure::pru::layout::IS_READY);
    }

    pub fn is_refused(&self, offset: usize) {
        assert_eq!((self.word(at::STATE), self.word(at::REFUSED)), (state::REFUSING, offset as u32));
        assert!(self.changes.is_empty());
    }
}
