//! A file from one process to another over two simulated wires, and whether it is the same at the other end.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ontick_measure::Load;

use crate::child::{self, Words};
use crate::page::Table;
use crate::side::Job;
use crate::versus::load_name;

/// The fastest setting that held on the machine of docs/benchmarks.md.
const FASTEST: &str = "--code 4x4 --short 400ns --step 400ns --parity 20";
/// A receiver whose sender has ended waits no longer than this for more.
const PATIENCE: Duration = Duration::from_secs(30);

/// One transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// As goals call it.
    pub name: &'static str,
    /// Of both ends.
    code: &'static str,
    /// Of the receiver.
    by: &'static str,
    /// Pulses that both wires swallow.
    loss: &'static str,
    /// Length of the file.
    bytes: u64,
}

/// How much is moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// At the fastest setting, under all loads together.
    pub fast: u64,
    /// At source 002's setting, and with pulses missing.
    pub slow: u64,
}

pub const FAST: &str = "fastest setting";
pub const SOURCE: &str = "source 002's widths, pulses and gaps of two";
pub const SOURCE_DENSE: &str = "source 002's widths, four of each between them";
pub const MISSING: &str = "1 % of the pulses missing, both ways";

/// What is run under a load: everything idle, and under that which a link must bear the longest of all.
pub fn cases(load: &str, size: Size) -> Vec<Case> {
    let fast = |bytes| Case { name: FAST, code: FASTEST, by: "poll", loss: "0", bytes };
    let slow = |name, code, loss| Case { name, code, by: "interrupt", loss, bytes: size.slow };
    match load {
        "idle" => vec![
            fast(size.fast / 5),
            slow(SOURCE, "--code 2x2 --short 100us", "0"),
            slow(SOURCE_DENSE, "--code 4x4 --short 100us --step 33.333us", "0"),
            slow(MISSING, "--code 4x4 --short 20us --step 10us --parity 100", "1%"),
        ],
        "cpu" => vec![fast(size.fast / 5 * 4)],
        _ => Vec::new(),
    }
}

/// What came of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// Which.
    pub name: &'static str,
    /// As the tables call the load.
    pub load: String,
    /// Bytes sent.
    pub bytes: u64,
    /// Bytes that arrived.
    pub arrived: u64,
    /// Of those, how many were not those that were sent there.
    pub wrong: u64,
    /// From the sender's start to the receiver's end.
    pub took: Duration,
    /// What the two ends said last.
    pub said: [String; 2],
}

impl Moved {
    /// Bits of the file per second.
    pub fn rate(&self) -> f64 {
        self.arrived as f64 * 8.0 / self.took.as_secs_f64()
    }

    /// Whether the file is the same at the other end.
    pub fn identical(&self) -> bool {
        self.arrived == self.bytes && self.wrong == 0
    }
}

/// The commands of a case: the wires, the receiver, the sender.
pub fn commands(job: &Job, case: &Case, file: &str) -> [Words; 4] {
    let (ontick, chip) = (job.ontick.display(), chip());
    let Case { code, by, loss, .. } = case;
    let patience = PATIENCE.as_secs();
    let loss = if *loss == "0" { String::new() } else { format!(" --loss {loss}") };
    [
        format!("{ontick} gpio wire {chip}/4 {chip}/17{loss}"),
        format!("{ontick} gpio wire {chip}/5 {chip}/18{loss}"),
        format!(
            "{ontick} link recv --method {by} --input {chip}/17 --return-output {chip}/5 {code} --timeout {patience}s"
        ),
        format!(
            "{ontick} link send --output {chip}/4 --return-input {chip}/18 {code} --timeout {patience}s --file {file}"
        ),
    ]
    .map(|line| line.split(' ').map(String::from).collect())
}

fn chip() -> String {
    format!("sim:bench-link-{}", std::process::id())
}

/// Moves the files of all cases of a load.
pub fn measure(job: &Job, load: &Load, size: Size) -> Result<Vec<Moved>, String> {
    let name = load_name(load);
    let cases = cases(&name, size);
    if cases.is_empty() {
        return Ok(Vec::new());
    }
    let running = load.start().map_err(|e| e.to_string())?;
    let all = cases.iter().map(|case| {
        println!("    {name}: {}, {} bytes", case.name, case.bytes);
        let moved = one(job, case, name.clone());
        // A wire of the next case is a new one, whose edges count from 0.
        let _ = child::run(&[job.ontick.display().to_string(), "gpio".into(), "remove".into(), chip()]);
        moved
    });
    let all = all.collect();
    match running.ended() {
        Some(status) => Err(format!("the load {name} ended before the transfer did ({status})")),
        None => all,
    }
}

fn one(job: &Job, case: &Case, load: String) -> Result<Moved, String> {
    let fail = |error: std::io::Error| format!("link: {error}");
    let folder = tempfile::tempdir().map_err(fail)?;
    let (sent, came) = (folder.path().join("sent"), folder.path().join("came"));
    std::fs::write(&sent, noise(case.bytes)).map_err(fail)?;
    let [first, second, receive, send] = &commands(job, case, &sent.display().to_string());
    child::run(first)?;
    child::run(second)?;

    let mut receiver = End::start(receive, File::create(&came).map_err(fail)?.into())?;
    receiver.listens()?;
    let began = Instant::now();
    // Half of the least rate that is wanted, and a start.
    let end = began + Duration::from_secs(60 + case.bytes * 8 / if case.name == FAST { 200_000 } else { 2_000 });
    let mut sender = End::start(send, Stdio::null())?;
    sender.wait_until(end).map_err(fail)?;
    let patience = Instant::now() + PATIENCE + Duration::from_secs(5);
    let ended = receiver.wait_until(patience).map_err(fail)?;
    let took = ended.saturating_duration_since(began);
    let (arrived, wrong) = compare(&sent, &came).map_err(fail)?;
    let said = [sender.said(), receiver.said()];
    Ok(Moved { name: case.name, load, bytes: case.bytes, arrived, wrong, took, said })
}

/// One end, killed if nobody waits for it any more.
struct End {
    child: Child,
    errors: BufReader<std::process::ChildStderr>,
}

impl End {
    fn start(words: &[String], stdout: Stdio) -> Result<Self, String> {
        let fail = |error: std::io::Error| format!("{}: {error}", words[0]);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
        child::end_with_this_process(&mut command);
        let mut child = command.spawn().map_err(fail)?;
        let errors = child.stderr.take().ok_or("no standard error")?;
        Ok(Self { child, errors: BufReader::new(errors) })
    }

    fn listens(&mut self) -> Result<(), String> {
        let mut line = String::new();
        while !line.starts_with("Listening on ") {
            line.clear();
            if self.errors.read_line(&mut line).map_err(|e| e.to_string())? == 0 {
                return Err("ontick link recv ended before it listened (try it by hand)".into());
            }
        }
        Ok(())
    }

    /// When it ended; it is killed at this time.
    fn wait_until(&mut self, end: Instant) -> std::io::Result<Instant> {
        while self.child.try_wait()?.is_none() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.kill()?;
        self.child.wait()?;
        Ok(Instant::now())
    }

    /// Its last words. It must have ended.
    fn said(&mut self) -> String {
        let lines = self.errors.by_ref().lines().map_while(Result::ok);
        lines.filter(|line| !line.is_empty()).last().unwrap_or_else(|| "it was ended, as its time was over".into())
    }
}

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Bytes that came, and how many of them are wrong.
fn compare(sent: &Path, came: &Path) -> std::io::Result<(u64, u64)> {
    let (sent, came) = (std::fs::read(sent)?, std::fs::read(came)?);
    let differ = sent.iter().zip(&came).filter(|(a, b)| a != b).count() + came.len().saturating_sub(sent.len());
    Ok((came.len() as u64, differ as u64))
}

/// Bytes without a pattern (xorshift64; Marsaglia 2003).
fn noise(length: u64) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let bytes = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    });
    bytes.take(length as usize).collect()
}

/// One row for each transfer.
pub fn table(all: &[Moved]) -> Table {
    let mut table = Table::new(&["transfer", "load", "bytes", "arrived", "wrong", "time", "rate (simulated)"]);
    for moved in all {
        let counts = [moved.bytes, moved.arrived, moved.wrong].map(|n| n.to_string());
        let figures = [format!("{:.1} s", moved.took.as_secs_f64()), rate(moved.rate())];
        table.row([moved.name.into(), moved.load.clone()].into_iter().chain(counts).chain(figures));
    }
    table
}

/// Thousands of bits per second.
pub fn rate(bits_per_s: f64) -> String {
    format!("{:.1} kb/s", bits_per_s / 1e3)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub fn moved_of(name: &'static str, load: &str, kilobits_per_s: u64, wrong: u64) -> Moved {
        let bytes = kilobits_per_s * 1_000 / 8;
        let (load, took, said) = (load.into(), Duration::from_secs(1), [String::new(), String::new()]);
        Moved { name, load, bytes, arrived: bytes, wrong, took, said }
    }

    #[test]
    fn what_differs_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&a, b"abcdef").unwrap();
        for (came, arrived, wrong) in [("abcdef", 6, 0), ("abc", 3, 0), ("aXc", 3, 1), ("abcdefgh", 8, 2)] {
            std::fs::write(&b, came).unwrap();
            assert_eq!(compare(&a, &b).unwrap(), (arrived, wrong), "{came}");
        }
    }

    #[test]
    fn a_hundred_million_bits_are_sent_in_all() {
        let size = Size { fast: 12_500_000, slow: 1 };
        let fast = |load| cases(load, size).iter().filter(|case| case.name == FAST).map(|case| case.bytes).sum::<u64>();
        assert_eq!(fast("cpu"), 10_000_000);
        assert_eq!((fast("idle") + fast("cpu")) * 8, 100_000_000);
        assert_eq!(["idle", "cpu", "all"].map(|load| cases(load, size).len()), [4, 1, 0]);
    }

    #[test]
    fn less_than_all_is_not_the_same() {
        let whole = moved_of(FAST, "idle", 400, 0);
        assert!(whole.identical() && whole.rate() == 400_000.0);
        assert!(!Moved { arrived: 1, ..whole.clone() }.identical() && !Moved { wrong: 1, ..whole }.identical());
    }
}
