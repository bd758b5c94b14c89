//! How fast a simulation is: 20 switches in a grid, two stations at each, 1 000 streams.
//!
//! `cargo run --release -p ontick-network --example speed -- [SECONDS] [LOAD]`

use std::time::Instant;

use ontick_network::{Costs, Options, simulate};
use ontick_tsn::egress::DataPlane;
use ontick_tsn::network::{Kind, Link, Network, Node, Overhead, Stream};
use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};

const COLUMNS: usize = 5;
const ROWS: usize = 4;
const STREAMS: usize = 1_000;

fn main() {
    let mut words = std::env::args().skip(1).map(|word| word.parse::<f64>().expect("a number"));
    let (seconds, load) = (words.next().unwrap_or(1.0), words.next().unwrap_or(0.0));
    let network = network();
    let began = Instant::now();
    let Outcome::Planned(table) =
        plan(&network, &PlanOptions::default(), &Timetable::default(), &|| began.elapsed().as_secs() < 300)
    else {
        panic!("no plan was found")
    };
    let schedule = gate_control_list::schedule(&network, &table).expect("its lists are short enough");
    println!("planned in {:.1} s", began.elapsed().as_secs_f64());
    let options = Options {
        duration_ns: (seconds * 1e9) as u64,
        seed: 1,
        costs: Costs::within(&network.timing),
        load,
        faults: Vec::new(),
        trace_ns: 0,
    };
    let began = Instant::now();
    let outcome = simulate(&network, &table, &schedule, &options, &|_| true).expect("it can be simulated");
    let took = began.elapsed().as_secs_f64();
    let outside: u64 = outcome.delivered.iter().map(|of| of.sent - of.received + of.late + of.early).sum();
    println!(
        "{seconds} s of simulated time in {took:.2} s: {} frames of streams and {} of best effort, {} on links, {} turns of cores",
        outcome.frames, outcome.best_effort, outcome.hops, outcome.turns
    );
    println!(
        "{:.2} million frames a second, {:.2} million on links; {outside} messages outside of their promise; clocks {} ns apart",
        (outcome.frames + outcome.best_effort) as f64 / took / 1e6,
        outcome.hops as f64 / took / 1e6,
        outcome.clocks_apart_ns
    );
}

fn network() -> Network {
    let switches = COLUMNS * ROWS;
    let node = |n: usize| match n < switches {
        true => Node { name: format!("s{n}"), system_name: None, kind: Kind::Switch },
        false => Node { name: format!("h{}", n - switches), system_name: None, kind: Kind::Station },
    };
    let mut links = Vec::new();
    let mut cable = |a: usize, b: usize| {
        for (from, to) in [(a, b), (b, a)] {
            let (rate, propagation_ns, processing_ns) = (1_000_000_000, 50, 2_000);
            links.push(Link { from, to, port: None, rate, propagation_ns, processing_ns, queues: 8 });
        }
    };
    for n in 0..switches {
        if (n + 1) % COLUMNS != 0 {
            cable(n, n + 1);
        }
        if n + COLUMNS < switches {
            cable(n, n + COLUMNS);
        }
        cable(n, switches + 2 * n);
        cable(n, switches + 2 * n + 1);
    }
    let stations = 2 * switches;
    let stream = |n: usize| {
        let talker = n % stations;
        // Most go to a neighbour, some across.
        let further = [1, 2, 3, 4, 11][n / stations % 5];
        let period_ns = [1_000_000, 2_000_000, 4_000_000][n % 3];
        Stream {
            name: format!("f{n}"),
            talker: switches + talker,
            listeners: vec![switches + (talker + further) % stations],
            size: 50 + 100 * (n as u32 % 5),
            period_ns,
            deadline_ns: period_ns,
            jitter_ns: 0,
            queue: None,
            address: None,
            vlan: None,
        }
    };
    Network {
        nodes: (0..switches + stations).map(node).collect(),
        links,
        streams: (0..STREAMS).map(stream).collect(),
        sync_error_ns: 1_000,
        overhead: Overhead::Wire,
        timing: ontick_tsn::egress::EgressTiming::IDEAL,
        time: None,
    }
    .timed(DataPlane::User.defaults())
}
