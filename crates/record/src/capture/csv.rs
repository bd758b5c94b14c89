//! Tables of levels: what sigrok and PulseView export (a row for each sample, or for each that differs), and Saleae's
//! Logic 2 (a row for each change, with its time in seconds). And lists of changes, as [`changes`] has them.

mod changes;
mod row;

use std::io::Read;

use super::aside::{Aside, several_frames};
use super::clock::Clock;
use super::listener::{Channel, Header, Level, Levels, Listener};
use super::window::Window;
use super::{CaptureError, Rate};
use row::{Times, cell, labels, text};

/// Tables have no more columns.
const MOST_COLUMNS: usize = 4096;

/// Whether a table that begins with this line is a list of changes.
pub(super) fn is_list(first: &str) -> bool {
    changes::is_head(first)
}

/// What stands above the rows.
#[derive(Debug, Default)]
struct Head {
    tool: Option<String>,
    rate: Option<Rate>,
    /// The names of a comment: `; Channels (2/8): D0, D1`.
    named: Vec<String>,
}

/// The columns: which have a level, and the time where one has it.
#[derive(Debug)]
struct Columns {
    times: Times,
    /// How many there are.
    width: usize,
    /// Place in the row, and name.
    channels: Vec<(usize, String)>,
    /// The first row is one of levels: the table has no labels.
    unlabelled: bool,
}

/// Reads a table. A rate that somebody names goes before what the table says.
pub(super) fn read<const N: usize>(
    input: impl Read,
    rate: Option<Rate>,
    listener: &mut impl Listener<N>,
) -> Result<(), CaptureError> {
    let mut lines = Window::new(input);
    let (mut head, mut columns) = (Head::default(), None);
    while columns.is_none() {
        let Some(line) = lines.next_line()?.map(text) else {
            return Err(CaptureError::line(lines.line(), "the table ends before its first row"));
        };
        match line.strip_prefix(';').or_else(|| line.strip_prefix('#')) {
            Some(comment) => head.comment(comment, lines.line())?,
            None if line.trim().is_empty() => {}
            None if head.aside(&line) => {}
            None if changes::is_head(&line) => return changes::read(lines, listener),
            None => columns = Some((self::columns(&line, &head, lines.line())?, line)),
        }
    }
    let Some((columns, first)) = columns else { return Ok(()) };
    let rate = rate.or(head.rate);
    let first = columns.unlabelled.then_some(first);
    let clock = match (&columns.times, rate) {
        (Times::Seconds, rate) => Clock::of_ticks(row::TICK_FS, rate),
        (_, Some(rate)) => Clock::of_samples(rate),
        (_, None) => {
            return Err(CaptureError::Lacking(
                "the table does not say at which rate was sampled (\"; Samplerate: 24 MHz\"): name the rate",
            ));
        }
    };
    let channels = columns.channels.iter().map(|(_, name)| Channel::named(name.clone())).collect();
    let tool = head.tool.unwrap_or_else(|| columns.times.tool().into());
    let chosen = listener.begin(Header { tool, channels, clock })?;
    let chosen: Vec<(usize, String)> = chosen.iter().map(|place| columns.channels[*place].clone()).collect();
    let (times, width) = (columns.times, columns.width);
    let mut rows = Rows { times, width, rate, chosen, last: None, samples: 0, step_fs: u128::MAX, before: Vec::new() };
    if let Some(first) = first {
        rows.row(first.as_bytes(), lines.line(), listener)?;
    }
    let (mut line, mut frames) = (Vec::new(), 0);
    while let Some(next) = lines.next_line()? {
        // A row as the one before is one sample more.
        if rows.repeats(next) {
            continue;
        }
        line.clear();
        line.extend_from_slice(next);
        if line == b"FRAME-END" {
            frames += 1;
            if frames > 1 {
                return Err(several_frames(lines.line()));
            }
            continue;
        }
        if !line.iter().all(u8::is_ascii_whitespace) && !line.starts_with(b";") {
            rows.row(&line, lines.line(), listener)?;
        }
    }
    rows.end(lines.line(), listener)
}

impl Head {
    /// Whether sigrok-cli says something of its own in a line above the labels.
    fn aside(&mut self, line: &str) -> bool {
        match Aside::of(line) {
            Some(Aside::Rate(rate)) => {
                self.rate = self.rate.or(Some(rate));
                true
            }
            Some(Aside::FrameBegins) => true,
            Some(Aside::FrameEnds) | None => false,
        }
    }

    fn comment(&mut self, comment: &str, line: u64) -> Result<(), CaptureError> {
        let comment = comment.trim();
        if let Some(rate) = comment.strip_prefix("Samplerate:") {
            let wrong = |e: CaptureError| CaptureError::line(line, format!("samplerate \"{}\": {e}", rate.trim()));
            self.rate = Some(rate.parse().map_err(wrong)?);
        } else if let Some((_, names)) = comment.strip_prefix("Channels (").and_then(|rest| rest.split_once("):")) {
            self.named = names.split(',').take(MOST_COLUMNS).map(|name| name.trim().to_owned()).collect();
        } else if let Some((_, tool)) = comment.split_once("generated by ") {
            self.tool = Some(tool.trim().to_owned());
        }
        Ok(())
    }
}

/// What the columns are, by the first row that is no comment.
fn columns(first: &str, head: &Head, line: u64) -> Result<Columns, CaptureError> {
    let labels = labels(first);
    if labels.len() > MOST_COLUMNS {
        return Err(CaptureError::line(line, format!("the table has more than {MOST_COLUMNS} columns")));
    }
    let other = [(';', "semicolons"), ('\t', "tabs")].into_iter().find(|(other, _)| labels[0].contains(*other));
    if let (1, Some((_, found))) = (labels.len(), other) {
        return Err(CaptureError::line(line, format!("{found} between the columns, where commas are expected")));
    }
    let unlabelled = labels.iter().all(|label| label.parse::<f64>().is_ok());
    let named_time = (!unlabelled).then(|| Times::of_label(&labels[0])).flatten();
    let times = match named_time {
        Some(times) => times,
        // A table without labels has a column more than channels if that is the time.
        None if unlabelled && !head.named.is_empty() && labels.len() == head.named.len() + 1 => Times::Periods,
        None => Times::Rows,
    };
    let from = usize::from(!matches!(times, Times::Rows));
    let is_trigger = |label: &str| label.eq_ignore_ascii_case("trigger");
    let channels: Vec<(usize, String)> = labels
        .iter()
        .enumerate()
        .skip(from)
        .filter(|(_, label)| !is_trigger(label))
        .map(|(place, label)| match head.named.get(place - from) {
            Some(name) => (place, name.clone()),
            None if unlabelled => (place, format!("{}", place - from)),
            None => (place, label.clone()),
        })
        .collect();
    if channels.is_empty() {
        return Err(CaptureError::line(line, "the table has no column of levels"));
    }
    let says_more = head.rate.is_some() || !head.named.is_empty() || matches!(times, Times::Seconds);
    if !unlabelled && !says_more && !labels.iter().any(|label| label == "logic") {
        return Err(CaptureError::line(
            line,
            "these are neither the columns of sigrok (comments with the rate) nor of Logic 2 (\"Time [s]\", then channels)",
        ));
    }
    Ok(Columns { times, width: labels.len(), channels, unlabelled })
}

/// The rows: levels of the channels that were chosen.
struct Rows<const N: usize> {
    times: Times,
    /// Cells that a row has at most.
    width: usize,
    rate: Option<Rate>,
    chosen: Vec<(usize, String)>,
    /// When the row before was, and its levels.
    last: Option<(u64, Levels<N>)>,
    /// Rows so far.
    samples: u64,
    /// The finest step of the times in seconds so far: a zero may be written without its decimals.
    step_fs: u128,
    /// The row before, where rows are samples.
    before: Vec<u8>,
}

impl<const N: usize> Rows<N> {
    /// Whether a row is the one before once more, and only counts.
    #[inline]
    fn repeats(&mut self, line: &[u8]) -> bool {
        let same = matches!(self.times, Times::Rows) && !line.is_empty() && line == self.before;
        self.samples += u64::from(same);
        same
    }

    fn row(&mut self, row: &[u8], line: u64, listener: &mut impl Listener<N>) -> Result<(), CaptureError> {
        let tick = self.times.tick(row, self.samples, self.rate, line)?;
        if self.last.is_some_and(|(before, _)| tick < before) {
            return Err(CaptureError::line(line, "its time is before that of the row above"));
        }
        if matches!(self.times, Times::Seconds) {
            self.step_fs = self.step_fs.min(row::step_fs(row));
        }
        let mut levels: Levels<N> = [Level::Unknown; N];
        for (level, (place, name)) in levels.iter_mut().zip(&self.chosen) {
            *level = match cell(row, *place) {
                Some(b"0") => Level::Low,
                Some(b"1") => Level::High,
                Some(other) => {
                    let found = String::from_utf8_lossy(&other[..other.len().min(20)]).into_owned();
                    return Err(CaptureError::line(line, format!("\"{found}\" of channel {name} is no level: 0 or 1")));
                }
                None => return Err(CaptureError::line(line, format!("the row has no column for channel {name}"))),
            };
        }
        if row.split(|byte| *byte == b',').skip(self.width).any(|cell| !cell.trim_ascii().is_empty()) {
            let problem = format!("the row has more cells than the table has columns, which are {}", self.width);
            return Err(CaptureError::line(line, problem));
        }
        if self.last.is_none_or(|(_, before)| before != levels) {
            listener.levels(tick, levels);
        }
        self.last = Some((tick, levels));
        self.samples += 1;
        if matches!(self.times, Times::Rows) {
            self.before.clear();
            self.before.extend_from_slice(row);
        }
        Ok(())
    }

    fn end(self, line: u64, listener: &mut impl Listener<N>) -> Result<(), CaptureError> {
        let Some((last, _)) = self.last else {
            return Err(CaptureError::line(line, "the table ends before its first row"));
        };
        if matches!(self.times, Times::Seconds) {
            listener.steps(self.step_fs);
        }
        listener.end(if matches!(self.times, Times::Rows) { self.samples.saturating_sub(1) } else { last });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
