//! The switch: what the user data plane forwards and how fast, the kernel's bridge beside it, and how its gates hold.

mod cables;
mod cost;
mod delay;
mod gates;
pub mod growth;
pub mod hardening;
mod lab;
mod load;
mod random;

use std::path::Path;
use std::time::Duration;

use ontick_rt::cpus;
use ontick_rt::thread::Setup;
use ontick_switch::user::packet::{DEFAULT_FRAMES, PacketPort, PacketReader, Stamps};
use ontick_tsn::model::Socket;
use ontick_units::show;

use crate::unthrottled::Unthrottled;
use cables::{Between, FAR, Testbed};
use load::Passed;

use crate::goals::Goal;
use crate::page::{Page, Table};
use crate::side::Job;

/// Length of one turn of forwarding.
const TURN: Duration = Duration::from_secs(2);
/// Pairs of a drained ring and bare sends for each turn of the others.
const DRAINED: u32 = 50;
/// Frames of 64 octets per second.
const FORWARDED: f64 = 500_000.0;
/// What the switch may add to a frame's way at 100 000 frames per second.
const ADDED_P99_NS: u64 = 2_000;

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Frames forwarded in one go.
    pub frames: u64,
    /// Turns of switch and bridge.
    pub pairs: u32,
    /// How long delays are measured; a turn with gates is a quarter of it.
    pub seconds: u64,
    /// Link events for the kernel's data plane, in the lab; none: it is left out.
    pub flaps: Option<u64>,
}

/// What was seen.
pub struct Figures {
    /// Frames per second of each turn.
    forwarded: Vec<(Between, f64)>,
    costs: Vec<cost::Figures>,
    endurance: Endurance,
    delays: Vec<(Between, delay::Figures)>,
    gates: gates::Figures,
    random: random::Figures,
    lab: Option<lab::Figures>,
}

/// Many frames in one go, and what the switch counted.
struct Endurance {
    passed: Passed,
    /// Frames that the switch counted as dropped, wherever.
    dropped: u64,
    stalls: u64,
    longest_stall_ns: u64,
}

/// Everything, on the page.
pub fn measure(job: &Job, size: Size, page: &mut Page) -> Result<Figures, String> {
    let _unthrottled = Unthrottled::begin(job.cpu)?;
    page.heading("The switch: frames forwarded, 64 octets, eight classes, virtual Ethernet");
    let mut forwarded = Vec::new();
    let sides = [Between::User(Socket::Packet), Between::Bridge, Between::User(Socket::Xdp)];
    for pair in 0..size.pairs {
        let mut sides = sides;
        if pair % 2 == 1 {
            sides.reverse();
        }
        for between in sides {
            forwarded.push((between, flooded(job, between)?));
        }
    }
    page.table(&rates(&forwarded, &sides));
    page.words(&format!(
        "{} turns of {} each, in alternating order. One thread on the other CPU sends as fast as it can; what comes out is counted by the interface at the far end. The kernel's bridge does its work on that thread's CPU, ontick's core on its own (CPU {}, FIFO, never resting), where what comes too fast is dropped and counted.",
        size.pairs,
        show(TURN.as_nanos() as u64),
        job.cpu
    ));
    let costs = drained(job, size.pairs * DRAINED, page)?;
    let endurance = endure(job, size.frames)?;
    page.words(&format!(
        "In one go, at most 1024 of them on their way, with every frame looked at by the thread that sends: {} frames sent, {} received ({:.0}/s), {} of the others counted as dropped, {} out of order within their class; the core was held up {} times, for {} at most.",
        endurance.passed.sent,
        endurance.passed.received,
        endurance.passed.rate(),
        endurance.dropped,
        endurance.passed.out_of_order,
        endurance.stalls,
        show(endurance.longest_stall_ns)
    ));

    page.heading("The switch: one-way delay at 100 000 frames per second, virtual Ethernet");
    let mut delays = Vec::new();
    let resting = Between::Resting(Socket::Packet);
    for between in [Between::Cable, Between::Bridge, Between::User(Socket::Packet), resting, Between::User(Socket::Xdp)]
    {
        delays.push((between, delayed(job, between, Duration::from_secs(size.seconds))?));
    }
    page.table(&delay_table(&delays));
    page.words("From just before a frame is handed to the kernel until the kernel stamps its arrival at the far end. The cable is the same way without anything between. On a CPU that is not isolated the core rests 70us in each millisecond by default, and frames that come meanwhile wait; the other rows are of one that never does (`--never-rest`).");

    page.heading("The switch: source 004's test, gates of 800 and 200us, virtual Ethernet");
    let shown = Job { ontick: "ontick".into(), ..job.clone() };
    let turn_s = (size.seconds / 4).max(1);
    page.commands(&[gates::command(&shown, turn_s).join(" ")]);
    let gates = gates::measure(job, size.pairs, turn_s)?;
    page.table(&gates.table());
    page.words(&format!("{} turns; times are the median of the turns, with the least and the greatest. Largest frames of both classes, as many as their windows carry at 1 Gb/s. The first frame is that of each window for which frames waited: from the gate's opening until the kernel stamped its arrival at the far end.", size.pairs));

    let random = random::run(size.frames);
    page.words(&format!(
        "{} frames of random length and content through the core, without a kernel around it, in {:.1} s: {} sent, {} dropped and counted, {} of which nothing is known; memory grew by {} KiB.",
        random.frames,
        random.took.as_secs_f64(),
        random.sent,
        random.dropped,
        random.unaccounted,
        random.grown_kib
    ));
    let lab = size.flaps.map(|flaps| in_the_lab(job, flaps, page)).transpose()?;
    Ok(Figures { forwarded, costs, endurance, delays, gates, random, lab })
}

/// What a frame costs the core, whatever a sender can do.
fn drained(job: &Job, pairs: u32, page: &mut Page) -> Result<Vec<cost::Figures>, String> {
    let measured = cost::WAYS.into_iter().map(|way| cost::measure(job, way, pairs, elsewhere(job)));
    let costs = measured.collect::<Result<Vec<_>, String>>()?;
    page.table(&cost::table(&costs));
    page.words(&format!(
        "What a frame costs the core, no sender being the limit: {pairs} times the other CPU fills a ring with {} frames and then waits, and the core drains it; before or after, in turn, the same thread sends as many frames one by one by a bare packet socket from the same interface. Medians, the ratio of each pair, and what half of the pairs lie between. With gates, the gate of each class in turn is closed for 50us. Missing are frames that the far end's interface did not count.",
        cost::FRAMES
    ));
    Ok(costs)
}

fn in_the_lab(job: &Job, flaps: u64, page: &mut Page) -> Result<lab::Figures, String> {
    page.heading("The switch in the kernel: taprio of PREEMPT_RT 6.12 in an emulated machine (lab)");
    page.commands(&lab::commands(Path::new("ontick"), flaps).iter().map(|words| words.join(" ")).collect::<Vec<_>>());
    let seen = lab::measure(&job.ontick, flaps)?;
    page.table(&seen.table());
    page.words("An emulated machine: what is outside its window counts, how soon the first frame comes says nothing about hardware.");
    Ok(seen)
}

/// A CPU for the other side.
fn elsewhere(job: &Job) -> Option<u32> {
    cpus::online().into_iter().rev().find(|cpu| *cpu != job.cpu)
}

/// Frames per second that come out.
fn flooded(job: &Job, between: Between) -> Result<f64, String> {
    let scene = Testbed::new(between, job.cpu, job.priority)?;
    let mut into = port(&scene, 0)?;
    let before = scene.arrived()?;
    let took = beside(job, || load::flood(&mut into, TURN))?;
    Ok((scene.arrived()? - before) as f64 / took.as_secs_f64())
}

fn forward(job: &Job, between: Between, frames: u64) -> Result<(Passed, Testbed), String> {
    let scene = Testbed::new(between, job.cpu, job.priority)?;
    let [mut into, mut out_of] = [port(&scene, 0)?, port(&scene, 1)?];
    let passed = beside(job, || load::run(&mut into, &mut out_of, frames))?;
    Ok((passed, scene))
}

fn endure(job: &Job, frames: u64) -> Result<Endurance, String> {
    let (passed, scene) = forward(job, Between::User(Socket::Packet), frames)?;
    let counters = scene.plane.ok_or("there is no data plane")?.stop().counters;
    let dropped = counters.ports.iter().map(|port| {
        let queues: u64 = port.queues.iter().map(|queue| queue.dropped()).sum();
        queues + port.overflowed.get() + port.oversized.get() + port.malformed.get() + port.filtered.get()
    });
    Ok(Endurance {
        passed,
        dropped: dropped.sum(),
        stalls: counters.stalls.get(),
        longest_stall_ns: counters.longest_stall_ns.get(),
    })
}

fn delayed(job: &Job, between: Between, duration: Duration) -> Result<delay::Figures, String> {
    let scene = Testbed::new(between, job.cpu, job.priority)?;
    let mut into = port(&scene, 0)?;
    let open = || PacketReader::open(FAR[1], DEFAULT_FRAMES, Stamps::Software);
    let opened = scene.stations[1].within(open).map_err(|e| format!("switch: {e}"))?;
    let mut out_of = opened.map_err(|e| format!("switch: {e}"))?;
    beside(job, || delay::run(&mut into, &mut out_of, duration))
}

fn port(scene: &Testbed, station: usize) -> Result<PacketPort, String> {
    let open = || PacketPort::open(FAR[station], DEFAULT_FRAMES);
    scene.stations[station].within(open).map_err(|e| format!("switch: {e}"))?.map_err(|e| format!("switch: {e}"))
}

/// On a thread of its own, away from the switch's CPU.
fn beside<T: Send>(job: &Job, work: impl FnOnce() -> T + Send) -> Result<T, String> {
    let cpu = elsewhere(job);
    let pinned = || {
        let _held = cpu.into_iter().fold(Setup::new(), Setup::cpu).best_effort();
        work()
    };
    std::thread::scope(|scope| scope.spawn(pinned).join()).map_err(|_| "switch: the load's thread panicked".into())
}

fn rates(all: &[(Between, f64)], sides: &[Between]) -> Table {
    let mut table = Table::new(&["between", "median of turns", "least", "most"]);
    for side in sides {
        let rates = of_side(all, *side);
        let [Some(least), Some(most)] = [rates.first(), rates.last()] else { continue };
        let figures = [median(&rates), *least, *most].map(|rate| format!("{rate:.0}/s"));
        table.row([side.name().to_string()].into_iter().chain(figures));
    }
    table
}

/// The least first.
fn of_side(all: &[(Between, f64)], side: Between) -> Vec<f64> {
    let mut rates: Vec<f64> = all.iter().filter(|(between, _)| *between == side).map(|(_, rate)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 if middle > 0 => sorted[middle - 1].midpoint(sorted[middle]),
        _ => sorted.get(middle).copied().unwrap_or(0.0),
    }
}

fn delay_table(all: &[(Between, delay::Figures)]) -> Table {
    let mut table = Table::new(&["between", "p50", "p99", "p99.9", "max", "sent", "lost"]);
    for (between, seen) in all {
        let figures = [0.5, 0.99, 0.999, 1.0].map(|share| seen.quantile(share).map_or("—".into(), show));
        let counts = [seen.sent.to_string(), (seen.sent - seen.received).to_string()];
        table.row([between.name().to_string()].into_iter().chain(figures).chain(counts));
    }
    table
}

/// What must be reached.
pub fn goals(seen: &Figures) -> Vec<Goal> {
    let user = Between::User(Socket::Packet);
    let [own, bridge] = [user, Between::Bridge].map(|side| median(&of_side(&seen.forwarded, side)));
    let Endurance { passed, dropped, .. } = &seen.endurance;
    let uncounted = passed.sent.saturating_sub(passed.received).saturating_sub(*dropped);
    let of = |side: Between| seen.delays.iter().find(|(between, _)| *between == side).map(|(_, seen)| seen);
    let quantile = |side, share| of(side).and_then(|seen| seen.quantile(share));
    let added = quantile(user, 0.99).zip(quantile(Between::Cable, 0.5));
    let added = added.map(|(with, without)| with.saturating_sub(without));
    let mut goals = seen.gates.goals();
    goals.extend(cost::goals(&seen.costs));
    goals.extend([
        Goal::new(
            "switch: frames of 64 octets forwarded, eight classes (virtual Ethernet)",
            format!("≥ {FORWARDED:.0}/s and ≥ the kernel's bridge"),
            Some((format!("{own:.0}/s (bridge {bridge:.0}/s)"), own >= FORWARDED && own >= bridge)),
        ),
        Goal::new(
            format!("switch: {} frames in one go, lost uncounted or out of order", passed.sent),
            "0",
            Some((format!("{uncounted} and {}", passed.out_of_order), uncounted == 0 && passed.out_of_order == 0)),
        ),
        Goal::new(
            "switch: added one-way delay at 100 000 frames/s, its p99 less the cable's median (virtual Ethernet)",
            format!("≤ {}", show(ADDED_P99_NS)),
            added.map(|ns| (show(ns), ns <= ADDED_P99_NS)),
        ),
        Goal::new(
            format!("switch: {} random frames through the core, unaccounted for; memory that grew", seen.random.frames),
            "0; 0 KiB",
            Some((
                format!("{}; {} KiB", seen.random.unaccounted, seen.random.grown_kib),
                seen.random.unaccounted == 0 && seen.random.grown_kib == 0,
            )),
        ),
    ]);
    goals.extend(seen.lab.iter().flat_map(lab::Figures::goals));
    goals
}
