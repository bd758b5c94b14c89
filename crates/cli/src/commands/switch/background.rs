//! The user data plane in the background: a second ontick, in a session of its own.

use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_switch::apply::SwitchDir;
use ontick_switch::user::serve::Report;

use super::daemon::RestFlags;
use super::measured::CalibrationFlag;
use super::target_flags::StateFlag;
use crate::failure::Failure;
use crate::itself;

/// Setting up takes no longer.
const PATIENCE: Duration = Duration::from_secs(30);
const TURN: Duration = Duration::from_millis(20);
/// Begins a line about what is doubtful in a file.
const WARNING: &str = "ontick: warning: ";
/// Where it writes what it says.
const LOG: &str = "log";

/// Starts it for the switches of these files, which one core serves by turns, and waits until all work; what each reports.
pub fn start(
    files: &[PathBuf],
    folders: &[SwitchDir],
    state: &StateFlag,
    calibration: &CalibrationFlag,
    rest: RestFlags,
) -> Result<Vec<Report>, Failure> {
    let failed = |e: std::io::Error| Failure::new(format!("ontick cannot start itself in the background: {e}"));
    let mut command = itself::command();
    command.args(["switch", "run", "--plane", "user", "--background"]).args(rest.words());
    command.args(state.words()).args(calibration.words()).args(files);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(failed)?;
    let said = child.stderr.take().map(|pipe| std::thread::spawn(|| last_line(pipe)));
    let began = Instant::now();
    loop {
        let reports: Vec<Report> =
            folders.iter().filter_map(report).filter(|report| report.pid == child.id()).collect();
        if reports.len() == folders.len() {
            return Ok(reports);
        }
        if child.try_wait().map_err(failed)?.is_some() {
            return Err(why(child, said, "it ended and did not say why"));
        }
        if began.elapsed() > PATIENCE {
            let silent = format!("it was not set up within {} s, and was ended", PATIENCE.as_secs());
            return Err(why(child, said, &silent));
        }
        std::thread::sleep(TURN);
    }
}

/// What it said last, or else this.
fn why(mut child: Child, said: Option<JoinHandle<Option<String>>>, silent: &str) -> Failure {
    let _ = child.kill();
    let _ = child.wait();
    let last = said.and_then(|said| said.join().ok().flatten()).unwrap_or_else(|| silent.to_owned());
    Failure::new(last.strip_prefix("ontick: ").unwrap_or(&last))
}

/// The last line that says something, without warnings, which are about the file. All is read as it comes: whoever writes more
/// than a pipe holds waits for that.
fn last_line(pipe: impl Read) -> Option<String> {
    let lines = BufReader::new(pipe).split(b'\n').map_while(Result::ok);
    let lines = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
    lines.filter(|line| !line.trim().is_empty() && !line.starts_with(WARNING)).last()
}

/// From here on Ctrl-C at the terminal, and its end, are none of this process's business, and what it says goes into a
/// file beside the switch's journal: whoever started it leaves.
pub fn settle(folder: &SwitchDir) -> Result<(), Failure> {
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.path(LOG))?;
    rustix::process::setsid()?;
    Ok(rustix::stdio::dup2_stderr(log)?)
}

/// Where the core is at work.
pub fn place(report: &Report) -> String {
    let cpu = report.place();
    format!("in process {} on {cpu}, {}", report.pid, report.policy)
}

/// What the data plane reports of itself.
pub fn report(folder: &SwitchDir) -> Option<Report> {
    serde_json::from_str(&folder.report()?).ok()
}

/// Waits until a changed configuration is in force; why it is not.
pub fn took(folder: &SwitchDir, configuration: &str) -> Result<(), String> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        match report(folder) {
            Some(report) if report.configuration == configuration => return Ok(()),
            Some(Report { refused_change: Some((refused, why)), .. }) if refused == configuration => return Err(why),
            _ => std::thread::sleep(TURN),
        }
    }
    Err(format!("it did not answer within {} s", PATIENCE.as_secs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_is_none_about_the_file() {
        let said = b"ontick: warning: cell.toml:3:1: a\nontick: port a: refused\nontick: warning: cell.toml:4:1: b\n\n";
        assert_eq!(last_line(said.as_slice()).as_deref(), Some("ontick: port a: refused"));
        assert_eq!(last_line(b"ontick: warning: cell.toml:3:1: a\n".as_slice()), None);
    }
}
