//! A loop of 1 kHz that records how late each cycle begins: `cargo run --release -p ontick-rt --example cycle -- 5000`

use std::error::Error;
use std::time::Duration;

use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::{Policy, Setup};
use ontick_rt::wait::Hybrid;
use ontick_rt::watchdog::{Watchdog, may_occupy};
use ontick_rt::{Cycle, cpus, recorder};

const PERIOD_NS: u64 = 1_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let cycles: u64 = std::env::args().nth(1).map_or(Ok(1000), |count| count.parse())?;
    let mut setup = Setup::new().policy(Policy::Fifo(80)).lock_memory();
    // A loop never occupies the only CPU of a machine.
    let online = std::thread::available_parallelism()?.get();
    if may_occupy(online).is_ok() {
        setup = setup.cpu(cpus::preferred());
    }
    // What the system refuses is reported, and the loop runs without it.
    let ready = setup.best_effort();
    ready.refused().iter().for_each(|refusal| eprintln!("{refusal}"));
    // A loop that stops resting loses its priority after two seconds.
    let _watchdog = Watchdog::watch_this_thread(Duration::from_secs(2))?;

    let mut cycle = Cycle::new(Clock::new(ClockId::Monotonic), Hybrid::new(PERIOD_NS), PERIOD_NS);
    let (mut writer, reader) = recorder::channel(100_000);
    for _ in 0..cycles {
        let tick = cycle.next();
        writer.record(tick.now_ns, tick.latency_ns());
        writer.missed(tick.missed);
        // The work of this period goes here.
    }

    let found = reader.snapshot();
    println!("{} cycles, {} periods missed", found.count(), found.missed);
    let mut so_far = 0;
    for (low_ns, width_ns, count) in found.buckets() {
        so_far += count;
        println!("{:6.2} % within {} ns", 100.0 * so_far as f64 / found.count() as f64, low_ns + width_ns);
    }
    Ok(())
}
