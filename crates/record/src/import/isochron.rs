//! The summary of `isochron report --summary` and of `isochron send`: minimum, maximum and mean of each metric, in ns.

use super::lines::{Line, lines, shorten};
use super::{ImportError, Importer};
use crate::Histogram;
use crate::run::{Run, Series, Settings};

pub(super) const IMPORTER: Importer = Importer { name: "isochron", tool: "isochron report", wrote, read };

fn wrote(text: &str) -> bool {
    lines(text).any(|line| is_metric(&line.text))
}

/// `Path delay: min 4232 max 4256 mean 4243.500 stddev 6.900, min at seqid 3, max at seqid 1`
fn is_metric(text: &str) -> bool {
    [": min ", " max ", " mean ", " stddev ", "min at seqid"].into_iter().all(|part| text.contains(part))
}

fn read(text: &str) -> Result<Run, ImportError> {
    let mut run = Run::new("isochron", "network");
    let (mut below_zero, mut last_line) = (Vec::new(), 0);
    for line in lines(text) {
        last_line = line.number;
        if line.text.contains(": min ") && line.text.contains(" max ") {
            let metric = Metric::parse(&line)?;
            if run.series.iter().any(|series| series.name == metric.name) {
                return Err(line.error("a second summary begins here; import one at a time"));
            }
            match metric.latency() {
                Some(latency) => {
                    let settings = Settings { method: "isochron".into(), ..Settings::default() };
                    run.series.push(Series { name: metric.name, settings, latency, ..Series::default() });
                }
                None => below_zero.push(metric.name),
            }
        }
    }
    if run.series.is_empty() {
        return Err(ImportError::at(last_line, "no metric lies above 0, so there is no latency in it"));
    }
    run.notes.push(
        "only minimum, maximum and mean of each metric are known: isochron's summary does not tell how many packets there \
         were, which stand as two here, the least and the largest"
            .into(),
    );
    if !below_zero.is_empty() {
        run.notes.push(format!("left out, as they go below 0: {}", below_zero.join(", ")));
    }
    Ok(run)
}

struct Metric {
    name: String,
    min: i64,
    max: i64,
    mean: f64,
}

impl Metric {
    fn parse(line: &Line) -> Result<Self, ImportError> {
        line.must_be_whole()?;
        let (name, figures) = line.text.split_once(": ").unwrap_or((&line.text, ""));
        let word = |key: &str| {
            let mut words = figures.split_whitespace();
            words.find(|word| *word == key);
            words.next().map(|word| word.trim_end_matches(','))
        };
        let of = |key: &str| word(key).ok_or_else(|| line.error(format!("the metric lacks \"{key}\"")));
        let not = |word: &str| line.error(format!("\"{}\" is not a number", shorten(word)));
        let whole = |key: &str| of(key).and_then(|word| word.parse::<i64>().map_err(|_| not(word)));
        let mean = of("mean").and_then(|word| word.parse::<f64>().map_err(|_| not(word)))?;
        let (min, max) = (whole("min")?, whole("max")?);
        if min > max {
            return Err(line.error("the minimum lies above the maximum"));
        }
        Ok(Self { name: name.trim().chars().take(80).collect(), min, max, mean })
    }

    /// The least and the largest; nothing where the metric is no latency.
    fn latency(&self) -> Option<Histogram> {
        let (min, max) = (u64::try_from(self.min).ok()?, u64::try_from(self.max).ok()?);
        let mut latency = Histogram::default();
        latency.overflow = 2;
        (latency.min_ns, latency.max_ns) = (Some(min), Some(max));
        latency.mean_ns = Some(self.mean).filter(|mean| mean.is_finite() && *mean >= min as f64 && *mean <= max as f64);
        Some(latency)
    }
}
