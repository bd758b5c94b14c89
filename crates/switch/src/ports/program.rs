//! Programs that tell something, and are not waited for longer than a person would.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use ontick_undo::program;

/// Where system programs are, also for users whose PATH leaves them out.
const SYSTEM: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];
/// What they say is short.
const LONGEST: u64 = 64 << 10;

/// Where a program is.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let beside = || SYSTEM.iter().map(|folder| Path::new(folder).join(name));
    let may_run = |file: &PathBuf| rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    program::find(name).ok().or_else(|| beside().find(may_run))
}

/// What a program printed on both outputs; nothing where it does not start or does not end in time.
pub(super) fn said(file: &Path, arguments: &[&str], at_most: Duration) -> Option<String> {
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).ok()?;
    let mut command = program::at(file);
    command.args(arguments).stdin(Stdio::null());
    let mut child = command.stdout(writer.try_clone().ok()?).stderr(writer).spawn().ok()?;
    // Its ends of the pipe must be the only ones, or the reading would never end.
    drop(command);
    let (sender, text) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let _ = File::from(reader).take(LONGEST).read_to_end(&mut text);
        let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    let began = Instant::now();
    if wait(&mut child, began, at_most) {
        // What it started in turn may hold the pipe open.
        return text.recv_timeout(at_most.saturating_sub(began.elapsed())).ok();
    }
    // A program that hangs is not left behind.
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn wait(child: &mut Child, began: Instant, at_most: Duration) -> bool {
    while began.elapsed() < at_most {
        match child.try_wait() {
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Ok(Some(_)) => return true,
            Err(_) => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_is_not_waited_for() {
        let sleep = find("sleep").expect("every machine has sleep");
        let began = Instant::now();
        assert_eq!(said(&sleep, &["600"], Duration::from_millis(50)), None);
        assert!(began.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn both_outputs_are_heard() {
        let sh = find("sh").expect("every machine has sh");
        let heard = said(&sh, &["-c", "echo out; echo err >&2"], Duration::from_secs(60)).unwrap();
        assert!(heard.contains("out") && heard.contains("err"), "{heard}");
        assert_eq!(find("no-such-program-at-all"), None);
    }
}
