//! The tables of `rtla timerlat top` and `rtla osnoise top`: a row for each CPU, refreshed while they run.

use super::figures::{self, Figures};
use super::lines::{Line, lines, shorten};
use super::{ImportError, Importer};
use crate::run::{Run, Series, Settings};

pub(super) const IMPORTER: Importer = Importer { name: "rtla-top", tool: "rtla top", wrote, read };

const TIMERLAT: &str = "Timer Latency";
const OSNOISE: &str = "Operating System Noise";
/// The groups of columns that timerlat has, in order.
const GROUPS: [&str; 3] = ["irq", "thread", "user"];

fn wrote(text: &str) -> bool {
    let titled = lines(text).any(|line| line.text == TIMERLAT || line.text == OSNOISE);
    titled && lines(text).any(|line| is_head(&line.text))
}

fn is_head(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next() == Some("CPU") && matches!(words.next(), Some("COUNT" | "Period"))
}

/// A CPU's, and not that of all together.
fn is_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.next().is_some_and(|cpu| cpu != "ALL") && words.next().is_some_and(|count| count.starts_with('#'))
}

/// One CPU's figures of one kind.
struct Row {
    name: String,
    cpu: u32,
    figures: Figures,
}

fn read(text: &str) -> Result<Run, ImportError> {
    let (mut osnoise, mut head, mut unit_ns, mut rows) = (false, false, 1_000, Vec::new());
    let mut last_line = 0;
    for line in lines(text) {
        last_line = line.number;
        let words = line.text.as_ref();
        if words == TIMERLAT || words == OSNOISE {
            // Only the last table counts.
            (osnoise, head) = (words == OSNOISE, false);
            rows.clear();
        } else if words.contains("(ns)") || words.contains("time is in ns") {
            unit_ns = 1;
        }
        if is_head(words) {
            head = true;
        } else if head && is_row(words) {
            rows.extend(if osnoise { noise(&line)? } else { latencies(&line)? });
        }
    }
    if rows.is_empty() {
        return Err(ImportError::at(last_line, "the table ends without a row of a CPU: it is cut off"));
    }
    let mut run = match osnoise {
        true => Run::new("rtla osnoise", "noise"),
        false => Run::new("rtla timerlat", "timer"),
    };
    let mut named = Vec::new();
    for row in rows {
        if named.iter().any(|(name, _)| *name == row.name) {
            return Err(ImportError::new(format!("there are two rows for {}", row.name)));
        }
        let figures = Figures { unit_ns, ..row.figures };
        let latency = figures.histogram().map_err(|e| ImportError::new(format!("{}: {e}", row.name)))?;
        let method = if osnoise { "osnoise" } else { "timerlat" };
        let settings = Settings { method: method.into(), cpu: Some(row.cpu), ..Settings::default() };
        run.series.push(Series { name: row.name.clone(), settings, latency, ..Series::default() });
        named.push((row.name, figures));
    }
    run.notes = figures::notes("rtla", &named);
    if osnoise {
        run.notes.push("a sample is the noise of a whole period, all interruptions in it together".into());
    }
    Ok(run)
}

/// The CPU and the number behind `#`.
fn beginning<'a>(line: &Line, words: &mut impl Iterator<Item = &'a str>) -> Result<(u32, u64), ImportError> {
    line.must_be_whole()?;
    let (cpu, count) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let not = |word: &str| line.error(format!("\"{}\" is not a number", shorten(word)));
    Ok((cpu.parse().map_err(|_| not(cpu))?, count.trim_start_matches('#').parse().map_err(|_| not(count))?))
}

fn number(line: &Line, word: Option<&str>) -> Result<Option<u64>, ImportError> {
    match word {
        None => Err(line.error("the row ends before its last column: it is cut off")),
        Some("-") => Ok(None),
        Some(word) => word.parse().map(Some).map_err(|_| line.error(format!("\"{}\" is not a number", shorten(word)))),
    }
}

/// `0 #58634 | 1 0 1 10 | 11 2 10 23`: current, least, average and largest of each group.
fn latencies(line: &Line) -> Result<Vec<Row>, ImportError> {
    let mut groups = line.text.split('|');
    let (cpu, count) = beginning(line, &mut groups.next().unwrap_or_default().split_whitespace())?;
    let mut rows = Vec::new();
    for (group, kind) in groups.zip(GROUPS) {
        let mut words = group.split_whitespace();
        let mut next = || number(line, words.next());
        let (_current, min, mean, max) = (next()?, next()?, next()?, next()?);
        rows.push(Row {
            name: format!("cpu {cpu} {kind}"),
            cpu,
            figures: summary(if max.is_some() { count } else { 0 }, min, mean.map(|mean| mean as f64), max),
        });
    }
    if rows.is_empty() {
        return Err(line.error("the row has no latencies: it is cut off"));
    }
    Ok(rows)
}

/// `0 #59 53100000 304896 99.42580 6978 56 …`: periods, runtime, noise, share, the largest noise of a period.
fn noise(line: &Line) -> Result<Vec<Row>, ImportError> {
    let mut words = line.text.split_whitespace();
    let (cpu, count) = beginning(line, &mut words)?;
    let (_runtime, noise) = (number(line, words.next())?, number(line, words.next())?);
    let _share = words.next();
    let max = number(line, words.next())?;
    let mean = noise.filter(|_| count > 0).map(|noise| noise as f64 / count as f64);
    Ok(vec![Row { name: format!("cpu {cpu}"), cpu, figures: summary(count, None, mean, max) }])
}

fn summary(count: u64, min: Option<u64>, mean: Option<f64>, max: Option<u64>) -> Figures {
    let whole = |value: Option<u64>| value.and_then(|value| value.try_into().ok());
    Figures { unit_ns: 1_000, row_width: 1, rows: Vec::new(), overflow: count, min: whole(min), max: whole(max), mean }
}
