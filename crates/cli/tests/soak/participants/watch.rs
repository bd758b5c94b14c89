//! `watch`, with its state on the small disk: its page answers, and what it has measured is there after a kill.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use super::{Count, PATIENCE, Participant};
use crate::site::{Killed, Site};

const CYCLES: u64 = 20;
const ASKED_EVERY: Duration = Duration::from_secs(2);

pub struct Watching {
    site: Rc<Site>,
    life: Option<Life>,
    count: Count,
    /// Wake-ups that it has shown.
    shown: u64,
    /// Whether the disk was full in this life: then what came last may not be kept.
    pub disk_was_full: bool,
}

struct Life {
    process: Killed,
    address: String,
    asked_last: Instant,
}

impl Watching {
    pub fn new(site: &Rc<Site>) -> Self {
        let count = Count { of: "wake-ups on its page", ..Count::default() };
        Self { site: site.clone(), life: None, count, shown: 0, disk_was_full: false }
    }

    fn state(&self) -> String {
        self.site.disk().join("watch").display().to_string()
    }

    /// What the page shows: wake-ups, and those that were missed.
    fn figures(&self) -> Result<[u64; 2], String> {
        let address = &self.life.as_ref().ok_or("watch does not run")?.address;
        let now = ask(address, "/api/now").map_err(|error| format!("watch: its page does not answer: {error}"))?;
        let figure =
            |what: &str| -> Option<u64> { now["cpus"].as_array()?.iter().map(|cpu| cpu["total"][what].as_u64()).sum() };
        figure("samples")
            .zip(figure("missed"))
            .map(<[u64; 2]>::from)
            .ok_or_else(|| format!("watch: no figures in {now}"))
    }

    /// Figures grow, also over a kill, but for the block of each CPU that was under way.
    fn compare(&mut self, lost: u64) -> Vec<String> {
        match self.figures() {
            Ok([samples, missed]) => {
                let fell = samples + lost < self.shown;
                let finding = fell.then(|| format!("watch: {} wake-ups were there, and now {samples}", self.shown));
                (self.shown, self.count.delivered, self.count.missed) = (samples, samples, missed);
                finding.into_iter().collect()
            }
            Err(why) => vec![why],
        }
    }
}

fn ask(address: &str, path: &str) -> std::io::Result<Value> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    serde_json::from_str(body).map_err(std::io::Error::other)
}

impl Participant for Watching {
    fn name(&self) -> &'static str {
        "watch"
    }

    fn start(&mut self) {
        let state = self.state();
        let service = ["watch", "--state", &state, "--listen", "127.0.0.1:0", "--policy", "other", "--duty", "5%"];
        let cycles = CYCLES.to_string();
        let words = [&service[..], &["--cycles", &cycles, "--every", "500ms"]].concat();
        let said = std::fs::File::create(self.site.path("watch.printed")).expect("a file");
        let process = self.site.start("watch", self.site.command(true, &[], &words).stdout(said));
        let mut address = String::new();
        crate::wait_until("the page of watch", || {
            let printed = std::fs::read_to_string(self.site.path("watch.printed")).unwrap_or_default();
            let page = printed
                .lines()
                .filter(|_| printed.ends_with('\n'))
                .find_map(|line| line.strip_prefix("page at  http://"));
            address = page.unwrap_or_default().to_owned();
            !address.is_empty()
        });
        self.life = Some(Life { process, address, asked_last: Instant::now() });
        self.count.lives += 1;
    }

    fn processes(&self) -> Vec<(&'static str, u32)> {
        self.life.iter().map(|life| ("watch", life.process.0.id())).collect()
    }

    fn check(&mut self) -> Vec<String> {
        let Some(life) = &mut self.life else { return Vec::new() };
        if let Some(status) = life.process.0.try_wait().expect("a child") {
            return vec![format!("watch: ended by itself, {status}: {}", self.site.last_words("watch"))];
        }
        if life.asked_last.elapsed() < ASKED_EVERY {
            return Vec::new();
        }
        life.asked_last = Instant::now();
        self.compare(0)
    }

    /// What the next one has is judged when that is there.
    fn kill(&mut self) -> Vec<String> {
        let mut findings = self.compare(0);
        self.life = None;
        let totals = self.site.disk().join("watch/totals.json.journal");
        if self.shown > 0 && !self.disk_was_full {
            findings.extend(self.site.read(&["report"], &totals).err().map(|why| format!("watch: {why}")));
        }
        self.start();
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
        let lost = if self.disk_was_full { self.shown } else { CYCLES * cpus };
        self.disk_was_full = false;
        findings.extend(self.compare(lost));
        findings
    }

    fn end(&mut self) -> Vec<String> {
        let mut findings = self.compare(0);
        let Some(mut life) = self.life.take() else { return findings };
        life.process.signal(Signal::INT);
        let status = life.process.status_within(PATIENCE);
        if status != Some(0) {
            findings.push(format!("watch: Ctrl-C ended it with status {status:?}: {}", self.site.last_words("watch")));
        }
        findings
    }

    fn count(&self) -> Count {
        self.count.clone()
    }
}
