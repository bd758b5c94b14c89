//! One look at every task, interrupt and CPU time.

use std::collections::BTreeMap;

use ontick_rt::cpus::InterruptCounts;
use ontick_units::CpuList;

use crate::ownership::Movable;
use crate::root::Root;

/// The machine's tasks and counters at one moment.
#[derive(Debug, Clone, Default)]
pub struct Sample {
    /// Tasks, by thread number and start (numbers are used again).
    pub tasks: BTreeMap<(u32, u64), Task>,
    /// Interrupts.
    pub interrupts: InterruptCounts,
    /// Softirqs.
    pub softirqs: InterruptCounts,
    /// The columns of each CPU in `/proc/stat`, in ticks of 10 ms.
    pub times: BTreeMap<u32, Vec<u64>>,
}

/// A task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Task {
    /// Its thread number.
    pub task: u32,
    /// When it started, in ticks since boot.
    pub started: u64,
    /// Its name.
    pub name: String,
    /// The CPU that it was last on.
    pub cpu: u32,
    /// How long it has run in all, in ns.
    pub ran_ns: u64,
    /// Where it may run.
    pub allowed: CpuList,
    /// Whether the kernel made it.
    pub kernel: bool,
    /// Whether the kernel forbids to move it.
    pub bound: bool,
    /// Scheduling policy, as `sched_setscheduler` numbers it.
    pub policy_number: u32,
    /// Real-time priority.
    pub priority: u32,
}

const PF_KTHREAD: u64 = 0x0020_0000;
const PF_NO_SETAFFINITY: u64 = 0x0400_0000;

impl Task {
    /// Policy and priority as they are written on the command line.
    pub fn policy(&self) -> String {
        match self.policy_number {
            0 => "other".into(),
            1 => format!("fifo:{}", self.priority),
            2 => format!("rr:{}", self.priority),
            3 => "batch".into(),
            5 => "idle".into(),
            6 => "deadline".into(),
            7 => "ext".into(),
            n => format!("policy {n}"),
        }
    }

    /// Whether it can be kept off a CPU.
    pub fn movable(&self) -> Movable {
        match (self.kernel, self.bound) {
            (false, _) => Movable::Yes,
            // Workers of unbound workqueues are called kworker/u….
            (true, _) if self.name.starts_with("kworker/u") => Movable::Workqueue,
            (true, true) => Movable::Bound,
            (true, false) => Movable::KernelThread,
        }
    }

    /// Reads `/proc/PID/task/TID/stat`. The name stands in brackets and may hold anything, brackets too.
    pub(crate) fn parse(stat: &str) -> Option<Self> {
        let (task, rest) = stat.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        // Field 3 (state) is the first of the rest, so field n is number n - 3.
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |n: usize| fields.get(n - 3)?.parse::<u64>().ok();
        let flags = field(9)?;
        // Ticks of 10 ms, until schedstat says it better.
        let ran_ns = (field(14)? + field(15)?).saturating_mul(10_000_000);
        Some(Self {
            task: task.trim().parse().ok()?,
            started: field(22)?,
            name: name.into(),
            cpu: field(39)? as u32,
            ran_ns,
            allowed: CpuList::default(),
            kernel: flags & PF_KTHREAD != 0,
            bound: flags & PF_NO_SETAFFINITY != 0,
            policy_number: field(41)? as u32,
            priority: field(40)? as u32,
        })
    }
}

/// When a thread started, in ticks since boot; `None` when it is gone.
pub fn started(root: &Root, task: u32) -> Option<u64> {
    Task::parse(&root.text(&format!("/proc/{task}/stat")).ok()?).map(|t| t.started)
}

impl Sample {
    /// Looks at everything now.
    pub fn take(root: &Root) -> Self {
        Self {
            tasks: tasks(root).into_iter().map(|t| ((t.task, t.started), t)).collect(),
            interrupts: InterruptCounts::parse(&root.text("/proc/interrupts").unwrap_or_default()),
            softirqs: InterruptCounts::parse(&root.text("/proc/softirqs").unwrap_or_default()),
            times: times(&root.text("/proc/stat").unwrap_or_default()),
        }
    }
}

/// Every thread of every process. One that ends meanwhile is left out.
pub(crate) fn tasks(root: &Root) -> Vec<Task> {
    let numbered = |folder: &str| root.list(folder).into_iter().filter(|n| n.bytes().all(|b| b.is_ascii_digit()));
    let read = |folder: String| {
        let mut task = Task::parse(&root.text(&format!("{folder}/stat")).ok()?)?;
        let precise = root.value(&format!("{folder}/schedstat"));
        if let Some(ran_ns) = precise.and_then(|v| v.split_whitespace().next()?.parse().ok()) {
            task.ran_ns = ran_ns;
        }
        let status = root.text(&format!("{folder}/status")).ok()?;
        let allowed = status.lines().find_map(|l| l.strip_prefix("Cpus_allowed_list:"));
        task.allowed = allowed.and_then(|v| v.parse().ok()).unwrap_or_default();
        Some(task)
    };
    let processes = numbered("/proc");
    processes
        .flat_map(|p| {
            let folder = format!("/proc/{p}/task");
            numbered(&folder).map(|t| format!("{folder}/{t}")).collect::<Vec<_>>()
        })
        .filter_map(read)
        .collect()
}

fn times(stat: &str) -> BTreeMap<u32, Vec<u64>> {
    let cpu = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let number = name.strip_prefix("cpu")?.parse().ok()?;
        Some((number, rest.split_whitespace().filter_map(|t| t.parse().ok()).collect()))
    };
    stat.lines().filter_map(cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = "19 (mig) (3) S 2 0 0 0 -1 69238848 0 0 0 0 3 4 0 0 -100 0 1 0 77 0 0 18446744073709551615 0 0 0 0 0 0 0 2147483647 0 0 0 0 17 3 99 1 0 0 0 0 0 0 0 0 0 0 0";
        let task = Task::parse(stat).unwrap();
        assert_eq!((task.task, task.name.as_str(), task.cpu, task.started), (19, "mig) (3", 3, 77));
        assert_eq!((task.policy().as_str(), task.ran_ns), ("fifo:99", 70_000_000));
        assert_eq!(task.movable(), Movable::Bound);
    }

    #[test]
    fn this_process_is_seen_on_this_machine() {
        let own = tasks(&Root::live());
        assert!(own.iter().any(|t| t.task == std::process::id() && !t.kernel && !t.allowed.is_empty()));
    }

    proptest! {
        #[test]
        fn any_text_is_answered(text in "[0-9]{0,3} \\([a-z() ]{0,6}\\) ?([0-9RS-]{1,9} ){0,45}|.{0,50}") {
            let _ = Task::parse(&text);
            let _ = times(&text);
        }
    }
}
