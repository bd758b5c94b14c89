//! sigrok-cli at work: it writes a value change dump into a file that has no name, and ends with this process.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use ontick_undo::guardian::end_with_this_thread;
use ontick_undo::program::find;
use rustix::process::{Pid, Signal, kill_process};

use super::{Analyser, Surroundings};
use crate::avoid_cpu::AvoidCpu;

const PROGRAM: &str = "sigrok-cli";
/// The system's folders of programs, where sigrok-cli finds what it needs itself.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What sigrok-cli needs to know: where the user's firmware files for analysers are.
const KEPT: [&str; 2] = ["HOME", "SIGROK_FIRMWARE_DIR"];
/// An instrument that has sent nothing after this may send all at its end, so the run begins.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long it may take to end when asked to, and one that ends by itself to do so.
const ENDING: Duration = Duration::from_secs(5);
const ENDING_BY_ITSELF: Duration = Duration::from_secs(60);
/// How long it may take to end after SIGTERM.
const TERMINATING: Duration = Duration::from_secs(1);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(5);
/// The end of a text, as far as it is read.
const TAIL: u64 = 1 << 16;

/// sigrok-cli under way. It ends when this is dropped.
pub struct Recording {
    child: Child,
    has_length: bool,
    capture: File,
    messages: File,
}

/// A capture, and why it ended before the run if it did.
pub struct Ended {
    pub capture: io::Result<File>,
    pub early: Option<String>,
}

impl Recording {
    /// Starts it, and waits until it records; the problem in words if it does not.
    pub fn start(
        analyser: &Analyser,
        channels: &[String],
        surroundings: &Surroundings,
        stop: &AtomicBool,
    ) -> Result<Self, String> {
        let program = find(PROGRAM).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!("{PROGRAM} is not installed (sudo apt install {PROGRAM})"),
            _ => error.to_string(),
        })?;
        let no_file = |error| format!("no file for its capture: {error} (set TMPDIR)");
        let (capture, messages) = (tempfile::tempfile().map_err(no_file)?, tempfile::tempfile().map_err(no_file)?);
        let mut command = Command::new(program);
        command.args(analyser.arguments(channels)).env_clear().env("PATH", SYSTEM_PATH).env("LC_ALL", "C");
        KEPT.into_iter().for_each(|name| {
            std::env::var_os(name).into_iter().for_each(|value| {
                command.env(name, value);
            });
        });
        command.current_dir("/").stdin(Stdio::piped());
        command.stdout(capture.try_clone().map_err(no_file)?).stderr(messages.try_clone().map_err(no_file)?);
        // Ctrl-C is for this program, which ends the other.
        command.process_group(0);
        (surroundings.prepare)(&mut command);
        // After a change of user, which clears it.
        end_with_this_thread(&mut command);
        let child = {
            let _avoided = surroundings.cpu.and_then(AvoidCpu::from);
            command.spawn().map_err(|error| format!("{PROGRAM} could not be started: {error}"))?
        };
        let mut recording = Self { child, has_length: analyser.has_length(), capture, messages };
        recording.wait_for_samples(stop)?;
        Ok(recording)
    }

    fn wait_for_samples(&mut self, stop: &AtomicBool) -> Result<(), String> {
        let began = Instant::now();
        while began.elapsed() < PATIENCE && !stop.load(Relaxed) {
            let ended = self.child.try_wait().map_err(|error| format!("{PROGRAM}: {error}"))?;
            if self.capture.metadata().is_ok_and(|file| file.len() > 0) {
                return Ok(());
            }
            if let Some(status) = ended {
                let hint = "`sigrok-cli --list-supported` lists drivers, `sigrok-cli --scan` devices";
                return Err(format!("{} ({hint})", self.last_words(status)));
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    /// Ends it, and hands on what it recorded.
    pub fn end(mut self, stop: &AtomicBool) -> Ended {
        let early = self.child.try_wait().ok().flatten().map(|status| self.last_words(status));
        if early.is_none() {
            let patience = if self.has_length { ENDING_BY_ITSELF } else { ENDING };
            self.ask_to_end(patience, stop);
        }
        Ended { capture: self.whole_lines(), early }
    }

    /// A key that is pressed ends a capture without an end; others end by themselves, or when the user wants no more.
    fn ask_to_end(&mut self, patience: Duration, stop: &AtomicBool) {
        if let Some(stdin) = &mut self.child.stdin {
            // One that is gone needs no key.
            let _ = stdin.write_all(b"\n");
        }
        let began = Instant::now();
        let waits = |began: Instant| {
            let patience = if stop.load(Relaxed) { patience.min(ENDING) } else { patience };
            began.elapsed() < patience
        };
        if self.has_ended_while(|| waits(began)) {
            return;
        }
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let began = Instant::now();
        self.has_ended_while(|| began.elapsed() < TERMINATING);
    }

    fn has_ended_while(&mut self, waits: impl Fn() -> bool) -> bool {
        loop {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return true;
            }
            if !waits() {
                return false;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// What it said last, or how it ended.
    fn last_words(&mut self, status: ExitStatus) -> String {
        let text = tail(&mut self.messages).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        match text.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(line) => format!("{PROGRAM}: {}", line.trim_end_matches('.')),
            None if status.success() => format!("{PROGRAM} ended by itself"),
            None => format!("{PROGRAM} ended with {status}"),
        }
    }

    /// The capture from its beginning, without a line that is cut off.
    fn whole_lines(&mut self) -> io::Result<File> {
        self.kill();
        let length = self.capture.metadata()?.len();
        let end = tail(&mut self.capture)?;
        let cut_off = end.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
        self.capture.set_len(length - cut_off)?;
        self.capture.seek(SeekFrom::Start(0))?;
        self.capture.try_clone()
    }

    fn kill(&mut self) {
        // Both fail only if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The end of a file.
fn tail(file: &mut File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut text = Vec::new();
    file.take(TAIL).read_to_end(&mut text)?;
    Ok(text)
}
