//! Simulated lines: said beside every figure, and there for who has no others.

use ontick_gpio::{Name, sim};

use crate::failure::Failure;

/// What of these lines is simulated, for the reader of the figures.
pub fn told(lines: &[&Name]) -> Option<String> {
    let simulated: Vec<String> =
        lines.iter().filter(|name| matches!(name, Name::Sim { .. })).map(ToString::to_string).collect();
    (!simulated.is_empty()).then(|| format!("lines {} in shared memory", simulated.join(", ")))
}

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
