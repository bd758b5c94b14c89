//! cyclictest's text: the histogram of `-h`, `-H` and `--histfile`, and the lines of its display.

use std::collections::BTreeMap;

use super::figures::{self, Figures, signed};
use super::lines::{Line, lines, shorten};
use super::summary::Summary;
use super::{ImportError, Importer, cyclictest_json};
use crate::run::{Conditions, Run, Series, Settings};

pub(super) const IMPORTER: Importer = Importer {
    name: "cyclictest",
    tool: "cyclictest",
    wrote: |text| cyclictest_json::wrote(text) || wrote(text),
    read: |text| if cyclictest_json::wrote(text) { cyclictest_json::read(text) } else { read(text, false) },
};

/// From a run with `-N`, where the text does not show it: a histogram alone. It is never detected.
pub(super) const NANOSECONDS: Importer = Importer {
    name: "cyclictest-ns",
    wrote: |_| false,
    read: |text| if cyclictest_json::wrote(text) { cyclictest_json::read(text) } else { read(text, true) },
    ..IMPORTER
};

/// Whether a text looks like it.
fn wrote(text: &str) -> bool {
    lines(text).any(|l| l.text == HEADER || Summary::is(&l.text)) || text.lines().next().is_some_and(is_bare_row)
}

/// Rows whose comments were taken out: `000012 000345`.
fn is_bare_row(line: &str) -> bool {
    let mut words = line.split_whitespace().peekable();
    let padded = |word: &str| word.len() >= 6 && word.bytes().all(|b| b.is_ascii_digit());
    words.peek().is_some() && words.clone().count() > 1 && words.all(padded)
}

const HEADER: &str = "# Histogram";

/// Reads it; `nanoseconds` where the caller knows that `-N` was given.
fn read(text: &str, nanoseconds: bool) -> Result<Run, ImportError> {
    let mut found = Found::default();
    for line in lines(text) {
        found.take(&line)?;
    }
    let nanoseconds = nanoseconds || found.summaries.values().any(|s| s.nanoseconds);
    found.run(if nanoseconds { 1 } else { 1_000 })
}

/// What was found so far.
#[derive(Default)]
struct Found {
    header: Option<usize>,
    rows: Vec<(u64, Vec<u64>)>,
    totals: Option<(usize, Vec<u64>)>,
    min: Option<Vec<i64>>,
    mean: Option<Vec<i64>>,
    max: Option<Vec<i64>>,
    overflows: Option<Vec<u64>>,
    summaries: BTreeMap<usize, Summary>,
    policy: Option<String>,
    load_average: Option<[f64; 3]>,
    last_line: usize,
}

impl Found {
    fn take(&mut self, line: &Line) -> Result<(), ImportError> {
        self.last_line = line.number;
        let text = line.text.as_ref();
        if text == HEADER {
            if self.header.is_some() || !self.rows.is_empty() {
                return Err(line.error("a second histogram begins here; import one run at a time"));
            }
            self.header = Some(line.number);
        } else if let Some(figures) = text.strip_prefix("# ") {
            self.footer(line, figures)?;
        } else if Summary::is(text) {
            self.summary(line)?;
        } else if let Some(rest) = text.strip_prefix("policy:") {
            self.conditions(rest);
        } else if self.in_rows() && !text.is_empty() || self.header.is_none() && is_bare_row(text) {
            self.row(line)?;
        }
        Ok(())
    }

    fn in_rows(&self) -> bool {
        self.header.is_some() && self.totals.is_none() && self.overflows.is_none()
    }

    fn row(&mut self, line: &Line) -> Result<(), ImportError> {
        line.must_be_whole()?;
        let mut counts = line.numbers(0)?;
        if counts.len() < 2 {
            return Err(line.error(format!("\"{}\" is not a row of a histogram", shorten(&line.text))));
        }
        let value = counts.remove(0);
        if let Some((before, columns)) = self.rows.last().map(|(v, c)| (*v, c.len())) {
            if value <= before {
                return Err(line.error(format!("row {value} follows row {before}; import one run at a time")));
            }
            if counts.len() != columns {
                return Err(line.error(format!("{} counts, where the rows before have {columns}", counts.len())));
            }
        }
        self.rows.push((value, counts));
        Ok(())
    }

    fn footer(&mut self, line: &Line, text: &str) -> Result<(), ImportError> {
        let Some((key, figures)) = text.split_once(':') else { return Ok(()) };
        let place = match key {
            "Total" | "Histogram Overflows" => None,
            "Min Latencies" => Some(&mut self.min),
            "Avg Latencies" => Some(&mut self.mean),
            "Max Latencies" => Some(&mut self.max),
            _ => return Ok(()),
        };
        line.must_be_whole()?;
        match place {
            Some(place) => {
                let not = |word: &str| line.error(format!("\"{}\" is not a number", shorten(word)));
                let figures = figures.split_whitespace().map(|word| signed(word).ok_or_else(|| not(word)));
                *place = Some(figures.collect::<Result<_, _>>()?);
            }
            None => {
                let figures = line.numbers(line.text.len() - figures.len())?;
                match key {
                    "Total" => self.totals = Some((line.number, figures)),
                    _ => self.overflows = Some(figures),
                }
            }
        }
        Ok(())
    }

    fn summary(&mut self, line: &Line) -> Result<(), ImportError> {
        let summary = match Summary::parse(line) {
            Ok(summary) => summary,
            // A live display that was cut off: the state before stands.
            Err(_) if !line.whole && !self.summaries.is_empty() => return Ok(()),
            Err(problem) => return Err(line.error(problem)),
        };
        let before = self.summaries.get(&summary.thread).map_or(0, |s| s.id);
        if before != 0 && before != summary.id {
            let thread = summary.thread;
            return Err(line.error(format!("a second run begins here (thread {thread}); import one run at a time")));
        }
        self.summaries.insert(summary.thread, summary);
        Ok(())
    }

    /// ` fifo: loadavg: 0.18 0.79 0.55 3/89 25342`
    fn conditions(&mut self, text: &str) {
        let mut parts = text.split(':').map(str::trim);
        let known = ["fifo", "rr", "other", "batch", "idle"];
        let policy = parts.next().and_then(|p| p.split('/').next());
        self.policy = policy.filter(|p| known.contains(p)).map(str::to_string).or(self.policy.take());
        let figures: Vec<f64> = match (parts.next(), parts.next()) {
            (Some("loadavg"), Some(figures)) => figures.split(' ').take(3).map_while(|f| f.parse().ok()).collect(),
            _ => Vec::new(),
        };
        self.load_average = figures.try_into().ok().or(self.load_average);
    }

    fn run(self, unit_ns: u64) -> Result<Run, ImportError> {
        let threads = self.figures(unit_ns)?;
        let mut run = Run::new("cyclictest", "timer");
        run.notes = figures::notes(&run.tool, &threads);
        // Rows alone do not tell how many samples lie beyond them, so neither the maximum nor the mean.
        let rows_alone = !self.rows.is_empty() && self.overflows.is_none();
        if rows_alone {
            run.notes.push("the lines after the histogram are missing: samples beyond its end are not known".into());
        }
        for (i, (name, figures)) in threads.into_iter().enumerate() {
            let mut latency = figures.histogram().map_err(|e| ImportError::new(format!("{name}: {e}")))?;
            if rows_alone {
                (latency.max_ns, latency.mean_ns) = (None, None);
            }
            let settings = self.summaries.get(&i).map(|s| s.settings(self.policy.as_deref()));
            run.series.push(Series {
                latency,
                settings: Settings { method: "clock_nanosleep".into(), ..settings.unwrap_or_default() },
                conditions: Conditions { load_average: self.load_average, ..Conditions::default() },
                name,
                ..Series::default()
            });
        }
        Ok(run)
    }

    /// What is known of each thread: its column of the histogram, else its line of the display.
    fn figures(&self, unit_ns: u64) -> Result<Vec<(String, Figures)>, ImportError> {
        let name = |thread: usize| format!("thread {thread}");
        if self.header.is_none() && self.rows.is_empty() {
            if self.summaries.is_empty() {
                return Err(ImportError::new("neither a histogram nor the line of a thread (\"T: 0 …\") is in it"));
            }
            return Ok(self.summaries.values().map(|s| (name(s.thread), s.figures(unit_ns))).collect());
        }
        self.must_be_complete()?;
        (0..self.threads()?).map(|i| Ok((name(i), self.column(i, unit_ns)?))).collect()
    }

    fn must_be_complete(&self) -> Result<(), ImportError> {
        let missing = match self {
            Found { header: None, .. } => return Ok(()),
            Found { rows, .. } if rows.is_empty() => "a row",
            Found { totals: None, .. } => "\"# Total:\"",
            Found { max: None, .. } => "\"# Max Latencies:\"",
            Found { overflows: None, .. } => "\"# Histogram Overflows:\"",
            _ => return Ok(()),
        };
        Err(ImportError::at(self.last_line, format!("the histogram ends without {missing}: the file is cut off")))
    }

    /// How many threads there are; `-H` adds a column with their sum, which is none.
    fn threads(&self) -> Result<usize, ImportError> {
        let columns = self.rows.first().map_or(0, |(_, counts)| counts.len());
        let is_sum = |counts: &[u64]| {
            counts
                .split_last()
                .is_some_and(|(last, parts)| parts.iter().fold(0, |s: u64, c| s.saturating_add(*c)) == *last)
        };
        let summed = columns > 2 && self.rows.iter().all(|(_, counts)| is_sum(counts));
        match self.min.as_ref().map(Vec::len) {
            Some(threads) if threads == columns || summed && threads + 1 == columns => Ok(threads),
            Some(threads) => {
                Err(ImportError::new(format!("its rows have {columns} counts, but {threads} threads have a minimum")))
            }
            None => Ok(columns - usize::from(summed)),
        }
    }

    fn column(&self, i: usize, unit_ns: u64) -> Result<Figures, ImportError> {
        let lacks = |what: &str| ImportError::new(format!("\"# {what}\" has no figure for thread {i}"));
        let pick = |figures: &Option<Vec<i64>>, what: &str| match figures {
            Some(figures) => figures.get(i).copied().map(Some).ok_or_else(|| lacks(what)),
            None => Ok(None),
        };
        let overflow = match &self.overflows {
            Some(overflows) => *overflows.get(i).ok_or_else(|| lacks("Histogram Overflows"))?,
            None => 0,
        };
        let rows: Vec<(u64, u64)> = self.rows.iter().map(|(value, counts)| (*value, counts[i])).collect();
        if let Some((line, totals)) = &self.totals {
            let sum = rows.iter().fold(0u64, |sum, (_, count)| sum.saturating_add(*count));
            let total = *totals.get(i).ok_or_else(|| lacks("Total"))?;
            if sum != total {
                let problem = format!("thread {i} has {sum} samples in its rows and {total} in all: a row is damaged");
                return Err(ImportError::at(*line, problem));
            }
        }
        let mean = pick(&self.mean, "Avg Latencies")?.map(|m| m as f64);
        let max = pick(&self.max, "Max Latencies")?;
        // What lies beyond the rows is larger than them. Only a program that did not know it writes otherwise.
        let beyond = rows.last().map_or(0, |(value, _)| value.saturating_add(1));
        let unknown = overflow > 0 && max.is_some_and(|max| u64::try_from(max).is_ok_and(|max| max < beyond));
        Ok(Figures {
            unit_ns,
            row_width: 1,
            rows,
            overflow,
            min: pick(&self.min, "Min Latencies")?,
            max: max.filter(|_| !unknown),
            mean: mean.filter(|_| !unknown),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As in a log: other programs' words, an empty line, and a note between the lines that end the histogram.
    #[test]
    fn only_what_stands_between_header_and_totals_is_a_row() {
        let text = "It starts at 10:00\n# Histogram\n000003 000002\n\n000005 000001\n# Total: 000000003\nThat was it\n\
                    # Min Latencies: 00003\n# Avg Latencies: 00003\n# Max Latencies: 00005\n\
                    # Histogram Overflows: 00000\nIt ends at 10:05\n";
        let run = read(text, false).unwrap();
        let latency = &run.series[0].latency;
        assert_eq!(
            (run.series.len(), latency.count(), latency.min_ns, latency.max_ns),
            (1, 3, Some(3_000), Some(5_999))
        );
        // Without its totals, rows go on until the overflows.
        let totals = text.replacen("# Total: 000000003\n", "", 1);
        assert!(read(&totals, false).unwrap_err().to_string().starts_with("line 6: "));
    }
}
