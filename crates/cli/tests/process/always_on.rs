//! `ontick watch`: it measures, keeps, and answers those that it should answer, also after a kill.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ontick_watch::Row;
use ontick_watch::history::rows::Rows;
use ontick_watch::series::SeriesId;
use serde_json::Value;

use crate::bad_disks::with_mounts;
use crate::prometheus::Release;
use crate::{Running, alone_on_this_machine, apart, judges, ontick, run, stderr, stdout, wait_until};

/// A service on a port of its own.
pub struct Service {
    process: Running,
    /// Host and port.
    pub address: String,
}

impl Service {
    pub fn start(state: &Path, more: &[&str]) -> Self {
        let state = state.display().to_string();
        let words = ["watch", "--state", &state, "--listen", "127.0.0.1:0", "--cycles", "20", "--every", "50ms"];
        let mut command = ontick(&[words.as_slice(), &["--duty", "100%", "--interval", "500us"], more].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut process = Running(child);
        let mut lines = BufReader::new(process.0.stdout.take().unwrap()).lines().map_while(Result::ok);
        let said = lines.find_map(|line| Some(line.strip_prefix("page at  http://")?.to_owned()));
        Self { address: said.expect("it says where the page is"), process }
    }

    /// An answer as it comes: head and body.
    fn bytes_as(&self, head: &str) -> Vec<u8> {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(head.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    }

    fn ask_as(&self, head: &str) -> (String, String) {
        let answer = String::from_utf8_lossy(&self.bytes_as(head)).into_owned();
        answer
            .split_once("\r\n\r\n")
            .map(|(head, body)| (head.to_owned(), body.to_owned()))
            .unwrap_or((answer, String::new()))
    }

    pub fn ask(&self, path: &str) -> (String, String) {
        self.ask_as(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    }

    pub fn json(&self, path: &str) -> Value {
        let (head, body) = self.ask(path);
        assert!(head.starts_with("HTTP/1.1 200"), "{path}: {head}");
        serde_json::from_str(&body).unwrap_or_else(|error| panic!("{path}: {error}: {body}"))
    }

    /// Samples on all CPUs since counting began.
    fn samples(&self) -> u64 {
        let now = self.json("/api/now");
        now["cpus"].as_array().unwrap().iter().map(|cpu| cpu["total"]["samples"].as_u64().unwrap()).sum()
    }

    /// Waits until there are so many samples.
    pub fn has_measured(&self, samples: u64) -> u64 {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            let there = self.samples();
            if there >= samples {
                return there;
            }
            // Others' real-time work may have each of the CPUs.
            assert!(Instant::now() < until, "{}", self.json("/api/now"));
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn child(&mut self) -> &mut Child {
        &mut self.process.0
    }

    pub fn ends_on(&mut self, signal: rustix::process::Signal) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(self.child());
        rustix::process::kill_process(pid, signal).unwrap();
        self.child().wait().unwrap().code()
    }
}

#[test]
fn what_was_measured_is_there_after_a_kill_and_a_second_service_is_refused() {
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let mut service = Service::start(&state, &[]);
    let before = service.has_measured(60);
    let second = run(&["watch", "--state", state.to_str().unwrap(), "--duration", "1s"]);
    assert_eq!(second.status.code(), Some(2));
    assert!(stderr(&second).contains("is used by another service that watches"), "{}", stderr(&second));
    assert_eq!(service.ends_on(rustix::process::Signal::KILL), None);
    let mut service = Service::start(&state, &[]);
    let after = service.has_measured(before + 1);
    assert!(after > before);
    let rows = service.json("/api/history?points=5000");
    let of_rows: u64 = rows.as_array().unwrap().iter().map(|row| row[2].as_u64().unwrap()).sum();
    assert!(of_rows >= after, "{of_rows} samples in rows, {after} in all before");
    let events = service.json("/api/events?from=1").to_string();
    assert_eq!(events.matches("the service began").count(), 2, "{events}");
    assert_eq!(service.ends_on(rustix::process::Signal::TERM), Some(0));
    // The record is one like any other.
    let report = run(&["report", state.join("totals.json.journal").to_str().unwrap()]);
    assert!(report.status.success(), "{}", stderr(&report));
}

#[test]
fn others_judge_its_metrics_and_its_answers_are_safe() {
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("state"), &["--host", "box.lan", "--outlier", "1ns"]);
    service.has_measured(20);
    // Another service may have the CPU for a moment, which is an event, too.
    let events = service.json("/api/events?from=1");
    let is_late = |event: &Value| {
        let text = event["text"].as_str().unwrap();
        text.starts_with("CPU ") && text.contains(" late, the largest of 20 outliers")
    };
    assert!(events.as_array().unwrap().iter().any(is_late), "{events}");
    let (head, body) = service.ask("/metrics");
    assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
    judges::openmetrics(&body);
    assert!(
        body.contains("ontick_watch_recent_max_seconds{cpu=") && body.contains("ontick_watch_paused{cpu="),
        "{body}"
    );
    let head = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: text/plain\r\nConnection: close\r\n\r\n";
    let (head, plain) = service.ask_as(head);
    assert!(head.contains("text/plain; version=0.0.4"), "{head}");
    if let Some(release) = Release::distribution() {
        // It reads them all; what it would name otherwise is the label of quantiles, which it keeps for summaries.
        let said = stderr(&release.checks_metrics(&plain));
        assert!(said.lines().all(|line| line.contains("should not have \"quantile\" label")), "{said}{plain}");
    }
    let packed = service
        .bytes_as("GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n");
    let begins = packed.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    let mut unpacked = String::new();
    flate2::read::GzDecoder::new(&packed[begins..]).read_to_string(&mut unpacked).unwrap();
    assert!(packed.len() < body.len() && unpacked.ends_with("# EOF\n"), "{unpacked}");
    for path in ["/", "/page.js", "/draw.js", "/page.css", "/api/now", "/api/signals", "/nothing"] {
        let (head, _) = service.ask(path);
        for part in ["content-security-policy: default-src 'none'", "x-content-type-options: nosniff", "no-store"] {
            assert!(head.contains(part), "{path}: {head}");
        }
    }
    let host =
        |name: &str| service.ask_as(&format!("GET /api/now HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n")).0;
    assert!(host("evil.example").starts_with("HTTP/1.1 421") && host("box.lan:80").starts_with("HTTP/1.1 200"));
    let (head, _) =
        service.ask_as("POST /api/now HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 405"), "{head}");
    for query in ["from=x", "points=0", "from=9&to=1"] {
        assert!(service.ask(&format!("/api/history?{query}")).0.starts_with("HTTP/1.1 400"), "{query}");
    }
}

/// The page's elements in a real browser, and what it said on its console.
pub fn visited(address: &str) -> Option<(String, String)> {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| which(name))?;
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"])
        .args(["--enable-logging=stderr", "--v=0", "--virtual-time-budget=10000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path().display()))
        .arg(address)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let console: String = text(&output.stderr).lines().filter(|line| is_of_a_page(line)).collect();
    Some((text(&output.stdout), console))
}

/// Whether a line of Chromium's is a message of the page, and not of one of its own.
fn is_of_a_page(line: &str) -> bool {
    line.contains(":CONSOLE") && !line.contains("source: chrome://")
}

fn which(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success())
}

#[test]
fn a_browser_draws_a_year_of_a_million_rows_and_says_nothing_on_its_console() {
    if !which("chromium") && !which("google-chrome") {
        return ontick_skip::skipped!("chromium is not installed");
    }
    // It measures as an ordinary thread.
    apart::keeps_no_cpu();
    let folder = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as u32;
    let row = |n: u32| Row {
        at: now - 31_000_000 + n / 10 * 310,
        series: SeriesId::Cpu((n % 10) as u16),
        samples: 6_000,
        p50_ns: 5_000,
        p99_ns: 9_000,
        max_ns: 20_000 + u64::from(n % 977) * 100,
        ..Row::default()
    };
    let mut rows = Rows::open(&folder.path().join("hours.rows")).unwrap();
    for part in 0..100 {
        rows.append(&(part * 10_000..(part + 1) * 10_000).map(row).collect::<Vec<_>>()).unwrap();
    }
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let service = Service::start(folder.path(), &["--policy", "other"]);
    let Some((dom, console)) = visited(&format!("http://{}/?still&span=31622400", service.address)) else { return };
    assert_eq!(console, "");
    let number = |mark: &str| dom.split(mark).nth(1).and_then(|rest| rest.split('"').next()?.parse::<u32>().ok());
    let (points, cells) = (number("data-points=\""), number("data-cells=\""));
    assert!(points > Some(1_000) && cells > Some(1_000), "{points:?} points, {cells:?} cells: {dom}");
    assert_eq!(number("data-drawn=\""), Some(1));
    assert!(dom.contains("the service began"), "{dom}");
}

#[test]
fn garbage_crowds_and_sleepers_do_not_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::start(&folder.path().join("state"), &[]);
    service.ask_as("\0\u{1}\u{2} nonsense\r\n\r\n");
    service.ask_as(&format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000)));
    // More than it takes, and none of them says anything.
    let crowd: Vec<_> = (0..400).filter_map(|_| TcpStream::connect(&service.address).ok()).collect();
    assert!(crowd.len() > 256);
    drop(crowd);
    let until = Instant::now() + Duration::from_secs(30);
    while service.ask("/api/now").1.is_empty() {
        assert!(Instant::now() < until, "it answers nobody any more");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// As many as are served at a time. No token lets them in, and still each is answered.
#[test]
fn those_that_ask_and_do_not_read_are_given_up_after_half_a_minute() {
    // It measures as an ordinary thread.
    apart::keeps_no_cpu();
    let folder = tempfile::tempdir().unwrap();
    let (token, socket) = (folder.path().join("token"), folder.path().join("watch.sock"));
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    let listen = format!("unix:{}", socket.display());
    let state = folder.path().join("state").display().to_string();
    let words = ["watch", "--state", &state, "--listen", &listen, "--token", token.to_str().unwrap()];
    let child =
        ontick(&[words.as_slice(), &["--every", "1s", "--policy", "other"]].concat()).stdout(Stdio::null()).spawn();
    let _service = Running(child.unwrap());
    wait_until("the socket of the page", || UnixStream::connect(&socket).is_ok());
    // More answers than a socket holds.
    let requests = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(4_000);
    let crowd: Vec<UnixStream> = (0..256)
        .map(|_| {
            let mut stream = UnixStream::connect(&socket).unwrap();
            stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
            let _ = stream.write_all(requests.as_bytes());
            stream
        })
        .collect();
    let answered = || {
        let mut stream = UnixStream::connect(&socket).unwrap();
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.starts_with("HTTP/1.1 401")
    };
    assert!(!answered(), "there is room beside the crowd");
    let until = Instant::now() + Duration::from_secs(100);
    while !answered() {
        assert!(Instant::now() < until, "it answers nobody any more");
        std::thread::sleep(Duration::from_secs(1));
    }
    drop(crowd);
}

#[test]
fn a_stream_goes_on_and_a_token_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let token = folder.path().join("token");
    std::fs::write(&token, "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o644)).unwrap();
    let words =
        ["watch", "--state", folder.path().join("x").to_str().unwrap(), "--listen", "0.0.0.0:0"].map(String::from);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let refused = run(&words);
    assert!(stderr(&refused).contains("can be reached from other machines"), "{}", stderr(&refused));
    let readable = run(&[words.as_slice(), &["--token", token.to_str().unwrap()]].concat());
    assert!(stderr(&readable).contains("others can read the token"), "{}", stderr(&readable));
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o620)).unwrap();
    let writable = run(&[words.as_slice(), &["--token", token.to_str().unwrap()]].concat());
    assert!(stderr(&writable).contains("can be written by others (mode 0620)"), "{}", stderr(&writable));
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&token, Some(65534), None).unwrap();
        let known = run(&[words.as_slice(), &["--token", token.to_str().unwrap()]].concat());
        assert!(stderr(&known).contains("belongs to another user (uid 65534)"), "{}", stderr(&known));
        std::os::unix::fs::chown(&token, Some(0), None).unwrap();
    }

    let service = Service::start(&folder.path().join("state"), &["--token", token.to_str().unwrap()]);
    assert!(service.ask("/").0.starts_with("HTTP/1.1 401"));
    let (head, _) = service.ask("/?token=0123456789abcdef");
    assert!(
        head.starts_with("HTTP/1.1 303") && head.contains("ontick_token=0123456789abcdef; Path=/; HttpOnly"),
        "{head}"
    );
    let mut stream = TcpStream::connect(&service.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream
        .write_all(b"GET /stream HTTP/1.1\r\nHost: localhost\r\nCookie: ontick_token=0123456789abcdef\r\n\r\n")
        .unwrap();
    let events = BufReader::new(stream).lines().map_while(Result::ok).filter_map(|line| {
        let json = line.strip_prefix("data: ")?;
        serde_json::from_str::<Value>(json).ok()
    });
    let ats: Vec<u64> = events.take(3).map(|now| now["at"].as_u64().unwrap()).collect();
    assert_eq!(ats.len(), 3);
}

/// It goes on, says so once, and says once that there is room again.
#[test]
fn a_full_disk_ends_nothing_and_is_reported_where_there_is_room_again() {
    // Where another test has the CPUs, nothing is measured and so nothing lost.
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; mkdir small; mount -t tmpfs -o size=64k,mode=755 none small; \
         ontick watch --state small --cycles 10 --every 10ms --interval 200us --duty 100% --policy other --quiet --duration 5s & \
         for n in $(seq 100); do [ -s small/totals.json.journal ] && break; sleep 0.1; done; \
         sleep 0.5; head -c 1000000 /dev/zero > small/all 2>/dev/null || true; sleep 2; rm small/all; \
         wait $! && echo status 0; cat small/events.jsonl; ontick report small/totals.json.journal",
        folder.path().display()
    );
    let Some(output) = with_mounts(&script) else { return };
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(text.starts_with("status 0\n"), "{text}{said}");
    // It was full when that was to be noted: what was lost meanwhile is noted afterwards.
    assert_eq!(text.matches("can be kept again").count(), 1, "{text}{said}");
    assert!(text.contains("the service ended") && text.contains("clock_nanosleep"), "{text}{said}");
}

/// What is kept stays, and what is measured meanwhile comes when there is room.
#[test]
fn it_begins_on_a_full_disk_too() {
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; mkdir small; mount -t tmpfs -o size=64k,mode=755 none small; \
         watch() {{ ontick watch --state small --cycles 10 --every 10ms --interval 200us --duty 100% --policy other --quiet \
         --duration $1; }}; \
         watch 1s; cp small/totals.json.journal before; head -c 1000000 /dev/zero > small/all 2>/dev/null || true; \
         watch 4s & sleep 2; cmp before small/totals.json.journal >&2; rm small/all; wait $! && echo status 0; \
         cat small/events.jsonl; ontick report small/totals.json.journal; ontick report before",
        folder.path().display()
    );
    let Some(output) = with_mounts(&script) else { return };
    let (text, said) = (stdout(&output), stderr(&output));
    assert!(output.status.success() && text.starts_with("status 0\n"), "{text}{said}");
    assert_eq!(text.matches("can be kept again").count(), 1, "{text}{said}");
    assert_eq!(text.matches("the service ended").count(), 2, "{text}{said}");
    assert!(!text.contains("damaged"), "{text}");
}

#[test]
fn what_cannot_be_is_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state").display().to_string();
    let asked = |more: &[&str]| {
        let output = run(&[&["watch", "--state", &state, "--duration", "1s"], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        let said = stderr(&output);
        assert_eq!(said.lines().count(), 1, "{more:?}: {said}");
        said
    };
    assert!(asked(&["--cpu", "900"]).contains("CPU 900 is not one that this program may use"));
    assert!(asked(&["--hours", "8-9"]).contains("write it as 22:00-06:00"));
    assert!(asked(&["--listen", "nowhere"]).contains("no address to listen on"));
    assert!(asked(&["--interval", "999ns"]).contains("the interval must be at least 1us"));
    assert!(asked(&["--interval", "1s", "--cycles", "1000"]).contains("takes 1000s: ask for a minute or less"));
    let open = folder.path().join("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    assert!(asked(&["--state", open.to_str().unwrap()]).contains("others own it or may write it"));
}
