//! What was recorded, followed in the order of time.

use super::super::event::Event;
use super::super::inspected::Inspected;
use super::super::perf::Traced;
use super::super::perf::records::Body;
use super::super::program::identity::name_of;
use super::super::symbols::Symbols;
use super::super::translate::{Names, events};
use super::Session;

impl Session<'_> {
    /// Reads what was recorded, and follows it up to a time.
    pub(super) fn drain(&mut self, until_ns: u64) {
        let mut traced: Vec<Traced> = Vec::new();
        let mut buffer = std::mem::take(&mut self.buffer);
        for inspected in self.threads.values_mut() {
            inspected.take(&mut buffer, |record| traced.push(record));
        }
        self.recorder.take(&mut buffer, |record| traced.push(record));
        self.buffer = buffer;
        let mut names = Names::new(self.living);
        for (record, trace) in traced {
            match record.body {
                Body::Lost(count) if self.counts() => self.lost += count,
                _ => {}
            }
            // The records of CPUs are those of all programs.
            if record.body == (Body::Name { exec: true }) && record.tid == self.pid {
                self.became_another(record.at_ns);
            }
            self.waiting.extend(events(record, trace, &self.tracepoints, &mut self.symbols, &mut names));
        }
        if names.unsure {
            self.recorder.see_wakers_in_full();
        }
        self.waiting.sort_by_key(|event| event.at_ns);
        let ready = self.waiting.partition_point(|event| event.at_ns < until_ns);
        let events: Vec<Event> = self.waiting.drain(..ready).collect();
        for event in events {
            if self.gap_ns > 0 && event.at_ns >= self.gap_ns {
                self.gap_ns = 0;
                self.threads.values_mut().for_each(Inspected::forget);
            }
            let Some(mut inspected) = self.threads.remove(&event.tid) else { continue };
            let others = &self.threads;
            let off = |tid: i32, from: u64, to: u64| others.get(&tid).map_or(0, |other| other.off_ns(from, to));
            inspected.follow(event, &self.symbols, off);
            self.threads.insert(inspected.state.tid, inspected);
        }
    }

    /// After execve(2) the program is another one.
    fn became_another(&mut self, at_ns: u64) {
        // Its other threads ended with it, and their places are not in the new program.
        let pid = self.pid;
        self.threads.retain(|tid, _| *tid == pid);
        (self.symbols, self.living) = (Symbols::new(self.pid), self.pid);
        let name = name_of(self.pid).unwrap_or_else(|| "another program".into());
        if at_ns > self.began_ns + self.after_ns() {
            self.note(format!("the program became {name} (execve): what it did before is not counted"));
        }
        self.name = name;
        self.memory_read_ns = None;
    }
}
