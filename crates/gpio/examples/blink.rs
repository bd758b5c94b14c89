//! Drives a line and reads what arrives at another one.
//! `cargo run -p ontick-gpio --example blink` on simulated lines; `-- GPIO17 GPIO27` on two wired lines of a board

use std::error::Error;
use std::time::Duration;

use ontick_gpio::{Line, Name, Request, sim, simulated_by};

fn main() -> Result<(), Box<dyn Error>> {
    let mut names = std::env::args().skip(1);
    let mut name = |default: &str| names.next().unwrap_or_else(|| default.into()).parse::<Name>();
    let (output, input) = (name("sim:example-blink/4")?, name("sim:example-blink/17")?);
    // Simulated lines have simulated wires; a board's own are of copper.
    let simulated = simulated_by(&output).is_some();
    if simulated {
        sim::wire(&output, &input, sim::Wire::default())?;
    }
    let mut driven = Line::open(&output, &Request::output(false))?;
    let mut watched = Line::open(&input, &Request::input())?;
    for level in [true, false, true, false] {
        driven.write(level)?;
        // Longer than any line takes.
        std::thread::sleep(Duration::from_millis(10));
        println!("{output} = {}, {input} = {}", u8::from(level), u8::from(watched.read()?));
    }
    if let Name::Sim { chip, .. } = &output {
        sim::remove(chip)?;
    }
    Ok(())
}
