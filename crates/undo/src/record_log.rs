//! The text of a write-ahead journal: one record a line, as JSON.
//!
//! A record is on the disk before the step that it announces is taken. So the last line may have been cut off (power, a
//! full disk, a kill): then it has no end, its step was never taken, and it is no damage. A whole line that cannot be read
//! is damage, be it the last one or not: what it announced may be in force, and nobody knows how to undo it.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// What one line of a journal holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line<R> {
    /// A record.
    Record(R),
    /// Half of a record, whose step was never taken.
    CutOff,
    /// A line that was written whole and cannot be read any more.
    Unreadable,
}

/// Reads a journal: its lines with their numbers, from 1, without those that are blank. What cannot be read was cut off
/// if it is the last line and has no end, or if the next one begins another session: whoever begins one ends half a line
/// in the same step.
///
/// ```
/// use ontick_undo::record_log::{Line, read};
/// let lines: Vec<(usize, Line<u8>)> = read(b"1\n?\n\n7\n9?", |_| false).collect();
/// assert_eq!(lines, [(1, Line::Record(1)), (2, Line::Unreadable), (4, Line::Record(7)), (5, Line::CutOff)]);
/// let lines: Vec<(usize, Line<u8>)> = read(b"1\n9?\n", |_| false).collect();
/// assert_eq!(lines, [(1, Line::Record(1)), (2, Line::Unreadable)]);
/// ```
pub fn read<R: DeserializeOwned>(
    journal: &[u8],
    begins_session: impl Fn(&R) -> bool,
) -> impl Iterator<Item = (usize, Line<R>)> {
    let mut lines = (1..)
        .zip(journal.split_inclusive(|byte| *byte == b'\n'))
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(number, line)| (number, record(line), line.ends_with(b"\n")))
        .peekable();
    std::iter::from_fn(move || {
        let (number, record, has_end) = lines.next()?;
        let Some(record) = record else {
            let was_cut_off = match lines.peek() {
                None => !has_end,
                Some((_, next, _)) => next.as_ref().is_some_and(&begins_session),
            };
            return Some((number, if was_cut_off { Line::CutOff } else { Line::Unreadable }));
        };
        Some((number, Line::Record(record)))
    })
}

/// A line's record, if it has one. It is read as text, as all documents are: bytes would be a second reader of each type.
fn record<R: DeserializeOwned>(line: &[u8]) -> Option<R> {
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

/// A record as a line, with its end.
pub fn line(record: &impl Serialize) -> String {
    serde_json::to_string(record).expect("a record is always representable as JSON") + "\n"
}

/// How a journal ends: a record that is appended to a line without an end would be lost with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With a whole line: records may be appended.
    Line,
    /// With a record whose line has no end: one must be appended first.
    Record,
    /// With half a record: what lies from this byte on must be cut first.
    HalfRecord(usize),
}

/// How a journal of such records ends.
///
/// ```
/// use ontick_undo::record_log::{End, end_of};
/// assert_eq!(end_of::<u8>(b"1\n2\n"), End::Line);
/// assert_eq!(end_of::<u8>(b"1\n2"), End::Record);
/// assert_eq!(end_of::<u8>(b"1\n2?"), End::HalfRecord(2));
/// ```
pub fn end_of<R: DeserializeOwned>(journal: &[u8]) -> End {
    let start = journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    match &journal[start..] {
        [] => End::Line,
        last if record::<R>(last).is_some() => End::Record,
        _ => End::HalfRecord(start),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOURNAL: &[u8] = b"\"begin\"\n\"one\"\n\"two\"\n";

    fn lines(journal: &[u8]) -> Vec<(usize, Line<String>)> {
        read(journal, |record| record == "begin").collect()
    }

    #[test]
    fn a_record_counts_once_all_of_it_is_there() {
        for cut in 0..=JOURNAL.len() {
            let lines = lines(&JOURNAL[..cut]);
            let whole = lines.iter().filter(|(_, line)| matches!(line, Line::Record(_))).count();
            assert_eq!(whole, usize::from(cut >= 7) + usize::from(cut >= 13) + usize::from(cut >= 19), "cut at {cut}");
            assert!(lines.iter().all(|(_, line)| *line != Line::Unreadable), "cut at {cut}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_damage_unless_a_session_begins_after_it() {
        let spoilt = |after: &str| lines(format!("\"begin\"\n\"on\n{after}\"two\"\n").as_bytes());
        assert_eq!(spoilt("")[1], (2, Line::Unreadable));
        assert_eq!(spoilt("\n \n")[1], (2, Line::Unreadable));
        assert_eq!(spoilt("\"begin\"\n")[1], (2, Line::CutOff));
        // Two in a row: only the second is followed by a session.
        assert_eq!(spoilt("\"on\n\"begin\"\n")[1..3], [(2, Line::Unreadable), (3, Line::CutOff)]);
        // The last one, with its end and without.
        assert_eq!(lines(b"\"one\"\n\"tw\n")[1], (2, Line::Unreadable));
        assert_eq!(lines(b"\"one\"\n\"tw\n\n \n")[1], (2, Line::Unreadable));
        assert_eq!(lines(b"\"one\"\n\"tw")[1], (2, Line::CutOff));
        // No text at all.
        assert_eq!(lines(b"\xff\n\"two\"\n")[0], (1, Line::Unreadable));
    }

    #[test]
    fn whatever_it_ends_with_the_next_record_is_read() {
        for cut in 0..=JOURNAL.len() {
            let mut journal = JOURNAL[..cut].to_vec();
            let before = lines(&journal).iter().filter(|(_, line)| matches!(line, Line::Record(_))).count();
            match end_of::<String>(&journal) {
                End::Line => {}
                End::Record => journal.push(b'\n'),
                End::HalfRecord(start) => journal.truncate(start),
            }
            journal.extend(line(&"three").bytes());
            let after = lines(&journal);
            assert_eq!(after.len(), before + 1, "cut at {cut}");
            assert_eq!(after.last().unwrap().1, Line::Record("three".into()));
        }
    }
}
