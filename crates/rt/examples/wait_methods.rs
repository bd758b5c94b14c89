//! The same cycle with each wait: one that sleeps, one that spins, and one that sleeps first and spins the rest.
//! `cargo run --release -p ontick-rt --example wait_methods -- 1000`

use std::error::Error;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::wait::{Hybrid, Sleep, Spin, Wait};
use ontick_rt::{Cycle, recorder};

const PERIOD_NS: u64 = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let cycles: u64 = std::env::args().nth(1).map_or(Ok(500), |count| count.parse())?;
    let waits: [(&str, Box<dyn Wait>); 3] = [
        ("sleep", Box::new(Sleep)),
        ("hybrid", Box::new(Hybrid::new(PERIOD_NS))),
        // It spins all the time, so it stays at normal priority here.
        ("spin", Box::new(Spin::default())),
    ];
    println!("wait       cycles   least ns    mean ns    most ns   spun ms");
    for (name, wait) in waits {
        let mut cycle = Cycle::new(Clock::new(ClockId::Monotonic), wait, PERIOD_NS);
        let (mut writer, reader) = recorder::channel(u64::MAX);
        for _ in 0..cycles {
            let tick = cycle.next();
            writer.record(tick.now_ns, tick.latency_ns());
        }
        let found = reader.snapshot();
        let (least, most) = (found.min_ns.unwrap_or(0), found.max_ns.unwrap_or(0));
        let mean = found.sum_ns / found.count().max(1);
        let spun = cycle.wait().spun_ns().unwrap_or(0) / 1_000_000;
        println!("{name:<8} {:>8} {least:>10} {mean:>10} {most:>10} {spun:>9}", found.count());
    }
    Ok(())
}
