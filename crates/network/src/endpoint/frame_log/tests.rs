use std::fs;

use ontick_switch::user::packet::Stamps;

use super::lines::{HEAD, MOST_LOST};
use super::*;
use crate::arrivals::{Expected, REMEMBERED};
use crate::endpoint::header::{HEADER, Header};
use crate::endpoint::listener::{Listener, Received};
use crate::endpoint::planned::Way;

const MS: u64 = 1_000_000;

/// Sent 200 us into its period; due after 500 us.
fn incoming(name: &str, stream: usize, parts: u64) -> Incoming {
    let expected = Expected { stream, listener: 1, parts, deadline_ns: 500_000, planned_ns: None, window_ns: None };
    let way = Way { link: 0, links: 3 };
    Incoming { expected, name: name.into(), pcp: 5, vlan: 9, offset_ns: 200_000, period_ns: MS, way }
}

/// What a listener of these streams hears goes through the lines: the text, and what has no line.
struct Heard {
    listener: Listener,
    lines: Lines,
    text: String,
    latency_ns: u64,
    base_ns: u64,
}

impl Heard {
    fn new(streams: &[Incoming]) -> Self {
        let (listener, lines) = (Listener::new(streams.to_vec(), 7), Lines::new(streams));
        Self { listener, lines, text: String::new(), latency_ns: 300_000, base_ns: 10 * MS }
    }

    fn hear(&mut self, stream: u32, message: u64, part: u16) {
        let period_ns = self.base_ns + message * MS;
        let planned_ns = period_ns + 200_000;
        let header = Header { plan: 7, stream, part, payload: 0, message, planned_ns, sent_ns: planned_ns + 5 };
        let mut data = [0; HEADER];
        header.write(&mut data);
        let (at_ns, stamps) = (period_ns + self.latency_ns, Stamps::Software);
        let received = Received { data: &data, tag: Some((5, 9)), is_tagged_kind: true, at_ns, stamps };
        let row = Row::of(&self.listener.came(received).unwrap());
        self.give(Item::Frame(row));
    }

    fn give(&mut self, item: Item) {
        let Self { lines, text, .. } = self;
        lines.add(item, &mut |piece| keep(text, piece)).unwrap();
        lines.flush(&mut |piece| keep(text, piece)).unwrap();
    }

    fn end(mut self) -> (String, Listener) {
        let Self { lines, text, .. } = &mut self;
        lines.end(&mut |piece| keep(text, piece)).unwrap();
        (self.text, self.listener)
    }

    /// Number, part and judgement of each line so far.
    fn seen(&self) -> Vec<String> {
        seen(&self.text)
    }
}

fn keep(text: &mut String, piece: &[u8]) -> Result<(), StoreError> {
    text.push_str(std::str::from_utf8(piece).unwrap());
    Ok(())
}

fn seen(text: &str) -> Vec<String> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        assert_eq!(fields.len(), HEAD.split(',').count(), "{line}");
        format!("{}.{} {}", fields[1], fields[2], fields[8])
    };
    text.lines().map(line).collect()
}

#[test]
fn a_line_says_when_a_frame_was_planned_sent_and_stamped_and_what_that_means() {
    let mut heard = Heard::new(&[incoming("a, \"b\"", 0, 1)]);
    for (message, latency_ns) in [(0, 300_000), (1, 500_000), (2, 500_001)] {
        heard.latency_ns = latency_ns;
        heard.hear(0, message, 0);
    }
    heard.hear(0, 2, 0);
    let name = "\"a, \"\"b\"\"\"";
    let lines = [
        "0,0,10200000,10200005,10300000,kernel,300000,in-time",
        "1,0,11200000,11200005,11500000,kernel,500000,in-time",
        "2,0,12200000,12200005,12500001,kernel,500001,late",
        "2,0,12200000,12200005,12500001,kernel,500001,doubled",
    ];
    assert_eq!(heard.text, lines.map(|line| format!("{name},{line}\n")).concat());
    // Clocks that differ let one come before its time.
    heard.text.clear();
    let before = Row::of(&heard.listener.came(of_the_interface(3)).unwrap());
    heard.give(Item::Frame(before));
    assert_eq!(heard.text, format!("{name},3,0,13200000,0,12999999,hardware,-1,early\n"));
}

/// A frame of a message, stamped 1 ns before its period.
fn of_the_interface(message: u64) -> Received<'static> {
    let planned_ns = 10 * MS + message * MS + 200_000;
    let header = Header { plan: 7, stream: 0, part: 0, payload: 0, message, planned_ns, sent_ns: 0 };
    let data = Box::leak(Box::new([0; HEADER]));
    header.write(data);
    let (at_ns, stamps) = (planned_ns - 200_001, Stamps::Hardware);
    Received { data, tag: Some((5, 9)), is_tagged_kind: true, at_ns, stamps }
}

#[test]
fn a_lost_frame_has_its_line_where_it_belongs_once_it_cannot_come_any_more() {
    let mut heard = Heard::new(&[incoming("f", 0, 1), incoming("g", 1, 1)]);
    [5, 6, 8, 10].into_iter().for_each(|message| heard.hear(0, message, 0));
    // The next one may be on its way; another stream does not wait for it.
    heard.hear(1, 0, 0);
    assert_eq!(heard.seen(), ["5.0 in-time", "6.0 in-time", "0.0 in-time"]);
    heard.hear(0, 9, 0);
    (11..7 + REMEMBERED).for_each(|message| heard.hear(0, message, 0));
    assert_eq!(heard.seen().len(), 3);
    heard.hear(0, 7 + REMEMBERED, 0);
    let lines = heard.seen();
    assert_eq!(lines[3..7], ["7.0 lost", "8.0 in-time", "9.0 in-time", "10.0 in-time"]);
    assert!(heard.text.contains("f,7,0,17200000,,,,,lost\n"), "{}", heard.text);
    assert_eq!(lines.len(), 4 + REMEMBERED as usize);
    // Now it is too late for it, and what is missing at the end is lost.
    heard.hear(0, 7, 0);
    heard.hear(0, 9 + REMEMBERED, 0);
    let (text, listener) = heard.end();
    let last = ["7.0 doubled".into(), format!("{}.0 lost", 8 + REMEMBERED), format!("{}.0 in-time", 9 + REMEMBERED)];
    assert!(seen(&text).ends_with(&last), "{text}");
    let of = &listener.arrivals()[0];
    assert_eq!(text.matches(",lost\n").count() as u64, of.span() - of.frames());
}

#[test]
fn frames_of_a_message_are_lost_one_by_one_and_a_talker_that_begins_anew_has_lost_none() {
    let mut heard = Heard::new(&[incoming("f", 0, 3)]);
    [(0, 0), (0, 2), (2, 1)].into_iter().for_each(|(message, part)| heard.hear(0, message, part));
    heard.base_ns += 50 * MS;
    [(1, 0), (1, 1)].into_iter().for_each(|(message, part)| heard.hear(0, message, part));
    let (text, _) = heard.end();
    let lost = |of: &'static str| format!("{of} lost");
    let came = |of: &'static str| format!("{of} in-time");
    let [a, b, c, d] = [lost("0.1"), lost("1.0"), lost("1.1"), lost("1.2")];
    let all = [came("0.0"), a, came("0.2"), b, c, d, lost("2.0"), came("2.1"), came("1.0"), came("1.1")];
    assert_eq!(seen(&text), all);
    assert!(text.contains("f,1,2,11200000,,,,,lost\n"), "{text}");
}

#[test]
fn what_was_lost_is_not_said_of_frames_that_may_have_come() {
    let mut heard = Heard::new(&[incoming("f", 0, 1)]);
    [0, 1, 3].into_iter().for_each(|message| heard.hear(0, message, 0));
    heard.give(Item::LeftOut);
    [200, 202].into_iter().for_each(|message| heard.hear(0, message, 0));
    let (text, _) = heard.end();
    let all = ["0.0 in-time", "1.0 in-time", "3.0 in-time", "200.0 in-time", "201.0 lost", "202.0 in-time"];
    assert_eq!(seen(&text), all);
}

#[test]
fn a_number_of_the_far_future_fills_no_disk() {
    let mut heard = Heard::new(&[incoming("f", 0, 1)]);
    heard.hear(0, 0, 0);
    heard.hear(0, MOST_LOST + REMEMBERED, 0);
    assert_eq!((heard.text.matches(",lost\n").count() as u64, heard.lines.listed()), (MOST_LOST, MOST_LOST));
    let next = 2 * (MOST_LOST + REMEMBERED) + 1;
    heard.text.clear();
    heard.hear(0, next, 0);
    let (text, lines) = (heard.seen(), heard.lines.listed());
    assert_eq!((text.iter().filter(|line| line.ends_with("lost")).count(), lines), (0, MOST_LOST));
}

/// Times that do not fit the numbers are no times of what was lost between.
#[test]
fn when_lost_frames_were_planned_is_said_only_where_it_follows() {
    let mut heard = Heard::new(&[incoming("f", 0, 1)]);
    heard.hear(0, 0, 0);
    heard.base_ns += 1;
    heard.hear(0, 2, 0);
    let (text, _) = heard.end();
    assert!(text.contains("f,1,0,,,,,,lost\n"), "{text}");
}

#[test]
fn the_file_has_all_that_came_and_is_there_at_the_end_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames.csv");
    let streams = [incoming("f", 0, 1)];
    let mut listener = Listener::new(streams.to_vec(), 7);
    let mut log = FrameLog::begin(&path, &streams).unwrap();
    for message in 0..10_000 {
        log.add(&listener.came(of_the_interface(message)).unwrap());
    }
    assert!(!path.exists());
    assert_eq!(log.end(3).unwrap(), WithoutLine { came: 0, lost: 3 });
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(HEAD) && text.lines().count() == 10_001, "{}", text.lines().count());
    // One that nobody wants leaves the old one, and nothing else.
    drop(FrameLog::begin(&path, &streams).unwrap());
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn frames_that_no_disk_takes_are_counted_and_keep_nobody_waiting() {
    let streams = [incoming("f", 0, 1)];
    let mut listener = Listener::new(streams.to_vec(), 7);
    let (items, mut waiting) = RingBuffer::new(4);
    let is_wanted = Arc::new(AtomicBool::new(false));
    let mut log = FrameLog { items, came: 0, is_broken: false, is_wanted, thread: None };
    let mut add = |log: &mut FrameLog, message| log.add(&listener.came(of_the_interface(message)).unwrap());
    (0..6).for_each(|message| add(&mut log, message));
    // One place is not enough for a frame and the word that some lack before it.
    assert!(matches!(waiting.pop(), Ok(Item::Frame(_))));
    add(&mut log, 6);
    assert_eq!(log.came, 3);
    (0..3).for_each(|_| assert!(waiting.pop().is_ok()));
    add(&mut log, 7);
    assert!(matches!((waiting.pop(), waiting.pop()), (Ok(Item::LeftOut), Ok(Item::Frame(_)))));
    assert_eq!(log.came, 3);
}

#[test]
fn a_full_disk_is_the_result_and_not_the_end_of_listening() {
    let streams = [incoming("f", 0, 1)];
    let mut listener = Listener::new(streams.to_vec(), 7);
    let mut log = FrameLog::begin(Path::new("/dev/full"), &streams).unwrap();
    for message in 0..2 * ROOM as u64 {
        log.add(&listener.came(of_the_interface(message % 1_000)).unwrap());
    }
    let said = log.end(0).unwrap_err().to_string();
    assert!(said.starts_with("/dev/full: "), "{said}");
}
