//! The CPUs that irqbalance keeps interrupts away from, with an address as a file has one (`irqbalance:banned-cpus`): so it
//! is planned, journaled and put back as files are.
//!
//! It is told by the socket that irqbalance has for that (irqbalance(1), API), and takes effect when it looks at the machine
//! next, every 10 seconds. What is told so goes when irqbalance ends. A folder that stands for a machine keeps it as the file
//! `/irqbalance/banned-cpus`, which no kernel has.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use ontick_units::CpuList;

use super::Root;

/// The address.
pub const IRQBALANCE: &str = "irqbalance:banned-cpus";
/// Where a folder that stands for a machine keeps it.
pub(super) const FILE: &str = "/irqbalance/banned-cpus";
/// The value where it keeps off none.
pub(crate) const NONE: &str = "none";

/// Where its sockets are, each named after its process.
const FOLDER: &str = "/run/irqbalance";
/// It answers between two looks at the machine, which take milliseconds.
const ANSWER: Duration = Duration::from_secs(2);
/// How much longer than the time between two of its looks it may take until it has done what it was told.
const SLACK: Duration = Duration::from_secs(3);
/// No answer about a set-up is longer.
const LONGEST: u64 = 1 << 16;

/// The CPUs of a value.
pub(crate) fn cpus(value: &str) -> Option<CpuList> {
    let value = value.trim();
    if value == NONE { Some(CpuList::default()) } else { value.parse().ok() }
}

/// The value that stands for CPUs.
pub(crate) fn value_of(cpus: &CpuList) -> String {
    if cpus.is_empty() { NONE.into() } else { cpus.to_string() }
}

/// An irqbalance that runs.
pub(super) struct Daemon<'a> {
    root: &'a Root,
    process: u32,
    socket: PathBuf,
    answer: Duration,
    slack: Duration,
}

/// Why it has not done what it was told, where it may do so yet.
#[derive(Debug, thiserror::Error)]
#[error("{0}, and may do so yet")]
pub(crate) struct MayCome(pub io::Error);

/// Whether irqbalance may yet do what it was told, although that has failed.
pub(crate) fn may_come(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<MayCome>())
}

/// What it says of itself.
#[derive(Debug, PartialEq, Eq)]
struct Setup {
    sleep: Duration,
    banned: CpuList,
}

impl<'a> Daemon<'a> {
    /// The one that runs here.
    pub fn find(root: &'a Root) -> io::Result<Self> {
        let number = |name: &String| name.strip_prefix("irqbalance")?.strip_suffix(".sock")?.parse::<u32>().ok();
        let runs = |process: &u32| root.value(&format!("/proc/{process}/comm")).as_deref() == Some("irqbalance");
        let process = root.list(FOLDER).iter().filter_map(number).find(runs).ok_or(io::ErrorKind::NotFound)?;
        let socket = root.outside(&format!("{FOLDER}/irqbalance{process}.sock"))?;
        Ok(Self { root, process, socket, answer: ANSWER, slack: SLACK })
    }

    /// The CPUs that it keeps interrupts away from.
    pub fn banned(&self) -> io::Result<CpuList> {
        self.setup().map(|setup| setup.banned)
    }

    /// Has it keep interrupts away from these CPUs and no others, and waits until it does.
    pub fn ban(&self, wanted: &CpuList) -> io::Result<()> {
        let before = self.setup()?;
        let patience = before.sleep + self.slack;
        let Err(error) = self.tell(wanted).and_then(|()| self.wait_for(wanted, patience)) else { return Ok(()) };
        // Not to come later, when nobody remembers it.
        match self.tell(&before.banned) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(io::Error::new(error.kind(), MayCome(error))),
            _ => Err(error),
        }
    }

    fn wait_for(&self, wanted: &CpuList, patience: Duration) -> io::Result<()> {
        let begun = Instant::now();
        loop {
            match self.banned() {
                Ok(banned) if banned == *wanted => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::NotFound => return Err(e),
                // One answer that is late says nothing of whether it does what it was told.
                _ if begun.elapsed() > patience => {
                    let why = format!("irqbalance has not taken it within {} s", patience.as_secs());
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                _ => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn tell(&self, wanted: &CpuList) -> io::Result<()> {
        // What it would choose by itself is not pinned down: it goes on to follow the CPUs that are isolated.
        let list = match wanted.is_empty() || self.by_itself().as_ref() == Some(wanted) {
            true => "NULL".into(),
            false => wanted.to_string(),
        };
        // Versions before 1.9 take what stands behind the message in their memory for a part of it.
        self.ask(&format!("settings cpus {list} \0")).map(drop)
    }

    /// What it keeps off where nobody tells it anything: by its environment, else what the kernel isolates.
    fn by_itself(&self) -> Option<CpuList> {
        let environment = self.root.text(&format!("/proc/{}/environ", self.process)).ok()?;
        let variable = |name: &str| {
            let mut values = environment.split('\0').filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
            values.next().filter(|value| !value.is_empty())
        };
        if let Some(mask) = variable("IRQBALANCE_BANNED_CPUS") {
            return CpuList::from_mask(mask).ok();
        }
        if let Some(list) = variable("IRQBALANCE_BANNED_CPULIST") {
            return list.parse().ok();
        }
        // A kernel without such CPUs shows nothing, "(null)" for instance.
        let kernels = |name: &str| self.root.value(&format!("/sys/devices/system/cpu/{name}"))?.parse::<CpuList>().ok();
        Some(kernels("isolated").unwrap_or_default().with(&kernels("nohz_full").unwrap_or_default()))
    }

    fn setup(&self) -> io::Result<Setup> {
        let answer = self.ask("setup")?;
        if answer.is_empty() {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "irqbalance answers root alone"));
        }
        setup(&answer).ok_or_else(|| io::Error::other("irqbalance says something else than what it keeps off"))
    }

    fn ask(&self, request: &str) -> io::Result<String> {
        let mut stream = UnixStream::connect(&self.socket).map_err(ended)?;
        stream.set_read_timeout(Some(self.answer))?;
        stream.set_write_timeout(Some(self.answer))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        match stream.take(LONGEST).read_to_string(&mut answer) {
            // It closes without having read all.
            Err(e) if e.kind() == io::ErrorKind::ConnectionReset => Ok(answer),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                Err(io::Error::new(io::ErrorKind::TimedOut, "irqbalance does not answer"))
            }
            read => read.map(|_| answer),
        }
    }
}

/// The socket of one that was killed is as a file that is not there.
fn ended(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => io::Error::new(io::ErrorKind::NotFound, error),
        _ => error,
    }
}

/// `SLEEP 10 IRQ 24 LOAD 0 DIFF 0 CLASS 0 BANNED 00000008`
fn setup(answer: &str) -> Option<Setup> {
    let words: Vec<&str> = answer.trim_end_matches('\0').split_whitespace().collect();
    let after = |name: &str| words.iter().rposition(|word| *word == name).and_then(|at| words.get(at + 1));
    let sleep = Duration::from_secs(after("SLEEP")?.parse().ok()?);
    Some(Setup { sleep, banned: CpuList::from_mask(after("BANNED")?).ok()? })
}

#[cfg(test)]
mod tests;
