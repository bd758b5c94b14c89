//! Planning: ontick beside the algorithms of tsnkit on that tool's own networks, and how planning grows with streams.
//!
//! Whatever anybody plans is judged by `ontick network validate`, which shares nothing with the planner.

mod grown;
mod instance;
pub mod judge;
mod ours;
mod peers;
mod versus;

use std::path::Path;
use std::time::Duration;

use ontick_report::plot::{Growth, Panel, growth};

use crate::goals::Goal;
use crate::page::Page;
use crate::show::times;
use grown::Grown;
use instance::Instance;
use ours::Planned;
use peers::Peer;
use versus::{Judged, Versus};

/// By how much tsnkit's fastest algorithm takes longer, at these numbers of streams.
const FASTER: f64 = 50.0;
const FASTER_AT: [u32; 2] = [200, 400];
/// Streams of the network that tsnkit's list scheduler finds no schedule for.
const HARD: u32 = 800;
/// What planning networks may take.
const LARGE: [Limit; 4] = [
    Limit { streams: 1_000, switches: 20, loaded: false, most: Duration::from_secs(1), most_mib: 300 },
    Limit { streams: 10_000, switches: 100, loaded: true, most: Duration::from_secs(1), most_mib: 300 },
    Limit { streams: 45_000, switches: 1_000, loaded: false, most: Duration::from_secs(3), most_mib: 300 },
    Limit { streams: 45_000, switches: 1_000, loaded: true, most: Duration::from_secs(15), most_mib: 300 },
];
/// Validating the largest of them.
const VALIDATED: Duration = Duration::from_secs(20);
/// Time grows with this power of the streams at most: close to linear.
const POWER: f64 = 1.15;

/// What planning one network may take.
#[derive(Debug, Clone, Copy)]
struct Limit {
    streams: usize,
    switches: usize,
    /// Whether some link is full on shortest paths.
    loaded: bool,
    most: Duration,
    most_mib: u64,
}

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
    grown: grown::All,
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
        "ontick: the whole process, from fork to end, tables read and written, median of its runs (least–most), which took turns with those of tsnkit. tsnkit: the solving alone, as it tells it itself, without its start and without reading and writing; one run each, {} at most, ls twice as long for 400 streams and more. Every schedule of either was looked at by `ontick network validate`; \"refused\" was called a success by its maker and does not hold.",
        ontick_units::exact(size.limit.as_nanos() as u64)
    ));
    let refused = versus::refused(&versus);
    page.heading("Planning: what tsnkit's algorithms call a success, and the validator refuses");
    page.table(&refused);

    page.heading("Planning: how it grows with streams");
    let grown = grown::measure(ontick, folder.path(), size.whole)?;
    page.commands(&[grown::command(Path::new("ontick"), Path::new("FOLDER")).join(" ")]);
    page.words("20 and 100 switches in a grid, a station at each; streams between stations by chance (seeded), periods of 0.5, 1, 2 and 4 ms, 100 to 500 octets, deadline: the period; all that the wire carries is counted. Time is of the whole process, memory its largest resident set (wait4); validating is the whole process, too.");
    page.table(&grown::table(grown.small.iter().chain(&grown.large)));
    page.words("1000 switches in two rings, the second in an order by chance, with periods of 2 to 16 ms: 45 000 streams fill no link for more than 8 % of its time.");
    page.table(&grown::table(&grown.light));
    page.words("The same with periods of 0.25 to 2 ms: on shortest paths the fullest link is at 64 %.");
    page.table(&grown::table(&grown.loaded));
    let powers = [(100, &grown.large), (1_000, &grown.light)];
    for (switches, power) in powers.into_iter().filter_map(|(switches, all)| Some((switches, grown::power(all)?))) {
        page.words(&format!(
            "On {switches} switches time grows with the {power:.2}th power of the streams (least squares over the logarithms)."
        ));
    }
    Ok(Figures { versus, grown })
}

/// Draws how planning grows, into `images` beside the page.
pub fn draw(seen: &Figures, page_file: &Path, page: &mut Page) -> Result<(), String> {
    let panel = |name: &str, figure: fn(&Grown) -> f64| Panel {
        name: name.into(),
        points: seen.grown.large.iter().map(|one| (one.streams as f64, figure(one))).collect(),
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
    page.picture(page_file, "planning.svg", &drawn, "time and memory of planning over the number of streams")
}

/// What must be reached.
pub fn goals(seen: &Figures) -> Vec<Goal> {
    let mut goals = vec![all_that_peers_do(&seen.versus)];
    goals.extend(FASTER_AT.map(|streams| faster(streams, &seen.versus)));
    goals.push(hard(&seen.versus));
    let grown = &seen.grown;
    let all = || [&grown.small, &grown.large, &grown.light, &grown.loaded].into_iter().flatten();
    goals.extend(LARGE.map(|limit| {
        let of = match (limit.switches, limit.loaded) {
            (20, _) => &grown.small,
            (100, _) => &grown.large,
            (_, false) => &grown.light,
            (_, true) => &grown.loaded,
        };
        large(limit, of.iter().find(|one| one.streams == limit.streams))
    }));
    for (switches, of) in [(100, &grown.large), (1_000, &grown.light)] {
        let power = grown::power(of).map(|power| (format!("{power:.2}"), power <= POWER));
        let what = format!("planning: power of the streams with which time grows, {switches} switches");
        goals.push(Goal::new(what, format!("≤ {POWER}"), power));
    }
    let slowest = all().filter(|one| one.streams == LARGE[3].streams).map(|one| one.judged).max();
    let seen = slowest.map(|took| (format!("{:.1} s", took.as_secs_f64()), took <= VALIDATED));
    let what = format!("planning: validating {} streams on 1000 switches", LARGE[3].streams);
    goals.push(Goal::new(what, format!("≤ {} s", VALIDATED.as_secs()), seen));
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
        let (_, seconds) = one.fastest()?;
        Some(if one.ours.outcome == Planned::Holds { seconds / one.ours.median_s() } else { 0.0 })
    });
    let seen = ratios.min_by(f64::total_cmp).map(|ratio| (times(ratio), ratio >= FASTER));
    let what = format!(
        "planning: faster than tsnkit's fastest whose schedule holds, {streams} streams, the network where it is least"
    );
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

fn large(limit: Limit, grown: Option<&Grown>) -> Goal {
    let Limit { streams, switches, loaded, most, most_mib } = limit;
    let seen = grown.map(|one| {
        let reached = one.wall <= most && one.peak_kib <= most_mib << 10 && one.held;
        let held = if one.held { "" } else { ", and does not hold" };
        (format!("{:.2} s, {} MiB{held}", one.wall.as_secs_f64(), one.peak_kib >> 10), reached)
    });
    let full = if loaded { ", full links" } else { "" };
    Goal::new(
        format!("planning: {streams} streams on {switches} switches{full}"),
        format!("≤ {} s, ≤ {most_mib} MiB", most.as_secs()),
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
            judged: Duration::ZERO,
        };
        let reached = |one: Grown| large(LARGE[0], Some(&one)).reached;
        let most_kib = LARGE[0].most_mib << 10;
        assert_eq!(reached(grown(1_000, most_kib, true)), Some(true));
        assert_eq!(reached(grown(1_001, 1, true)), Some(false));
        assert_eq!(reached(grown(1, most_kib + 1, true)), Some(false));
        assert_eq!(reached(grown(1, 1, false)), Some(false));
    }
}
