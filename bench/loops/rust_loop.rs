//! The loop that stands beside `c_loop.c`: CPU PRIORITY INTERVAL_NS CYCLES RECORD

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use ontick_record::run::{Run, Series};
use ontick_record::{Bucket, Histogram, Measurement, store};
use ontick_rt::clock::{Clock, ClockId};
use ontick_rt::thread::{Policy, Setup};
use ontick_rt::wait::Hybrid;
use ontick_rt::watchdog::Watchdog;
use ontick_rt::{Cycle, Overrun, Phase, phase, recorder};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cpu, priority, interval_ns, cycles, record] = &arguments[..] else {
        return Err("five arguments are needed".into());
    };
    let (interval_ns, cycles): (u64, u64) = (interval_ns.parse()?, cycles.parse()?);
    let setup = Setup::new().cpu(cpu.parse()?).policy(Policy::Fifo(priority.parse()?)).lock_memory();
    let _ready = setup.strict()?;
    let _watchdog = Watchdog::watch_this_thread(Duration::from_secs(10))?;

    let mut clock = Clock::new(ClockId::Monotonic);
    let phase = Phase::Fixed(phase::scan(&mut clock, phase::SCAN_NS).quietest(interval_ns));
    let mut cycle = Cycle::with_phase(clock, Hybrid::new(interval_ns), interval_ns, phase, Overrun::Skip);
    let (mut writer, reader) = recorder::channel(u64::MAX);
    for _ in 0..200 {
        cycle.next();
    }
    for _ in 0..cycles {
        let tick = cycle.next();
        writer.record(tick.now_ns, tick.latency_ns());
        writer.missed(tick.missed);
        if tick.early() {
            writer.early();
        }
    }

    let seen = reader.snapshot();
    let buckets = seen.buckets().map(Bucket::from);
    let latency = Histogram::recorded(buckets, seen.min_ns.zip(seen.max_ns), seen.sum_ns, seen.sum_of_squares);
    let mut run = Run::new("ontick-bench", Measurement::Timer);
    run.series = vec![Series { name: "Rust".into(), latency, missed: seen.missed, ..Series::default() }];
    store::write_whole(Path::new(record), store::text(&run).as_bytes())?;
    Ok(())
}
