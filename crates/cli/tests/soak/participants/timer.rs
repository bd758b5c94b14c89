//! `latency timer --record`, on the small disk: its record is read after each kill.

use std::fs;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::{Count, PATIENCE, Participant};
use crate::site::{Killed, Site};

/// Until its journal has its first data, which it gets each second.
const FIRST: Duration = Duration::from_secs(5);

pub struct Timer {
    site: Rc<Site>,
    life: Option<(Killed, Instant)>,
    count: Count,
}

impl Timer {
    pub fn new(site: &Rc<Site>) -> Self {
        Self { site: site.clone(), life: None, count: Count { of: "wake-ups in records", ..Count::default() } }
    }

    fn record(&self) -> PathBuf {
        self.site.disk().join("timer.json")
    }

    fn journal(&self) -> PathBuf {
        self.site.disk().join("timer.json.journal")
    }

    /// Reads the record, or what a killed run leaves of it, and makes room for the next.
    fn judge(&mut self, path: PathBuf) -> Vec<String> {
        let findings = match self.site.read(&["report", "--as", "json"], &path) {
            Ok(text) => match serde_json::from_str::<Value>(&text).ok().and_then(|run| wake_ups(&run)) {
                Some([met, missed]) => {
                    self.count.delivered += met;
                    self.count.missed += missed;
                    Vec::new()
                }
                None => vec![format!("timer: no wake-ups in {}", path.display())],
            },
            Err(why) => vec![format!("timer: {why}")],
        };
        let _ = fs::remove_file(path);
        findings
    }
}

/// Deadlines that were met at some time, and those that were missed.
fn wake_ups(run: &Value) -> Option<[u64; 2]> {
    let series = &run["series"][0];
    let met = series["latency"]["buckets"].as_array()?.iter().map(|bucket| bucket[2].as_u64()).sum::<Option<u64>>()?;
    Some([met, series["missed"].as_u64().unwrap_or(0)])
}

impl Participant for Timer {
    fn name(&self) -> &'static str {
        "timer"
    }

    fn start(&mut self) {
        let record = self.record().display().to_string();
        let job = ["latency", "timer", "--method", "clock_nanosleep", "--interval", "10ms", "--policy", "other"];
        let words = [&job[..], &["--cpu", "any", "--duration", "1000h", "--record", &record]].concat();
        self.life = Some((self.site.start("timer", &mut self.site.command(true, &[], &words)), Instant::now()));
        // It does not begin on a disk that is full by then.
        let journal = self.journal();
        crate::wait_until("the timer's journal is there", || fs::metadata(&journal).is_ok_and(|file| file.len() > 0));
        self.count.lives += 1;
    }

    fn processes(&self) -> Vec<(&'static str, u32)> {
        self.life.iter().map(|(process, _)| ("latency timer", process.0.id())).collect()
    }

    fn check(&mut self) -> Vec<String> {
        let ended = self.life.as_mut().and_then(|(process, _)| process.0.try_wait().expect("a child"));
        ended
            .map(|status| format!("timer: ended by itself, {status}: {}", self.site.last_words("timer")))
            .into_iter()
            .collect()
    }

    fn kill(&mut self) -> Vec<String> {
        let Some((process, began)) = self.life.take() else { return Vec::new() };
        let is_young = began.elapsed() < FIRST;
        drop(process);
        match is_young {
            true => {
                let _ = fs::remove_file(self.journal());
                Vec::new()
            }
            false => self.judge(self.journal()),
        }
    }

    fn end(&mut self) -> Vec<String> {
        let Some((mut process, _)) = self.life.take() else { return Vec::new() };
        process.signal(Signal::INT);
        let status = process.status_within(PATIENCE);
        let mut findings = self.judge(self.record());
        if status != Some(0) {
            findings.push(format!("timer: Ctrl-C ended it with status {status:?}: {}", self.site.last_words("timer")));
        }
        if self.journal().exists() {
            findings.push("timer: its journal is left beside its record".into());
        }
        findings
    }

    fn count(&self) -> Count {
        self.count.clone()
    }
}
