//! What a curve is drawn with. Colours are those of Okabe and Ito, which colour-blind readers tell
//! apart; the dash tells curves apart without any colour.

use ontick_record::{Measurement, Run, Series, Side};

use crate::compare::Named;
use crate::grouping::is_loaded;

/// On white paper. The yellow of the set is too light there and left out.
pub(crate) const ON_LIGHT: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#b3589a", "#4a9fd4", "#c98a00", "#4d4d4d"];
/// The same hues on a dark ground.
pub(crate) const ON_DARK: [&str; 7] = ["#5ab4f0", "#ff8f4a", "#3cc9a0", "#e5a0cf", "#a5dcff", "#f2c14e", "#d0d0d0"];

const OURS: usize = 0;
const STOCK: usize = 1;

/// A curve's colour and dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ink {
    pub colour: usize,
    pub dash: usize,
}

impl Ink {
    pub fn stroke(&self) -> &'static str {
        ON_LIGHT[self.colour % ON_LIGHT.len()]
    }

    /// Lets a style sheet put another colour in.
    pub fn class(&self) -> String {
        format!("ink{}", self.colour % ON_LIGHT.len())
    }

    pub fn dashes(&self) -> &'static str {
        ["none", "6 3", "2 3", "9 3 2 3"][self.dash % 4]
    }
}

/// A series that is drawn, and how.
#[derive(Clone)]
pub(crate) struct Curve<'a> {
    pub name: String,
    pub series: &'a Series,
    pub ink: Ink,
    /// What its latencies are.
    pub quantity: &'static str,
}

/// What the latencies of a measurement are called.
pub(crate) fn quantity(measurement: &Measurement) -> &'static str {
    match measurement {
        Measurement::Pulse | Measurement::PulseTable => "width error",
        Measurement::Period => "period error",
        Measurement::Intervals => "time",
        Measurement::Noise => "gap",
        Measurement::Response => "response time",
        Measurement::RoundTrip => "time of the way",
        _ => "latency",
    }
}

/// What the latencies of all curves are called.
pub(crate) fn common_quantity(curves: &[Curve]) -> &'static str {
    let first = curves.first().map_or("latency", |curve| curve.quantity);
    if curves.iter().all(|curve| curve.quantity == first) { first } else { "latency" }
}

/// The series of a run. In a comparison the side is the colour and an idle machine is dashed; else each
/// series has its own colour, then dashes.
pub(crate) fn of_run(run: &Run) -> Vec<Curve<'_>> {
    let sides = run.measurement == Measurement::Prove;
    let ink = |i: usize, s: &Series| match (sides, s.case.side) {
        (true, side) => {
            let colour = if side == Some(Side::Stock) { STOCK } else { OURS };
            Ink { colour, dash: usize::from(!is_loaded(s)) }
        }
        _ => nth(i),
    };
    let quantity = quantity(&run.measurement);
    let named = run.series.iter().enumerate();
    named.map(|(i, s)| Curve { name: s.name.clone(), series: s, ink: ink(i, s), quantity }).collect()
}

/// The series of several runs: the run is the colour, the series within it the dash.
pub(crate) fn of_runs<'a>(runs: &[Named<'a>]) -> Vec<Curve<'a>> {
    let of = |(colour, named): (usize, &Named<'a>)| {
        let name = named.name.to_string();
        let curve = move |(dash, s): (usize, &'a Series)| Curve {
            name: format!("{name}: {}", s.name),
            series: s,
            ink: Ink { colour, dash },
            quantity: quantity(&named.run.measurement),
        };
        named.run.series.iter().enumerate().map(curve).collect::<Vec<_>>()
    };
    runs.iter().enumerate().flat_map(of).collect()
}

pub(crate) fn nth(i: usize) -> Ink {
    Ink { colour: i % ON_LIGHT.len(), dash: i / ON_LIGHT.len() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_28_differ() {
        let inks: Vec<_> = (0..28).map(nth).map(|i| (i.stroke(), i.dashes())).collect();
        assert!(inks.iter().enumerate().all(|(i, ink)| !inks[..i].contains(ink)));
    }
}
