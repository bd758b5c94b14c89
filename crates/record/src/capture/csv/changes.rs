//! Lists of changes: below `time_ns,line,level` a row for each change of a line, in the order of their times. Rows with the
//! first time say at which level each line begins; a row of `time_ns` alone, at the end, how long the last levels last.

use std::io::Read;

use super::super::clock::Clock;
use super::super::listener::{Channel, Header, Level, Levels, Listener};
use super::super::window::Window;
use super::CaptureError;
use super::row::{labels, text};

const HEAD: [&str; 3] = ["time_ns", "line", "level"];
/// Lines that a list may have.
const MOST_LINES: usize = 4096;
const TICK_FS: u128 = 1_000_000;

/// Whether such a list is below this line.
pub fn is_head(line: &str) -> bool {
    labels(line).iter().map(|label| label.to_ascii_lowercase()).eq(HEAD)
}

/// A row that is read.
struct Row {
    at: u64,
    /// The line, and whether it is high from then on.
    change: Option<(String, bool)>,
}

/// The rows below the head, and whether the one before was the last.
struct Rows<R> {
    lines: Window<R>,
    before: Option<u64>,
    is_over: bool,
}

impl<R: Read> Rows<R> {
    fn next(&mut self) -> Result<Option<Row>, CaptureError> {
        loop {
            let Some(line) = self.lines.next_line()?.map(text) else { return Ok(None) };
            if line.trim().is_empty() || line.starts_with([';', '#']) {
                continue;
            }
            let number = self.lines.line();
            let row = row(&line).map_err(|problem| CaptureError::line(number, problem))?;
            if self.is_over {
                return Err(CaptureError::line(
                    number,
                    "a row without a line and a level is the last, and this is another",
                ));
            }
            if let Some(before) = self.before.filter(|before| row.at < *before) {
                return Err(CaptureError::line(
                    number,
                    format!("the time {} is before {before}, that of the row above", row.at),
                ));
            }
            (self.before, self.is_over) = (Some(row.at), row.change.is_none());
            return Ok(Some(row));
        }
    }

    fn wrong(&self, problem: impl Into<String>) -> CaptureError {
        CaptureError::line(self.lines.line(), problem)
    }
}

fn row(line: &str) -> Result<Row, String> {
    let cells = labels(line);
    let at = cells[0].parse().map_err(|_| format!("\"{}\" is no time: a whole number of ns", shown(&cells[0])))?;
    match &cells[1..] {
        [] => Ok(Row { at, change: None }),
        [name, level] if name.is_empty() && level.is_empty() => Ok(Row { at, change: None }),
        [name, _] if name.is_empty() => Err("the row names no line".into()),
        [name, level] => match level.as_str() {
            "0" => Ok(Row { at, change: Some((name.clone(), false)) }),
            "1" => Ok(Row { at, change: Some((name.clone(), true)) }),
            _ => Err(format!("\"{}\" of line {} is no level: 0 or 1", shown(level), shown(name))),
        },
        _ => Err("a row has a time, a line and a level".into()),
    }
}

fn shown(cell: &str) -> String {
    cell.chars().take(32).collect()
}

/// Reads a list from below its head on.
pub(super) fn read<const N: usize>(
    lines: Window<impl Read>,
    listener: &mut impl Listener<N>,
) -> Result<(), CaptureError> {
    let mut rows = Rows { lines, before: None, is_over: false };
    let mut begun: Vec<(String, bool)> = Vec::new();
    let mut next = rows.next()?;
    let first = next.as_ref().map(|row| row.at);
    // The lines, and at which level each begins: of several rows of a line the last counts.
    while let Some(Row { change: Some((name, high)), .. }) = next.take_if(|row| Some(row.at) == first) {
        match begun.iter().position(|(other, _)| *other == name) {
            Some(place) => begun[place].1 = high,
            None if begun.len() == MOST_LINES => {
                return Err(rows.wrong(format!("the list has more than {MOST_LINES} lines")));
            }
            None => begun.push((name, high)),
        }
        next = rows.next()?;
    }
    let (Some(first), false) = (first, begun.is_empty()) else {
        return Err(rows.wrong("the list ends before its first change"));
    };
    let channels = begun.iter().map(|(name, _)| Channel::named(name.clone())).collect();
    let header = Header { tool: "a list of changes".into(), channels, clock: Clock::of_ticks(TICK_FS, None) };
    let chosen = listener.begin(header)?;
    let mut levels: Levels<N> = [Level::Unknown; N];
    for (level, place) in levels.iter_mut().zip(&chosen) {
        *level = Level::of(begun[*place].1);
    }
    let (mut now, mut passed) = (first, [Level::Unknown; N]);
    while let Some(row) = next {
        if row.at != now && levels != passed {
            listener.levels(now, levels);
            passed = levels;
        }
        now = row.at;
        if let Some((name, high)) = row.change {
            let Some(place) = begun.iter().position(|(other, _)| *other == name) else {
                let name = shown(&name);
                let problem =
                    format!("where line {name} began is not known: give it a row with the first time, {first}");
                return Err(rows.wrong(problem));
            };
            for (level, _) in levels.iter_mut().zip(&chosen).filter(|(_, of)| **of == place) {
                *level = Level::of(high);
            }
        }
        next = rows.next()?;
    }
    if levels != passed {
        listener.levels(now, levels);
    }
    listener.end(now);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::super::{Format, edges};
    const LIST: &str =
        "time_ns,line,level\n100,D0,0\n100,\"a,b\",1\n; a comment\n1100,D0,1\n1100,\"a,b\",0\n1350,D0,0\n5000\n";

    fn read_it(text: &str) -> Result<super::super::super::Recorded, String> {
        let named = ["D0".to_string(), "a,b".into()];
        edges(std::io::Cursor::new(text), Format::Csv, &named).map_err(|error| error.to_string())
    }

    #[test]
    fn a_row_is_a_change_and_the_first_rows_are_levels() {
        let recorded = read_it(LIST).unwrap();
        let of = |n: usize| recorded.edges[n].iter().map(|edge| (edge.at_ns, edge.rising)).collect::<Vec<_>>();
        assert_eq!((of(0), of(1)), (vec![(1_100, true), (1_350, false)], vec![(1_100, false)]));
        assert_eq!((recorded.ends_ns, recorded.instrument.resolution_ps), (5_000, 1_000));
        // Without a last row it ends with its last change.
        assert_eq!(read_it(&LIST.replace("5000\n", "")).unwrap().ends_ns, 1_350);
    }

    #[test]
    fn an_error_names_the_line() {
        for (from, to, sentence) in [
            ("1350,D0,0", "1099,D0,0", "line 7: the time 1099 is before 1100, that of the row above"),
            ("1350,D0,0", "1350,D0,x", "line 7: \"x\" of line D0 is no level: 0 or 1"),
            (
                "1350,D0,0",
                "1350,D1,0",
                "line 7: where line D1 began is not known: give it a row with the first time, 100",
            ),
            ("1350,D0,0", "1350,D0", "line 7: a row has a time, a line and a level"),
            ("1350,D0,0", "1.5,D0,0", "line 7: \"1.5\" is no time: a whole number of ns"),
            ("1350,D0,0", "1350,,0", "line 7: the row names no line"),
            ("1350,D0,0", "1350", "line 8: a row without a line and a level is the last"),
        ] {
            let error = read_it(&LIST.replace(from, to)).unwrap_err();
            assert!(error.starts_with(sentence), "{to}: {error}");
        }
        for text in ["time_ns,line,level\n", "time_ns,line,level\n5\n"] {
            assert!(read_it(text).unwrap_err().contains("the list ends before its first change"), "{text}");
        }
    }
}
