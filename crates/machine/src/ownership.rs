//! "Do we really own the core?" (source 003): who ran on a CPU in the last seconds, who may, and which
//! of them can be moved.

mod sample;

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use ontick_rt::cpus::InterruptCounts;
use ontick_units::CpuList;
use serde::Serialize;

use crate::facts::{Facts, Interrupts};
use crate::root::Root;

pub(crate) use sample::tasks as sample_tasks;
pub use sample::{Sample, Task, started};

/// Who has a CPU.
#[derive(Debug, Clone, Serialize)]
pub struct Ownership {
    /// Which CPU.
    pub cpu: u32,
    /// How long it was watched, in ns.
    pub watched_ns: u64,
    /// What the CPU spent its time on (10 ms resolution).
    pub time: TimeSpent,
    /// Tasks that ran there, the longest first.
    pub ran: Vec<TaskRuntime>,
    /// Interrupts delivered there, the most frequent first.
    pub interrupts: Vec<InterruptActivity>,
    /// Softirqs that ran there, the most frequent first.
    pub softirqs: Vec<InterruptActivity>,
    /// Timer ticks and other timer interrupts a second.
    pub timer_per_second: Option<f64>,
    /// Tasks that did not run there but may, by how they could be kept away.
    pub may: Vec<MayRun>,
}

/// What a CPU spent its time on, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TimeSpent {
    /// Programs.
    pub user_ns: u64,
    /// The kernel for programs, and kernel threads.
    pub system_ns: u64,
    /// Interrupts and softirqs.
    pub interrupt_ns: u64,
    /// Nothing.
    pub idle_ns: u64,
    /// Taken by the hypervisor.
    pub steal_ns: u64,
}

/// Tasks that may run on the CPU and can be kept away in the same way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MayRun {
    /// Whether they can be kept away.
    pub movable: Movable,
    /// How, or why not.
    pub remedy: &'static str,
    /// Their names and thread numbers: `sshd 871`.
    pub tasks: Vec<String>,
}

/// A task that ran on the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskRuntime {
    /// Its thread number.
    pub task: u32,
    /// Its name.
    pub name: String,
    /// Whether the kernel made it.
    pub kernel: bool,
    /// Scheduling policy and priority: `other`, `fifo:99`.
    pub policy: String,
    /// How long it ran there, in ns.
    pub ran_ns: u64,
    /// Whether it was seen on other CPUs too, so that part of that time may belong to those.
    pub shared: bool,
    /// Whether it can be moved away.
    pub movable: Movable,
}

/// Whether a task can be kept off a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Movable {
    /// A program: its affinity or its control group can be changed.
    Yes,
    /// A kernel thread whose affinity can be changed.
    KernelThread,
    /// A kernel thread for unbound work: its workqueue's mask decides.
    Workqueue,
    /// A kernel thread that belongs to this CPU.
    Bound,
}

impl Movable {
    /// What to do about it, or why nothing can be done.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Yes => "isolation moves it; taskset does for one",
            Self::KernelThread => "taskset moves it",
            Self::Workqueue => "the knobs workqueues and workqueue-affinity keep it away",
            Self::Bound => "belongs to this CPU and cannot be moved; it runs only when this CPU gives it work",
        }
    }
}

/// An interrupt or softirq that was delivered to the CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InterruptActivity {
    /// Its label (`36`, `LOC`, `NET_RX`).
    pub label: String,
    /// What it is.
    pub about: String,
    /// How often.
    pub count: u64,
    /// What keeps it away, or why nothing does.
    pub remedy: String,
}

/// The CPU does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("CPU {cpu} is not online (this machine runs CPU {online})")]
pub struct NotOnline {
    /// The CPU.
    pub cpu: u32,
    /// Those that do.
    pub online: CpuList,
}

/// Watches CPUs for a while; reads `/proc` every 100 ms from whatever CPU the caller runs on. `go_on`
/// is asked each time, so that the caller can end early. One for each CPU, in their order.
pub fn watch(
    root: &Root,
    facts: &Facts,
    cpus: &CpuList,
    time: Duration,
    mut go_on: impl FnMut() -> bool,
) -> Result<Vec<Ownership>, NotOnline> {
    if let Some(cpu) = cpus.iter().find(|cpu| !facts.cpus.online.contains(*cpu)) {
        return Err(NotOnline { cpu, online: facts.cpus.online.clone() });
    }
    let mut samples = vec![Sample::take(root)];
    // On a busy machine the first look alone may take as long as was asked for.
    let begin = Instant::now();
    while begin.elapsed() < time && go_on() {
        thread::sleep(Duration::from_millis(100).min(time.saturating_sub(begin.elapsed())));
        samples.push(Sample::take(root));
    }
    let watched_ns = begin.elapsed().as_nanos() as u64;
    Ok(cpus.iter().map(|cpu| compare(&samples, cpu, watched_ns, &facts.interrupts)).collect())
}

/// What consecutive samples tell of a CPU.
pub fn compare(samples: &[Sample], cpu: u32, watched_ns: u64, known: &Interrupts) -> Ownership {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return compare(&[Sample::default()], cpu, watched_ns, known);
    };
    let mut interrupts = delivered(&first.interrupts, &last.interrupts, cpu);
    interrupts.iter_mut().for_each(|s| s.remedy = interrupt_remedy(s, known));
    let timer: u64 = interrupts.iter().filter(|s| is_timer(s)).map(|s| s.count).sum();
    let mut softirqs = delivered(&first.softirqs, &last.softirqs, cpu);
    softirqs.iter_mut().for_each(|s| s.remedy = softirq_remedy(&s.label).into());
    let ran = ran(samples, cpu);
    let others = last.tasks.values().filter(|t| t.allowed.contains(cpu) && !ran.iter().any(|r| r.task == t.task));
    let mut may: BTreeMap<Movable, Vec<String>> = BTreeMap::new();
    others.for_each(|t| may.entry(t.movable()).or_default().push(format!("{} {}", t.name, t.task)));
    let group = |(movable, tasks): (Movable, _)| MayRun { movable, remedy: movable.remedy(), tasks };
    let may = may.into_iter().map(group).collect();
    Ownership {
        cpu,
        watched_ns,
        time: spent(first.times.get(&cpu), last.times.get(&cpu)),
        ran,
        interrupts,
        softirqs,
        timer_per_second: (watched_ns > 0).then(|| timer as f64 * 1e9 / watched_ns as f64),
        may,
    }
}

/// The run time between two samples belongs to the CPU that a task was last on; one that moved between
/// them may have run on both.
fn ran(samples: &[Sample], cpu: u32) -> Vec<TaskRuntime> {
    let mut found: BTreeMap<(u32, u64), TaskRuntime> = BTreeMap::new();
    for pair in samples.windows(2) {
        for (id, task) in &pair[1].tasks {
            let before = pair[0].tasks.get(id);
            let ran_ns = task.ran_ns.saturating_sub(before.map_or(0, |b| b.ran_ns));
            if ran_ns == 0 {
                continue;
            }
            if task.cpu != cpu {
                found.entry(*id).and_modify(|r| r.shared = true);
                continue;
            }
            let moved = before.is_some_and(|b| b.cpu != cpu);
            let entry = found.entry(*id).or_insert_with(|| TaskRuntime {
                task: task.task,
                name: task.name.clone(),
                kernel: task.kernel,
                policy: task.policy(),
                ran_ns: 0,
                shared: false,
                movable: task.movable(),
            });
            entry.ran_ns += ran_ns;
            entry.shared |= moved;
        }
    }
    let mut ran: Vec<TaskRuntime> = found.into_values().collect();
    ran.sort_by_key(|r| std::cmp::Reverse(r.ran_ns));
    ran
}

fn delivered(before: &InterruptCounts, after: &InterruptCounts, cpu: u32) -> Vec<InterruptActivity> {
    let mut found: Vec<InterruptActivity> = Vec::new();
    for (label, row) in &after.rows {
        let count = after.on(label, cpu).unwrap_or(0).saturating_sub(before.on(label, cpu).unwrap_or(0));
        if count > 0 {
            found.push(InterruptActivity {
                label: label.clone(),
                about: row.about.clone(),
                count,
                remedy: String::new(),
            });
        }
    }
    found.sort_by_key(|s| std::cmp::Reverse(s.count));
    found
}

fn is_timer(delivered: &InterruptActivity) -> bool {
    delivered.label == "LOC" || delivered.about.contains("arch_timer") || delivered.about.contains("gp_timer")
}

fn interrupt_remedy(delivered: &InterruptActivity, known: &Interrupts) -> String {
    let numbered = delivered.label.parse::<u32>().ok().and_then(|n| known.list.iter().find(|i| i.number == n));
    match (delivered.label.as_str(), numbered) {
        _ if is_timer(delivered) => {
            "nohz_full at boot stops the tick while one task runs; a program's own timers stay".into()
        }
        (_, Some(interrupt)) if interrupt.affinity.is_some() => {
            "the knob irq-affinity moves it, where its driver allows".into()
        }
        ("RES", _) => "another CPU wakes a task here: keep tasks off this CPU".into(),
        ("CAL" | "TLB", _) => {
            "another CPU calls a function here: threads of one process share memory maps; keep them on one side".into()
        }
        (label, _) if label.starts_with("IPI") => {
            "another CPU calls: keep tasks off this CPU, and threads of one process on one side".into()
        }
        _ => "belongs to this CPU".into(),
    }
}

fn softirq_remedy(label: &str) -> &'static str {
    match label {
        "TIMER" | "SCHED" | "HRTIMER" => "comes with the tick and with timers set on this CPU",
        "RCU" => "rcu_nocbs at boot moves its callbacks",
        "NET_RX" | "NET_TX" => "comes with the network interrupt: the knobs irq-affinity and receive-steering move it",
        "BLOCK" | "IRQ_POLL" => "comes with the disk's interrupt: the knob irq-affinity moves it",
        _ => "comes with an interrupt on this CPU",
    }
}

fn spent(before: Option<&Vec<u64>>, after: Option<&Vec<u64>>) -> TimeSpent {
    let ticks = |columns: &[usize]| -> u64 {
        let of = |times: Option<&Vec<u64>>, c: usize| times.and_then(|t| t.get(c)).copied().unwrap_or(0);
        columns.iter().map(|c| of(after, *c).saturating_sub(of(before, *c)) * 10_000_000).sum()
    };
    TimeSpent {
        user_ns: ticks(&[0, 1]),
        system_ns: ticks(&[2]),
        interrupt_ns: ticks(&[5, 6]),
        idle_ns: ticks(&[3, 4]),
        steal_ns: ticks(&[7]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(number: u32, cpu: u32, ran_ns: u64) -> Task {
        Task {
            task: number,
            name: format!("t{number}"),
            cpu,
            ran_ns,
            allowed: "0-3".parse().unwrap(),
            ..Task::default()
        }
    }

    fn sample(tasks: Vec<Task>, timer: u64) -> Sample {
        let table = format!("  CPU0 CPU3\nLOC: 0 {timer} Local timer interrupts\n 36: 5 {} PCI eth0\n", timer / 10);
        Sample {
            tasks: tasks.into_iter().map(|t| ((t.task, t.started), t)).collect(),
            interrupts: InterruptCounts::parse(&table),
            softirqs: InterruptCounts::default(),
            times: BTreeMap::from([(3, vec![timer, 0, 0, 7, 0, 0, 0, 2])]),
        }
    }

    #[test]
    fn run_time_goes_to_the_cpu_where_it_was_spent() {
        let samples = [
            sample(vec![task(1, 3, 100), task(2, 0, 5), task(3, 3, 50), task(4, 3, 9)], 0),
            sample(vec![task(1, 3, 300), task(2, 3, 25), task(3, 3, 50), task(4, 3, 9)], 250),
            sample(vec![task(1, 3, 500), task(2, 0, 30), task(3, 3, 50), task(5, 3, 7)], 500),
        ];
        let own = compare(&samples, 3, 2_000_000_000, &Interrupts::default());
        let ran: Vec<_> = own.ran.iter().map(|r| (r.task, r.ran_ns, r.shared)).collect();
        // The first stayed, the second came and left, the third never ran, the fifth is new.
        assert_eq!(ran, [(1, 400, false), (2, 20, true), (5, 7, false)]);
        assert_eq!(own.timer_per_second, Some(250.0));
        assert_eq!(own.interrupts.iter().map(|s| s.count).collect::<Vec<_>>(), [500, 50]);
        assert_eq!(own.time.user_ns, 5_000_000_000);
        assert_eq!(own.may[0].tasks, ["t3 3"]);
        assert_eq!((own.may.len(), own.may[0].movable), (1, Movable::Yes));
    }

    #[test]
    fn nothing_seen_is_nothing_said() {
        let own = compare(&[], 0, 0, &Interrupts::default());
        assert!(own.ran.is_empty() && own.timer_per_second.is_none());
    }
}
