//! A planned network in simulated time: how many frames a second of the wall clock, and what becomes of all of them.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use ontick_record::Run;
use ontick_tsn::planning::random::Random;
use ontick_units::show;

use crate::page::Table;
use crate::side::Job;

/// Switches, in a ring with as many chords.
const SWITCHES: u64 = 20;
const CHORD: u64 = 7;
const STATIONS: u64 = 80;
const STREAMS: u64 = 1_000;
const SIZES: [u64; 5] = [46, 64, 100, 200, 400];
const PERIODS_MS: [u64; 3] = [2, 4, 8];
/// A clock that drifts so fast is further than a sync-error of 1 us from the others within the run.
const DRIFT: &str = "clock-drift=s3:200ppm@10ms";

/// One run.
#[derive(Debug, Default)]
pub struct One {
    /// From the start of the program to its end.
    pub seconds: f64,
    /// Of streams, that talkers sent.
    pub frames: u64,
    /// On links, each on each of its links.
    pub hops: u64,
    pub simulated_ns: u64,
    pub clocks_apart_ns: u64,
    pub lost: u64,
    pub late: u64,
    /// Every requirement was met.
    pub met: bool,
}

/// All of it.
#[derive(Debug, Default)]
pub struct Figures {
    pub kept: One,
    pub drifting: One,
}

/// Plans the network, and runs it with clocks within its sync-error and beyond it.
pub fn measure(job: &Job, seconds: u64) -> Result<Figures, String> {
    let folder = tempfile::tempdir().map_err(|e| format!("network: {e}"))?;
    let (file, plan) = (folder.path().join("network.toml"), folder.path().join("plan.json"));
    std::fs::write(&file, network()).map_err(|e| format!("network: {e}"))?;
    let mut planning = Command::new(&job.ontick);
    planning.args(["network", "plan", "--target", "user"]).arg(&file).arg("--out").arg(&plan).stdin(Stdio::null());
    let planned = planning.output().map_err(|e| format!("{}: {e}", job.ontick.display()))?;
    if !planned.status.success() {
        return Err(format!("network: no plan: {}", String::from_utf8_lossy(&planned.stderr)));
    }
    let kept = prove(job, &file, &plan, &["--duration", &format!("{seconds}s")])?;
    let drifting = prove(job, &file, &plan, &["--duration", "1s", "--fault", DRIFT])?;
    Ok(Figures { kept, drifting })
}

fn prove(job: &Job, file: &Path, plan: &Path, more: &[&str]) -> Result<One, String> {
    let mut program = Command::new(&job.ontick);
    program.args(["network", "prove"]).arg(file).arg(plan).args(more).arg("--json").stdin(Stdio::null());
    let began = Instant::now();
    let output = program.stderr(Stdio::piped()).output().map_err(|e| format!("{}: {e}", job.ontick.display()))?;
    let seconds = began.elapsed().as_secs_f64();
    let run: Run = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("network: no record: {}", String::from_utf8_lossy(&output.stderr)))?;
    let met = output.status.success() && run.requirements.iter().all(|of| of.met);
    let network = run.network.ok_or("network: the record has no network")?;
    Ok(One {
        seconds,
        frames: network.frames,
        hops: network.hops,
        simulated_ns: network.duration_ns,
        clocks_apart_ns: network.clocks_apart_ns,
        lost: network.sum(|of| of.lost_frames),
        late: network.sum(|of| of.late),
        met,
    })
}

/// The file of the network: the same each time.
fn network() -> String {
    let mut chance = Random::new(5);
    let names =
        |prefix: &str, of: u64| (0..of).map(|n| format!("{{ name = \"{prefix}{n}\" }}")).collect::<Vec<_>>().join(", ");
    let mut text = format!(
        "network = {{ sync-error = \"1us\" }}\nswitch = [{}]\nstation = [{}]\nlink = [\n",
        names("s", SWITCHES),
        names("h", STATIONS)
    );
    let cable = |text: &mut String, a: String, b: String| {
        let _ = writeln!(text, "  {{ between = [\"{a}\", \"{b}\"] }},");
    };
    for n in 0..SWITCHES {
        cable(&mut text, format!("s{n}"), format!("s{}", (n + 1) % SWITCHES));
        cable(&mut text, format!("s{n}"), format!("s{}", (n + CHORD) % SWITCHES));
    }
    (0..STATIONS).for_each(|n| cable(&mut text, format!("h{n}"), format!("s{}", n % SWITCHES)));
    text.push_str("]\nstream = [\n");
    for n in 0..STREAMS {
        let from = chance.below(STATIONS);
        let to = (from + 1 + chance.below(STATIONS - 1)) % STATIONS;
        let size = SIZES[chance.below(SIZES.len() as u64) as usize];
        let period = PERIODS_MS[chance.below(PERIODS_MS.len() as u64) as usize];
        let _ = writeln!(
            text,
            "  {{ name = \"x{n}\", from = \"h{from}\", to = \"h{to}\", size = {size}, period = \"{period}ms\" }},"
        );
    }
    text.push_str("]\n");
    text
}

impl One {
    /// Frames on links for each second of the wall clock.
    pub fn rate(&self) -> f64 {
        self.hops as f64 / self.seconds
    }
}

impl Figures {
    pub fn table(&self) -> Table {
        let mut table = Table::new(&["what", "clocks within the sync-error", "a clock that drifts away"]);
        let Self { kept, drifting } = self;
        let mut row = |what: &str, of: fn(&One) -> String| table.row(vec![what.into(), of(kept), of(drifting)]);
        row("simulated time", |one| show(one.simulated_ns));
        row("from start to end", |one| format!("{:.1} s", one.seconds));
        row("frames of streams", |one| one.frames.to_string());
        row("frames on links", |one| one.hops.to_string());
        row("frames on links for each second of wall clock", |one| format!("{:.0}", one.rate()));
        row("clocks at most apart", |one| show(one.clocks_apart_ns));
        row("frames lost", |one| one.lost.to_string());
        row("messages late", |one| one.late.to_string());
        row("verdict", |one| if one.met { "holds".into() } else { "does not hold".into() });
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_network_can_be_read_and_no_stream_goes_to_itself() {
        let text = network();
        assert_eq!(text, network());
        assert_eq!(text.matches("between").count() as u64, 2 * SWITCHES + STATIONS);
        let streams: Vec<&str> = text.lines().filter(|line| line.contains("from = ")).collect();
        assert_eq!(streams.len() as u64, STREAMS);
        for line in streams {
            let words: Vec<&str> = line.split('"').collect();
            assert_ne!(words[3], words[5], "{line}");
        }
        ontick_tsn::network::read(&text).unwrap();
    }
}
