//! Which part of a switch is wrong, for those who have the switch from elsewhere than a file.

use super::problem::{Problem, Report};
use super::write;
use crate::model::Switch;

/// What is wrong with a part of a switch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Fault {
    /// The part.
    pub part: Part,
    /// What is wrong there, and what would be right.
    pub what: String,
    /// How much else is wrong.
    pub others: usize,
}

/// A part of a switch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The table of the file that it stands in.
    pub section: Section,
    /// The key in that table, or in one within it: `cycle`, `burst`.
    pub key: Option<String>,
    /// The entry of a list of gate operations.
    pub entry: Option<usize>,
}

/// A table of the file; classes, ports and streams by their place in the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// `[switch]`
    Switch,
    /// `[[class]]`
    Class(usize),
    /// `[[port]]`
    Port(usize),
    /// `[port.gates]`
    Gates(usize),
    /// `[port.preemption]`
    Preemption(usize),
    /// `[[forward]]`
    Forward(usize),
    /// `[[stream]]`
    Stream(usize),
    /// `[stream.gate]`
    StreamGate(usize),
}

/// Whether a file could describe this switch when it is this time, in ns since 1970; else what is wrong first, in YANG's
/// terms.
pub fn check_at(switch: &Switch, now_ns: u64) -> Result<(), Fault> {
    let text = write(switch);
    let mut report = Report::of_yang(&text);
    // What is wrong is reported.
    let _ = super::switch::switch(&text, now_ns, &mut report);
    let others = report.errors.len().saturating_sub(1);
    match report.errors.into_iter().min_by_key(|problem| (problem.line, problem.column)) {
        None => Ok(()),
        Some(problem) => Err(Fault { part: part(&text, &problem), what: problem.what, others }),
    }
}

/// The part that a problem with a text of [`write()`] is of: each key and each entry of a list has a line of its own.
fn part(text: &str, problem: &Problem) -> Part {
    let mut section = Section::Switch;
    let (mut classes, mut ports, mut forwards, mut streams) = (0.., 0.., 0.., 0..);
    let mut entry = None;
    let mut last = "";
    for line in text.lines().take(problem.line) {
        let next = |numbers: &mut std::ops::RangeFrom<usize>| numbers.next().unwrap_or_default();
        section = match (line, section) {
            ("[[class]]", _) => Section::Class(next(&mut classes)),
            ("[[port]]", _) => Section::Port(next(&mut ports)),
            ("[[forward]]", _) => Section::Forward(next(&mut forwards)),
            ("[[stream]]", _) => Section::Stream(next(&mut streams)),
            ("[port.gates]", Section::Port(port) | Section::Preemption(port)) => Section::Gates(port),
            ("[port.preemption]", Section::Port(port)) => Section::Preemption(port),
            ("[stream.gate]", Section::Stream(stream)) => Section::StreamGate(stream),
            (_, section) => section,
        };
        entry = match line {
            _ if line.starts_with("entries = [{") => Some(0),
            _ if line.starts_with("    {") => Some(entry.map_or(0, |entry| entry + 1)),
            _ => None,
        };
        last = line;
    }
    let before: String = last.chars().take(problem.column.saturating_sub(1)).collect();
    let is_name = |c: char| c.is_ascii_lowercase() || c == '-';
    let key = before
        .trim_end()
        .strip_suffix('=')
        .map(str::trim_end)
        .map(|before| &before[before.trim_end_matches(is_name).len()..]);
    let key = key.filter(|key| !key.is_empty()).map(str::to_owned);
    let entry = entry.filter(|_| matches!(section, Section::Gates(_) | Section::StreamGate(_)));
    Part { section, key, entry }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{MOST_STREAMS, read};
    use crate::model::{Base, Clock, Role};

    const SWITCH: &str = r#"
[switch]
name = "cell4"
plane = "user"

[[class]]
name = "red"
queue = 1
match = [{ pcp = 6 }]

[[class]]
name = "blue"
queue = 0

[[port]]
name = "left"

[[port]]
name = "right"
rate = "1Gbit"
max-sdu = { red = 300 }

[port.gates]
entries = [{ open = ["blue"], for = "800us" }, { open = ["red"], for = "200us" }]

[[stream]]
name = "axis1"
to = "02:00:00:00:01:01"
max-sdu = 100
meter = { rate = "976kbit", burst = 244 }

[[stream]]
name = "camera"
to = "02:00:00:00:01:02"

[stream.gate]
entries = [{ open = true, for = "300us" }, { open = false, for = "700us" }]
"#;

    #[test]
    fn what_is_wrong_first_is_found_by_its_part() {
        let right = read(SWITCH).unwrap().switch;
        assert_eq!(check_at(&right, 0), Ok(()));
        let wrong = |change: &dyn Fn(&mut Switch)| {
            let mut switch = right.clone();
            change(&mut switch);
            let Fault { part, what, .. } = check_at(&switch, 0).unwrap_err();
            (part.section, part.key, part.entry, what)
        };
        let entry = |switch: &mut Switch| {
            let entries = &mut switch.ports[1].gates.as_mut().unwrap().entries;
            (entries[0].for_ns, entries[1].for_ns) = (999_000, 1_000);
        };
        let (section, key, place, what) = wrong(&entry);
        assert_eq!((section, key, place), (Section::Gates(1), None, Some(1)));
        assert!(what.starts_with("`red` is open for 1us"), "{what}");
        type Change<'a> = &'a dyn Fn(&mut Switch);
        let cases: [(Change, Section, &str); 6] = [
            (&|switch| switch.ports[1].gates.as_mut().unwrap().cycle_ns = 5_000, Section::Gates(1), "cycle"),
            (&|switch| switch.ports[1].max_sdu[0] = Some(3), Section::Port(1), "red"),
            (&|switch| switch.streams[0].max_sdu = Some(3), Section::Stream(0), "max-sdu"),
            (&|switch| switch.streams[0].meter.as_mut().unwrap().burst = 3, Section::Stream(0), "burst"),
            (&|switch| switch.streams[0].max_sdu = Some(300), Section::Stream(0), "meter"),
            (&|switch| switch.streams[1].gate.as_mut().unwrap().cycle_ns = 5, Section::StreamGate(1), "cycle"),
        ];
        for (change, section, key) in cases {
            let (found, of, ..) = wrong(change);
            assert_eq!((found, of.as_deref()), (section, Some(key)));
        }
        // Each is said in YANG's terms.
        let what = |change: Change| wrong(change).3;
        let base = |switch: &mut Switch, base_ns| switch.ports[1].gates.as_mut().unwrap().base = Base::At(base_ns);
        let red_closes = |switch: &mut Switch| {
            let entries = &mut switch.ports[1].gates.as_mut().unwrap().entries;
            (entries[0].for_ns, entries[1].for_ns) = (998_000, 2_000);
        };
        let said: [(Change, &str); 12] = [
            (
                &entry,
                "`red` is open for 1us, and its largest frame (queue-max-sdu: 300 octets) takes 2.736us at 1Gbit: lengthen the entry",
            ),
            (
                &red_closes,
                "`red` is open for 2us, and its largest frame (queue-max-sdu: 300 octets) takes 2.736us at 1Gbit: lengthen the entry",
            ),
            (
                &|switch| {
                    let gates = switch.ports[1].gates.as_mut().unwrap();
                    (gates.cycle_ns, gates.entries[0].for_ns, gates.entries[1].for_ns) = (8_000, 5_000, 3_000);
                },
                "a cycle of 8us is too short for gates in software; 10us at least",
            ),
            (
                &|switch| base(switch, 1),
                "is 1970-01-01; it counts from 1970 (a time that has passed is fine: cycles count on from it)",
            ),
            (
                &|switch| {
                    switch.clock = Clock::Monotonic;
                    base(switch, u64::MAX);
                },
                "no machine runs that long: by this switch's clock the base time counts from its start",
            ),
            (
                &|switch| switch.streams[0].meter.as_mut().unwrap().burst = 64,
                "committed-burst-size is 64, and the largest frame of the stream has 122 octets with its check sequence: it would \
                 always be dropped; write 122",
            ),
            (&|switch| switch.streams[0].meter.as_mut().unwrap().burst = 3, "is from 64 to 16777216, not 3"),
            (&|switch| switch.streams[0].meter.as_mut().unwrap().rate = 0, "\"0Gbit\": a rate is above zero"),
            (
                &|switch| switch.streams[0].to = [1, 0x80, 0xc2, 0, 0, 0],
                "frames to 01:80:c2:00:00:00 are not forwarded by any bridge (IEEE 802.1Q-2022 Table 8-1)",
            ),
            (
                &|switch| (switch.streams[0].meter, switch.streams[0].max_sdu) = (None, None),
                "its filter asks for nothing; give it max-sdu-size, a flow meter, or a stream gate that closes, or leave it out",
            ),
            (
                &|switch| switch.streams = vec![switch.streams[0].clone(); MOST_STREAMS + 1],
                "16385 streams; a switch has 16384 at most",
            ),
            (&|switch| switch.role = Role::Station, "a station forwards nothing; leave streams out"),
        ];
        for (change, expected) in said {
            assert_eq!(what(change), expected);
        }
        // Nobody has the lines of the text before them.
        let (section, _, _, what) = wrong(&|switch| switch.streams[1].to = switch.streams[0].to);
        assert_eq!(section, Section::Stream(1));
        assert!(what.contains("the stream `axis1` takes all of them"), "{what}");
    }
}
