//! What many who look at the page at the same time cost the service.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ontick_record::compare::{Spread, paired};
use ontick_rt::cpus;
use ontick_watch::Row;
use ontick_watch::history::rows::Rows;
use ontick_watch::series::SeriesId;

use super::service::{SETTLES, Service};
use crate::side::Job;

/// How many there are.
pub const WATCHERS: usize = 50;
/// Two rounds of the service.
const BLOCK: Duration = Duration::from_secs(20);

/// Share of one CPU that they cost beside what the service costs without them.
pub struct Cost {
    /// Each takes the stream of news.
    pub streams: Spread,
    /// Each is a page of the last hour: it asks for all of its curves anew at each piece of news.
    pub pages: Spread,
}

/// What a watcher does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Watcher {
    Stream,
    Page,
}

/// Measures it in blocks: nobody, streams, pages; then the other way round.
pub fn measure(job: &Job, pairs: u32) -> Result<Cost, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("no folder for a state: {e} (set TMPDIR)"))?;
    let state = folder.path().join("state");
    // The service makes its folder, and is ended before rows are put there.
    drop(Service::start(job, &state, &[])?);
    hour(&state)?;
    let service = Arc::new(Service::start(job, &state, &[])?);
    sleep(SETTLES);
    let (mut streams, mut pages) = (Vec::new(), Vec::new());
    for pair in 0..pairs {
        let mut order = [None, Some(Watcher::Stream), Some(Watcher::Page)];
        if pair % 2 == 1 {
            order.reverse();
        }
        let mut shares = Vec::new();
        for watcher in order {
            shares.push((watcher, block(&service, watcher)?));
        }
        let of = |wanted| shares.iter().find(|(watcher, _)| *watcher == wanted).map_or(f64::NAN, |(_, share)| *share);
        streams.push(of(Some(Watcher::Stream)) - of(None));
        pages.push(of(Some(Watcher::Page)) - of(None));
    }
    let none = || "no block was measured".to_owned();
    Ok(Cost { streams: paired(streams).ok_or_else(none)?, pages: paired(pages).ok_or_else(none)? })
}

/// What a service with its defaults has measured in an hour, so that pages have something to fetch.
fn hour(state: &Path) -> Result<(), String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as u32);
    let cpus: Vec<u16> = cpus::online().iter().filter_map(|cpu| u16::try_from(*cpu).ok()).collect();
    let rows = (0..360).flat_map(|n| {
        cpus.iter().map(move |cpu| Row {
            at: now - 3_600 + n * 10,
            series: SeriesId::Cpu(*cpu),
            samples: 200,
            p50_ns: 5_000,
            p99_ns: 9_000,
            max_ns: 20_000 + u64::from(n) * 100,
            ..Row::default()
        })
    });
    let mut file = Rows::open(&state.join("blocks.rows")).map_err(|e| e.to_string())?;
    file.append(&rows.collect::<Vec<_>>()).map_err(|e| e.to_string())
}

/// The share of one CPU that the service takes while all of them watch.
fn block(service: &Arc<Service>, watcher: Option<Watcher>) -> Result<f64, String> {
    let watching: Result<Vec<_>, String> =
        watcher.iter().flat_map(|watcher| (0..WATCHERS).map(|_| watch(service, *watcher))).collect();
    let watching = watching?;
    // What a new watcher is sent at once is not the running cost.
    sleep(Duration::from_secs(1));
    let (before, began) = (run_ns(service.id())?, Instant::now());
    sleep(BLOCK);
    let (after, took) = (run_ns(service.id())?, began.elapsed());
    for (stream, thread) in watching {
        let _ = stream.shutdown(Shutdown::Both);
        let events = thread.join().map_err(|_| "a watcher panicked".to_owned())??;
        if events < 2 {
            return Err(format!("a watcher got {events} pieces of news in {} s", BLOCK.as_secs()));
        }
    }
    Ok(after.saturating_sub(before) as f64 / took.as_nanos() as f64)
}

type Watching = (TcpStream, JoinHandle<Result<u32, String>>);

/// One that watches until its connection is shut down, and how many pieces of news it got.
fn watch(service: &Arc<Service>, watcher: Watcher) -> Result<Watching, String> {
    let fail = |error: std::io::Error| format!("ontick watch, /stream: {error}");
    let mut stream = TcpStream::connect(service.address()).map_err(fail)?;
    stream.write_all(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n").map_err(fail)?;
    let lines = BufReader::new(stream.try_clone().map_err(fail)?).lines();
    let service = service.clone();
    let thread = spawn(move || {
        let mut events = 0;
        for line in lines.map_while(Result::ok).filter(|line| line.starts_with("data: ")) {
            if watcher == Watcher::Page {
                let at = line.split("\"at\":").nth(1).and_then(|rest| rest.split(',').next()?.parse::<u32>().ok());
                let at = at.ok_or_else(|| format!("news without a time: {line}"))?;
                let (from, to) = (at + 1 - 3_600, at + 1);
                for path in [
                    format!("/api/history?from={from}&to={to}&points=500"),
                    format!("/api/events?from={from}&to={to}&points=100"),
                    "/api/record".into(),
                ] {
                    service.fetch(&path, "")?;
                }
            }
            events += 1;
        }
        Ok(events)
    });
    Ok((stream, thread))
}

/// Time on a CPU so far of the threads that stay: those that measure end with their block, and are the same either way.
fn run_ns(id: u32) -> Result<u64, String> {
    let mut all = 0;
    for thread in fs::read_dir(format!("/proc/{id}/task")).map_err(|e| format!("/proc/{id}/task: {e}"))?.flatten() {
        let path = thread.path().join("schedstat");
        let name = fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        // The first thread is the program's.
        if name.trim() == "ontick-page" || thread.file_name().to_string_lossy() == id.to_string() {
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            all += text.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Ok(all)
}
