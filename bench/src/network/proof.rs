//! The example of four switches, proven with real frames.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use ontick_record::Run;
use ontick_units::show;

use crate::page::Table;
use crate::side::Job;

const NETWORK: &str = include_str!("../../../crates/network/examples/four_switches.toml");

/// What was seen.
#[derive(Debug, Default)]
pub struct Figures {
    /// From the start of the program to its end.
    pub seconds: f64,
    /// Streams at their listeners that were reported.
    pub streams: usize,
    pub missing: u64,
    pub counted: u64,
    /// Whether every loss was counted.
    pub accounted: bool,
    pub sent: u64,
    pub late: u64,
    pub outside: u64,
    pub per_switch: [Option<u64>; 3],
    pub max_ns: Option<u64>,
}

/// The command.
pub fn command(job: &Job, file: &Path) -> Vec<String> {
    let words =
        ["network", "prove", &file.display().to_string(), "--in", "namespaces", "--duration", "10s"].map(String::from);
    let cpu = ["--cpu".into(), job.cpu.to_string()];
    [job.ontick.display().to_string()].into_iter().chain(words).chain(cpu).collect()
}

/// Runs it.
pub fn measure(job: &Job) -> Result<Figures, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("network: {e}"))?;
    let file = folder.path().join("four_switches.toml");
    std::fs::write(&file, NETWORK).map_err(|e| format!("network: {e}"))?;
    let words = command(job, &file);
    let began = Instant::now();
    let mut program = Command::new(&words[0]);
    program.args(&words[1..]).arg("--json").stdin(Stdio::null()).stderr(Stdio::piped());
    let output = program.output().map_err(|e| format!("{}: {e}", words[0]))?;
    let seconds = began.elapsed().as_secs_f64();
    let run: Run = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{}: {}", words.join(" "), String::from_utf8_lossy(&output.stderr)))?;
    let network = run.network.ok_or("network: the record has no network")?;
    let emulation = network.emulation.clone().unwrap_or_default().per_switch;
    let accounted = run.requirements.iter().any(|of| of.requirement == "every lost frame is counted" && of.met);
    Ok(Figures {
        seconds,
        streams: network.streams.iter().filter(|of| of.received > 0).count(),
        missing: network.sum(|of| of.lost_frames),
        counted: network.dropped.iter().map(|of| of.frames).sum(),
        accounted,
        sent: network.sum(|of| of.sent),
        late: network.sum(|of| of.late),
        outside: network.sum(|of| of.outside_window),
        per_switch: [emulation.quantile(0.5), emulation.quantile(0.99), emulation.max_ns],
        max_ns: network.streams.iter().filter_map(|of| of.max_ns).max(),
    })
}

impl Figures {
    pub fn table(&self) -> Table {
        let time = |ns: Option<u64>| ns.map_or("—".into(), show);
        let mut table = Table::new(&["what", "figure"]);
        let [p50, p99, max] = self.per_switch.map(time);
        table.row(vec!["from start to end".into(), format!("{:.1} s", self.seconds)]);
        table.row(vec!["messages sent, each to each of its listeners".into(), self.sent.to_string()]);
        table.row(vec![
            "frames that did not come, and that were counted".into(),
            format!("{} and {}", self.missing, self.counted),
        ]);
        table.row(vec!["messages late".into(), self.late.to_string()]);
        table.row(vec!["messages outside of their window".into(), self.outside.to_string()]);
        table.row(vec!["for a switch, gates open: p50, p99, max".into(), format!("{p50}, {p99}, {max}")]);
        table.row(vec!["longest latency".into(), time(self.max_ns)]);
        table
    }
}
