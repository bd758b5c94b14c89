//! A simulated network as a record.

use ontick_network::{Options, simulation::Delivered, simulation::Outcome};
use ontick_record::network::{DrawnLink, Dropped, NetworkProof, ProvenStream};
use ontick_record::run::Judged;
use ontick_record::{Histogram, Measurement, Run, Series};
use ontick_tsn::network::{Kind, LinkId, Network};
use ontick_tsn::validate::Schedule;
use ontick_units::exact;

/// Frames that are drawn at most.
const MOST_FRAMES: usize = 20_000;

/// The record, judged by what every stream is promised.
pub fn run(network: &Network, schedule: &Schedule, options: &Options, outcome: &Outcome) -> Run {
    let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), Measurement::NetworkProve);
    run.started = ontick_record::date::now();
    run.duration_ns = outcome.simulated_ns;
    run.interrupted = outcome.interrupted;
    run.simulated = Some("a network in simulated time; what its machines and cables need is assumed".into());
    let proof = proof(network, schedule, options, outcome);
    let all = outcome.delivered.iter().flat_map(|of| of.latency.buckets().iter().copied());
    let mut latency = Histogram::from_buckets(all);
    latency.min_ns = outcome.delivered.iter().filter_map(|of| of.latency.min_ns).min();
    latency.max_ns = outcome.delivered.iter().filter_map(|of| of.latency.max_ns).max();
    run.series.push(Series { name: "all messages".into(), latency, ..Series::default() });
    run.requirements = judged(&proof);
    run.network = Some(proof);
    run
}

fn proof(network: &Network, schedule: &Schedule, options: &Options, outcome: &Outcome) -> NetworkProof {
    let count = |kind| network.nodes.iter().filter(|node| node.kind == kind).count() as u64;
    let costs = options.costs;
    let (least, most) = costs.hand_over_ns;
    let mut dropped: Vec<Dropped> =
        outcome.dropped.iter().map(|(why, frames)| Dropped { why: (*why).into(), frames: *frames }).collect();
    if outcome.lost_on_links > 0 {
        dropped.push(Dropped { why: "on a cable that was down".into(), frames: outcome.lost_on_links });
    }
    NetworkProof {
        world: "simulation".into(),
        seed: options.seed,
        switches: count(Kind::Switch),
        stations: count(Kind::Station),
        about: format!(
            "user data plane, a core for each switch: {} to take a frame in, {} to {} to hand one over",
            exact(costs.take_in_ns),
            exact(least),
            exact(most)
        ),
        duration_ns: outcome.simulated_ns,
        sync_error_ns: network.sync_error_ns,
        clocks_apart_ns: outcome.clocks_apart_ns,
        load: options.load,
        faults: options.faults.iter().map(ToString::to_string).collect(),
        frames: outcome.frames,
        hops: outcome.hops,
        best_effort: outcome.best_effort,
        dropped,
        streams: outcome.delivered.iter().map(|of| stream(network, schedule, of)).collect(),
        links: links(network, schedule, outcome),
        cycle_ns: options.trace_ns,
    }
}

fn stream(network: &Network, schedule: &Schedule, of: &Delivered) -> ProvenStream {
    let promised = &network.streams[of.stream];
    // What clocks and data planes differ by is no doing of the plan's, and is there on each link of the way.
    let of_link = |link: &LinkId| {
        let (least, most) = network.processing_ns(*link);
        network.timing.latest_ns() + most - least
    };
    let of_links: u64 = schedule.routes[of.stream].iter().map(of_link).sum();
    ProvenStream {
        name: promised.name.clone(),
        from: network.nodes[promised.talker].name.clone(),
        to: network.nodes[of.listener].name.clone(),
        period_ns: promised.period_ns,
        deadline_ns: promised.deadline_ns,
        jitter_allowed_ns: promised.jitter_ns + 2 * network.sync_error_ns + of_links,
        planned_ns: of.planned_ns,
        sent: of.sent,
        received: of.received,
        lost_frames: of.frames.0.saturating_sub(of.frames.1),
        late: of.late,
        early: of.early,
        after_plan: of.after_plan,
        out_of_order: of.out_of_order,
        duplicates: of.duplicates,
        min_ns: of.latency.min_ns,
        p99_ns: of.latency.quantile(0.99),
        max_ns: of.latency.max_ns,
    }
}

/// The first cycle of each link that streams use.
fn links(network: &Network, schedule: &Schedule, outcome: &Outcome) -> Vec<DrawnLink> {
    let frames: usize = outcome.passed.iter().map(Vec::len).sum();
    if frames == 0 || frames > MOST_FRAMES {
        return Vec::new();
    }
    let drawn = |(link, passed): (LinkId, &Vec<ontick_network::simulation::Passed>)| {
        let own = schedule.windows.iter().filter(|window| window.link == link);
        let windows: Vec<(u64, u64)> = own.map(|window| (window.begin_ns, window.end_ns)).collect();
        if windows.is_empty() {
            return None;
        }
        let mut streams: Vec<u32> = passed.iter().filter_map(|passed| passed.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        let place = |stream: u32| streams.binary_search(&stream).ok().map(|place| place as u32);
        let frame = |of: &ontick_network::simulation::Passed| (of.stream.and_then(place), of.begin_ns, of.end_ns);
        Some(DrawnLink {
            name: network.link_name(link),
            windows,
            frames: passed.iter().map(frame).collect(),
            names: streams.iter().map(|stream| network.streams[*stream as usize].name.clone()).collect(),
        })
    };
    outcome.passed.iter().enumerate().filter_map(drawn).collect()
}

fn judged(proof: &NetworkProof) -> Vec<Judged> {
    let judged = |requirement: &str, observed: String, met| Judged {
        requirement: requirement.into(),
        observed,
        met,
        ..Judged::default()
    };
    let sum = |of: fn(&ProvenStream) -> u64| proof.sum(of);
    let [lost, late, early] = [sum(ProvenStream::lost), sum(|of| of.late), sum(|of| of.early)];
    let silent = proof.streams.iter().filter(|of| of.sent == 0).count();
    let unsteady = proof.streams.iter().filter(|of| of.jitters()).count();
    let [missing, behind, twice] = [sum(|of| of.lost_frames), sum(|of| of.out_of_order), sum(|of| of.duplicates)];
    vec![
        judged(
            "every message within its promise",
            format!("of {} sent {lost} were lost, {late} late, {early} early", sum(|of| of.sent)),
            lost + late + early == 0,
        ),
        judged(
            "every frame once and in order",
            format!("{missing} missing, {behind} out of order, {twice} doubled"),
            missing + behind + twice == 0,
        ),
        judged(
            "jitter within what is allowed",
            format!("{unsteady} of {} streams differ by more", proof.streams.len()),
            unsteady == 0,
        ),
        judged("every stream is sent", format!("{silent} of {} are not", proof.streams.len()), silent == 0),
    ]
}
