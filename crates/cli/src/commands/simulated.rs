//! Simulated lines: said beside every figure, and there for who has no others.

use ontick_gpio::{Name, sim};

use crate::failure::Failure;

/// What of these lines is simulated, for the reader of the figures.
pub fn note(lines: &[&Name]) -> Option<String> {
    let by = |simulator: &str| {
        let of_it = lines.iter().filter(|name| ontick_gpio::simulated_by(name) == Some(simulator));
        let names: Vec<String> = of_it.map(ToString::to_string).collect();
        let word = if names.len() == 1 { "line" } else { "lines" };
        (!names.is_empty()).then(|| format!("{word} {} in {simulator}", names.join(", ")))
    };
    let reported: Vec<String> = ["shared memory", "the kernel's gpio-sim"].into_iter().filter_map(by).collect();
    (!reported.is_empty()).then(|| reported.join("; "))
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
