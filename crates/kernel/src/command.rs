//! Other programs, run one at a time: their lines as they come, their last words if they fail, ended when asked to.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

/// How often it is looked whether somebody asked to end.
const LOOK: Duration = Duration::from_millis(100);
/// Last words that are kept.
const KEPT: usize = 400;

/// Why a program did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// It is not there, or may not be run.
    #[error("{program} cannot be started: {reason}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        reason: std::io::Error,
    },
    /// It ended with an error.
    #[error("{what} failed: {why}")]
    Failed {
        /// What was done.
        what: String,
        /// What it said of that, in one line.
        why: String,
        /// The end of all that it said.
        said: Vec<String>,
    },
    /// Somebody asked to end.
    #[error("interrupted")]
    Interrupted,
}

/// Runs a program to its end. Each line that it prints goes to `line`; `stop` ends it with all that it started.
pub fn run(
    what: &str,
    command: &mut Command,
    stop: &AtomicBool,
    line: &mut dyn FnMut(&str),
) -> Result<(), CommandError> {
    let program = command.get_program().to_string_lossy().into_owned();
    // A group of its own: make and its compilers end together.
    let started = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn();
    let mut child = started.map_err(|reason| CommandError::Start { program, reason })?;
    let (sender, lines) = channel();
    let readers = [
        child.stdout.take().map(|out| read_lines(out, sender.clone())),
        child.stderr.take().map(|err| read_lines(err, sender)),
    ];
    let mut said = Vec::new();
    let mut ended = false;
    loop {
        match lines.recv_timeout(LOOK) {
            Ok(text) => {
                line(&text);
                said.push(text);
                if said.len() > 2 * KEPT {
                    said.drain(..KEPT);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if stop.load(Relaxed) && !ended {
            ended = true;
            end_group(child.id());
        }
    }
    readers.into_iter().flatten().for_each(|reader| drop(reader.join()));
    let status = child.wait().map_err(|reason| CommandError::Start { program: what.into(), reason })?;
    match () {
        () if stop.load(Relaxed) => Err(CommandError::Interrupted),
        () if status.success() => Ok(()),
        () => Err(CommandError::Failed { what: what.into(), why: reason(&said, &status.to_string()), said }),
    }
}

/// What a program prints, all of it.
pub fn output(what: &str, command: &mut Command) -> Result<String, CommandError> {
    let mut text = String::new();
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output().map_err(|reason| CommandError::Start { program, reason })?;
    text.push_str(&String::from_utf8_lossy(&output.stdout));
    match output.status.success() {
        true => Ok(text),
        false => {
            let said: Vec<String> = String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect();
            let why = reason(&said, &output.status.to_string());
            Err(CommandError::Failed { what: what.into(), why, said })
        }
    }
}

fn end_group(leader: u32) {
    let group = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // Gone already is fine.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
    }
}

fn read_lines(from: impl Read + Send + 'static, to: Sender<String>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        while matches!(from.read_until(b'\n', &mut bytes), Ok(1..)) {
            let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            bytes.clear();
            if to.send(text).is_err() {
                return;
            }
        }
    })
}

/// The line that says most: the first that names an error, or else the last.
fn reason(said: &[String], status: &str) -> String {
    let names_one = |line: &&String| {
        let line = line.to_lowercase();
        (line.contains("error:") || line.contains("error ") || line.contains("***") || line.contains("fatal"))
            && !line.contains("errors.c")
    };
    // make's own last line only repeats that something failed.
    let first = said.iter().filter(|line| !line.starts_with("make")).find(names_one);
    let found = first.or_else(|| said.iter().find(names_one)).or_else(|| said.iter().rfind(|l| !l.is_empty()));
    found.map_or_else(|| status.to_owned(), |line| line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn lines_come_and_a_failure_says_why() {
        let stop = AtomicBool::new(false);
        let mut seen = Vec::new();
        run("it", &mut shell("echo one; echo two"), &stop, &mut |line| seen.push(line.to_owned())).unwrap();
        assert_eq!(seen, ["one", "two"]);
        let failed = run(
            "making it",
            &mut shell("echo CC x.o; echo 'x.c:3: error: no such thing' >&2; echo 'make: *** [x] Error 1' >&2; exit 2"),
            &stop,
            &mut |_| {},
        );
        assert_eq!(failed.unwrap_err().to_string(), "making it failed: x.c:3: error: no such thing");
        let absent = run("it", &mut Command::new("/nowhere/make"), &stop, &mut |_| {}).unwrap_err();
        assert!(absent.to_string().starts_with("/nowhere/make cannot be started"), "{absent}");
    }

    #[test]
    fn who_is_asked_to_end_ends_with_all_that_he_started() {
        let stop = AtomicBool::new(false);
        let mut child = String::new();
        let ended = run("it", &mut shell("sleep 1000 & echo $!; wait"), &stop, &mut |line| {
            child = line.to_owned();
            stop.store(true, Relaxed);
        });
        assert!(matches!(ended, Err(CommandError::Interrupted)));
        // It closed its output; the last of it may take the kernel another moment.
        let ended = || {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat"));
            stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ") || stat.contains(") X "))
        };
        let began = std::time::Instant::now();
        while !ended() {
            assert!(began.elapsed() < Duration::from_secs(60), "sleep still runs");
            thread::sleep(Duration::from_millis(5));
        }
    }
}
