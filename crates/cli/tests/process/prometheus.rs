//! Prometheus as a judge: Debian's, and the present one where `packaging/prometheus --current` built it.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Running, has};

/// What users copy.
pub fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

/// A release whose programs are here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// Of the path: 2.42 in Debian 12.
    Distribution,
    /// 3.x, in this folder.
    Current(PathBuf),
}

impl Release {
    /// The one of the path.
    pub fn distribution() -> Option<Self> {
        (has("prometheus") && has("promtool")).then_some(Self::Distribution)
    }

    /// The present one.
    pub fn current() -> Option<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus-current");
        if !folder.join("promtool").is_file() {
            ontick_skip::skipped!("packaging/prometheus --current builds what this needs");
            return None;
        }
        Some(Self::Current(folder))
    }

    fn program(&self, name: &str) -> PathBuf {
        match self {
            Self::Distribution => name.into(),
            Self::Current(folder) => folder.join(name),
        }
    }

    /// What it says of metrics in its own text format.
    pub fn checks_metrics(&self, text: &str) -> Output {
        let mut promtool = Command::new(self.program("promtool"));
        promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut promtool = promtool.spawn().unwrap();
        promtool.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        promtool.wait_with_output().unwrap()
    }

    /// Runs a file of rules' tests in `deploy`.
    pub fn tests_rules(&self, file: &str) -> Output {
        let path = deploy().join("prometheus").join(file);
        Command::new(self.program("promtool")).args(["test", "rules"]).arg(path).output().unwrap()
    }
}

/// What a server does beside scraping the classic buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Nothing.
    Classic,
    /// It fetches native histograms in place of them.
    Native,
    /// It takes what is sent by OTLP; 3.x alone.
    Otlp,
}

/// A server that scrapes services every second.
pub struct Prometheus {
    _process: Running,
    port: u16,
    log: PathBuf,
}

impl Prometheus {
    /// With the rules and the configuration of `deploy`, but for the addresses; the folder is made.
    pub fn start(release: &Release, mode: Mode, folder: &Path, addresses: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self::start_on(port, release, mode, folder, addresses)
    }

    /// On this port.
    pub fn start_on(port: u16, release: &Release, mode: Mode, folder: &Path, addresses: &[&str]) -> Self {
        fs::create_dir_all(folder).unwrap();
        fs::copy(deploy().join("prometheus/ontick.rules.yml"), folder.join("ontick.rules.yml")).unwrap();
        let config = fs::read_to_string(deploy().join("prometheus/prometheus.yml")).unwrap();
        let mut config = config.replace("127.0.0.1:9119", &addresses.join("\", \"")).replace("15s", "1s");
        let mut more = Vec::new();
        match (mode, release) {
            (Mode::Classic, _) => {}
            (Mode::Native, Release::Distribution) => more.push("--enable-feature=native-histograms"),
            (Mode::Native, Release::Current(_)) => {
                let native = "scrape_native_histograms: true";
                assert!(config.contains(&format!("# {native}")), "{config}");
                config = config.replace(&format!("# {native}"), native);
            }
            (Mode::Otlp, _) => more.push("--web.enable-otlp-receiver"),
        }
        fs::write(folder.join("prometheus.yml"), config).unwrap();
        let log = folder.join("log");
        let mut prometheus = Command::new(release.program("prometheus"));
        prometheus
            .arg(format!("--config.file={}", folder.join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("data").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(["--web.console.templates=.", "--web.console.libraries=."])
            .args(more)
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log).unwrap());
        Self { _process: Running(prometheus.spawn().unwrap()), port, log }
    }

    /// The answer to a query, now.
    pub fn asked(&self, query: &str) -> Option<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        write!(stream, "GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: localhost\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
    }

    /// How many results a query has.
    pub fn found(&self, query: &str) -> Option<usize> {
        Some(self.asked(query)?["data"]["result"].as_array()?.len())
    }

    /// The number that a query comes to.
    pub fn number(&self, query: &str) -> f64 {
        let answer = self.asked(query).unwrap();
        let value = answer["data"]["result"][0]["value"][1].as_str();
        value.unwrap_or_else(|| panic!("{query}: {answer}")).parse().unwrap()
    }

    /// Waits until a query has at least so many results.
    pub fn has(&self, query: &str, results: usize) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.found(query).unwrap_or(0) < results {
            let log = || fs::read_to_string(&self.log).unwrap();
            assert!(Instant::now() < until, "{query}: {:?}\n{}", self.asked(query), log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}
