//! Simulated lines, for who has no others.

use ontick_gpio::{Name, sim};

use crate::failure::Failure;

/// A line of the chip for who has none.
pub fn line(line: u32) -> Name {
    Name::Sim { chip: "bench".into(), line }
}

/// Two lines of that chip, joined unless they are already.
pub fn joined(from: u32, to: u32) -> Result<(Name, Name), Failure> {
    let names = (line(from), line(to));
    if !sim::wires("bench")?.iter().any(|(a, b, _)| (*a, *b) == (from, to)) {
        sim::wire(&names.0, &names.1, sim::Wire::default())?;
    }
    Ok(names)
}
