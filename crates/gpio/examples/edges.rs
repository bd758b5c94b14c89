//! Waits for the edges of a line while another thread drives it, and prints how soon each was reported.
//! `cargo run --release -p ontick-gpio --example edges -- 10`

use std::error::Error;
use std::time::Duration;

use ontick_gpio::{Edges, Line, Name, Request, sim};
use ontick_rt::clock::ClockId;

fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(6), |count| count.parse())?;
    let (output, input): (Name, Name) = ("sim:example-edges/4".parse()?, "sim:example-edges/17".parse()?);
    sim::wire(&output, &input, sim::Wire::default())?;
    let mut driven = Line::open(&output, &Request::output(false))?;
    let mut watched = Line::open(&input, &Request::input().edges(Edges::Both))?;
    let driver = std::thread::spawn(move || {
        for n in 0..count {
            std::thread::sleep(Duration::from_millis(5));
            driven.write(n % 2 == 0)?;
        }
        Ok::<(), ontick_gpio::Gone>(())
    });
    for _ in 0..count {
        // A deadline on the monotonic clock, so that a missing edge does not block for ever.
        let deadline_ns = ClockId::Monotonic.now_ns() + 2_000_000_000;
        let edge = watched.edge(deadline_ns)?.ok_or("no edge within two seconds")?;
        let reported_ns = ClockId::Monotonic.now_ns() - edge.time_ns;
        let direction = if edge.rising { "rising" } else { "falling" };
        println!("{direction:<7} reported after {reported_ns} ns, {} lost before it", edge.lost);
    }
    driver.join().map_err(|_| "the driver panicked")??;
    sim::remove("example-edges")?;
    Ok(())
}
