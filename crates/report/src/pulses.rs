//! Pulses as people read them.

use ontick_record::run::Pulse;
use ontick_record::{Case, Histogram, Run, Series, Side};

use crate::number::plain;
use crate::times::Times;

/// Whether a run made pulses.
pub(crate) fn has_pulses(run: &Run) -> bool {
    run.series.iter().any(|series| series.pulse.is_some())
}

/// Shortest, average and longest pulse; dashes where they are not known.
pub(crate) fn widths(pulse: Option<&Pulse>, times: Times) -> [String; 3] {
    let width = pulse.map(|pulse| &pulse.width);
    let average = width.and_then(|w| w.mean_ns).map(|ns| ns.round() as u64);
    [width.and_then(|w| w.min_ns), average, width.and_then(|w| w.max_ns)].map(|ns| times.show(ns))
}

/// How wide the pulses of some series were.
pub(crate) fn all_widths<'a>(
    series: impl Iterator<Item = &'a Series> + Clone,
) -> impl Iterator<Item = &'a Histogram> + Clone {
    series.filter_map(|series| Some(&series.pulse.as_ref()?.width))
}

/// What must be known beside the widths: what calibration subtracted, and what measured them.
pub(crate) fn notes(run: &Run) -> Vec<String> {
    let mut notes: Vec<String> = run.series.iter().filter_map(subtracted).collect();
    let mut reported: Vec<&str> = Vec::new();
    for pulse in run.series.iter().filter_map(|s| s.pulse.as_ref()).filter(|p| !p.measured_by.is_empty()) {
        if !reported.contains(&pulse.measured_by.as_str()) {
            reported.push(&pulse.measured_by);
        }
    }
    if !reported.is_empty() {
        notes.push(format!("Measured by {}.", reported.join("; ")));
    }
    let published = run.series.iter().find_map(|s| s.published.as_ref());
    notes.extend(published.map(|p| format!("In {}: {} ({}).", p.source, p.figure, p.how)));
    notes
}

fn subtracted(series: &Series) -> Option<String> {
    let ns = series.pulse.as_ref()?.subtracted_ns?;
    let done = if ns < 0 { "added to" } else { "subtracted from" };
    Some(format!("{}: {} {done} what was asked.", series.name, plain(ns.unsigned_abs())))
}

/// One width of the table of source 003: its rows, each with its series idle and loaded.
pub(crate) struct Part<'a> {
    pub wanted_ns: u64,
    pub rows: Vec<(String, [Option<&'a Series>; 2])>,
}

impl Part<'_> {
    /// How its widths are shown: in us, as source 003 has them.
    pub fn times(&self) -> Times {
        Times::micros(all_widths(self.rows.iter().flat_map(|(_, cells)| cells.iter().flatten().copied())))
    }
}

/// The table, by width.
pub(crate) fn parts(run: &Run) -> Vec<Part<'_>> {
    let mut parts: Vec<Part> = Vec::new();
    for series in &run.series {
        let Case { method: Some(method), side: Some(side), loaded: Some(loaded), .. } = &series.case else { continue };
        let Some(pulse) = &series.pulse else { continue };
        let part = match parts.iter().position(|part| part.wanted_ns == pulse.wanted_ns) {
            Some(i) => &mut parts[i],
            None => {
                parts.push(Part { wanted_ns: pulse.wanted_ns, rows: Vec::new() });
                parts.last_mut().expect("one was pushed")
            }
        };
        // The kernel's and a coprocessor's pulses are never made without minimised latency: one side needs no name.
        let two_sides = has_stock(run, pulse.wanted_ns, method);
        let row = if two_sides { format!("{method}, {}", side.as_str()) } else { method.clone() };
        let cell = usize::from(*loaded);
        match part.rows.iter_mut().find(|(name, _)| *name == row) {
            Some((_, cells)) => cells[cell] = Some(series),
            None => {
                let mut cells = [None, None];
                cells[cell] = Some(series);
                part.rows.push((row, cells));
            }
        }
    }
    parts
}

fn has_stock(run: &Run, width_ns: u64, method: &str) -> bool {
    run.series.iter().any(|s| {
        let case = &s.case;
        (case.width_ns, case.side, case.method.as_deref()) == (Some(width_ns), Some(Side::Stock), Some(method))
    })
}

#[cfg(test)]
mod tests {
    use ontick_record::Measurement;

    use super::*;

    #[test]
    fn the_table_is_put_together_from_the_cases() {
        let mut run = Run::new("ontick", Measurement::PulseTable);
        for (name, wanted_ns) in [
            ("1ms, sleep, stock, idle", 1_000_000),
            ("10us, sleep, stock, idle", 10_000),
            ("1ms, sleep, stock, loaded", 1_000_000),
            ("1ms, sleep, minimised, loaded", 1_000_000),
            ("1ms, kernel udelay, minimised, idle", 1_000_000),
        ] {
            let pulse = Pulse { wanted_ns, ..Pulse::default() };
            let case = Case::of_name(&run.measurement, name).unwrap();
            run.series.push(Series { pulse: Some(pulse), ..case.into() });
        }
        let parts = parts(&run);
        assert_eq!(
            parts.iter().map(|p| (p.wanted_ns, p.rows.len())).collect::<Vec<_>>(),
            [(1_000_000, 3), (10_000, 1)]
        );
        let (name, cells) = &parts[0].rows[0];
        assert_eq!((name.as_str(), cells.map(|c| c.is_some())), ("sleep, stock", [true, true]));
        assert_eq!(parts[0].rows[1].1.map(|c| c.is_some()), [false, true]);
        let names: Vec<&str> = parts[0].rows.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["sleep, stock", "sleep, minimised", "kernel udelay"]);
    }
}
