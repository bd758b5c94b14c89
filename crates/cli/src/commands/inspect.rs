//! `ontick inspect`

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ontick_measure::inspect::{self, Options, Select};
use ontick_record::inspection::Inspection;
use ontick_record::output_file;
use ontick_report::text;

use crate::failure::{Failure, Outcome};
use crate::launch::{Account, Observed};
use crate::{flags, stop, terminal};

/// Find what in a program breaks its own timing, worst first.
///
/// Records the events of the program's threads: page faults, system calls and how long they take, waits for locks
/// and who held them, waits by relative timers or on a clock that can be set, signals, changes of CPU; and looks at
/// scheduling policy and locked memory. Needs root for all of it; without, it says what is missing.
///
/// Threads with a real-time policy are inspected, or all where there is none. A thread's events count from the time of
/// --after on, which begins anew when its policy changes; if the thread ends, those after its last wait do not count.
///
/// COMMAND is started by ontick, as the user who called sudo, with the right to real-time priorities up to 98 and to
/// locked memory; when the time is over, it gets SIGTERM, and SIGKILL 2 s later. With --json its standard output goes
/// to standard error.
#[derive(Args)]
#[command(
    override_usage = "ontick inspect [OPTIONS] <PID|-- COMMAND>",
    after_help = "Examples:\n  sudo ontick inspect 4711\n  sudo ontick inspect --duration 30s --after 5s -- ./controller --port 3\n  sudo ontick inspect --thread servo --require clean --json $(pidof linuxcnc)"
)]
pub struct Inspect {
    /// The program, by the number of its process or of one of its threads
    #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..), required_unless_present = "command", conflicts_with = "command")]
    pid: Option<i32>,
    /// How long to observe it, unless it ends before
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = flags::time)]
    duration: u64,
    /// How much of each thread's beginning does not count
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = flags::time)]
    after: u64,
    /// Inspect only threads of this name or number; may be given several times
    #[arg(long, value_name = "NAME|TID", conflicts_with = "all_threads")]
    thread: Vec<String>,
    /// Inspect also threads without a real-time policy
    #[arg(long)]
    all_threads: bool,
    /// Exit with status 1 if anything is found, and with 3 if not all could be seen
    #[arg(long, value_name = "clean")]
    require: Option<Requirement>,
    /// Show also each thread's system calls, and the documentation behind each rule
    #[arg(long)]
    all: bool,
    /// Start COMMAND as root, also when called through sudo
    #[arg(long)]
    keep_root: bool,
    /// Write the result to this file, as JSON
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// A program to start, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What the program is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Requirement {
    /// Without anything that breaks its timing
    Clean,
}

impl Inspect {
    pub fn run(self) -> Result<Outcome, Failure> {
        if self.after >= self.duration {
            return Err(Failure::new("nothing would count: --duration must be longer than --after"));
        }
        if let Some(path) = &self.record {
            output_file::check_writable(path).map_err(Failure::new)?;
        }
        let stop = stop::on_signal()?;
        let started = if self.command.is_empty() { None } else { Some(self.start()?) };
        let pid = started.as_ref().map(Observed::pid).or(self.pid).unwrap_or_default();
        let options = Options {
            duration: Duration::from_nanos(self.duration),
            after: Duration::from_nanos(self.after),
            select: match (self.all_threads, self.thread.is_empty()) {
                (true, _) => Select::All,
                (false, true) => Select::RealTime,
                (false, false) => Select::Named(self.thread.clone()),
            },
        };
        let found = inspect::inspect(pid, &options, || stop.load(Relaxed)).map_err(Failure::new);
        drop(started);
        let found = found?;
        let json = serde_json::to_string_pretty(&found)? + "\n";
        if let Some(path) = &self.record {
            output_file::write_whole(path, json.as_bytes()).map_err(Failure::new)?;
        }
        terminal::print(&if self.json { json } else { text::inspection(&found, self.all, &terminal::style()) })?;
        Ok(self.outcome(&found))
    }

    fn start(&self) -> Result<Observed, Failure> {
        let program = self.command[0].to_string_lossy().into_owned();
        let user = if self.keep_root { None } else { Account::behind_sudo()? };
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        if self.json {
            command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        }
        Observed::start(command, user).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Failure::new(format!("{program}: there is no such program")).with_status(127),
            io::ErrorKind::PermissionDenied => {
                Failure::new(format!("{program}: it may not be run (is it executable?)")).with_status(126)
            }
            _ => Failure::new(format!("{program}: {error}")).with_status(126),
        })
    }

    fn outcome(&self, found: &Inspection) -> Outcome {
        match self.require {
            None => Outcome::Met,
            Some(Requirement::Clean) if !found.is_clean() => Outcome::NotMet,
            // What was not seen is not clean.
            Some(Requirement::Clean) if found.is_whole() => Outcome::Met,
            Some(Requirement::Clean) => Outcome::NotProven,
        }
    }
}
