//! `lldpcli`, which asks the lldpd of this machine.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_switch::apply::quoted::quoted;
use ontick_undo::program;

use super::answer::{self, AnswerError, Heard, Listening};

const LLDPCLI: &str = "lldpcli";
/// Where it is for users whose PATH leaves system programs out.
const SYSTEM: &str = "/usr/sbin/lldpcli";
/// lldpd answers in milliseconds; on a machine with other work it may take longer.
const ANSWER: Duration = Duration::from_secs(5);
/// All neighbours of a thousand ports, in many words.
const LONGEST: u64 = 16 << 20;

/// lldpd could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// lldpd is not here.
    #[error(
        "the program lldpcli is not installed: it is in the package lldpd, whose daemon hears who is at the other end \
         of each cable"
    )]
    Missing,
    /// lldpcli is not started.
    #[error("lldpcli cannot be started: {0}")]
    Start(io::Error),
    /// Nobody is at the socket.
    #[error("lldpd does not run{}", at(.0))]
    NotRunning(Option<PathBuf>),
    /// The socket is another user's.
    #[error("lldpd's socket{} is not open to the user that lldpcli runs as", named(.0))]
    Permission(Option<PathBuf>),
    /// It fails for another reason, quoted.
    #[error("lldpd cannot be asked: {0}")]
    Failed(String),
    /// It hangs.
    #[error("lldpd does not answer within {} s", .0.as_secs())]
    Silent(Duration),
    /// It answers more than any machine has ports for.
    #[error("lldpcli's answer is longer than {} MiB", LONGEST >> 20)]
    TooLong,
    /// Its answer cannot be read.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

fn at(socket: &Option<PathBuf>) -> String {
    socket.as_ref().map(|socket| format!(" at {}", socket.display())).unwrap_or_default()
}

fn named(socket: &Option<PathBuf>) -> String {
    socket.as_ref().map(|socket| format!(" {}", socket.display())).unwrap_or_default()
}

/// Asks the lldpd of this socket, or of its usual one, where it listens and whom it hears.
pub fn ask(socket: Option<&Path>) -> Result<(Listening, Vec<Heard>), AskError> {
    let listening = answer::listening(&show(socket, &["interfaces"])?)?;
    // With those that it hides: where protocols are many it keeps the one with the fewest neighbours.
    let heard = answer::neighbours(&show(socket, &["neighbors", "details", "hidden"])?)?;
    Ok((listening, heard))
}

fn show(socket: Option<&Path>, what: &[&str]) -> Result<Vec<u8>, AskError> {
    let mut command = lldpcli()?;
    if let Some(socket) = socket {
        command.arg("-u").arg(socket);
    }
    command.args(["-f", "json0", "show"]).args(what);
    let (status, printed, said) = run(&mut command, ANSWER)?;
    if printed.len() as u64 > LONGEST {
        return Err(AskError::TooLong);
    }
    let said = String::from_utf8_lossy(&said);
    let socket = || socket.map(Path::to_owned);
    // It fails without a word of JSON, and says why.
    match () {
        () if status.success() => Ok(printed),
        () if said.contains("Permission denied") => Err(AskError::Permission(socket())),
        () if ["No such file", "Connection refused"].iter().any(|why| said.contains(why)) => {
            Err(AskError::NotRunning(socket()))
        }
        () => Err(AskError::Failed(quoted(LLDPCLI, &without_times(&said)))),
    }
}

/// Debian gives it to lldpd's own user.
fn lldpcli() -> Result<Command, AskError> {
    let is_missing = |why: &io::Error| why.kind() == io::ErrorKind::NotFound;
    let found = match program::command_as_owner(LLDPCLI) {
        Err(why) if is_missing(&why) => program::command_as_owner(SYSTEM),
        found => found,
    };
    found.map_err(|why| if is_missing(&why) { AskError::Missing } else { AskError::Start(why) })
}

/// Runs it to its end: its exit status, and what it printed on each output.
fn run(command: &mut Command, at_most: Duration) -> Result<(ExitStatus, Vec<u8>, Vec<u8>), AskError> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(AskError::Start)?;
    let outputs = [child.stdout.take().map(reader), child.stderr.take().map(reader)];
    let status = wait(&mut child, at_most);
    if status.is_none() {
        // A program that hangs is not left behind.
        let _ = child.kill();
        let _ = child.wait();
    }
    let [printed, said] = outputs.map(|output| output.and_then(|reader| reader.join().ok()).unwrap_or_default());
    status.map(|status| (status, printed, said)).ok_or(AskError::Silent(at_most))
}

/// Reads one octet more than there may be, and to the end, so that nobody waits for a reader.
fn reader(output: impl Into<std::os::fd::OwnedFd>) -> JoinHandle<Vec<u8>> {
    let mut output = File::from(output.into());
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = output.by_ref().take(LONGEST + 1).read_to_end(&mut text);
        let _ = io::copy(&mut output, &mut io::sink());
        text
    })
}

fn wait(child: &mut Child, at_most: Duration) -> Option<ExitStatus> {
    let began = Instant::now();
    while began.elapsed() < at_most {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(2)),
            Ok(Some(status)) => return Some(status),
            Err(_) => return None,
        }
    }
    None
}

/// Its lines without `2026-11-27T16:47:10 [WARN/lldpctl] `.
fn without_times(said: &str) -> String {
    said.lines().map(|line| format!("{}\n", line.split_once("] ").map_or(line, |(_, words)| words))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_hangs_is_not_waited_for() {
        let began = Instant::now();
        let error = run(&mut sh("exec sleep 600"), Duration::from_millis(50)).unwrap_err();
        assert!(began.elapsed() < Duration::from_secs(60));
        assert!(matches!(error, AskError::Silent(_)), "{error}");
    }

    #[test]
    fn both_outputs_are_read_whatever_their_length() {
        let script = "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789 >&2; i=$((i + 1)); done; \
                      echo out; exit 3";
        let (status, printed, said) = run(&mut sh(script), Duration::from_secs(60)).unwrap();
        assert_eq!((status.code(), printed.as_slice(), said.len()), (Some(3), &b"out\n"[..], 3_000 * 41));
    }

    #[test]
    fn words_are_quoted_without_their_times() {
        let said = "2026-11-27T16:47:10 [WARN/lldpctl] unknown command from argument 4: `junk`\n";
        assert_eq!(without_times(said), "unknown command from argument 4: `junk`\n");
        assert_eq!(without_times("plain"), "plain\n");
    }
}
