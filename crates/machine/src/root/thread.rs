//! The scheduling policy of a thread, with an address as a file has one (`thread:123@8812/irq/24-mmc0`): so it is
//! planned, journaled and put back as files are. The address has the thread's start, as numbers of threads are used
//! again. Only threads of the kernel have one: any program may give its threads the names of these.

use std::io;

use ontick_rt::thread::{Policy, set_policy};

use super::Root;

/// What addresses of threads begin with.
pub const THREAD: &str = "thread:";

/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`, which no program can have.
const OF_THE_KERNEL: u64 = 0x0020_0000;

/// A thread of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Thread<'a> {
    task: i32,
    started: u64,
    name: &'a str,
}

impl<'a> Thread<'a> {
    /// The thread at an address; `None` for the path of a file.
    pub fn at(path: &'a str) -> Option<Self> {
        let (number, name) = path.strip_prefix(THREAD)?.split_once('/')?;
        let (task, started) = number.split_once('@')?;
        Some(Self { task: task.parse().ok()?, started: started.parse().ok()?, name })
    }

    /// Where the kernel shows it.
    pub fn stat(self) -> String {
        format!("/proc/{}/stat", self.task)
    }

    /// Its policy.
    pub fn policy(self, root: &Root) -> io::Result<String> {
        self.state(root).map(|state| state.policy())
    }

    /// Changes its policy; a folder that stands for a machine shows it as the kernel would.
    pub fn set(self, root: &Root, value: &str) -> io::Result<()> {
        let wanted: Policy = value.parse().map_err(io::Error::other)?;
        let state = self.state(root)?;
        if root.is_live() {
            return set_policy(self.task, wanted);
        }
        let (number, priority) = match wanted {
            Policy::Fifo(priority) => (1, priority),
            Policy::RoundRobin(priority) => (2, priority),
            _ => (0, 0),
        };
        std::fs::write(root.resolve(&self.stat())?, state.with(number, priority.into()))
    }

    fn state(self, root: &Root) -> io::Result<State> {
        let state = State::parse(&root.text(&self.stat())?).ok_or_else(|| io::Error::other("no thread's state"))?;
        match state.of_the_kernel && state.started == self.started && state.name == self.name {
            true => Ok(state),
            false => Err(io::Error::new(io::ErrorKind::NotFound, "the thread has ended")),
        }
    }
}

/// The kernel's threads whose names begin like this, as addresses.
pub(super) fn matching(root: &Root, beginning: &str) -> Vec<String> {
    let of = |task: String| {
        let task: i32 = task.parse().ok()?;
        let state = State::parse(&root.text(&format!("/proc/{task}/stat")).ok()?)?;
        let State { name, started, of_the_kernel, .. } = &state;
        (*of_the_kernel && name.starts_with(beginning)).then(|| format!("{THREAD}{task}@{started}/{name}"))
    };
    root.list("/proc").into_iter().filter(|name| name.bytes().all(|b| b.is_ascii_digit())).filter_map(of).collect()
}

/// A line of `/proc/PID/stat`.
struct State {
    line: String,
    name: String,
    /// Where the fields after the name begin.
    fields_at: usize,
    of_the_kernel: bool,
    started: u64,
    policy: u32,
    priority: u32,
}

impl State {
    /// The name stands in brackets and may hold anything, brackets too.
    fn parse(line: &str) -> Option<Self> {
        let (begin, end) = (line.find(" (")? + 2, line.rfind(") ")?);
        let fields: Vec<&str> = line.get(end + 2..)?.split_whitespace().collect();
        // Field 3 (state) is the first of the rest.
        let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
        Some(Self {
            name: line.get(begin..end)?.to_owned(),
            fields_at: end + 2,
            of_the_kernel: field(9)? & OF_THE_KERNEL != 0,
            started: field(22)?,
            priority: field(40)? as u32,
            policy: field(41)? as u32,
            line: line.to_owned(),
        })
    }

    fn policy(&self) -> String {
        match self.policy {
            0 => "other".into(),
            1 => format!("fifo:{}", self.priority),
            2 => format!("rr:{}", self.priority),
            n => format!("policy {n}"),
        }
    }

    fn with(&self, policy: u32, priority: u32) -> String {
        let (before, fields) = self.line.split_at(self.fields_at);
        let ending = if fields.ends_with('\n') { "\n" } else { "" };
        let mut fields: Vec<String> = fields.split_whitespace().map(str::to_owned).collect();
        fields[18 - 3] = (-1 - i64::from(priority)).to_string();
        (fields[40 - 3], fields[41 - 3]) = (priority.to_string(), policy.to_string());
        format!("{before}{}{ending}", fields.join(" "))
    }
}
