//! Planning: ontick beside the algorithms of tsnkit on that tool's own networks, and how planning grows with streams.
//!
//! Whatever anybody plans is judged by `ontick switch validate`, which shares nothing with the planner.

mod grown;
mod instance;
pub mod judge;
mod ours;
mod peers;
mod versus;

use std::path::Path;
use std::time::Duration;

use ontick_record::store;
use ontick_report::plot::{Growth, Panel, growth};

use crate::goals::Goal;
use crate::page::Page;
use crate::show::times;
use grown::Grown;
use instance::Instance;
use ours::Planned;
use peers::Peer;
use versus::{Judged, Versus};

/// By how much tsnkit's list scheduler takes longer, at these numbers of streams.
const FASTER: f64 = 50.0;
const FASTER_AT: [u32; 2] = [200, 400];
/// Streams of the network that tsnkit's list scheduler finds no schedule for.
const HARD: u32 = 800;
/// Streams, switches, and what planning them may take.
const LARGE: [(usize, usize, Duration); 2] =
    [(1_000, 20, Duration::from_secs(1)), (10_000, 100, Duration::from_secs(60))];
const MOST_KIB: u64 = 4 << 20;
/// Time grows with this power of the streams at most: close to linear.
const POWER: f64 = 1.2;

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// How long an algorithm of tsnkit may take for a network.
    pub limit: Duration,
    /// All networks, or a few small ones.
    pub whole: bool,
}

/// What was seen.
pub struct Figures {
    versus: Vec<Versus>,
    /// On the 20 switches.
    small: Vec<Grown>,
    /// On the 100 switches.
    large: Vec<Grown>,
}

/// Whether the peer is there.
pub fn check() -> Result<(), String> {
    peers::version().map(|_| ())
}

/// Everything, on the page.
pub fn measure(ontick: &Path, size: Size, page: &mut Page) -> Result<Figures, String> {
    let version = peers::version()?;
    page.heading(&format!("Planning: beside {version}, on networks of its own generator"));
    let folder = tempfile::tempdir().map_err(|e| format!("a folder for networks: {e}"))?;
    let shown = Instance::shown();
    page.commands(
        &[
            ours::command(Path::new("ontick"), &shown),
            ours::verdict_command(Path::new("ontick"), &shown, Path::new("OUT")),
        ]
        .map(|words| words.join(" ")),
    );
    let mut versus = Vec::new();
    for instance in instance::all(size.whole) {
        let instance = instance.generate(folder.path())?;
        println!("    {}", instance.name());
        versus.push(versus::measure(ontick, instance, size.limit)?);
    }
    page.table(&versus::table(&versus));
    page.words(&format!(
        "ontick: the whole process, from fork to end, tables read and written, median of its runs (least–most), which took turns with those of tsnkit. tsnkit: the solving alone, as it tells it itself, without its start and without reading and writing; one run each, {} at most, ls twice as long for 400 streams and more. Every schedule of either was looked at by `ontick switch validate`; \"refused\" was called a success by its maker and does not hold.",
        ontick_units::exact(size.limit.as_nanos() as u64)
    ));
    let refused = versus::refused(&versus);
    page.heading("Planning: what tsnkit's algorithms call a success, and the validator refuses");
    page.table(&refused);

    page.heading("Planning: how it grows with streams");
    let (small, large) = grown::measure(ontick, folder.path(), size.whole)?;
    page.commands(&[grown::command(Path::new("ontick"), Path::new("FOLDER")).join(" ")]);
    page.table(&grown::table(small.iter().chain(&large)));
    if let Some(power) = grown::power(&large) {
        page.words(&format!(
            "Grid meshes with a station at each switch; streams between stations by chance (seeded), periods of 0.5, 1, 2 and 4 ms, 100 to 500 octets, deadline: the period; all that the wire carries is counted. Time is of the whole process, memory its largest resident set (wait4). On 100 switches time grows with the {power:.2}th power of the streams (least squares over the logarithms)."
        ));
    }
    Ok(Figures { versus, small, large })
}

/// Draws how planning grows, into `images` beside the page.
pub fn draw(seen: &Figures, page_file: &Path, page: &mut Page) -> Result<(), String> {
    let panel = |name: &str, figure: fn(&Grown) -> f64| Panel {
        name: name.into(),
        points: seen.large.iter().map(|one| (one.streams as f64, figure(one))).collect(),
    };
    let drawn = growth(&Growth {
        title: "Planning as streams become more".into(),
        about: "100 switches in a mesh, a station at each; the whole process".into(),
        with: "streams".into(),
        panels: vec![
            panel("time, s", |one| one.wall.as_secs_f64()),
            panel("memory, MiB", |one| one.peak_kib as f64 / 1024.0),
        ],
    });
    let folder = page_file.parent().unwrap_or(Path::new("")).join("images");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let file = folder.join("planning.svg");
    store::write_whole(&file, drawn.as_bytes()).map_err(|e| e.to_string())?;
    crate::page::give_back(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    page.picture("time and memory of planning over the number of streams", "images/planning.svg");
    Ok(())
}

/// What must be reached.
pub fn goals(seen: &Figures) -> Vec<Goal> {
    let mut goals = vec![all_that_peers_do(&seen.versus)];
    goals.extend(FASTER_AT.map(|streams| faster(streams, &seen.versus)));
    goals.push(hard(&seen.versus));
    goals.extend(LARGE.map(|(streams, switches, most)| {
        let grown = if switches == 20 { &seen.small } else { &seen.large };
        large(streams, switches, most, grown.iter().find(|one| one.streams == streams))
    }));
    let power = grown::power(&seen.large).map(|power| (format!("{power:.2}"), power <= POWER));
    goals.push(Goal::new(
        "planning: power of the streams with which time grows, 100 switches",
        format!("≤ {POWER}"),
        power,
    ));
    goals
}

fn all_that_peers_do(versus: &[Versus]) -> Goal {
    let theirs: Vec<&Versus> = versus.iter().filter(|one| one.fastest().is_some()).collect();
    let both = theirs.iter().filter(|one| one.ours.outcome == Planned::Holds).count();
    let seen = (!theirs.is_empty()).then(|| (format!("{both} of {}", theirs.len()), both == theirs.len()));
    Goal::new("planning: networks scheduled of those that any algorithm of tsnkit schedules validly", "all", seen)
}

/// The least of the ratios.
fn faster(streams: u32, versus: &[Versus]) -> Goal {
    let of_size = versus.iter().filter(|one| one.instance.wanted.streams == streams);
    let ratios = of_size.filter_map(|one| {
        let seconds = one.by(Peer::Ls)?;
        let held = one.ours.outcome == Planned::Holds;
        let whoever = one.fastest().map_or(0.0, |(_, seconds)| seconds / one.ours.median_s());
        Some((if held { seconds / one.ours.median_s() } else { 0.0 }, whoever))
    });
    let least = ratios.min_by(|a, b| a.0.total_cmp(&b.0));
    let seen = least.map(|(ratio, whoever)| {
        (format!("{} (than its fastest of all there: {})", times(ratio), times(whoever)), ratio >= FASTER)
    });
    let what =
        format!("planning: faster than ls where its schedule holds, {streams} streams, the network where it is least");
    Goal::new(what, format!("≥ {}", times(FASTER)), seen)
}

/// A schedule that holds or a proof that there is none, where the list scheduler fails.
fn hard(versus: &[Versus]) -> Goal {
    let fails = |one: &&Versus| {
        let list = one.theirs.iter().find(|(peer, _)| *peer == Peer::Ls);
        one.instance.wanted.streams == HARD && list.is_some_and(|(_, judged)| !matches!(judged, Judged::Holds(_)))
    };
    let hard: Vec<&Versus> = versus.iter().filter(fails).collect();
    let solved = hard.iter().filter(|one| matches!(one.ours.outcome, Planned::Holds | Planned::Impossible(_)));
    let (solved, all) = (solved.count(), hard.len());
    let seen = (all > 0).then(|| (format!("{solved} of {all}"), solved == all));
    Goal::new(
        format!("planning: rings of {HARD} streams without a schedule from ls: scheduled, or proved impossible"),
        "all",
        seen,
    )
}

fn large(streams: usize, switches: usize, most: Duration, grown: Option<&Grown>) -> Goal {
    let seen = grown.map(|one| {
        let gib = one.peak_kib as f64 / f64::from(1 << 20);
        let reached = one.wall <= most && one.peak_kib <= MOST_KIB && one.held;
        let held = if one.held { "" } else { ", and does not hold" };
        (format!("{:.2} s, {gib:.2} GiB{held}", one.wall.as_secs_f64()), reached)
    });
    Goal::new(
        format!("planning: {streams} streams on a mesh of {switches} switches"),
        format!("≤ {} s, ≤ 4 GiB", most.as_secs()),
        seen,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use versus::tests::versus_of;

    #[test]
    fn each_goal_can_be_missed() {
        let good = [
            versus_of(200, 0.01, Planned::Holds, &[(Peer::Ls, Judged::Holds(1.0)), (Peer::Dt, Judged::Holds(0.5))]),
            versus_of(800, 0.5, Planned::Holds, &[(Peer::Ls, Judged::Nothing("fail".into()))]),
        ];
        let reached =
            |versus: &[Versus]| [all_that_peers_do(versus), faster(200, versus), hard(versus)].map(|goal| goal.reached);
        assert_eq!(reached(&good), [Some(true); 3]);
        let bad = [
            versus_of(200, 0.011, Planned::Holds, &[(Peer::Ls, Judged::Holds(0.5))]),
            versus_of(200, 0.001, Planned::NotFound, &[(Peer::Ls, Judged::Holds(0.5))]),
            versus_of(800, 0.5, Planned::NotFound, &[(Peer::Ls, Judged::Refused(1.0, "late: x".into()))]),
        ];
        assert_eq!(reached(&bad), [Some(false); 3]);
        assert_eq!(reached(&bad[..1])[1], Some(false));
        assert_eq!(reached(&[]), [None; 3]);
    }

    #[test]
    fn what_is_large_must_be_quick_small_and_hold() {
        let grown = |seconds, peak_kib, held| Grown {
            streams: 1_000,
            switches: 20,
            wall: Duration::from_millis(seconds),
            peak_kib,
            held,
        };
        let reached = |one: Grown| large(1_000, 20, Duration::from_secs(1), Some(&one)).reached;
        assert_eq!(reached(grown(1_000, MOST_KIB, true)), Some(true));
        assert_eq!(reached(grown(1_001, 1, true)), Some(false));
        assert_eq!(reached(grown(1, MOST_KIB + 1, true)), Some(false));
        assert_eq!(reached(grown(1, 1, false)), Some(false));
    }
}
