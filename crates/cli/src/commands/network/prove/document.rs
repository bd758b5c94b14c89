//! A simulated network as a record.

use ontick_network::{Options, simulation::Outcome};
use ontick_record::network::{Dropped, NetworkProof};
use ontick_record::{Measurement, Run};
use ontick_tsn::network::{Kind, Network};
use ontick_tsn::validate::Schedule;
use ontick_units::exact;

use super::drawn::{self, Drawn, Lacks};
use crate::commands::network::proven;

/// The record, judged by what every stream is promised, and what its picture lacks.
pub fn run(network: &Network, schedule: &Schedule, options: &Options, outcome: &Outcome) -> (Run, Option<Lacks>) {
    let mut run = Run::new(concat!("ontick ", env!("CARGO_PKG_VERSION")), Measurement::NetworkProve);
    run.started = ontick_record::date::now();
    run.duration_ns = outcome.simulated_ns;
    run.interrupted = outcome.interrupted;
    run.simulated = Some("a network in simulated time; what its machines and cables need is assumed".into());
    let kept = drawn::cycle_ns(network, schedule);
    let Drawn { links, lacks } = drawn::links(network, schedule, kept, &outcome.passed);
    let proof = NetworkProof { links, ..proof(network, schedule, options, outcome) };
    run.series.push(proven::all_messages(outcome.delivered.iter().map(|of| of.latency.clone())));
    run.requirements = proven::judged(&proof, "every stream is sent");
    run.network = Some(proof);
    (run, lacks)
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
        streams: outcome.delivered.iter().map(|of| proven::stream(network, schedule, of, 0)).collect(),
        cycle_ns: options.trace_ns,
        ..NetworkProof::default()
    }
}
