//! What hwlatdetect prints: gaps above a threshold, while interrupts were off.

use super::figures::{self, Figures};
use super::lines::{Line, lines, shorten};
use super::{ImportError, Importer};
use crate::run::{Run, Series, Settings};

pub(super) const IMPORTER: Importer = Importer { name: "hwlatdetect", tool: "hwlatdetect", wrote, read };

fn wrote(text: &str) -> bool {
    lines(text).any(|line| line.text.starts_with("hwlatdetect:"))
        || lines(text).any(|line| line.text.starts_with("Samples exceeding threshold:"))
}

#[derive(Default)]
struct Found {
    duration_s: u64,
    threshold_us: u64,
    window_us: u64,
    max_us: Option<u64>,
    recorded: Option<u64>,
    exceeding: Option<u64>,
    /// Lengths of the gaps that are listed.
    listed: Vec<u64>,
    last_line: usize,
}

fn read(text: &str) -> Result<Run, ImportError> {
    let mut found = Found::default();
    for line in lines(text) {
        found.last_line = line.number;
        found.take(&line)?;
    }
    found.run()
}

/// A number at the beginning of a text, which a unit may follow.
fn number(line: &Line, text: &str) -> Result<u64, ImportError> {
    line.must_be_whole()?;
    let digits = text.trim_start().split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().map_err(|_| line.error(format!("\"{}\" is not a number", shorten(text.trim()))))
}

impl Found {
    fn take(&mut self, line: &Line) -> Result<(), ImportError> {
        let Some((key, value)) = line.text.split_once(':') else { return Ok(()) };
        match key {
            "hwlatdetect" => {
                let seconds = value.trim_start().strip_prefix("test duration");
                self.duration_s = seconds.map_or(Ok(0), |seconds| number(line, seconds))?;
            }
            "Latency threshold" => self.threshold_us = number(line, value)?,
            "Sample window" => self.window_us = number(line, value)?,
            "Max Latency" if value.trim() == "Below threshold" => self.max_us = Some(0),
            "Max Latency" => self.max_us = Some(number(line, value)?),
            "Samples recorded" => self.recorded = Some(number(line, value)?),
            "Samples exceeding threshold" => self.exceeding = Some(number(line, value)?),
            "ts" => self.listed.push(longest(line, value)?),
            _ => {}
        }
        Ok(())
    }

    fn run(self) -> Result<Run, ImportError> {
        let missing = match &self {
            Found { max_us: None, .. } => Some("\"Max Latency:\""),
            Found { recorded: None, .. } => Some("\"Samples recorded:\""),
            Found { exceeding: None, .. } => Some("\"Samples exceeding threshold:\""),
            _ => None,
        };
        if let Some(missing) = missing {
            return Err(ImportError::at(self.last_line, format!("the text ends without {missing}: it is cut off")));
        }
        let gaps = self.exceeding.unwrap_or(0).max(self.recorded.unwrap_or(0)).max(self.listed.len() as u64);
        let max_us = self.max_us.unwrap_or(0).max(self.listed.iter().copied().max().unwrap_or(0));
        let mut run = Run::new("hwlatdetect", "noise");
        run.duration_ns = self.duration_s.saturating_mul(1_000_000_000);
        let figures = Figures {
            unit_ns: 1_000,
            row_width: 1,
            rows: self.listed.iter().map(|length| (*length, 1)).collect(),
            // Those that were counted and are not listed.
            overflow: gaps - self.listed.len() as u64,
            min: None,
            max: (gaps > 0).then(|| i64::try_from(max_us).ok()).flatten(),
            mean: None,
        };
        let latency = figures.histogram().map_err(ImportError::new)?;
        let settings = Settings {
            method: "hwlat".into(),
            interval_ns: self.window_us.saturating_mul(1_000),
            outlier_threshold_ns: self.threshold_us.saturating_mul(1_000),
            ..Settings::default()
        };
        let name = "hwlat".to_owned();
        run.series.push(Series { name: name.clone(), settings, latency, outlier_count: gaps, ..Series::default() });
        run.notes = figures::notes("hwlatdetect", &[(name, figures)]);
        run.notes.push(format!(
            "only gaps above the threshold of {} us are counted: percentiles are those among them",
            self.threshold_us
        ));
        Ok(run)
    }
}

/// ` 1470836488.206734548, inner:9, outer:8`: the longer of the two.
fn longest(line: &Line, value: &str) -> Result<u64, ImportError> {
    let part = |key: &str| value.split(',').find_map(|part| part.trim_start().strip_prefix(key));
    let of = |key: &str| match part(key) {
        Some(length) => number(line, length),
        None => Err(line.error(format!("the sample lacks \"{key}\""))),
    };
    Ok(of("inner:")?.max(of("outer:")?))
}
