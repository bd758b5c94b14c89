//! Large networks of the bench's own: time and memory of planning as streams become more.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ontick_record::store;
use ontick_tsn::generate::two_rings;
use ontick_tsn::planning::random::Random;

use crate::child::{self, Words};
use crate::page::Table;

/// How switches are connected. Each has a station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// In a grid of so many columns and rows.
    Grid(usize, usize),
    /// In two rings through all of them, the second in an order by chance: four neighbours each, and short ways.
    Rings(usize),
}

impl Shape {
    fn switches(self) -> usize {
        match self {
            Shape::Grid(columns, rows) => columns * rows,
            Shape::Rings(switches) => switches,
        }
    }

    /// Cables between switches.
    fn cables(self) -> Vec<(usize, usize)> {
        match self {
            Shape::Grid(columns, rows) => {
                let switches = columns * rows;
                let of = |n: usize| {
                    let right = (n % columns + 1 < columns).then_some((n, n + 1));
                    right.into_iter().chain((n + columns < switches).then_some((n, n + columns)))
                };
                (0..switches).flat_map(of).collect()
            }
            Shape::Rings(switches) => two_rings(switches, &mut Random::new(2)),
        }
    }
}

const SMALL: Shape = Shape::Grid(5, 4);
const LARGE: Shape = Shape::Grid(10, 10);
const WIDE: Shape = Shape::Rings(1_000);
const PERIODS_NS: [u64; 4] = [500_000, 1_000_000, 2_000_000, 4_000_000];
/// Periods on the 1 000 switches, in parts of those: with 45 000 streams the fullest link is at 8 % on shortest paths, and
/// at 64 % with the short ones.
const LIGHT: (u64, u64) = (4, 1);
const LOADED: (u64, u64) = (1, 2);
const PROCESSING_NS: u64 = 2_000;
/// The meshes have many paths of the same length; the middle is full where few of them are tried.
const PATHS: u32 = 10;

/// One size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grown {
    pub streams: usize,
    pub switches: usize,
    /// Of the whole process.
    pub wall: Duration,
    pub peak_kib: u64,
    /// What the validator says, and how long it took.
    pub held: bool,
    pub judged: Duration,
}

/// What was planned.
pub struct All {
    /// On 20 switches.
    pub small: Vec<Grown>,
    /// On 100.
    pub large: Vec<Grown>,
    /// On 1 000, with much time left.
    pub light: Vec<Grown>,
    /// On 1 000, with full links.
    pub loaded: Vec<Grown>,
}

/// On 20 switches, on 100 and on 1 000.
pub fn measure(ontick: &Path, folder: &Path, whole: bool) -> Result<All, String> {
    let large: &[usize] = if whole {
        &[250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000]
    } else {
        &[250, 500, 1_000]
    };
    let light: &[usize] = if whole { &[250, 1_000, 4_000, 16_000, 45_000] } else { &[250, 1_000] };
    let loaded: &[usize] = if whole { &[45_000] } else { &[] };
    let all = |(shape, periods): (Shape, (u64, u64)), streams: &[usize]| -> Result<Vec<Grown>, String> {
        streams.iter().map(|streams| one(ontick, folder, (shape, periods), *streams)).collect()
    };
    Ok(All {
        small: all((SMALL, (1, 1)), &[1_000])?,
        large: all((LARGE, (1, 1)), large)?,
        light: all((WIDE, LIGHT), light)?,
        loaded: all((WIDE, LOADED), loaded)?,
    })
}

/// Its plan goes to tsnkit's tables, so that writing counts as well.
pub fn command(ontick: &Path, folder: &Path) -> Words {
    let mut words = on_tables(ontick, "plan", folder);
    words.extend(["--paths".into(), PATHS.to_string()]);
    words
}

fn on_tables(ontick: &Path, command: &str, folder: &Path) -> Words {
    let file = |name: &str| folder.join(name).display().to_string();
    [ontick.display().to_string(), "network".into(), command.into(), "--task".into(), file("task.csv")]
        .into_iter()
        .chain(["--topo".into(), file("topo.csv"), "--tsnkit".into(), file("plan")])
        .collect()
}

fn one(ontick: &Path, within: &Path, (shape, periods): (Shape, (u64, u64)), streams: usize) -> Result<Grown, String> {
    let switches = shape.switches();
    let folder: PathBuf = within.join(format!("mesh-{switches}-{streams}-{}", periods.1));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, text) in [("topo.csv", topology(shape)), ("task.csv", tasks(switches, streams, periods))] {
        store::write_whole(&folder.join(name), text.as_bytes()).map_err(|e| e.to_string())?;
    }
    let planned = child::run_whether_met(&command(ontick, &folder))?;
    // Without a schedule there are no tables to look at, and that holds nothing.
    let begun = Instant::now();
    let judged = child::run(&on_tables(ontick, "validate", &folder));
    let took = begun.elapsed();
    println!("    {switches} switches, {streams} streams: {:.2} s", planned.wall.as_secs_f64());
    Ok(Grown { streams, switches, wall: planned.wall, peak_kib: planned.peak_kib, held: judged.is_ok(), judged: took })
}

/// Switches 0, 1, … in rows; the station of switch n is n more than there are switches.
fn topology(shape: Shape) -> String {
    let switches = shape.switches();
    let mut cables = shape.cables();
    cables.extend((0..switches).map(|switch| (switch, switches + switch)));
    let mut text = String::from("link,q_num,rate,t_proc,t_prop\n");
    for (a, b) in cables.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
        let _ = writeln!(text, "\"({a}, {b})\",8,1,{PROCESSING_NS},0");
    }
    text
}

fn tasks(switches: usize, streams: usize, (times, part): (u64, u64)) -> String {
    let mut random = Random::new(1);
    let mut below = |bound: usize| random.below(bound as u64) as usize;
    let mut text = String::from("stream,src,dst,size,period,deadline,jitter\n");
    for stream in 0..streams {
        let talker = below(switches);
        let listener = (talker + 1 + below(switches - 1)) % switches;
        let (size, period) = (100 + below(401), PERIODS_NS[below(PERIODS_NS.len())] * times / part);
        let (talker, listener) = (switches + talker, switches + listener);
        let _ = writeln!(text, "{stream},{talker},[{listener}],{size},{period},{period},{period}");
    }
    text
}

/// The power of the streams with which time grows: the slope of the logarithms.
pub fn power(all: &[Grown]) -> Option<f64> {
    let points: Vec<(f64, f64)> =
        all.iter().map(|one| ((one.streams as f64).ln(), one.wall.as_secs_f64().ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let (over, under) =
        points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + (p.0 - x) * (p.1 - y), sum.1 + (p.0 - x).powi(2)));
    (points.len() > 1 && under > 0.0).then(|| over / under)
}

pub fn table<'a>(all: impl IntoIterator<Item = &'a Grown>) -> Table {
    let mut table = Table::new(&["switches, streams", "time", "per stream", "peak memory", "validate", "validating"]);
    for one in all {
        let seconds = one.wall.as_secs_f64();
        table.row([
            format!("{}, {}", one.switches, one.streams),
            format!("{seconds:.3} s"),
            format!("{:.1} us", seconds * 1e6 / one.streams as f64),
            format!("{:.1} MiB", one.peak_kib as f64 / 1024.0),
            if one.held { "holds".into() } else { "DOES NOT HOLD".into() },
            format!("{:.2} s", one.judged.as_secs_f64()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mesh_has_all_its_cables_both_ways() {
        let text = topology(SMALL);
        // 4 · 4 along the rows, 5 · 3 across, 20 to stations.
        assert_eq!(text.lines().count() - 1, 2 * (16 + 15 + 20));
        assert!(
            text.contains("\"(19, 39)\"") && text.contains("\"(18, 19)\"") && !text.contains("\"(4, 5)\""),
            "{text}"
        );
    }

    /// Both rings pass each switch, and here they share no cable.
    #[test]
    fn two_rings_give_each_switch_four_neighbours() {
        let cables = Shape::Rings(1_000).cables();
        let neighbours = |switch| cables.iter().filter(|(a, b)| [*a, *b].contains(&switch)).count();
        let all: Vec<usize> = (0..1_000).map(neighbours).collect();
        assert!(all.iter().all(|n| (3..=4).contains(n)) && all.iter().filter(|n| **n == 4).count() > 980, "{all:?}");
        assert!(cables.iter().all(|(a, b)| a < b && *b < 1_000));
    }

    #[test]
    fn the_same_streams_every_time_and_none_to_itself() {
        let text = tasks(20, 500, (1, 1));
        assert_eq!(text, tasks(20, 500, (1, 1)));
        assert_eq!(text.lines().count(), 501);
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_ne!(format!("[{}]", cells[1]), cells[2], "{line}");
            assert!((100..=500).contains(&cells[3].parse().unwrap()), "{line}");
        }
    }

    #[test]
    fn what_doubles_with_streams_has_power_one() {
        let grown = |streams: usize, seconds| Grown {
            streams,
            switches: 1,
            wall: Duration::from_secs_f64(seconds),
            peak_kib: 1,
            held: true,
            judged: Duration::ZERO,
        };
        let of = |exponent: i32| power(&[1, 2, 4].map(|n| grown(n, (n as f64).powi(exponent)))).unwrap();
        assert!((of(1) - 1.0).abs() < 1e-9 && (of(2) - 2.0).abs() < 1e-9);
        assert_eq!(power(&[grown(5, 1.0)]), None);
    }
}
