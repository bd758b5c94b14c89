//! Samples a wave at 1 kHz into a CSV file: `cargo run --release -p ontick-acquire --example to_file -- samples.csv 1000`

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use ontick_acquire::hub::{self, Passed, Stream};
use ontick_acquire::sink::{self, Clients, Sink};
use ontick_acquire::{Sampler, Trigger, Turn, ring, source};
use ontick_rt::Phase;

/// What is kept for a slow disk, in bytes.
const BACKLOG: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| "samples.csv".into());
    let count: u64 = arguments.next().map_or(Ok(200), |count| count.parse())?;

    let sources = vec![source::open("wave:sine,50Hz")?];
    let channels: Vec<_> = sources.iter().flat_map(|source| source.channels().to_vec()).collect();
    let (writer, reader) = ring::new(10_000, channels.len());

    // Off the timed thread: the hub encodes, the sink writes.
    let sink: Sink = format!("file:{file},format=csv").parse()?;
    let stream = Stream::new(sink.format, &channels, BACKLOG);
    let open = sink::open(&sink, stream.clone(), Arc::new(Clients::default()))?;
    let passed = Arc::new(Passed::default());
    let hub = std::thread::spawn({
        let passed = passed.clone();
        move || hub::run(reader, &channels, &[stream], &passed)
    });

    // On the timed thread: neither allocation nor lock. `ontick_rt::thread::Setup` makes it punctual.
    let mut sampler = Sampler::new(&Trigger::Every(1_000_000), Phase::Chance, sources, writer)?;
    let mut taken = 0;
    while taken < count {
        match sampler.turn() {
            Turn::Taken { .. } => {
                sampler.keep();
                taken += 1;
            }
            Turn::Nothing(_) => {}
            Turn::Failed { errno, .. } => return Err(errno.into()),
        }
    }
    // The ring's end ends the hub, and the hub ends the stream.
    drop(sampler);
    hub.join().map_err(|_| "the hub panicked")?;
    open.close();
    let [samples, late, full] = [&passed.samples, &passed.late, &passed.full].map(|counter| counter.load(Relaxed));
    println!("{samples} samples in {file}; {late} slots missed, {full} samples found the ring full");
    Ok(())
}
