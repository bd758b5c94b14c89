//! The part of the live screen that shows where samples go: rate, ring, who reads, and a trace of the signal.

use super::Style;
use super::lines::shortened;
use super::trace;
pub use super::trace::Trace;
use crate::colour::Paint;
use crate::number::{count, counted};
use crate::printable::printable;

/// Samples on their way, at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// Samples per second that were asked for; none where edges decide.
    pub asked: Option<f64>,
    /// Samples per second that really come; none before there are two.
    pub rate: Option<f64>,
    /// Slots that were missed because the thread came too late.
    pub late: u64,
    /// Samples that found the ring full.
    pub full: u64,
    /// How full the ring is, 0 to 1.
    pub ring: f64,
    /// How full it was at most.
    pub ring_peak: f64,
    /// Where listeners listen.
    pub listening: Vec<String>,
    /// Who reads or has read, in the order in which they came.
    pub readers: Vec<Reader>,
    /// A channel's last values.
    pub trace: Trace,
}

/// Who reads samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reader {
    /// An address, a path.
    pub name: String,
    /// Samples that it got.
    pub samples: u64,
    /// Samples that it was too slow for.
    pub missed: u64,
    /// How it is.
    pub state: State,
}

/// How a reader is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// There, with so many samples yet to take.
    Here {
        /// Samples that it has yet to take.
        behind: u64,
    },
    /// It went.
    Gone,
    /// It could not go on.
    Failed(String),
}

/// Rows of the trace, at most.
const TALLEST: usize = 8;
/// A trace below this is no picture.
const LOWEST: usize = 2;
/// Readers that are shown before the trace gets room.
const FIRST_READERS: usize = 4;

impl Samples {
    /// The rate that is really achieved, in words.
    pub fn rate_in_words(&self) -> String {
        self.rate.map_or("none yet".into(), per_second)
    }
}

/// Everything that fits this many rows; the first lines count most.
pub(super) fn samples(samples: &Samples, style: &Style, rows: usize) -> String {
    let mut lines = figures(samples, style);
    let left = |lines: &[String]| rows.saturating_sub(lines.len());
    let readers = samples.readers.len();
    let table = if readers == 0 { 0 } else { 2 + readers };
    // The trace may be lower for the sake of the first readers, and has what the others leave.
    let for_trace = left(&lines).saturating_sub(table.min(2 + FIRST_READERS));
    let for_readers = left(&lines).saturating_sub(if for_trace >= 2 + LOWEST { 2 + LOWEST } else { 0 });
    let reported = who_reads(&samples.readers, style, for_readers.min(table));
    let for_trace = left(&lines).saturating_sub(reported.len()).min(2 + TALLEST);
    if for_trace >= 2 + LOWEST {
        lines.push(String::new());
        lines.extend(trace::trace(&samples.trace, style, for_trace - 1));
    }
    lines.extend(reported);
    lines.truncate(rows);
    lines.into_iter().flat_map(|line| [line, "\n".into()]).collect()
}

fn figures(samples: &Samples, style: &Style) -> Vec<String> {
    let paint = Paint(style.colour);
    let asked = samples.asked.map(|asked| format!(" of {} asked for", per_second(asked))).unwrap_or_default();
    let missed = format!(
        "  missed   {} too late · {} found the ring full",
        counted(samples.late, "slot"),
        counted(samples.full, "sample")
    );
    let line = |text: String| shortened(&text, style.width);
    let mut lines = vec![
        line(format!("  rate     {}{asked}", samples.rate_in_words())),
        if samples.late + samples.full > 0 { paint.notice(&line(missed)) } else { line(missed) },
        line(format!("  ring     {} full · {} at most", percent(samples.ring), percent(samples.ring_peak))),
    ];
    if !samples.listening.is_empty() {
        lines.push(line(format!("  listens  {}", printable(&samples.listening.join(", ")))));
    }
    lines
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `999.98/s`, `100 000/s`.
fn per_second(rate: f64) -> String {
    match rate {
        rate if rate >= 9_999.5 => format!("{}/s", count(rate.round() as u64)),
        rate if rate.fract().abs() < 0.005 => format!("{rate:.0}/s"),
        rate => format!("{rate:.2}/s"),
    }
}

/// The readers' table, an empty line before it. Who is there comes first; those that do not fit are counted.
fn who_reads(readers: &[Reader], style: &Style, rows: usize) -> Vec<String> {
    let room = rows.saturating_sub(2);
    if room == 0 {
        return Vec::new();
    }
    let mut order: Vec<&Reader> = readers.iter().collect();
    order.sort_by_key(|reader| reader.state == State::Gone);
    let shown = if order.len() > room { room - 1 } else { room };
    let rows: Vec<[String; 4]> = order[..shown.min(order.len())].iter().map(|reader| cells(reader)).collect();
    let heads = ["to", "samples", "missed", ""].map(String::from);
    let longest = |column: usize| {
        rows.iter().chain([&heads]).map(|row: &[String; 4]| row[column].chars().count()).max().unwrap_or(0)
    };
    let (samples, missed) = (longest(1) + 2, longest(2) + 2);
    let room = style.width.saturating_sub(2 + samples + missed + 2);
    let state = longest(3).min(room.saturating_sub(longest(0)).max(10.min(room))).min(room);
    let name = longest(0).min(room - state);
    let line = |row: &[String; 4]| {
        let (who, how) = (ending(&row[0], name), shortened(&row[3], state));
        format!("  {who:name$}{:>samples$}{:>missed$}  {how}", row[1], row[2]).trim_end().to_string()
    };
    let paint = Paint(style.colour);
    let mut lines = vec![String::new(), line(&heads)];
    for (reader, row) in order.iter().zip(&rows) {
        lines.push(match reader.state {
            State::Failed(_) => paint.bad(&line(row)),
            _ if reader.missed > 0 => paint.notice(&line(row)),
            _ => line(row),
        });
    }
    if order.len() > shown {
        lines.push(format!("  … and {} more", order.len() - shown));
    }
    lines
}

fn cells(reader: &Reader) -> [String; 4] {
    let state = match &reader.state {
        State::Here { behind: 0 } => "up to date".into(),
        State::Here { behind } => format!("{} behind", count(*behind)),
        State::Gone => "gone".into(),
        State::Failed(why) => printable(why),
    };
    [printable(&reader.name), count(reader.samples), count(reader.missed), state]
}

/// At most `width` characters, the first an ellipsis where something was cut: of addresses the end tells them apart.
fn ending(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.into();
    }
    ['…'].into_iter().chain(text.chars().skip((length + 1).saturating_sub(width.max(1)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(readers: usize) -> Samples {
        let reader = |n: usize| Reader {
            name: format!("tcp 127.0.0.1:5000 127.0.0.1:{}", 40_000 + n),
            samples: 1_234_567_890,
            missed: n as u64,
            state: match n % 3 {
                0 => State::Here { behind: 1_000_000 },
                1 => State::Gone,
                _ => State::Failed("No space left on device (os error 28)".into()),
            },
        };
        Samples {
            asked: Some(1000.0),
            rate: Some(999.987),
            listening: vec!["tcp [::]:5000".into()],
            readers: (0..readers).map(reader).collect(),
            trace: Trace {
                channel: "sine".into(),
                unit: "V".into(),
                values: (0..512).map(|n| (f64::from(n) / 10.0).sin()).collect(),
                step_ns: Some(1_000_000),
            },
            ..Samples::default()
        }
    }

    #[test]
    fn it_fits_however_little_room_there_is() {
        for width in [40, 59, 60, 80, 120] {
            for rows in 0..40 {
                for readers in [0, 1, 3, 300] {
                    let text = samples(&some(readers), &Style { colour: false, width }, rows);
                    assert!(text.lines().count() <= rows, "{rows}\n{text}");
                    assert!(text.lines().all(|line| line.chars().count() <= width), "{width}\n{text}");
                }
            }
        }
    }

    #[test]
    fn everything_is_on_a_common_screen() {
        let text = samples(&some(3), &Style::default(), 14);
        for word in [
            "999.99/s of 1000/s",
            "tcp [::]:5000",
            "5000 127.0.0.1:40002",
            "No space left",
            "gone",
            "1 000 000 behind",
            "sine",
        ] {
            assert!(text.contains(word), "{word}:\n{text}");
        }
        assert!(samples(&some(300), &Style::default(), 14).contains("more"));
    }
}
