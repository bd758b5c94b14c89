//! The service, started for the bench, and what it costs.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::child::{self, Running};
use crate::side::Job;

/// How long it may take to say where its page is.
const BEGINS_WITHIN: Duration = Duration::from_secs(20);
/// How long its first round and its first look at the machine take, at most.
pub const SETTLES: Duration = Duration::from_secs(15);

/// A service that runs.
pub struct Service {
    running: Running,
    address: String,
}

impl Service {
    /// Starts it with its state in a folder.
    pub fn start(job: &Job, state: &Path, more: &[&str]) -> Result<Self, String> {
        let ontick = job.ontick.display().to_string();
        let state = state.display().to_string();
        let words = [&[ontick.as_str(), "watch", "--state", &state, "--listen", "127.0.0.1:0"], more].concat();
        let words: Vec<String> = words.into_iter().map(String::from).collect();
        let mut running = child::start(&words)?;
        let began = Instant::now();
        loop {
            let text = running.printed()?;
            let address = text.lines().find_map(|line| line.strip_prefix("page at  http://"));
            if let Some(address) = address.filter(|_| text.contains('\n')) {
                return Ok(Self { address: address.trim().to_owned(), running });
            }
            if running.has_ended()? || began.elapsed() > BEGINS_WITHIN {
                return Err(format!("ontick watch did not begin: {}", running.said()?.trim()));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Host and port.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The body of an answer, as it came, and how long that took, in ms.
    pub fn fetch(&self, path: &str, heads: &str) -> Result<(Vec<u8>, f64), String> {
        let fail = |error: std::io::Error| format!("ontick watch, {path}: {error}");
        let began = Instant::now();
        let mut stream = TcpStream::connect(&self.address).map_err(fail)?;
        stream.set_read_timeout(Some(BEGINS_WITHIN)).map_err(fail)?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{heads}\r\n").map_err(fail)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).map_err(fail)?;
        let ms = began.elapsed().as_secs_f64() * 1e3;
        let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
        match head.filter(|_| answer.starts_with(b"HTTP/1.1 200")) {
            Some(head) => Ok((answer.split_off(head + 4), ms)),
            None => Err(format!("ontick watch does not answer {path}")),
        }
    }

    /// Of its process.
    pub fn id(&self) -> u32 {
        self.running.id()
    }
}

/// What it costs.
#[derive(Debug, Clone, Copy)]
pub struct Costs {
    /// The most memory that it held, in KiB.
    pub peak_kib: u64,
    /// Share of one CPU.
    pub share: f64,
    /// Wake-ups per second of the threads that stay; those that measure a block end with it.
    pub wakeups: f64,
}

/// Looks at it for a while, with its defaults.
pub fn costs(job: &Job, seconds: u64) -> Result<Costs, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no folder for a state: {e} (set TMPDIR)"))?;
    let service = Service::start(job, &folder.path().join("state"), &[])?;
    std::thread::sleep(SETTLES);
    let (before, began) = (Used::by(service.id())?, Instant::now());
    std::thread::sleep(Duration::from_secs(seconds));
    let (after, took) = (Used::by(service.id())?, began.elapsed().as_secs_f64());
    let tick = rustix::param::clock_ticks_per_second() as f64;
    Ok(Costs {
        peak_kib: after.peak_kib,
        share: (after.ticks - before.ticks) as f64 / tick / took,
        wakeups: (after.switches - before.switches) as f64 / took,
    })
}

/// What a process has used so far.
struct Used {
    ticks: u64,
    /// Voluntary switches of its threads.
    switches: u64,
    peak_kib: u64,
}

impl Used {
    fn by(id: u32) -> Result<Self, String> {
        let read = |path: String| fs::read_to_string(&path).map_err(|e| format!("{path}: {e}"));
        let stat = read(format!("/proc/{id}/stat"))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = [11, 12].iter().filter_map(|field| fields.get(*field)?.parse::<u64>().ok()).sum();
        let mut switches = 0;
        for thread in fs::read_dir(format!("/proc/{id}/task")).map_err(|e| e.to_string())?.flatten() {
            let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
            switches += field(&status, "voluntary_ctxt_switches:");
        }
        Ok(Self { ticks, switches, peak_kib: field(&read(format!("/proc/{id}/status"))?, "VmHWM:") })
    }
}

fn field(status: &str, name: &str) -> u64 {
    let value = status.lines().find_map(|line| line.strip_prefix(name));
    value.and_then(|value| value.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
