//! Loads that run beside a measurement: named mixes of stress-ng, or a command of the user's own. They
//! always end with the run, also when this process is killed.

mod guard;
mod mix;
mod pings;
mod there;

use std::fmt;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use ontick_record::run::Settings;
use ontick_rt::cpus;
use ontick_undo::program;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::Error;

/// The name of [`Load::source_004`].
pub const SOURCE_004: &str = "source-004";
/// The names of pings from a second host, alone and beside source 004's other load.
const PINGS: [&str; 2] = ["ping", "source-004+ping"];
/// After this, workers have started and their memory is mapped.
const SETTLE: Duration = Duration::from_millis(1500);
/// How long a load may take to end when asked kindly.
const KIND: Duration = Duration::from_secs(2);

/// What runs beside a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Load {
    /// Nothing.
    #[default]
    None,
    /// A named mix of stress-ng workers.
    Mix(&'static str),
    /// Pings from a second host, which a network namespace stands for; beside source 004's other load, or alone.
    Pings {
        /// Whether its other load runs too.
        beside_source_004: bool,
    },
    /// A command and its arguments.
    Command(Vec<String>),
}

impl FromStr for Load {
    type Err = Error;

    /// Reads `none`, the name of a mix (`cpu`, `memory`, `io`, `fork`, `net`, `all`), or `cmd:COMMAND` with
    /// quotes as in a shell. No shell is involved.
    fn from_str(text: &str) -> Result<Self, Error> {
        let fail = |problem: &str| Error::Load { name: text.into(), problem: problem.into() };
        match text {
            "none" => return Ok(Load::None),
            SOURCE_004 => return Ok(Load::source_004()),
            name if PINGS.contains(&name) => return Ok(Load::Pings { beside_source_004: name == PINGS[1] }),
            _ => {}
        }
        if let Some(command) = text.strip_prefix("cmd:") {
            return match shlex::split(command) {
                Some(words) if !words.is_empty() => Ok(Load::Command(words)),
                Some(_) => Err(fail("there is no command after \"cmd:\"")),
                None => Err(fail("a quote is not closed")),
            };
        }
        mix::NAMES.into_iter().find(|name| *name == text).map(Load::Mix).ok_or_else(|| {
            fail(&format!(
                "there is no such load (choose one of none, {}, {}, or cmd:COMMAND)",
                mix::NAMES.join(", "),
                PINGS.join(", ")
            ))
        })
    }
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Load::None => f.write_str("none"),
            Load::Mix(name) => f.write_str(name),
            Load::Pings { beside_source_004 } => f.write_str(PINGS[usize::from(*beside_source_004)]),
            Load::Command(words) => write!(f, "cmd:{}", join(words)),
        }
    }
}

fn join(words: &[String]) -> String {
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default()
}

/// How stress-ng is had.
const INSTALL: &str = "sudo apt install stress-ng";

impl Load {
    /// What source 001 stressed its board with: all CPUs and the network.
    pub const STRESS: Load = Load::Mix("cpu+net");

    /// What source 004 loaded its board with (`cat /dev/zero > /dev/null`), once for each CPU. Its other load, pings
    /// from another host, only that host can make ([`Load::Pings`] has a namespace instead).
    pub fn source_004() -> Self {
        const EACH_CPU: &str = "for cpu in $(seq \"$1\"); do cat /dev/zero & done; wait";
        let cpus = cpus::online().len().to_string();
        Load::Command(["sh", "-c", EACH_CPU, "load", &cpus].map(String::from).to_vec())
    }

    fn words(&self) -> Vec<String> {
        match self {
            Load::None => Vec::new(),
            Load::Mix(name) => mix::command(name),
            Load::Pings { beside_source_004: false } => pings::command(0),
            Load::Pings { beside_source_004: true } => pings::command(cpus::online().len()),
            Load::Command(words) => words.clone(),
        }
    }

    /// The load of a proof where none is asked for, and what a reader must know of it: the mix of everything by stress-ng;
    /// without that, source 004's; without a shell, none.
    pub fn usual() -> (Self, Option<String>) {
        Self::usual_of(&there::is_there)
    }

    fn usual_of(is_there: &dyn Fn(&str) -> bool) -> (Self, Option<String>) {
        const MISSING: &str = "stress-ng is not installed, so";
        if is_there("stress-ng") {
            return (Load::Mix("all"), None);
        }
        match ["sh", "seq", "cat"].into_iter().all(is_there) {
            true => (
                Self::source_004(),
                Some(format!(
                    "{MISSING} the load was only cat /dev/zero on each CPU; {INSTALL} loads memory, disk and network, too"
                )),
            ),
            false => (Load::None, Some(format!("{MISSING} there was no load; {INSTALL} makes one"))),
        }
    }

    /// Whether it can be started, before anything is measured.
    pub fn check(&self) -> Result<(), Error> {
        let fail = |problem: String| Err(Error::Load { name: self.to_string(), problem });
        match (self, self.words().first()) {
            (Load::Pings { .. }, _) => pings::check().or_else(|e| fail(e.to_string())),
            (_, None) => Ok(()),
            (_, Some(program)) if there::is_there(program) => Ok(()),
            (Load::Mix(_), _) => {
                fail(format!("stress-ng is not installed ({INSTALL}, or choose no load or a command as the load)"))
            }
            (_, Some(program)) => fail(format!("there is no program \"{program}\"")),
        }
    }

    /// Whether it takes whatever this process may do: the user's own command does, and the mixes do not.
    pub fn needs_rights(&self) -> bool {
        match self {
            Load::None | Load::Mix(_) => false,
            Load::Pings { .. } => true,
            Load::Command(_) => *self != Load::source_004(),
        }
    }

    /// Name and command line, for the record.
    pub fn describe(&self) -> String {
        match self {
            Load::Mix(name) => format!("{name}: {}", join(&self.words())),
            Load::Pings { .. } => format!("{self}: {}", pings::ABOUT),
            other => other.to_string(),
        }
    }

    /// Writes it down as what ran beside a measurement that is over, and whether it ended before that.
    pub fn describe_beside(&self, running: &Running, settings: &mut Settings) {
        settings.load = self.describe();
        settings.load_ended = running.ended().is_some();
    }

    /// The user's own command has the user's environment.
    fn command(&self, name: &str) -> io::Result<Command> {
        match self {
            Load::Command(_) => {
                let mut command = Command::new(there::find(name)?);
                command.env("PATH", program::path());
                Ok(command)
            }
            _ => program::command(name),
        }
    }

    /// Starts the load and waits until it is under way. It ends when the returned value is dropped.
    pub fn start(&self) -> Result<Running, Error> {
        let fail = |problem: String| Error::Load { name: self.to_string(), problem };
        let words = self.words();
        let Some((program, arguments)) = words.split_first() else { return Ok(Running(None)) };
        self.check()?;
        let scratch = tempfile::Builder::new().prefix("ontick-load-").tempdir();
        let scratch = scratch.map_err(|e| fail(format!("no folder for its files: {e} (set TMPDIR)")))?;

        let guard = guard::Guard::start(scratch.path());
        let guard = guard.map_err(|e| fail(format!("its guard could not be started: {e}")))?;
        let mut load = self.command(program).map_err(|e| fail(e.to_string()))?;
        load.args(arguments).current_dir(scratch.path());
        load.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = guard.spawn(&mut load).map_err(|e| fail(format!("{program}: {e}")))?;
        let running = Running(Some(Group { child, guard, _scratch: scratch }));

        let began = Instant::now();
        while began.elapsed() < SETTLE {
            if let Some(status) = running.ended() {
                return Err(fail(format!(
                    "{program} ended before the measurement began ({status}); it must go on until it is stopped: {}",
                    join(&words)
                )));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(running)
    }
}

/// A load under way.
#[derive(Debug)]
pub struct Running(Option<Group>);

#[derive(Debug)]
struct Group {
    child: Child,
    guard: guard::Guard,
    _scratch: tempfile::TempDir,
}

impl Group {
    /// How the load's first process ended. It is not collected: until all is over its id, which is the group's too, must
    /// not become another's.
    fn ended(&self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let status = waitid(WaitId::Pid(Pid::from_child(&self.child)), options).ok().flatten()?;
        Some(ExitStatus::from_raw(match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => code << 8,
            (None, signal) => signal.unwrap_or(0),
        }))
    }
}

impl Running {
    /// The status of a load that ended by itself, in words.
    pub fn ended(&self) -> Option<String> {
        self.0.as_ref()?.ended().map(|status| status.to_string())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(group) = self.0.take() else { return };
        let _ = kill_process_group(Pid::from_child(&group.child), Signal::TERM);
        let began = Instant::now();
        while began.elapsed() < KIND && group.ended().is_none() {
            std::thread::sleep(Duration::from_millis(10));
        }
        let Group { mut child, guard, _scratch } = group;
        // Whatever is left of the group, the guard kills when it is dropped, and removes the folder; then the leader
        // can be reaped.
        drop(guard);
        let _ = child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_and_nonsense_is_explained() {
        for text in
            ["none", "cpu", "memory", "io", "fork", "net", "all", "ping", "source-004+ping", "cmd:sh -c 'exit 1'"]
        {
            assert_eq!(text.parse::<Load>().unwrap().to_string(), text);
        }
        for (text, word) in [("much", "choose one of"), ("cmd:", "no command"), ("cmd:a 'b", "not closed")] {
            assert!(text.parse::<Load>().unwrap_err().to_string().contains(word), "{text}");
        }
    }

    #[test]
    fn only_what_the_user_wrote_and_pings_may_take_rights() {
        let takes = |text: &str| text.parse::<Load>().unwrap().needs_rights();
        assert_eq!(["none", "all", "cpu+net", "source-004"].map(takes), [false; 4]);
        assert_eq!(["cmd:true", "ping", "source-004+ping"].map(takes), [true; 3]);
    }

    #[test]
    fn without_stress_ng_a_proof_has_what_the_machine_has() {
        let with = |programs: &'static [&str]| Load::usual_of(&move |name| programs.contains(&name));
        assert_eq!(with(&["stress-ng"]), (Load::Mix("all"), None));
        let (load, note) = with(&["sh", "seq", "cat"]);
        assert_eq!(load, Load::source_004());
        assert!(note.unwrap().contains("sudo apt install stress-ng"));
        assert_eq!(with(&["sh"]).0, Load::None);
    }

    #[test]
    fn a_load_that_ends_at_once_or_is_missing_is_an_error() {
        for (text, word) in
            [("cmd:false", "ended before the measurement began"), ("cmd:/no/such/program", "no program")]
        {
            let error = text.parse::<Load>().unwrap().start().unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    /// Its children go on, and their group must stay theirs until it is ended.
    #[test]
    fn a_leader_that_ended_is_reported_and_keeps_its_groups_id() {
        for (script, reported) in [("sleep 2; exit 3", "exit status: 3"), ("sleep 2; kill -USR1 $$", "signal: 10")] {
            let running = Load::Command(vec!["sh".into(), "-c".into(), script.into()]).start().unwrap();
            let leader = running.0.as_ref().unwrap().child.id();
            let status = loop {
                match running.ended() {
                    Some(status) => break status,
                    None => std::thread::sleep(Duration::from_millis(10)),
                }
            };
            assert!(status.contains(reported), "{status}");
            assert_eq!(running.ended(), Some(status));
            assert!(std::path::Path::new(&format!("/proc/{leader}")).exists(), "not collected yet");
            drop(running);
            assert!(!std::path::Path::new(&format!("/proc/{leader}")).exists(), "collected at the end");
        }
    }

    #[test]
    fn a_load_and_its_children_end_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let pid_file = dir.path().join("pid");
        // A child that ignores being asked kindly.
        let script = format!(
            "(trap '' TERM; echo $(exec sh -c 'echo $PPID') > {}; while :; do sleep 1; done)",
            pid_file.display()
        );
        let load = Load::Command(vec!["sh".into(), "-c".into(), script]);
        let running = load.start().unwrap();
        let pid: i32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
        assert!(std::path::Path::new(&format!("/proc/{pid}")).exists());
        drop(running);
        // Killed, which takes a moment; then what may remain is an entry that init has not collected yet.
        let began = Instant::now();
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if stat.is_empty() || stat.contains(") Z ") {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "{stat}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
