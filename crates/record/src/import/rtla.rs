//! The table of `rtla timerlat hist`: a column for each CPU and kind of latency, a row for each bucket. That of
//! `rtla osnoise hist` has the same form.

use super::figures::{self, Figures};
use super::lines::{Line, lines, shorten};
use super::{ImportError, Importer};
use crate::run::{Run, Series, Settings};

pub(super) const IMPORTER: Importer = Importer {
    name: "rtla-timerlat",
    tool: "rtla timerlat hist",
    wrote: |text| TIMERLAT.wrote(text),
    read: |text| read(text, &TIMERLAT),
};

/// One of rtla's tracers, by the form of its histogram.
pub(super) struct Tracer {
    /// The first line.
    pub title: &'static str,
    /// The tool in the record.
    pub tool: &'static str,
    /// What it measures.
    pub measurement: &'static str,
    /// The way it measures.
    pub method: &'static str,
    /// Its minimum, average and maximum are those of rows' beginnings: wider rows may hold more.
    pub figures_of_rows: bool,
    /// The beginnings of its columns' names, and what they stand for; "" where a CPU has one column.
    pub kinds: &'static [(&'static str, &'static str)],
}

const TIMERLAT: Tracer = Tracer {
    title: "# RTLA timerlat histogram",
    tool: "rtla timerlat",
    measurement: "timer",
    method: "timerlat",
    figures_of_rows: false,
    kinds: &[("IRQ", "irq"), ("Thr", "thread"), ("Usr", "user")],
};

impl Tracer {
    /// Whether a text looks like its histogram.
    pub fn wrote(&self, text: &str) -> bool {
        lines(text).any(|l| l.text == self.title || Column::parse_header(&l.text, self).is_some())
    }
}

/// The latency at the timer's interrupt, of the kernel thread, or back in user space, on one CPU.
#[derive(Debug, Clone)]
struct Column {
    cpu: u32,
    kind: &'static str,
}

impl Column {
    /// `Index   IRQ-000   Thr-000   Usr-000`
    fn parse_header(text: &str, tracer: &Tracer) -> Option<Vec<Column>> {
        let words = text.strip_prefix("Index")?.split_whitespace();
        let columns: Vec<Column> = words.map(|word| Column::parse(word, tracer)).collect::<Option<_>>()?;
        Some(columns).filter(|c| !c.is_empty())
    }

    fn parse(text: &str, tracer: &Tracer) -> Option<Column> {
        let (begins, cpu) = text.split_once('-')?;
        let kind = tracer.kinds.iter().find(|(name, _)| *name == begins)?.1;
        Some(Column { cpu: cpu.parse().ok()?, kind })
    }
}

pub(super) fn read(text: &str, tracer: &Tracer) -> Result<Run, ImportError> {
    let mut table = Table { unit_ns: 1_000, ..Table::default() };
    for line in lines(text) {
        table.last_line = line.number;
        if line.text.starts_with("ALL:") {
            // A summary over the CPUs, of what stands above already.
            table.ended = true;
        } else if !table.ended {
            table.take(&line, tracer)?;
        }
        if line.text.ends_with("results might not be accurate") {
            table.notes.push(format!("rtla says: {}", shorten_note(&line.text)));
        }
    }
    table.run(tracer)
}

fn shorten_note(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(120).collect()
}

#[derive(Default)]
struct Table {
    unit_ns: u64,
    duration_ns: u64,
    columns: Vec<Column>,
    rows: Vec<(u64, Vec<u64>)>,
    over: Option<Vec<u64>>,
    count: Option<Vec<u64>>,
    min: Option<Vec<Option<u64>>>,
    avg: Option<Vec<Option<u64>>>,
    max: Option<Vec<Option<u64>>>,
    notes: Vec<String>,
    ended: bool,
    last_line: usize,
}

impl Table {
    fn take(&mut self, line: &Line, tracer: &Tracer) -> Result<(), ImportError> {
        let text = line.text.as_ref();
        if text == tracer.title && !self.columns.is_empty() || text.starts_with("Index") && !self.columns.is_empty() {
            return Err(line.error("a second table begins here; import one run at a time"));
        }
        if let Some(unit) = text.strip_prefix("# Time unit is ") {
            self.unit_ns = if unit.starts_with("nano") { 1 } else { 1_000 };
        } else if let Some(duration) = text.strip_prefix("# Duration:") {
            self.duration_ns = duration_ns(duration).unwrap_or(0);
        } else if text.starts_with("Index") {
            let columns = Column::parse_header(text, tracer);
            self.columns =
                columns.ok_or_else(|| line.error(format!("the columns are not those of {} hist", tracer.tool)))?;
        } else if tracer.kinds.iter().any(|(name, _)| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('-')))
        {
            return Err(line.error("the table has no index: run rtla without --no-index"));
        } else if !self.columns.is_empty() {
            self.figures(line)?;
        }
        Ok(())
    }

    fn figures(&mut self, line: &Line) -> Result<(), ImportError> {
        let text = line.text.as_ref();
        let key = text.split_whitespace().next().unwrap_or_default();
        match key {
            "over:" => self.over = Some(self.counts(line, key)?),
            "count:" => self.count = Some(self.counts(line, key)?),
            "min:" => self.min = Some(self.latencies(line, key)?),
            "avg:" => self.avg = Some(self.latencies(line, key)?),
            "max:" => self.max = Some(self.latencies(line, key)?),
            _ if self.over.is_none() && !text.is_empty() => self.row(line, key)?,
            _ => {}
        }
        Ok(())
    }

    fn row(&mut self, line: &Line, key: &str) -> Result<(), ImportError> {
        let index: u64 =
            key.parse().map_err(|_| line.error(format!("\"{}\" is not the index of a row", shorten(key))))?;
        if let Some((before, _)) = self.rows.last().filter(|(before, _)| index <= *before) {
            return Err(line.error(format!("row {index} follows row {before}")));
        }
        let counts = self.counts(line, key)?;
        self.rows.push((index, counts));
        Ok(())
    }

    fn counts(&self, line: &Line, key: &str) -> Result<Vec<u64>, ImportError> {
        line.must_be_whole()?;
        let counts = line.numbers(key.len())?;
        self.must_fit(line, counts.len())?;
        Ok(counts)
    }

    /// As [`counts`](Self::counts); a latency of which there is no sample is `-`.
    fn latencies(&self, line: &Line, key: &str) -> Result<Vec<Option<u64>>, ImportError> {
        line.must_be_whole()?;
        let not = |word: &str| line.error(format!("\"{}\" is not a number", shorten(word)));
        let read = |word: &str| match word {
            "-" => Ok(None),
            _ => word.parse().map(Some).map_err(|_| not(word)),
        };
        let latencies: Vec<_> = line.text[key.len()..].split_whitespace().map(read).collect::<Result<_, _>>()?;
        self.must_fit(line, latencies.len())?;
        Ok(latencies)
    }

    fn must_fit(&self, line: &Line, figures: usize) -> Result<(), ImportError> {
        let columns = self.columns.len();
        if figures == columns { Ok(()) } else { Err(line.error(format!("{figures} figures for {columns} columns"))) }
    }

    fn run(self, tracer: &Tracer) -> Result<Run, ImportError> {
        let missing = match &self {
            Table { columns, .. } if columns.is_empty() => Some("the line \"Index …\""),
            Table { over: None, .. } => Some("\"over:\""),
            // Left out together by --no-summary.
            Table { count: Some(_), max: None, .. } => Some("\"max:\""),
            _ => None,
        };
        if let Some(missing) = missing {
            return Err(ImportError::at(self.last_line, format!("the table ends without {missing}: it is cut off")));
        }
        let known_width = self.row_width(tracer);
        let row_width = known_width.unwrap_or(1);
        let mut run = Run::new(tracer.tool, tracer.measurement);
        run.duration_ns = self.duration_ns;
        let mut named = Vec::new();
        for (i, column) in self.columns.iter().enumerate() {
            let name = format!("cpu {} {}", column.cpu, column.kind).trim_end().to_owned();
            if named.iter().any(|(other, _)| *other == name) {
                return Err(ImportError::new(format!("there are two columns for {name}")));
            }
            let mut figures = self.column(i, row_width).map_err(|e| ImportError::new(format!("{name}: {e}")))?;
            if tracer.figures_of_rows && row_width > 1 {
                (figures.max, figures.mean) = (None, None);
            }
            let shown = if known_width.is_some() { figures.clone() } else { without_rows(&figures) };
            let latency = shown.histogram().map_err(|e| ImportError::new(format!("{name}: {e}")))?;
            let settings = Settings { method: tracer.method.into(), cpu: Some(column.cpu), ..Settings::default() };
            run.series.push(Series { name: name.clone(), settings, latency, ..Series::default() });
            named.push((name, figures));
        }
        run.notes = figures::notes("rtla", &named);
        if row_width > 1 {
            run.notes.push(format!("rows are taken to be {row_width} wide, the largest step that fits their indexes"));
        }
        if known_width.is_none() {
            run.notes.push("all samples are in the first row, whose width rtla does not say".into());
        }
        run.notes.extend(self.notes);
        Ok(run)
    }

    /// rtla does not say how wide its rows are and leaves out empty ones. Their indexes are multiples of
    /// the width, so it is at most the greatest common divisor. `None` where there are samples and nothing bounds it.
    fn row_width(&self, tracer: &Tracer) -> Option<u64> {
        let step = self.rows.iter().fold(0, |width, (index, _)| greatest_common_divisor(width, *index));
        if step > 0 || self.rows.is_empty() {
            return Some(step.max(1));
        }
        // All samples in the first row: it holds at least the largest of them, unless that is the row's own beginning.
        let largest = self.max.iter().flatten().flatten().max().filter(|max| !tracer.figures_of_rows || **max > 0);
        largest.map(|max| max.saturating_add(1))
    }

    fn column(&self, i: usize, row_width: u64) -> Result<Figures, String> {
        let rows: Vec<(u64, u64)> = self.rows.iter().map(|(index, counts)| (*index, counts[i])).collect();
        let overflow = self.over.as_ref().map_or(0, |over| over[i]);
        let sum = rows.iter().fold(overflow, |sum, (_, count)| sum.saturating_add(*count));
        if let Some(count) = self.count.as_ref().map(|count| count[i]).filter(|count| *count != sum) {
            return Err(format!("{sum} samples are in the rows and {count} were counted: a row is damaged"));
        }
        let pick = |figures: &Option<Vec<Option<u64>>>| figures.as_ref().and_then(|f| f[i]);
        Ok(Figures {
            unit_ns: self.unit_ns,
            row_width,
            rows,
            overflow,
            min: pick(&self.min).and_then(|v| v.try_into().ok()),
            max: pick(&self.max).and_then(|v| v.try_into().ok()),
            mean: pick(&self.avg).map(|v| v as f64),
        })
    }
}

/// How many samples there were, and none of it where nobody knows how much a row covers.
fn without_rows(figures: &Figures) -> Figures {
    let overflow = figures.rows.iter().fold(figures.overflow, |sum, (_, count)| sum.saturating_add(*count));
    Figures { rows: Vec::new(), overflow, max: None, mean: None, ..figures.clone() }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// `0 00:10:00`: days, hours, minutes, seconds.
fn duration_ns(text: &str) -> Option<u64> {
    let (days, clock) = text.trim().split_once(' ')?;
    let clock: Vec<u64> = clock.trim().split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = clock[..] else { return None };
    let hours = days.parse::<u64>().ok()?.checked_mul(24)?.checked_add(hours)?;
    let seconds = hours.checked_mul(60)?.checked_add(minutes)?.checked_mul(60)?.checked_add(seconds)?;
    seconds.checked_mul(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of width 1 are what rtla shows by default: nothing is guessed there.
    #[test]
    fn only_wider_rows_are_noted() {
        let noted = |second: &str| {
            let text = format!("Index   IRQ-000\n2   1\n{second}   1\nover:   0\n");
            read(&text, &TIMERLAT)
                .unwrap()
                .notes
                .into_iter()
                .filter(|note| note.starts_with("rows are taken"))
                .collect::<Vec<_>>()
        };
        assert_eq!(noted("3"), [""; 0]);
        assert_eq!(noted("4"), ["rows are taken to be 2 wide, the largest step that fits their indexes"]);
    }

    #[test]
    fn durations_read() {
        assert_eq!(duration_ns("   0 00:10:00"), Some(600_000_000_000));
        assert_eq!(duration_ns(" 2 01:02:03"), Some((2 * 86_400 + 3_723) * 1_000_000_000));
        assert_eq!(duration_ns("99999999999999 00:00:01"), None);
        assert_eq!(duration_ns("soon"), None);
    }
}
