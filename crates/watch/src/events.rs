//! What happened: one line of JSON for each event, in a file that is begun anew when it is large.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The file of before is replaced when this one has so many bytes.
const LARGE: u64 = 8 << 20;

/// What an event is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The service began or ended.
    Service,
    /// A finding came, went or changed.
    Finding,
    /// The kernel, its command line or the machine changed.
    Machine,
    /// A setting that `tune` had changed is not as it was left.
    Setting,
    /// A latency above the threshold.
    Outlier,
    /// A CPU is not measured, or is again.
    Pause,
    /// The clock was set.
    Clock,
    /// Something of what was kept is damaged or could not be written.
    State,
    /// Figures could not be sent, or can be again.
    Export,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, in seconds since 1970.
    pub at: u32,
    /// What it is about.
    pub kind: Kind,
    /// Whether it is bad news.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub bad: bool,
    /// The CPU that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// What happened, in a sentence.
    pub text: String,
}

/// The file of events.
pub struct Events {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Events {
    /// Opens the file in a folder, or begins it.
    pub fn open(folder: &Path) -> io::Result<Self> {
        let path = folder.join("events.jsonl");
        let file = OpenOptions::new().append(true).read(true).create(true).mode(0o644).open(&path)?;
        let length = file.metadata()?.len();
        let mut events = Self { path, file, length };
        // What was cut off must not be one line with what comes.
        if length > 0 && !events.ends_with_a_line()? {
            events.write(b"\n")?;
        }
        Ok(events)
    }

    fn ends_with_a_line(&self) -> io::Result<bool> {
        use std::os::unix::fs::FileExt;
        let mut last = [0];
        self.file.read_exact_at(&mut last, self.length - 1)?;
        Ok(last == *b"\n")
    }

    /// Appends an event.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        if self.length > LARGE {
            self.begin_anew()?;
        }
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.write(&line)
    }

    fn begin_anew(&mut self) -> io::Result<()> {
        match std::fs::rename(&self.path, self.before()) {
            // It was moved before, when a full disk had no room for a new one.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let folder = self.path.parent().unwrap_or(Path::new(".")).to_owned();
        *self = Self::open(&folder)?;
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        match written {
            Ok(()) => self.length += bytes.len() as u64,
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written
    }

    /// Where events go when the file is large.
    fn before(&self) -> PathBuf {
        self.path.with_extension("before.jsonl")
    }

    /// The newest events at `from` or later and before `to`, the newest first, at most so many. Lines that are none are left
    /// out.
    pub fn newest(&self, from: u32, to: u32, most: usize) -> Vec<Event> {
        let mut found = std::collections::VecDeque::new();
        for path in [self.before(), self.path.clone()] {
            let Ok(file) = File::open(path) else { continue };
            let lines = BufReader::new(file).split(b'\n').map_while(Result::ok);
            let events = lines.filter_map(|line| serde_json::from_slice::<Event>(&line).ok());
            for event in events.filter(|event| (from..to).contains(&event.at)) {
                if found.len() == most {
                    found.pop_front();
                }
                found.push_back(event);
            }
        }
        found.into_iter().rev().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: u32) -> Event {
        Event { at, kind: Kind::Outlier, bad: true, cpu: Some(1), text: format!("late at {at}") }
    }

    #[test]
    fn events_are_read_newest_first_and_a_cut_costs_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut events = Events::open(folder.path()).unwrap();
        (0..5).for_each(|at| events.append(&event(at)).unwrap());
        assert_eq!(events.newest(2, u32::MAX, 2), [event(4), event(3)]);
        let path = folder.path().join("events.jsonl");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 4]).unwrap();
        let mut events = Events::open(folder.path()).unwrap();
        events.append(&event(9)).unwrap();
        assert_eq!(events.newest(0, u32::MAX, 9).iter().map(|event| event.at).collect::<Vec<_>>(), [9, 3, 2, 1, 0]);
    }

    #[test]
    fn a_large_file_is_begun_anew_and_the_one_before_is_still_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut events = Events::open(folder.path()).unwrap();
        let long = |at| Event { text: "x".repeat(1 << 20), ..event(at) };
        (0..12).for_each(|at| events.append(&long(at)).unwrap());
        let found: Vec<u32> = events.newest(0, u32::MAX, 99).iter().map(|event| event.at).collect();
        assert_eq!(found, (0..12).rev().collect::<Vec<_>>());
        assert!(std::fs::metadata(folder.path().join("events.jsonl")).unwrap().len() < LARGE);
    }
    #[test]
    fn an_older_stretch_is_read_whatever_came_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut events = Events::open(folder.path()).unwrap();
        (0..20).for_each(|at| events.append(&event(at)).unwrap());
        assert_eq!(events.newest(3, 6, 2), [event(5), event(4)]);
    }

    #[test]
    fn events_go_on_after_a_file_that_was_moved_while_there_was_no_room_for_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut events = Events::open(folder.path()).unwrap();
        let long = |at| Event { text: "x".repeat(1 << 20), ..event(at) };
        (0..9).for_each(|at| events.append(&long(at)).unwrap());
        // As the disk was full: it is moved, and then none is made.
        std::fs::rename(&events.path, events.before()).unwrap();
        events.append(&event(9)).unwrap();
        assert_eq!(events.newest(0, u32::MAX, 2), [event(9), long(8)]);
    }
}
