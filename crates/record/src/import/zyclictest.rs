//! What Zephyr's `zyclictest stop` prints: a column for the interrupt, one for the thread.

use super::figures::{self, Figures};
use super::lines::{Line, lines, shorten};
use super::{ImportError, Importer};
use crate::run::{Run, Series, Settings};

pub(super) const IMPORTER: Importer = Importer { name: "zyclictest", tool: "zyclictest", wrote, read };

/// The columns, and their names here.
const COLUMNS: [&str; 2] = ["irq", "thread"];

fn wrote(text: &str) -> bool {
    lines(text).any(|line| line.text.split_whitespace().eq(["IRQ", "Thread"]))
        && lines(text).any(|line| line.text.starts_with("Max-Latency:"))
}

#[derive(Default)]
struct Found {
    interval_us: u64,
    priority: Option<i64>,
    count: Option<u64>,
    min: Option<[u64; 2]>,
    mean: Option<[u64; 2]>,
    max: Option<[u64; 2]>,
    overflow: Option<[u64; 2]>,
    histogram: bool,
    rows: Vec<(u64, [u64; 2])>,
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

/// The numbers of a line after its key; a unit may follow them.
fn pair(line: &Line, text: &str) -> Result<[u64; 2], ImportError> {
    line.must_be_whole()?;
    let mut words = text.split_whitespace().filter(|word| *word != "us");
    let mut next = || match words.next() {
        Some(word) => word.parse().map_err(|_| line.error(format!("\"{}\" is not a number", shorten(word)))),
        None => Err(line.error("there is no figure for the interrupt and the thread each")),
    };
    Ok([next()?, next()?])
}

fn one<T: std::str::FromStr>(line: &Line, text: &str) -> Result<T, ImportError> {
    line.must_be_whole()?;
    let word = text.split_whitespace().next().unwrap_or_default();
    word.parse().map_err(|_| line.error(format!("\"{}\" is not a number", shorten(word))))
}

impl Found {
    fn take(&mut self, line: &Line) -> Result<(), ImportError> {
        let text = line.text.as_ref();
        match text.split_once(':') {
            Some(("Cycle interval", value)) => self.interval_us = one(line, value)?,
            Some(("Priority", value)) => self.priority = Some(one(line, value)?),
            Some(("Finished thread with count" | "Count", value)) => self.count = Some(one(line, value)?),
            Some(("Min-Latency", value)) => self.min = Some(pair(line, value)?),
            Some(("Avg-Latency", value)) => self.mean = Some(pair(line, value)?),
            Some(("Max-Latency", _)) if self.max.is_some() => {
                return Err(line.error("a second measurement begins here; import one at a time"));
            }
            Some(("Max-Latency", value)) => self.max = Some(pair(line, value)?),
            Some(("Overflow", value)) => self.overflow = Some(pair(line, value)?),
            Some(("Histogram", _)) => self.histogram = true,
            None if self.histogram && text.starts_with(|c: char| c.is_ascii_digit()) => self.row(line)?,
            _ => {}
        }
        Ok(())
    }

    fn row(&mut self, line: &Line) -> Result<(), ImportError> {
        let (value, counts) = line.text.split_once(char::is_whitespace).unwrap_or((&line.text, ""));
        let value: u64 = one(line, value)?;
        if let Some((before, _)) = self.rows.last().filter(|(before, _)| value <= *before) {
            return Err(line.error(format!("row {value} follows row {before}")));
        }
        self.rows.push((value, pair(line, counts)?));
        Ok(())
    }

    fn run(self) -> Result<Run, ImportError> {
        let ends = |missing| ImportError::at(self.last_line, format!("the text ends without {missing}: it is cut off"));
        let max = self.max.ok_or_else(|| ends("\"Max-Latency:\""))?;
        let overflow = self.overflow.ok_or_else(|| ends("\"Overflow:\""))?;
        let mut run = Run::new("zyclictest", "timer");
        let mut named = Vec::new();
        for (i, name) in COLUMNS.into_iter().enumerate() {
            let in_rows = self.rows.iter().fold(overflow[i], |sum, (_, counts)| sum.saturating_add(counts[i]));
            let count = match self.count {
                Some(count) if self.histogram && count != in_rows => {
                    let text =
                        format!("{name}: {in_rows} samples are in the rows and {count} were counted: rows are missing");
                    return Err(ImportError::new(text));
                }
                Some(count) => count,
                None if self.histogram => in_rows,
                None => return Err(ends("a count and without \"Histogram:\"")),
            };
            let figures = Figures {
                unit_ns: 1_000,
                row_width: 1,
                rows: self.rows.iter().map(|(value, counts)| (*value, counts[i])).collect(),
                overflow: if self.histogram { overflow[i] } else { count },
                min: self.min.and_then(|min| min[i].try_into().ok()),
                max: max[i].try_into().ok(),
                mean: self.mean.map(|mean| mean[i] as f64),
            };
            let latency = figures.histogram().map_err(|e| ImportError::new(format!("{name}: {e}")))?;
            let settings = Settings {
                method: "k_timer".into(),
                interval_ns: self.interval_us.saturating_mul(1_000),
                policy: self.priority.map(|priority| format!("zephyr:{priority}")).unwrap_or_default(),
                ..Settings::default()
            };
            run.series.push(Series { name: name.into(), settings, latency, ..Series::default() });
            named.push((name.to_owned(), figures));
        }
        run.notes = figures::notes("zyclictest", &named);
        Ok(run)
    }
}
