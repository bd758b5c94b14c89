//! Plans the gates of a network of one switch, validates the plan, and prints windows and delays.
//! `cargo run --release -p ontick-tsn --example plan_network -- network.toml`, or without a file its own network

use std::error::Error;
use std::time::{Duration, Instant};

use ontick_tsn::network;
use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};
use ontick_tsn::target;
use ontick_tsn::validate::{MOST_MESSAGES, ValidationInput, validate};

const NETWORK: &str = r#"
[[switch]]
name = "s1"

[[station]]
name = "controller"

[[station]]
name = "camera"

[[station]]
name = "drive"

[[link]]
between = ["controller", "s1"]

[[link]]
between = ["camera", "s1"]

[[link]]
between = ["s1", "drive"]

[[stream]]
name = "setpoint"
from = "controller"
to = "drive"
size = 100
period = "250us"
deadline = "50us"

[[stream]]
name = "image"
from = "camera"
to = "drive"
size = 6000
period = "1ms"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().nth(1).map_or(Ok(NETWORK.into()), std::fs::read_to_string)?;
    let network = network::read(&text)?;
    let begun = Instant::now();
    let within_time = || begun.elapsed() < Duration::from_secs(10);
    let timetable = match plan(&network, &PlanOptions::default(), &Timetable::default(), &within_time) {
        Outcome::Planned(timetable) => timetable,
        Outcome::Impossible(proofs) => {
            proofs.iter().for_each(|proof| println!("{}", proof.in_words(&network)));
            return Ok(());
        }
        Outcome::NotFound(_) => return Err("no plan was found within ten seconds".into()),
    };
    let schedule = gate_control_list::schedule(&network, &timetable)?;
    for window in &schedule.windows {
        let (from_us, to_us) = (window.begin_ns as f64 / 1e3, window.end_ns as f64 / 1e3);
        let cycle_us = window.cycle_ns / 1000;
        let link = network.link_name(window.link);
        println!("{link:<14} queue {}  {from_us:8.2} to {to_us:8.2} us of {cycle_us}", window.queue);
    }

    // The validator shares nothing with the planner but the network.
    let target = target::named("any").ok_or("no such target")?;
    let verdict = validate(&ValidationInput {
        network: &network,
        schedule: &schedule,
        target,
        guard_bands: false,
        most_messages: MOST_MESSAGES,
    });
    for delay in &verdict.delays {
        let (stream, listener) = (&network.streams[delay.stream].name, &network.nodes[delay.listener].name);
        println!("{stream:<14} to {listener}: {} to {} ns", delay.least_ns, delay.most_ns);
    }
    println!("{} messages followed, {} faults", verdict.messages, verdict.faults.len());
    if verdict.faults.is_empty() { Ok(()) } else { Err("the plan does not hold".into()) }
}
