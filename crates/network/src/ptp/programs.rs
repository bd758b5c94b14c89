//! linuxptp's programs as children of this process.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
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

/// ptp4l, and phc2sys where cards have clocks. Both end with the thread that started them.
#[derive(Debug)]
pub struct Linuxptp {
    programs: Vec<Program>,
    client: Client,
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
        let mut program = Program::start(
            "ptp4l",
            ptp4l_command(&ptp4l, free_running, socket),
            &node.ptp4l(stamping),
            vec![socket.to_owned(), read_only(socket)],
        )?;
        let client = program.wait_for(socket, node.addressing(), node.interfaces.len())?;
        let mut programs = vec![program];
        if let Some((tool, file)) = phc2sys {
            let mut command = program::at(&tool.path);
            command.args(["-f", "/dev/stdin"]).args(node.phc2sys_options());
            to_this_process(&mut command, socket);
            // It has no socket of its own that is to be removed.
            programs.push(Program::start("phc2sys", command, &file, Vec::new())?);
        }
        Ok(Self { programs, client })
    }

    /// Asks ptp4l.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Whether all of them run still.
    pub fn check(&mut self) -> Result<(), ProgramError> {
        self.programs.iter_mut().try_for_each(Program::check)
    }
}

fn find(name: &'static str) -> Result<Tool, ProgramError> {
    Tool::find(name, "-v").ok_or(ProgramError::Missing(name))
}

fn ptp4l_command(tool: &Tool, free_running: bool, socket: &Path) -> Command {
    let mut command = program::at(&tool.path);
    command.args(["-f", "/dev/stdin", "--free_running", if free_running { "1" } else { "0" }]);
    to_this_process(&mut command, socket);
    // Version 4 has a second socket, for questions alone; the one before does not know its option.
    if !tool.version.trim_start_matches('v').starts_with("3.") {
        command.arg("--uds_ro_address").arg(read_only(socket));
    }
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
    words: Arc<Mutex<VecDeque<String>>>,
    reader: Option<JoinHandle<()>>,
    /// Its sockets, which one that is killed leaves behind.
    sockets: Vec<PathBuf>,
}

impl Program {
    /// Starts it with its file on the standard input: nothing is left on a disk.
    fn start(
        name: &'static str,
        mut command: Command,
        file: &str,
        sockets: Vec<PathBuf>,
    ) -> Result<Self, ProgramError> {
        let failed = |why| ProgramError::Start { program: name, why };
        // Ctrl-C at the terminal is this process's.
        command.process_group(0);
        let (output, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
        command.stdin(Stdio::piped()).stdout(writer.try_clone().map_err(failed)?).stderr(writer);
        let mut child = end_with_this_thread(&mut command).spawn().map_err(failed)?;
        // Its ends of the pipe must be the only ones, or the reading would never end.
        drop(command);
        // One that ended has its reason in its words.
        let _ = child.stdin.take().expect("it is piped").write_all(file.as_bytes());
        let words = Arc::new(Mutex::new(VecDeque::new()));
        let reader = std::thread::spawn({
            let words = words.clone();
            // It only reads.
            move || {
                let _ = keep_only(CapabilitySet::empty());
                keep_last(BufReader::new(File::from(output)), &words);
            }
        });
        Ok(Self { name, child, words, reader: Some(reader), sockets })
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
        quoted(self.name, &words.iter().map(|line| format!("{line}\n")).collect::<String>())
    }

    fn wait_for(&mut self, socket: &Path, addressing: Addressing, ports: usize) -> Result<Client, ProgramError> {
        let began = Instant::now();
        loop {
            self.check()?;
            if let Ok(client) = Client::connect(socket, addressing, ports) {
                return Ok(client);
            }
            if began.elapsed() > READY {
                return Err(ProgramError::NoSocket(socket.to_owned()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
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
fn keep_last(mut output: BufReader<impl Read>, words: &Mutex<VecDeque<String>>) {
    let mut line = Vec::new();
    // A program that writes no line end is not read into memory without end.
    while output.by_ref().take(4_096).read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        let text = String::from_utf8_lossy(&line);
        let said = text.split_once("]: ").map_or(text.as_ref(), |(_, said)| said).trim().to_owned();
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.len() == LINES {
            words.pop_front();
        }
        words.push_back(said);
        line.clear();
    }
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
    fn version_four_gets_its_second_socket() {
        let options = |version: &str| {
            let tool = Tool { path: "/usr/sbin/ptp4l".into(), version: version.into() };
            let command = ptp4l_command(&tool, true, Path::new("/run/x"));
            command.get_args().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let old = "-f /dev/stdin --free_running 1 --uds_address /run/x --use_syslog 0 --verbose 1";
        assert_eq!(options("3.1.1"), old);
        assert_eq!(options("4.2"), format!("{old} --uds_ro_address /run/xro"));
        assert!(options("").contains("ro_address"), "what says nothing is taken for a newer one");
    }
}
