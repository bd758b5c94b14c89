//! Which mechanism makes pulses of a width exactly enough: what was measured, here and by the sources.

use ontick_record::{Run, Series, Side};
use ontick_units::{exact, show};
use serde::Serialize;

use crate::printable::printable;
use crate::reference_pulses;
use crate::text::{Style, fitted};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct PulseRequest {
    /// How wide the pulses should be, in ns.
    pub width_ns: u64,
    /// How much too wide or too narrow each may be, in ns.
    pub within_ns: u64,
}

/// What takes more to set up comes later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
enum Effort {
    /// Any program.
    Program,
    /// A program with a CPU of its own and real-time priority; needs root.
    PreparedProgram,
    /// A kernel module.
    KernelModule,
    /// Hardware that times itself: a PWM channel, an SPI controller.
    Peripheral,
    /// A coprocessor with a program of its own.
    Coprocessor,
}

/// One row: a mechanism, as it was measured somewhere.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Evidence {
    /// Where: `run.json: simulated line, this kind of machine`, `source 003: Raspberry Pi 3, beside busy processes`.
    pub measured: String,
    /// The mechanism.
    pub mechanism: String,
    /// The width of the pulses that were measured, in ns.
    pub width_ns: u64,
    /// The largest error of a pulse, in ns.
    pub largest_error_ns: u64,
    /// Pulses, where they were counted.
    pub pulses: Option<u64>,
    /// The share of pulses within what is asked for, where that is known.
    pub share_within: Option<f64>,
    /// Whether a simulated line was driven.
    pub simulated: bool,
    effort: Effort,
}

impl Evidence {
    fn keeps(&self, asked: PulseRequest) -> bool {
        self.largest_error_ns <= asked.within_ns
    }
}

/// Widths that are further apart than this say little about each other.
const NEAR: f64 = 4.0;

fn distance(a: u64, b: u64) -> f64 {
    let (a, b) = (a.max(1) as f64, b.max(1) as f64);
    (a / b).max(b / a)
}

/// What the sources measured at the width that is nearest. Source 002 has no figure for the largest error, and no row.
pub fn of_sources(asked: PulseRequest) -> Vec<Evidence> {
    let mut found = Vec::new();
    let tabled = reference_pulses::ROWS.iter().filter(|row| row.largest_error_ns().is_some());
    let nearest = tabled
        .clone()
        .map(|row| row.wanted_ns)
        .min_by(|a, b| distance(*a, asked.width_ns).total_cmp(&distance(*b, asked.width_ns)));
    for row in tabled.filter(|row| Some(row.wanted_ns) == nearest) {
        found.push(Evidence {
            measured: "source 003: Raspberry Pi 3, beside busy processes".into(),
            mechanism: row.how.into(),
            width_ns: row.wanted_ns,
            largest_error_ns: row.largest_error_ns().unwrap_or(u64::MAX),
            pulses: None,
            share_within: None,
            simulated: false,
            effort: match row.how {
                reference_pulses::STOCK => Effort::Program,
                reference_pulses::MINIMISED => Effort::PreparedProgram,
                _ => Effort::KernelModule,
            },
        });
    }
    found.push(Evidence {
        measured: "source 003: BeagleBone Black, by an oscilloscope".into(),
        mechanism: "its PRU (\"10s of nanoseconds\")".into(),
        width_ns: 25_000,
        largest_error_ns: 100,
        pulses: None,
        share_within: None,
        simulated: false,
        effort: Effort::Coprocessor,
    });
    found
}

/// What a record has of pulses whose width is near; `name` is the record's.
pub fn of_run(name: &str, run: &Run, asked: PulseRequest) -> Vec<Evidence> {
    let simulated = run.simulated.is_some();
    let where_ = match simulated {
        true => format!("{name}: a simulated line; the CPU and its kernel, no pin"),
        false => format!("{name}: {}", run.series.iter().find_map(|s| s.settings.line.clone()).unwrap_or_default()),
    };
    let near = |series: &&Series| {
        let pulse = series.pulse.as_ref();
        pulse.is_some_and(|p| distance(p.wanted_ns, asked.width_ns) <= NEAR && series.latency.count() > 0)
    };
    let evidence = |series: &Series| {
        let count = series.latency.count();
        let method = series.settings.method.as_str();
        Evidence {
            measured: where_.clone(),
            mechanism: series.name.clone(),
            width_ns: series.pulse.as_ref().map_or(0, |pulse| pulse.wanted_ns),
            largest_error_ns: series.latency.max_ns.unwrap_or(u64::MAX),
            pulses: Some(count),
            share_within: Some(series.latency.below(asked.within_ns.saturating_add(1)) as f64 / count as f64),
            simulated,
            effort: match method {
                "pwm" | "spi" => Effort::Peripheral,
                "pru" => Effort::Coprocessor,
                "usleep" | "udelay" | "hrtimer" => Effort::KernelModule,
                _ if series.case.side == Some(Side::Stock) || series.settings.policy == "other" => Effort::Program,
                _ => Effort::PreparedProgram,
            },
        }
    };
    run.series.iter().filter(near).map(evidence).collect()
}

/// Whether anything that was measured keeps within what is asked for.
pub fn is_kept(evidence: &[Evidence], asked: PulseRequest) -> bool {
    evidence.iter().any(|row| row.keeps(asked))
}

/// The answer: what keeps within the error, with the least effort first, and the rows that it rests on.
pub fn text(evidence: &[Evidence], asked: PulseRequest, style: &Style) -> String {
    let mut text = format!("Pulses of {}, each within {}\n\n", exact(asked.width_ns), exact(asked.within_ns));
    text += &format!("  {:38}{:>12}{:>12}{:>12}\n", "", "width", "error, most", "within");
    let mut heading = "";
    for row in evidence {
        if row.measured != heading {
            heading = &row.measured;
            text += &format!("{}\n", printable(heading));
        }
        let within = match row.share_within {
            Some(share) if share >= 1.0 => "all".into(),
            // Never rounded up to all of them.
            Some(share) => format!("{:.2} %", (share * 1e4).floor() / 1e2),
            None if row.keeps(asked) => "all".into(),
            None => "not all".into(),
        };
        let name: String = printable(&row.mechanism).chars().take(37).collect();
        text += &format!("  {name:38}{:>12}{:>12}{within:>12}\n", exact(row.width_ns), show(row.largest_error_ns));
    }
    text.push('\n');
    text += &fitted(&verdict(evidence, asked), style);
    text.push('\n');
    text
}

fn verdict(evidence: &[Evidence], asked: PulseRequest) -> String {
    let within = exact(asked.within_ns);
    let mut kept: Vec<&Evidence> = evidence.iter().filter(|row| row.keeps(asked)).collect();
    kept.sort_by_key(|row| (row.simulated, row.effort));
    let best = evidence.iter().filter(|row| !row.keeps(asked)).filter_map(|row| Some((row, row.share_within?)));
    let best = best.max_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut words = match kept.first() {
        Some(row) => format!(
            "The least that keeps every measured pulse within {within}: {} ({}).",
            row.mechanism,
            row.measured.split(',').next().unwrap_or_default()
        ),
        None => format!("Nothing that was measured keeps every pulse within {within}."),
    };
    if let Some((row, share)) = best {
        let share = (share * 1e4).floor() / 1e2;
        words += &format!(" {} keeps {share:.2} % of pulses within it ({}).", row.mechanism, row.measured);
    }
    if kept.first().is_some_and(|row| row.simulated) {
        words += " That is a simulated line: measure a pin of the board before you rely on it.";
    }
    words + " PWM channels and SPI controllers time pulses themselves; no source has figures of theirs."
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::run::Pulse;

    const fn asked(width_us: u64, within_us: u64) -> PulseRequest {
        PulseRequest { width_ns: width_us * 1_000, within_ns: within_us * 1_000 }
    }

    fn run(errors_ns: &[u64]) -> Run {
        let mut run = Run::new("ontick 0.1.0", "pulse");
        let mut series = Series { name: "hybrid".into(), ..Series::default() };
        errors_ns.iter().for_each(|error| series.latency.add(*error, 1, 1));
        series.latency.max_ns = errors_ns.iter().max().copied();
        series.pulse = Some(Pulse { wanted_ns: 100_000, ..Pulse::default() });
        run.series.push(series);
        run
    }

    #[test]
    fn the_least_effort_that_keeps_the_error_is_named() {
        let answer = |asked| text(&of_sources(asked), asked, &Style::default());
        // Of the stock pulses of 100us some took more than 6200us, as the source says beside its table.
        let answers = [
            (6_100, "usleep, stock"),
            (6_099, "usleep, minimised"),
            (79, "usleep, minimised"),
            (78, "kernel module, usleep"),
            (51, "kernel module, usleep"),
            (50, "its PRU"),
        ];
        for (within_us, mechanism) in answers {
            let asked = asked(100, within_us);
            let says = format!("pulse within {}: {mechanism}", exact(asked.within_ns));
            assert!(answer(asked).replace('\n', " ").contains(&says), "{says}: {}", answer(asked));
        }
        let none = PulseRequest { within_ns: 50, ..asked(100, 1) };
        assert!(answer(none).contains("Nothing that was measured") && !is_kept(&of_sources(none), none));
    }

    #[test]
    fn a_record_counts_what_was_within() {
        let asked = asked(100, 5);
        let found = of_run("run.json", &run(&[1_000, 5_000, 5_001, 90_000]), asked);
        assert_eq!((found[0].share_within, found[0].pulses, found[0].keeps(asked)), (Some(0.5), Some(4), false));
        assert!(text(&found, asked, &Style::default()).contains("50.00 %"));
        assert!(is_kept(&of_run("run.json", &run(&[1_000, 5_000]), asked), asked));
        // Pulses a hundred times as wide say little about these.
        assert!(of_run("run.json", &run(&[1]), PulseRequest { width_ns: 1_000, ..asked }).is_empty());
    }

    #[test]
    fn what_is_simulated_is_called_so_and_comes_after_what_is_not() {
        let asked = asked(100, 50);
        let mut simulated = run(&[1]);
        simulated.simulated = Some("line sim:bench/17".into());
        let alone = text(&of_run("run.json", &simulated, asked), asked, &Style::default());
        assert!(alone.contains("simulated line: measure a pin"), "{alone}");
        let all: Vec<Evidence> = of_sources(asked).into_iter().chain(of_run("run.json", &simulated, asked)).collect();
        assert!(verdict(&all, asked).contains("within 50us: its PRU"), "{}", verdict(&all, asked));
    }

    #[test]
    fn it_fits_into_80_columns() {
        let asked = asked(100, 5);
        let text = text(&of_sources(asked), asked, &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
