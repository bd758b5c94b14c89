//! Killed at any system call that may change something, a command leaves the machine as it was, or the way back whole.
//!
//! `make test` kills each command at a few of its calls; `make campaign` at every one, and adds a line per command to the
//! file that `ONTICK_CAMPAIGN` names (docs/endurance.md).

mod calls;
mod folders;
mod networks;
mod this_machine;

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::{stderr, stdout};
use calls::{Call, calls_of, killed_at};

/// Calls at which a command is killed by `make test`, spread over all of them.
const A_FEW: usize = 4;
/// Guardians may take so long to put things back.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command that changes something.
trait Trial {
    /// As the table names it.
    fn name(&self) -> String;
    /// Brings about what the command finds: from the state before all.
    fn prepare(&self) {}
    /// The command's words.
    fn words(&self) -> Vec<String>;
    /// Runs a command where this is.
    fn run(&self, command: &mut Command) -> Output {
        command.output().expect("the program starts")
    }
    /// What somebody does who finds the command killed.
    fn go_back(&self) -> Result<(), String>;
    /// All that the command may change, as text.
    fn state(&self) -> String;
}

/// Kills the command at its calls, one try each.
fn campaign(trial: &dyn Trial) {
    let before = trial.state();
    trial.prepare();
    let Some(calls) = calls_of(trial) else { return };
    trial.go_back().unwrap_or_else(|why| panic!("{}, not killed at all: {why}", trial.name()));
    assert!(is_soon(&before, trial), "{}, not killed at all: {}", trial.name(), difference(&before, &trial.state()));
    let file = std::env::var_os("ONTICK_CAMPAIGN");
    let tried = if file.is_some() { calls.clone() } else { spread(&calls) };
    let (mut killed, mut failed) = (0, Vec::new());
    for call in &tried {
        trial.prepare();
        killed += usize::from(killed_at(trial, call));
        let back = trial.go_back();
        if !is_soon(&before, trial) {
            failed.push(format!("{call}: {}", difference(&before, &trial.state())));
            break;
        }
        failed.extend(back.err().map(|why| format!("{call}: {why}")));
    }
    if let Some(path) = file {
        let restored = tried.len() - failed.len();
        let line =
            [trial.name(), calls.len().to_string(), killed.to_string(), restored.to_string(), failed.len().to_string()];
        let mut file = OpenOptions::new().append(true).create(true).open(path).expect("the campaign's file");
        writeln!(file, "{}", line.join("\t")).expect("the campaign's file");
    }
    assert!(failed.is_empty(), "{}: {failed:#?}", trial.name());
    // One that waits makes its last calls in some runs only.
    assert!(killed * 4 >= tried.len(), "{}: killed at {killed} of {} calls only", trial.name(), tried.len());
}

/// First, last, and as many between them.
fn spread(calls: &[Call]) -> Vec<Call> {
    let few = A_FEW.min(calls.len());
    (0..few).map(|n| calls[n * (calls.len() - 1) / (few - 1).max(1)].clone()).collect()
}

/// Waits for what the command's guardians put back.
fn is_soon(before: &str, trial: &dyn Trial) -> bool {
    let began = Instant::now();
    while trial.state() != before {
        if began.elapsed() > PATIENCE {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    true
}

fn difference(before: &str, after: &str) -> String {
    let lines = |of: &str, other: &str, mark: &str| -> Vec<String> {
        let there: std::collections::HashSet<&str> = other.lines().collect();
        of.lines().filter(|line| !there.contains(line)).map(|line| format!("{mark}{line}")).collect()
    };
    [lines(before, after, "-"), lines(after, before, "+")].concat().join("\n")
}

/// A command of ontick that must succeed.
fn succeeds(trial: &dyn Trial, words: &[impl AsRef<str> + Display]) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ontick"));
    command.args(words.iter().map(AsRef::as_ref)).stdin(Stdio::null());
    let output = trial.run(&mut command);
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}{}", words.join(" "), stdout(&output), stderr(&output))),
    }
}

fn words(of: &[&str]) -> Vec<String> {
    of.iter().map(|word| (*word).to_owned()).collect()
}
