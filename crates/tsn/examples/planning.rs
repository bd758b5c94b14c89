//! How long planning takes, on tsnkit's tables: `cargo run --release -p ontick-tsn --example planning -- TASK TOPO`
use ontick_tsn::network::{Overhead, tsnkit};
use ontick_tsn::planning::{Outcome, PlanOptions, Timetable, gate_control_list, plan};
use ontick_tsn::validate::{MOST_MESSAGES, TARGETS, ValidationInput, validate};
use std::time::Instant;
fn main() {
    let mut args = std::env::args().skip(1);
    let (task, topo) = (args.next().unwrap(), args.next().unwrap());
    let t = Instant::now();
    let overhead = if args.next().is_some() { Overhead::Wire } else { Overhead::PayloadOnly };
    let [task, topo] = [task, topo].map(|file| std::fs::read_to_string(file).unwrap());
    let network = tsnkit::read(&task, &topo, None, overhead).unwrap_or_else(|e| panic!("{e}"));
    println!("read {:?}", t.elapsed());
    let t = Instant::now();
    let out = plan(&network, &PlanOptions::default(), &Timetable::default(), &|| t.elapsed().as_secs() < 60);
    println!("plan {:?}", t.elapsed());
    let table = match out {
        Outcome::Planned(table) => table,
        Outcome::Impossible(c) => {
            c.iter().for_each(|c| println!("{}", c.in_words(&network)));
            return;
        }
        Outcome::NotFound(f) => {
            println!("not found: {} missing {:?}", f.table.missing().count(), f.effort);
            f.table
        }
    };
    let t = Instant::now();
    let schedule = gate_control_list::schedule(&network, &table).unwrap();
    println!("lists {:?} windows {}", t.elapsed(), schedule.windows.len());
    let t = Instant::now();
    let v = validate(&ValidationInput {
        network: &network,
        schedule: &schedule,
        target: &TARGETS[0],
        most_messages: MOST_MESSAGES,
    });
    println!("validate {:?} {:?} messages {} complete {}", t.elapsed(), v.counts, v.messages, v.complete);
}
