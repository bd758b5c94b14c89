//! The program's figures beside those of an instrument that recorded the same lines, as people read them.

use ontick_record::instrument_check::{Alignment, CheckedQuantity, Figures, UnmatchedEdges};
use ontick_record::{InstrumentCheck, Run, Series};
use ontick_units::show;

use crate::number::{count, counted};

/// Heads of [`rows`].
pub(crate) const HEADS: [&str; 5] = ["shortest", "average", "p50", "p99", "longest"];
/// Times of edges that are shown.
const SHOWN: usize = 4;

/// The series that an instrument observed.
pub(crate) fn of(run: &Run) -> Vec<(&Series, &InstrumentCheck)> {
    run.series.iter().filter_map(|series| Some((series, series.instrument_check.as_ref()?))).collect()
}

/// Which instrument, on which channels, and how fine.
pub(crate) fn title(check: &InstrumentCheck) -> String {
    let rate = check.instrument.rate_hz.map(|hz| format!("{}, ", ontick_record::capture::Rate::new(hz)));
    let channels = match &check.channels[..] {
        [one] => format!("channel {one}"),
        several => format!("channels {}", several.join(" and ")),
    };
    match check.instrument.resolution_ps {
        0 => format!("{}, {channels}", check.observer),
        _ => format!("{}, {channels} ({}±{})", check.observer, rate.unwrap_or_default(), check.instrument.resolution()),
    }
}

/// A quantity's rows: by the program, by the instrument, and the difference; in us with three decimals.
pub(crate) fn rows(quantity: &CheckedQuantity) -> [(String, [String; 5]); 3] {
    let name = quantity.quantity.name();
    let plain = |figures: &Figures| cells(figures, |ns| format!("{:.3}", ns / 1e3));
    let signed = |figures: &Figures| {
        cells(figures, |ns| if ns.abs() < 0.5 { "0.000".into() } else { format!("{:+.3}", ns / 1e3) })
    };
    [
        (format!("{name}, ontick"), plain(&quantity.own)),
        (format!("{name}, instrument"), plain(&quantity.instrument)),
        ("difference".into(), signed(&quantity.difference)),
    ]
}

fn cells(figures: &Figures, cell: impl Fn(f64) -> String) -> [String; 5] {
    [figures.min_ns, figures.mean_ns, figures.p50_ns, figures.p99_ns, figures.max_ns].map(cell)
}

/// What the figures rest on, or why there are none.
pub(crate) fn notes(check: &InstrumentCheck) -> Vec<String> {
    let Some(alignment) = &check.alignment else {
        let why = check.unaligned.as_deref().unwrap_or("nobody says why");
        return vec![format!("Not compared with ontick's edges: {why}.")];
    };
    let mut notes = vec![clocks(alignment), unmatched(alignment)];
    if alignment.uncovered > 0 {
        notes.push(format!(
            "The instrument recorded for {}, shorter than the run: {} of ontick's came before or after that and are not compared.",
            show(check.recorded_ns),
            counted(alignment.uncovered, "edge")
        ));
    }
    notes
}

fn clocks(alignment: &Alignment) -> String {
    let rate = match (alignment.rate_ppm, alignment.rate_uncertainty_ppm) {
        (Some(ppm), Some(within)) => {
            let word = if ppm < 0.0 { "slower" } else { "faster" };
            // Two figures of what is uncertain.
            let decimals = (1.0 - within.max(1e-4).log10().floor()).clamp(0.0, 4.0) as usize;
            format!("the instrument's clock is {:.decimals$} ppm {word} (±{within:.decimals$}, 95 % sure)", ppm.abs())
        }
        _ => "the run is too short to tell how fast the instrument's clock is".into(),
    };
    format!(
        "Aligned by {}: ontick's first is {:.9} s into the capture, and {rate}; the edges lie {} about that.",
        counted(alignment.matched, "edge"),
        alignment.offset_ns / 1e9,
        show(alignment.residual_ns.max(0.0).round() as u64),
    )
}

fn unmatched(alignment: &Alignment) -> String {
    let of = |edges: &UnmatchedEdges| {
        let first: Vec<String> =
            edges.first_ns.iter().take(SHOWN).map(|ns| format!("{:.6} s", *ns as f64 / 1e9)).collect();
        let more = if edges.count > first.len() as u64 { ", …" } else { "" };
        match edges.count {
            0 => "none".into(),
            n => format!("{} (at {}{more})", count(n), first.join(", ")),
        }
    };
    format!(
        "Edges of ontick's that the capture lacks: {}. Edges of the capture that ontick does not know of: {}.",
        of(&alignment.missing),
        of(&alignment.extra)
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use ontick_record::Measurement;
    use ontick_record::instrument_check::Quantity;
    use ontick_record::run::Instrument;

    use super::*;

    /// A run whose pulses an instrument observed, which lacks an edge.
    pub fn run() -> Run {
        let figures = |ns: f64| Figures {
            min_ns: ns - 60.0,
            mean_ns: ns + 3.4,
            p50_ns: ns,
            p99_ns: ns + 900.0,
            max_ns: ns + 20_500.0,
        };
        let difference = Figures { min_ns: -41.0, mean_ns: -2.25, p50_ns: 0.0, p99_ns: 40.0, max_ns: 41.5 };
        let check = InstrumentCheck {
            observer: "sigrok:fx2lafw".into(),
            channels: vec!["D0".into()],
            instrument: Instrument { rate_hz: Some(24_000_000), resolution_ps: 41_667, ..Instrument::default() },
            recorded_ns: 900_000_000,
            alignment: Some(Alignment {
                offset_ns: 1_234_567_890.4,
                rate_ppm: Some(-39.98),
                rate_uncertainty_ppm: Some(0.071),
                residual_ns: 12.3,
                matched: 1_998,
                missing: UnmatchedEdges { count: 1, first_ns: vec![350_100_000] },
                ..Alignment::default()
            }),
            quantities: vec![CheckedQuantity {
                quantity: Quantity::Width,
                count: 998,
                own: figures(100_050.0),
                instrument: figures(100_048.0),
                difference,
            }],
            ..InstrumentCheck::default()
        };
        let mut run = Run::new("ontick 0.1.0", Measurement::Pulse);
        run.series.push(Series { instrument_check: Some(check), ..Series::from("hybrid".to_string()) });
        run
    }

    #[test]
    fn what_could_not_be_aligned_is_one_sentence() {
        let mut run = run();
        let check = run.series[0].instrument_check.as_mut().unwrap();
        (check.alignment, check.unaligned) = (None, Some("channel D0 has 3 edges".into()));
        assert_eq!(notes(check), ["Not compared with ontick's edges: channel D0 has 3 edges."]);
    }

    #[test]
    fn edges_beyond_the_capture_are_counted_and_not_all_are_listed() {
        let mut run = run();
        let check = run.series[0].instrument_check.as_mut().unwrap();
        let alignment = check.alignment.as_mut().unwrap();
        (alignment.uncovered, alignment.rate_ppm) = (12, None);
        alignment.extra = UnmatchedEdges { count: 6, first_ns: vec![1_000, 2_000, 3_000, 4_000, 5_000, 6_000] };
        let notes = notes(check);
        assert!(notes[0].contains("too short to tell how fast"), "{notes:?}");
        assert!(notes[1].ends_with("6 (at 0.000001 s, 0.000002 s, 0.000003 s, 0.000004 s, …)."), "{notes:?}");
        assert!(notes[2].contains("900ms, shorter than the run: 12 edges of ontick's"), "{notes:?}");
    }
}
