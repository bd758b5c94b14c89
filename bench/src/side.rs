//! The programs that stand against each other, each given the same job.

use std::path::{Path, PathBuf};

use ontick_record::{Run, import, store};

use crate::child::Words;

/// Samples above this have no row in cyclictest's histogram; its maximum is exact all the same.
const HISTOGRAM_US: u32 = 100_000;

/// One way of doing the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// `ontick latency timer`: hybrid wait, phase of its own choice.
    Ontick,
    /// cyclictest, its phase left to chance as it comes.
    Cyclictest,
    /// cyclictest at the phase that ontick chose.
    CyclictestPhased,
    /// jitterdebugger; its phase cannot be chosen.
    Jitterdebugger,
}

/// What ontick is compared with.
pub const PEERS: [Side; 3] = [Side::Cyclictest, Side::CyclictestPhased, Side::Jitterdebugger];

/// What every side is asked to do.
#[derive(Debug, Clone)]
pub struct Job {
    /// The ontick to measure.
    pub ontick: PathBuf,
    /// CPU of the timed thread.
    pub cpu: u32,
    /// SCHED_FIFO priority.
    pub priority: u8,
    /// Period, in ns; whole microseconds.
    pub interval_ns: u64,
    /// Duration, in ns; whole seconds.
    pub duration_ns: u64,
}

impl Job {
    /// The command that runs the ontick to measure with these words.
    pub fn command(&self, line: &str) -> Words {
        std::iter::once(self.ontick.display().to_string()).chain(line.split_whitespace().map(String::from)).collect()
    }
}

impl Side {
    /// As the tables call it.
    pub fn name(self) -> &'static str {
        match self {
            Side::Ontick => "ontick",
            Side::Cyclictest => "cyclictest",
            Side::CyclictestPhased => "cyclictest, same phase",
            Side::Jitterdebugger => "jitterdebugger",
        }
    }

    /// Where a peer's histogram ends, in ns.
    pub fn rows_end_ns(self) -> u64 {
        match self {
            Side::Ontick => u64::MAX,
            Side::Cyclictest | Side::CyclictestPhased => u64::from(HISTOGRAM_US) * 1_000,
            Side::Jitterdebugger => 1_000_000,
        }
    }

    /// The command that does the job and leaves its result in `folder` or on its output.
    pub fn command(self, job: &Job, phase_ns: u64, folder: &Path) -> Words {
        let (cpu, priority) = (job.cpu, job.priority);
        let (interval_us, seconds) = (job.interval_ns / 1_000, job.duration_ns / 1_000_000_000);
        let line = match self {
            Side::Ontick => format!(
                "latency timer --method hybrid --phase auto --interval {interval_us}us --duration {seconds}s --cpu {cpu} --policy fifo:{priority} --json"
            ),
            Side::Cyclictest | Side::CyclictestPhased => {
                let phase = match self {
                    Side::CyclictestPhased => format!(" --secaligned={}", phase_ns / 1_000),
                    _ => String::new(),
                };
                format!("-m -a {cpu} -t1 -p{priority} -i {interval_us} -D {seconds} -h {HISTOGRAM_US} -q{phase}")
            }
            Side::Jitterdebugger => format!("-a {cpu} -p {priority} -i {interval_us} -D {seconds}s"),
        };
        let file = |name: &str| folder.join(name).display().to_string();
        let mut words = vec![self.program(job)];
        words.extend(line.split_whitespace().map(String::from));
        match self {
            Side::Ontick => {}
            Side::Cyclictest | Side::CyclictestPhased => words.push(format!("--json={}", file("cyclictest.json"))),
            Side::Jitterdebugger => words.extend(["-o".into(), file("jitterdebugger")]),
        }
        words
    }

    fn program(self, job: &Job) -> String {
        match self {
            Side::Ontick => job.ontick.display().to_string(),
            Side::Cyclictest | Side::CyclictestPhased => "cyclictest".into(),
            Side::Jitterdebugger => "jitterdebugger".into(),
        }
    }

    /// The run that the command left: one series.
    pub fn result(self, stdout: &str, folder: &Path) -> Result<Run, String> {
        let imported = |name: &str| {
            let path = folder.join(name);
            let text = store::read_text(&path).map_err(|e| e.to_string())?;
            import::read(&text, name, None).map_err(|e| format!("{}'s result: {e}", self.name()))
        };
        let run = match self {
            Side::Ontick => store::parse(stdout).map_err(|e| format!("ontick's result: {e}")),
            Side::Cyclictest | Side::CyclictestPhased => imported("cyclictest.json"),
            Side::Jitterdebugger => imported("jitterdebugger/results.json"),
        }?;
        match run.series.len() {
            1 => Ok(run),
            n => Err(format!("{}'s result has {n} series where one was measured", self.name())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> Job {
        Job { ontick: "ontick".into(), cpu: 3, priority: 98, interval_ns: 1_000_000, duration_ns: 5_000_000_000 }
    }

    #[test]
    fn every_side_gets_the_same_job() {
        let line = |side: Side| side.command(&job(), 417_900, Path::new("/r")).join(" ");
        assert_eq!(
            line(Side::Ontick),
            "ontick latency timer --method hybrid --phase auto --interval 1000us --duration 5s --cpu 3 --policy fifo:98 --json"
        );
        assert_eq!(
            line(Side::Cyclictest),
            "cyclictest -m -a 3 -t1 -p98 -i 1000 -D 5 -h 100000 -q --json=/r/cyclictest.json"
        );
        assert_eq!(
            line(Side::CyclictestPhased),
            "cyclictest -m -a 3 -t1 -p98 -i 1000 -D 5 -h 100000 -q --secaligned=417 --json=/r/cyclictest.json"
        );
        assert_eq!(line(Side::Jitterdebugger), "jitterdebugger -a 3 -p 98 -i 1000 -D 5s -o /r/jitterdebugger");
    }

    #[test]
    fn a_result_that_is_not_there_is_an_error() {
        let nowhere = Path::new("/no/such/folder");
        for side in PEERS {
            assert!(side.result("", nowhere).unwrap_err().contains("/no/such/folder"));
        }
        assert!(Side::Ontick.result("{}", nowhere).unwrap_err().contains("ontick's result"));
    }
}
