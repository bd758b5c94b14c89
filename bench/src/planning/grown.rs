//! Large networks of the bench's own: time and memory of planning as streams become more.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ontick_record::store;

use crate::child::{self, Words};
use crate::page::Table;

/// Columns and rows of the meshes.
const SMALL: (usize, usize) = (5, 4);
const LARGE: (usize, usize) = (10, 10);
const PERIODS_NS: [u64; 4] = [500_000, 1_000_000, 2_000_000, 4_000_000];
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
    /// What the validator says.
    pub held: bool,
}

/// On 20 switches and on 100.
pub fn measure(ontick: &Path, folder: &Path, whole: bool) -> Result<(Vec<Grown>, Vec<Grown>), String> {
    let large: &[usize] = if whole {
        &[250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000]
    } else {
        &[250, 500, 1_000]
    };
    let small = vec![one(ontick, folder, SMALL, 1_000)?];
    let large: Result<Vec<Grown>, String> = large.iter().map(|streams| one(ontick, folder, LARGE, *streams)).collect();
    Ok((small, large?))
}

/// Its plan goes to tsnkit's tables, so that writing counts as well.
pub fn command(ontick: &Path, folder: &Path) -> Words {
    let mut words = on_tables(ontick, "plan", folder);
    words.extend(["--paths".into(), PATHS.to_string()]);
    words
}

fn on_tables(ontick: &Path, command: &str, folder: &Path) -> Words {
    let file = |name: &str| folder.join(name).display().to_string();
    [ontick.display().to_string(), "switch".into(), command.into(), "--task".into(), file("task.csv")]
        .into_iter()
        .chain(["--topo".into(), file("topo.csv"), "--tsnkit".into(), file("plan")])
        .collect()
}

fn one(ontick: &Path, within: &Path, mesh: (usize, usize), streams: usize) -> Result<Grown, String> {
    let switches = mesh.0 * mesh.1;
    let folder: PathBuf = within.join(format!("mesh-{switches}-{streams}"));
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (name, text) in [("topo.csv", topology(mesh)), ("task.csv", tasks(switches, streams))] {
        store::write_whole(&folder.join(name), text.as_bytes()).map_err(|e| e.to_string())?;
    }
    let planned = child::run_whether_met(&command(ontick, &folder))?;
    // Without a schedule there are no tables to look at, and that holds nothing.
    let judged = child::run(&on_tables(ontick, "validate", &folder));
    println!("    {switches} switches, {streams} streams: {:.2} s", planned.wall.as_secs_f64());
    Ok(Grown { streams, switches, wall: planned.wall, peak_kib: planned.peak_kib, held: judged.is_ok() })
}

/// Switches 0, 1, … in rows; the station of switch n is n more than there are switches.
fn topology((columns, rows): (usize, usize)) -> String {
    let switches = columns * rows;
    let mut cables = Vec::new();
    for switch in 0..switches {
        if switch % columns + 1 < columns {
            cables.push((switch, switch + 1));
        }
        if switch + columns < switches {
            cables.push((switch, switch + columns));
        }
        cables.push((switch, switches + switch));
    }
    let mut text = String::from("link,q_num,rate,t_proc,t_prop\n");
    for (a, b) in cables.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
        let _ = writeln!(text, "\"({a}, {b})\",8,1,{PROCESSING_NS},0");
    }
    text
}

fn tasks(switches: usize, streams: usize) -> String {
    let mut chance = Chance(1);
    let mut text = String::from("stream,src,dst,size,period,deadline,jitter\n");
    for stream in 0..streams {
        let talker = chance.below(switches);
        let listener = (talker + 1 + chance.below(switches - 1)) % switches;
        let (size, period) = (100 + chance.below(401), PERIODS_NS[chance.below(PERIODS_NS.len())]);
        let (talker, listener) = (switches + talker, switches + listener);
        let _ = writeln!(text, "{stream},{talker},[{listener}],{size},{period},{period},{period}");
    }
    text
}

/// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((u128::from(mixed ^ (mixed >> 31)) * bound as u128) >> 64) as usize
    }
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
    let mut table = Table::new(&["switches, streams", "time", "per stream", "peak memory", "validate"]);
    for one in all {
        let seconds = one.wall.as_secs_f64();
        table.row([
            format!("{}, {}", one.switches, one.streams),
            format!("{seconds:.3} s"),
            format!("{:.1} us", seconds * 1e6 / one.streams as f64),
            format!("{:.1} MiB", one.peak_kib as f64 / 1024.0),
            if one.held { "holds".into() } else { "DOES NOT HOLD".into() },
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

    #[test]
    fn the_same_streams_every_time_and_none_to_itself() {
        let text = tasks(20, 500);
        assert_eq!(text, tasks(20, 500));
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
        };
        let of = |exponent: i32| power(&[1, 2, 4].map(|n| grown(n, (n as f64).powi(exponent)))).unwrap();
        assert!((of(1) - 1.0).abs() < 1e-9 && (of(2) - 2.0).abs() < 1e-9);
        assert_eq!(power(&[grown(5, 1.0)]), None);
    }
}
