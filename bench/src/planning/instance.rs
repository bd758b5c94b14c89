//! Networks of tsnkit's own generator.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::child;

use super::peers;

/// Switches, with a station at each.
const SWITCHES: u32 = 8;

/// The shapes that the generator knows, by its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Line = 0,
    Ring = 1,
    Mesh = 3,
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Shape::Line => "line",
            Shape::Ring => "ring",
            Shape::Mesh => "mesh",
        })
    }
}

/// A network that can be generated. Periods, sizes and deadlines are the generator's numbers for what they may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    pub shape: Shape,
    pub streams: u32,
    periods: u32,
    sizes: u32,
    deadlines: u32,
    seed: u32,
}

/// What most are like: periods of 0.5 to 4 ms, 100 to 500 octets, the period as deadline.
const USUAL: Wanted = Wanted { shape: Shape::Line, streams: 10, periods: 3, sizes: 2, deadlines: 1, seed: 1 };

/// Large messages, deadlines near: an algorithm of tsnkit calls a success what does not hold.
const NEAR_DEADLINES: Wanted = Wanted { streams: 30, periods: 4, sizes: 5, deadlines: 2, seed: 7, ..USUAL };

/// One that was.
#[derive(Debug, Clone)]
pub struct Instance {
    pub wanted: Wanted,
    /// Where its tables are, and all schedules for it.
    pub folder: PathBuf,
}

/// All that are planned, the small ones first.
pub fn all(whole: bool) -> Vec<Wanted> {
    let (numbers, seeds): (&[u32], &[u32]) = if whole { (&[10, 50, 200, 400], &[1, 2]) } else { (&[10, 50], &[1]) };
    let mut all = vec![NEAR_DEADLINES];
    for &streams in numbers {
        for shape in [Shape::Line, Shape::Ring, Shape::Mesh] {
            all.extend(seeds.iter().map(|&seed| Wanted { shape, streams, seed, ..USUAL }));
        }
    }
    if whole {
        all.extend([2, 3].map(|sizes| Wanted { shape: Shape::Ring, streams: 800, sizes, ..USUAL }));
    }
    all
}

impl Wanted {
    /// Runs the generator.
    pub fn generate(self, within: &Path) -> Result<Instance, String> {
        let Wanted { shape, streams, periods, sizes, deadlines, seed } = self;
        let folder = within.join(format!("{shape}-{streams}-{periods}-{sizes}-{deadlines}-{seed}"));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let (number, into) = (shape as u32, folder.display());
        let script = format!(
            "import numpy; numpy.random.seed({seed}); from tsnkit.data.generator import DatasetGenerator; DatasetGenerator(1, {streams}, {SWITCHES}, {periods}, {sizes}, {deadlines}, {number}).run('{into}/')"
        );
        child::run(&[peers::python(), "-c".into(), script])?;
        let instance = Instance { wanted: self, folder };
        match instance.task().is_file() && instance.topology().is_file() {
            true => Ok(instance),
            false => Err(format!("tsnkit's generator left no network in {}", instance.folder.display())),
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Wanted { shape, streams, periods, sizes, deadlines, seed } = *self;
        write!(f, "{shape}, {streams} streams, sizes {sizes}, ")?;
        if (periods, deadlines) != (USUAL.periods, USUAL.deadlines) {
            write!(f, "periods {periods}, deadlines {deadlines}, ")?;
        }
        write!(f, "seed {seed}")
    }
}

impl Instance {
    /// Stands for all of them, where commands are shown.
    pub fn shown() -> Self {
        Self { wanted: USUAL, folder: "FOLDER".into() }
    }

    pub fn name(&self) -> String {
        self.wanted.to_string()
    }

    pub fn task(&self) -> PathBuf {
        self.folder.join("1_task.csv")
    }

    pub fn topology(&self) -> PathBuf {
        self.folder.join("1_topo.csv")
    }
}
