//! Frames as lines of comma-separated values: those of a stream in the order of their numbers, the lost ones between them.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::VecDeque;
use std::fmt::Write;

use ontick_record::store::StoreError;
use ontick_switch::user::packet::Stamps;
use ontick_switch::verify::frame_log::quoted;

use crate::arrivals::REMEMBERED;
use crate::endpoint::header::Header;
use crate::endpoint::listener::Message;
use crate::endpoint::planned::Incoming;

/// The names of the columns. Times are of TAI, in ns.
pub const HEAD: &str = "stream,number,part,planned_ns,sent_ns,stamp_ns,stamps,latency_ns,judgement\n";
/// Lost frames that are listed in all, at most: numbers that nobody sent must not fill a disk.
pub const MOST_LOST: u64 = 1_000_000;
/// Octets that are written at a time.
const PIECE: usize = 64 << 10;

/// Takes what is to be written.
pub type Put<'a> = &'a mut dyn FnMut(&[u8]) -> Result<(), StoreError>;

/// What a listener hands over.
#[derive(Debug, Clone, Copy)]
pub enum Item {
    /// A frame that came.
    Frame(Row),
    /// Some came here that are not handed over.
    LeftOut,
}

/// A frame that came.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    stream: usize,
    header: Header,
    at_ns: u64,
    stamps: Stamps,
    talker: u64,
    is_duplicate: bool,
}

impl Row {
    /// Without what it carries.
    #[inline]
    pub fn of(frame: &Message<'_>) -> Self {
        let Message { stream, header, at_ns, stamps, talker, is_duplicate, .. } = *frame;
        Self { stream, header, at_ns, stamps, talker, is_duplicate }
    }
}

/// All streams, and what is not written yet.
#[derive(Debug)]
pub struct Lines {
    streams: Vec<Stream>,
    text: String,
    listed: u64,
}

/// A stream: frames behind one that may come yet are held, fewer than are remembered.
#[derive(Debug)]
struct Stream {
    /// As a field.
    name: String,
    parts: u64,
    offset_ns: u64,
    period_ns: u64,
    deadline_ns: u64,
    talker: u64,
    /// The number of the frame that is next; none before the first.
    due: Option<u64>,
    /// The message that was written last, and when it was planned.
    last: Option<(u64, u64)>,
    held: VecDeque<Row>,
}

impl Stream {
    fn of(incoming: &Incoming) -> Self {
        Self {
            name: quoted(&incoming.name),
            parts: incoming.expected.parts,
            offset_ns: incoming.offset_ns,
            period_ns: incoming.period_ns,
            deadline_ns: incoming.expected.deadline_ns,
            talker: 0,
            due: None,
            last: None,
            held: VecDeque::new(),
        }
    }

    /// A frame's number among all of its talker.
    fn number(&self, row: &Row) -> u64 {
        row.header.message * self.parts + u64::from(row.header.part)
    }

    /// Holds a frame in the order of numbers.
    fn hold(&mut self, row: Row) {
        let number = self.number(&row);
        let place = self.held.iter().rposition(|held| self.number(held) < number).map_or(0, |place| place + 1);
        self.held.insert(place, row);
    }

    /// When a frame behind a gap was planned, if times of messages within the gap follow from it: where both ends of the gap
    /// are as far apart in time as in numbers.
    fn planned_before(&self, row: &Row) -> Option<u64> {
        let Header { message, planned_ns, .. } = row.header;
        let (last, last_ns) = self.last?;
        let apart = message.checked_sub(last)?.checked_mul(self.period_ns)?;
        (last_ns.checked_add(apart) == Some(planned_ns)).then_some(planned_ns)
    }

    fn write(&mut self, row: &Row, text: &mut String) {
        let Header { message, part, planned_ns, sent_ns, .. } = row.header;
        let latency_ns = i128::from(row.at_ns) + i128::from(self.offset_ns) - i128::from(planned_ns);
        let judgement = match row.is_duplicate {
            true => "doubled",
            false if latency_ns < 0 => "early",
            false if latency_ns > i128::from(self.deadline_ns) => "late",
            false => "in-time",
        };
        let stamps = match row.stamps {
            Stamps::Software => "kernel",
            Stamps::Hardware => "hardware",
        };
        let (name, at_ns) = (&self.name, row.at_ns);
        let _ =
            writeln!(text, "{name},{message},{part},{planned_ns},{sent_ns},{at_ns},{stamps},{latency_ns},{judgement}");
        if !row.is_duplicate {
            self.last = Some((message, planned_ns));
        }
    }
}

impl Lines {
    /// Of these streams of a listener.
    pub fn new(streams: &[Incoming]) -> Self {
        Self { streams: streams.iter().map(Stream::of).collect(), text: String::new(), listed: 0 }
    }

    /// The names of the columns come first.
    pub fn begin(&mut self) {
        self.text.push_str(HEAD);
    }

    /// Lost frames that have a line.
    pub fn listed(&self) -> u64 {
        self.listed
    }

    /// Writes what is certain by now.
    pub fn add(&mut self, item: Item, put: Put<'_>) -> Result<(), StoreError> {
        let row = match item {
            Item::Frame(row) => row,
            Item::LeftOut => return self.broken(put),
        };
        let stream = &mut self.streams[row.stream];
        if row.is_duplicate {
            stream.write(&row, &mut self.text);
            return self.flush_full(put);
        }
        if row.talker != stream.talker {
            self.settle(row.stream, 0, put)?;
            let stream = &mut self.streams[row.stream];
            (stream.talker, stream.due, stream.last) = (row.talker, None, None);
        }
        let stream = &mut self.streams[row.stream];
        let number = stream.number(&row);
        match stream.due {
            Some(due) if number < due => stream.write(&row, &mut self.text),
            Some(due) if number > due => {
                stream.hold(row);
                self.settle(row.stream, REMEMBERED, put)?;
            }
            _ => {
                stream.write(&row, &mut self.text);
                stream.due = Some(number + 1);
                self.settle(row.stream, REMEMBERED, put)?;
            }
        }
        self.flush_full(put)
    }

    /// Writes all that is held: no more comes.
    pub fn end(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        (0..self.streams.len()).try_for_each(|stream| self.settle(stream, 0, put))?;
        self.flush(put)
    }

    /// Hands on what is there.
    pub fn flush(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        if !self.text.is_empty() {
            put(self.text.as_bytes())?;
            self.text.clear();
        }
        Ok(())
    }

    fn flush_full(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        if self.text.len() < PIECE { Ok(()) } else { self.flush(put) }
    }

    /// What lacks from here on may have come.
    fn broken(&mut self, put: Put<'_>) -> Result<(), StoreError> {
        for stream in &mut self.streams {
            for row in std::mem::take(&mut stream.held) {
                stream.write(&row, &mut self.text);
            }
            (stream.due, stream.last) = (None, None);
        }
        self.flush_full(put)
    }

    /// Writes of a stream what nothing can come before any more: frames so far behind the newest do not count.
    fn settle(&mut self, place: usize, remembered: u64, put: Put<'_>) -> Result<(), StoreError> {
        loop {
            let stream = &mut self.streams[place];
            let (Some(first), Some(due)) = (stream.held.front().copied(), stream.due) else { return Ok(()) };
            let number = stream.number(&first);
            if number > due {
                let newest = stream.held.back().map_or(number, |row| stream.number(row));
                // The first that may come yet.
                let open = (newest + 1).saturating_sub(remembered).max(due);
                if open == due {
                    return Ok(());
                }
                self.lost(place, due..number.min(open), &first, put)?;
                continue;
            }
            stream.held.pop_front();
            stream.write(&first, &mut self.text);
            stream.due = Some(due.max(number + 1));
        }
    }

    /// Frames that did not come, all before this one.
    fn lost(
        &mut self,
        place: usize,
        numbers: std::ops::Range<u64>,
        before: &Row,
        put: Put<'_>,
    ) -> Result<(), StoreError> {
        let stream = &mut self.streams[place];
        stream.due = Some(numbers.end);
        let listed = self.listed.saturating_add(numbers.end - numbers.start);
        if listed > MOST_LOST {
            return Ok(());
        }
        self.listed = listed;
        let planned = self.streams[place].planned_before(before);
        for number in numbers {
            let stream = &self.streams[place];
            let (message, part) = (number / stream.parts, number % stream.parts);
            let name = &stream.name;
            let _ = match planned {
                Some(ns) => {
                    let planned_ns = ns - (before.header.message - message) * stream.period_ns;
                    writeln!(self.text, "{name},{message},{part},{planned_ns},,,,,lost")
                }
                None => writeln!(self.text, "{name},{message},{part},,,,,,lost"),
            };
            self.flush_full(put)?;
        }
        Ok(())
    }
}
