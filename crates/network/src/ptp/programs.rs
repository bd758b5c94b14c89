//! linuxptp's programs as children of this process.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ontick_switch::apply::quoted::quoted;
use ontick_switch::ports::{Tool, processes};
use ontick_undo::guardian::end_with_this_thread;
use ontick_undo::privilege::keep_only;
use ontick_undo::program;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::CapabilitySet;

use super::client::Client;
use super::configuration::Node;
use super::management::Addressing;
use super::stamping::Stamping;

/// Programs that set a machine's clocks, by the names that processes have: 15 letters at most.
const CLOCK_PROGRAMS: [&str; 8] =
    ["ptp4l", "phc2sys", "ts2phc", "timemaster", "chronyd", "ntpd", "openntpd", "systemd-timesyn"];
/// Lines that a sentence quotes.
const LINES: usize = 3;
/// ptp4l has its socket at once; on a machine with other work it takes longer.
const READY: Duration = Duration::from_secs(20);
/// A program that is asked to end does so at once.
const END: Duration = Duration::from_secs(5);

/// ptp4l, phc2sys where cards have clocks, and ts2phc where one of them has a pulse. All end with the thread that started
/// them.
#[derive(Debug)]
pub struct Linuxptp {
    programs: Vec<Program>,
    client: Client,
    waiting: Waiting,
}

/// The last program, which gets its file once the one before it is in step.
#[derive(Debug, Default)]
struct Waiting {
    file: Option<String>,
}

impl Waiting {
    fn look(&mut self, programs: &mut [Program]) {
        if let [.., before, last] = programs {
            if let Some(file) = self.file.take_if(|_| before.is_locked()) {
                last.give(&file);
            }
        }
    }
}

/// A program of linuxptp cannot do its work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// It is not here.
    #[error("the program {0} is not installed (package linuxptp)")]
    Missing(&'static str),
    /// The system does not start it.
    #[error("{program} cannot be started: {why}")]
    Start {
        /// Its name.
        program: &'static str,
        /// Why.
        why: io::Error,
    },
    /// What its options are is not known.
    #[error("ptp4l does not say its version (ptp4l -v), which its options depend on")]
    NoVersion,
    /// It ended.
    #[error("{program} ended: {why}")]
    Ended {
        /// Its name.
        program: &'static str,
        /// Its last words, quoted.
        why: String,
    },
    /// It runs, and has no socket.
    #[error("ptp4l does not open its socket {}", .0.display())]
    NoSocket(PathBuf),
    /// It has a socket, and the system does not connect to it.
    #[error("ptp4l cannot be asked by its socket {socket}: {why}", socket = socket.display())]
    Connect {
        /// The socket.
        socket: PathBuf,
        /// Why.
        why: io::Error,
    },
}

/// Programs that run on this machine and may set its clocks.
pub fn clock_programs() -> Vec<String> {
    let mut running: Vec<String> =
        processes().into_iter().filter(|name| CLOCK_PROGRAMS.contains(&name.as_str())).collect();
    running.sort();
    running.dedup();
    running
}

impl Linuxptp {
    /// Starts what a node needs, and waits until ptp4l can be asked. `free_running`: no clock is set.
    pub fn start(node: &Node, stamping: &Stamping, free_running: bool, socket: &Path) -> Result<Self, ProgramError> {
        let ptp4l = find("ptp4l")?;
        // The other one is looked for before anything runs.
        let phc2sys = node.phc2sys(stamping).filter(|_| !free_running);
        let phc2sys = phc2sys.map(|file| Ok((find("phc2sys")?, file))).transpose()?;
        let ts2phc = node.ts2phc().filter(|_| !free_running);
        let ts2phc = ts2phc.map(|(file, source)| Ok((find("ts2phc")?, file, source))).transpose()?;
        let mut program = Program::start(
            "ptp4l",
            ptp4l_command(&ptp4l, free_running, socket)?,
            &node.ptp4l(stamping),
            vec![socket.to_owned(), read_only(socket)],
        )?;
        let client = program.wait_for(socket, node.addressing(), node.interfaces.len())?;
        let mut programs = vec![program];
        let has_pulse = ts2phc.is_some();
        if let Some((tool, file, source)) = ts2phc {
            programs.push(Program::start("ts2phc", ts2phc_command(&tool, source), &file, Vec::new())?);
        }
        let mut waiting = Waiting::default();
        if let Some((tool, file)) = phc2sys {
            let mut command = program::at(&tool.path);
            command.args(["-f", "/dev/stdin"]).args(node.phc2sys_options());
            to_this_process(&mut command, socket);
            // It has no socket of its own that is to be removed.
            let mut program = Program::spawn("phc2sys", command, Vec::new())?;
            match has_pulse {
                // A card's clock that nobody has set yet would set the system's to 1970.
                true => waiting.file = Some(file),
                false => program.give(&file),
            }
            programs.push(program);
        }
        Ok(Self { programs, client, waiting })
    }

    /// Asks ptp4l.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Whether all of them run still. What waits for a clock that is now in step begins.
    pub fn check(&mut self) -> Result<(), ProgramError> {
        self.programs.iter_mut().try_for_each(Program::check)?;
        self.waiting.look(&mut self.programs);
        Ok(())
    }
}

fn find(name: &'static str) -> Result<Tool, ProgramError> {
    Tool::find(name, "-v", READY).ok_or(ProgramError::Missing(name))
}

fn ptp4l_command(tool: &Tool, free_running: bool, socket: &Path) -> Result<Command, ProgramError> {
    let mut command = program::at(&tool.path);
    command.args(["-f", "/dev/stdin", "--free_running", if free_running { "1" } else { "0" }]);
    to_this_process(&mut command, socket);
    // Version 4 has a second socket, for questions alone; the one before does not know its option.
    match tool.version.trim_start_matches('v') {
        "" => return Err(ProgramError::NoVersion),
        version if version.starts_with("3.") => {}
        _ => _ = command.arg("--uds_ro_address").arg(read_only(socket)),
    }
    Ok(command)
}

/// What it says of each pulse, by which it is known to be in step, is of the highest level.
fn ts2phc_command(tool: &Tool, source: &str) -> Command {
    let mut command = program::at(&tool.path);
    command.args(["-f", "/dev/stdin", "-s", source, "--use_syslog", "0", "--verbose", "1", "--logging_level", "7"]);
    command
}

fn read_only(socket: &Path) -> PathBuf {
    let mut path = socket.as_os_str().to_owned();
    path.push("ro");
    path.into()
}

/// Options of both: who ptp4l is, and that messages come by the standard output.
fn to_this_process(command: &mut Command, socket: &Path) {
    command.arg("--uds_address").arg(socket).args(["--use_syslog", "0", "--verbose", "1"]);
}

impl Node {
    /// By which its ptp4l is asked.
    pub fn addressing(&self) -> Addressing {
        let transport_specific = match self.time.profile {
            ontick_tsn::network::Profile::Gptp => 1,
            ontick_tsn::network::Profile::Default => 0,
        };
        Addressing { domain: self.time.domain, transport_specific }
    }
}

/// A child, and its last words.
#[derive(Debug)]
struct Program {
    name: &'static str,
    child: Child,
    /// By which its file comes, until it has it.
    input: Option<ChildStdin>,
    words: Arc<Mutex<Words>>,
    reader: Option<JoinHandle<()>>,
    /// Its sockets, which one that is killed leaves behind.
    sockets: Vec<PathBuf>,
}

/// What a program has said.
#[derive(Debug, Default)]
struct Words {
    last: VecDeque<String>,
    /// Its servo is in step, as it says of each offset: `s2`, or `s3` if it is stable, too.
    is_locked: bool,
}

impl Program {
    /// Starts it with its file on the standard input: nothing is left on a disk.
    fn start(name: &'static str, command: Command, file: &str, sockets: Vec<PathBuf>) -> Result<Self, ProgramError> {
        let mut program = Self::spawn(name, command, sockets)?;
        program.give(file);
        Ok(program)
    }

    /// Starts it. It waits for its file before it does anything.
    fn spawn(name: &'static str, mut command: Command, sockets: Vec<PathBuf>) -> Result<Self, ProgramError> {
        let failed = |why| ProgramError::Start { program: name, why };
        // Ctrl-C at the terminal is this process's.
        command.process_group(0);
        let (output, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        command.stdin(Stdio::piped()).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let mut child = end_with_this_thread(&mut command).spawn().map_err(failed)?;
        // Its ends of the pipe must be the only ones, or the reading would never end.
        drop(command);
        let input = child.stdin.take();
        let words = Arc::new(Mutex::new(Words::default()));
        let reader = std::thread::spawn({
            let words = words.clone();
            // It only reads.
            move || {
                let _ = keep_only(CapabilitySet::empty());
                keep_last(BufReader::new(File::from(output)), &words);
            }
        });
        Ok(Self { name, child, input, words, reader: Some(reader), sockets })
    }

    /// Its file, whole.
    fn give(&mut self, file: &str) {
        // One that ended has its reason in its words.
        let _ = self.input.take().map(|mut input| input.write_all(file.as_bytes()));
    }

    fn is_locked(&self) -> bool {
        self.words.lock().unwrap_or_else(PoisonError::into_inner).is_locked
    }

    fn check(&mut self) -> Result<(), ProgramError> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(_)) => Err(ProgramError::Ended { program: self.name, why: self.last_words() }),
            Err(why) => Err(ProgramError::Start { program: self.name, why }),
        }
    }

    /// Of a program that ended.
    fn last_words(&mut self) -> String {
        let _ = self.reader.take().map(JoinHandle::join);
        let words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        quoted(self.name, &words.last.iter().map(|line| format!("{line}\n")).collect::<String>())
    }

    fn wait_for(&mut self, socket: &Path, addressing: Addressing, ports: usize) -> Result<Client, ProgramError> {
        let began = Instant::now();
        loop {
            self.check()?;
            match Client::connect(socket, addressing, ports) {
                Ok(client) => return Ok(client),
                Err(why) if !is_not_there_yet(&why) => {
                    return Err(ProgramError::Connect { socket: socket.to_owned(), why });
                }
                Err(_) => {}
            }
            if began.elapsed() > READY {
                return Err(ProgramError::NoSocket(socket.to_owned()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Whether a socket is still to be made, or made and not yet listened to.
fn is_not_there_yet(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

impl Drop for Program {
    fn drop(&mut self) {
        let began = Instant::now();
        let mut asked = false;
        // The number of one that was waited for may be another's.
        while matches!(self.child.try_wait(), Ok(None)) {
            if !std::mem::replace(&mut asked, true) {
                // It puts its clock's frequency and its sockets in order itself.
                let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
                // One that waits for its file looks only then.
                self.input = None;
            }
            if began.elapsed() > END {
                let _ = self.child.kill();
                let _ = self.child.wait();
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.sockets.iter().for_each(|socket| drop(fs::remove_file(socket)));
    }
}

/// Reads to the end, and keeps the last lines without the program's name and its time.
fn keep_last(mut output: BufReader<impl Read>, words: &Mutex<Words>) {
    let mut line = Vec::new();
    // A program that writes no line end is not read into memory without end.
    while output.by_ref().take(4_096).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        let said = text.split_once("]: ").map_or(text.as_ref(), |(_, said)| said).trim().to_owned();
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(is_locked) = says_locked(&said) {
            words.is_locked = is_locked;
        }
        if words.last.len() == LINES {
            words.last.pop_front();
        }
        words.last.push_back(said);
        line.clear();
    }
}

/// Whether a servo is in step, in a line of its: `eth0 master offset 12 s2 freq +345`.
fn says_locked(line: &str) -> Option<bool> {
    let (before, _) = line.split_once(" freq ")?;
    let state = before.rsplit(' ').next()?;
    matches!(state, "s0" | "s1" | "s2" | "s3").then_some(matches!(state, "s2" | "s3"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_program_that_ends_are_quoted() {
        let mut command = Command::new("sh");
        command.args(["-c", "read a; echo 'ptp4l[1.2]: no'; echo \"ptp4l[1.3]: port $a is bad\" >&2; exit 1"]);
        let mut program = Program::start("ptp4l", command, "eth0\n", Vec::new()).unwrap();
        let error = loop {
            if let Err(error) = program.check() {
                break error.to_string();
            }
            std::thread::yield_now();
        };
        assert_eq!(error, "ptp4l ended: ptp4l says \"no; port eth0 is bad\"");
    }

    #[test]
    fn a_program_is_asked_to_end_and_its_socket_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let [socket, ended] = ["socket", "ended"].map(|name| folder.path().join(name));
        let mut command = Command::new("sh");
        command.args(["-c", "trap 'echo > \"$1\"; exit' TERM; echo > \"$0\"; while :; do sleep 0.01; done"]);
        command.args([&socket, &ended]);
        let program = Program::start("ptp4l", command, "", vec![socket.clone()]).unwrap();
        while !socket.exists() {
            std::thread::yield_now();
        }
        drop(program);
        assert!(ended.exists() && !socket.exists());
    }

    #[test]
    fn what_waits_for_a_clock_begins_when_that_is_in_step() {
        let folder = tempfile::tempdir().unwrap();
        let [go, began] = ["go", "began"].map(|name| folder.path().join(name));
        let mut pulse = Command::new("sh");
        let script = "echo 'ts2phc[1.2]: eth0 master offset 9 s0 freq +0'; until [ -e \"$0\" ]; do sleep 0.01; done; \
                      echo 'ts2phc[1.3]: eth0 master offset 1 s2 freq -5'; sleep 60";
        pulse.args(["-c", script]).arg(&go);
        let mut system = Command::new("sh");
        system.args(["-c", "cat > \"$0\".new && mv \"$0\".new \"$0\"; sleep 60"]).arg(&began);
        let programs = vec![
            Program::start("ts2phc", pulse, "", Vec::new()).unwrap(),
            Program::spawn("phc2sys", system, Vec::new()).unwrap(),
        ];
        let mut waiting = Waiting { file: Some("its file".into()) };
        let mut programs = programs;
        let said = |program: &Program| !program.words.lock().unwrap().last.is_empty();
        while !said(&programs[0]) {
            std::thread::yield_now();
        }
        waiting.look(&mut programs);
        assert!(waiting.file.is_some() && !began.exists(), "the clock is not in step");
        std::fs::write(&go, "").unwrap();
        while waiting.file.is_some() {
            waiting.look(&mut programs);
            std::thread::yield_now();
        }
        while !began.exists() {
            std::thread::yield_now();
        }
        assert_eq!(std::fs::read_to_string(&began).unwrap(), "its file");
    }

    #[test]
    fn a_servo_says_whether_it_is_in_step() {
        let lines =
            ["eth0 master offset 12 s2 freq +345", "eth0 offset -3 s3 freq -1", "eth0 offset 7 s1 freq +0", "nmea x"];
        assert_eq!(lines.map(says_locked), [Some(true), Some(true), Some(false), None]);
    }

    #[test]
    fn version_four_gets_its_second_socket() {
        let options = |version: &str| {
            let tool = Tool { path: "/usr/sbin/ptp4l".into(), version: version.into() };
            let command = ptp4l_command(&tool, true, Path::new("/run/x")).ok()?;
            Some(command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
        };
        let old = "-f /dev/stdin --free_running 1 --uds_address /run/x --use_syslog 0 --verbose 1";
        assert_eq!(options("3.1.1").as_deref(), Some(old));
        assert_eq!(options("4.2"), Some(format!("{old} --uds_ro_address /run/xro")));
        assert_eq!(options(""), None, "of what says nothing, nothing is known");
    }
}
