//! Real-time threads of other processes: which CPUs they keep, and how long they ran on one that somebody measures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::kernel_text;
use crate::thread::Policy;

/// One that ran for less on the measured CPU is none: daemons of real-time priority wake up now and then.
const NOTICEABLE: Duration = Duration::from_micros(100);
/// No more than this part of the time goes into looking.
const SHARE_FOR_LOOKING: u32 = 50;
/// `PF_KTHREAD` of the kernel's `include/linux/sched.h`.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// As the kernel numbers them (sched.h).
const FIFO: u64 = 1;
const ROUND_ROBIN: u64 = 2;
const DEADLINE: u64 = 6;

/// A real-time thread of another process. The kernel's own are not among them: they are part of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rival {
    /// Its process.
    pub pid: u32,
    /// The thread.
    pub tid: u32,
    /// Its own name.
    pub thread: String,
    /// The beginning of its process's command line.
    pub command: String,
    /// Its policy.
    pub policy: Policy,
    /// How long it ran on the CPU in question while that was watched, in ns.
    pub ran_ns: u64,
}

impl Rival {
    /// Its process.
    pub fn process(&self) -> String {
        match self.command.as_str() {
            "" => format!("process {}", self.pid),
            command => format!("{command} (process {})", self.pid),
        }
    }
}

impl fmt::Display for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the real-time thread {} ({}) of {}", self.thread, self.policy, self.process())
    }
}

/// A real-time thread as `/proc` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sight {
    pid: u32,
    tid: u32,
    thread: String,
    policy: Policy,
    /// The CPU that it ran on last.
    cpu: u32,
    /// All that it ran, in ns.
    ran_ns: u64,
}

/// Watches a CPU for rivals of a thread that is measured there.
#[derive(Debug)]
pub struct RivalWatch {
    proc: PathBuf,
    cpu: u32,
    policy: Policy,
    before: BTreeMap<(u32, u32), Sight>,
    found: BTreeMap<(u32, u32), Rival>,
    next: Instant,
}

impl RivalWatch {
    /// Of a thread of this policy on `cpu`, from now on.
    pub fn start(cpu: u32, policy: Policy) -> Self {
        Self::of(PathBuf::from("/proc"), cpu, policy)
    }

    fn of(proc: PathBuf, cpu: u32, policy: Policy) -> Self {
        let mut watch =
            Self { proc, cpu, policy, before: BTreeMap::new(), found: BTreeMap::new(), next: Instant::now() };
        watch.before = watch.sights();
        watch
    }

    /// Looks again, unless the last look is too short ago for what looking costs.
    pub fn update(&mut self) {
        let began = Instant::now();
        if began >= self.next {
            self.look_now();
            self.next = Instant::now() + began.elapsed() * SHARE_FOR_LOOKING;
        }
    }

    /// Looks for the last time: those that ran noticeably on the CPU and that the measured thread had to wait for, the
    /// longest first.
    pub fn end(mut self) -> Vec<Rival> {
        self.look_now();
        let noticeable = NOTICEABLE.as_nanos() as u64;
        let mut all: Vec<Rival> = self.found.into_values().filter(|rival| rival.ran_ns >= noticeable).collect();
        all.sort_by_key(|rival| std::cmp::Reverse(rival.ran_ns));
        all
    }

    fn look_now(&mut self) {
        let now = self.sights();
        for (id, sight) in &now {
            // One that came since the last look, and one that was elsewhere then, may have run elsewhere.
            let Some(before) = self.before.get(id).filter(|before| before.cpu == sight.cpu) else { continue };
            let ran_ns = sight.ran_ns.saturating_sub(before.ran_ns);
            if ran_ns > 0 && sight.cpu == self.cpu && waits_for(self.policy, sight.policy) {
                let found = self.found.entry(*id).or_insert_with(|| sight.rival(&self.proc));
                found.ran_ns += ran_ns;
            }
        }
        self.before = now;
    }

    fn sights(&self) -> BTreeMap<(u32, u32), Sight> {
        sights(&self.proc).into_iter().map(|sight| ((sight.pid, sight.tid), sight)).collect()
    }
}

impl Sight {
    fn rival(&self, proc: &Path) -> Rival {
        let line = fs::read(proc.join(self.pid.to_string()).join("cmdline")).unwrap_or_default();
        let Self { pid, tid, thread, policy, .. } = self.clone();
        Rival { pid, tid, thread, command: super::command_line::shortened(&line), policy, ran_ns: 0 }
    }
}

/// Whether a thread of policy `own` has to wait while one of policy `other` runs on its CPU.
fn waits_for(own: Policy, other: Policy) -> bool {
    let rank = |policy| match policy {
        Policy::Other => 0,
        Policy::Fifo(priority) | Policy::RoundRobin(priority) => u32::from(priority),
        Policy::Deadline { .. } => 100,
    };
    rank(other) >= rank(own)
}

/// The CPUs that real-time threads of other processes are pinned to, each with one of them, as it was when this was
/// first asked: one program does not change its mind half-way.
pub(super) fn pinned_at_first_sight() -> &'static BTreeMap<u32, Rival> {
    static SEEN: OnceLock<BTreeMap<u32, Rival>> = OnceLock::new();
    SEEN.get_or_init(|| pinned(Path::new("/proc")))
}

fn pinned(proc: &Path) -> BTreeMap<u32, Rival> {
    let mut all = BTreeMap::new();
    for sight in sights(proc) {
        let status = task(proc, sight.pid, sight.tid).join("status");
        if let [cpu] = allowed(&kernel_text::read(status).unwrap_or_default())[..] {
            all.entry(cpu).or_insert_with(|| sight.rival(proc));
        }
    }
    all
}

/// The CPUs of `Cpus_allowed_list` (proc_pid_status(5)).
fn allowed(status: &str) -> Vec<u32> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.and_then(|list| list.trim().parse::<ontick_units::CpuList>().ok()).unwrap_or_default().iter().collect()
}

fn task(proc: &Path, pid: u32, tid: u32) -> PathBuf {
    proc.join(pid.to_string()).join("task").join(tid.to_string())
}

/// Real-time threads of other processes and not of the kernel.
fn sights(proc: &Path) -> Vec<Sight> {
    let own = std::process::id();
    let numbers = |folder: &Path| -> BTreeSet<u32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let mut all = Vec::new();
    for pid in numbers(proc).into_iter().filter(|pid| *pid != own) {
        for tid in numbers(&proc.join(pid.to_string()).join("task")) {
            let folder = task(proc, pid, tid);
            let Some(mut sight) = kernel_text::read(folder.join("stat")).ok().and_then(|stat| parse(pid, tid, &stat))
            else {
                continue;
            };
            // In ns where the kernel counts it (proc_pid_schedstat), else in ticks, as read already.
            let exact = fs::read_to_string(folder.join("schedstat")).ok();
            let exact = exact.and_then(|text| text.split_whitespace().next()?.parse().ok());
            sight.ran_ns = exact.unwrap_or(sight.ran_ns);
            all.push(sight);
        }
    }
    all
}

/// A real-time thread from its `stat` (proc_pid_stat(5)); its name, in parentheses, may hold anything.
fn parse(pid: u32, tid: u32, stat: &str) -> Option<Sight> {
    let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    // The first one after the name is the third.
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let priority = u8::try_from(field(40)?).ok()?;
    let policy = match field(41)? {
        FIFO => Policy::Fifo(priority),
        ROUND_ROBIN => Policy::RoundRobin(priority),
        DEADLINE => crate::thread::in_force(tid as i32)
            .ok()
            .filter(|policy| matches!(policy, Policy::Deadline { .. }))
            .unwrap_or(Policy::Deadline { runtime_ns: 0, deadline_ns: 0, period_ns: 0 }),
        _ => return None,
    };
    if field(9)? & KERNEL_THREAD != 0 {
        return None;
    }
    let tick_ns = 1_000_000_000 / rustix::param::clock_ticks_per_second().max(1);
    let ran_ns = (field(14)? + field(15)?).saturating_mul(tick_ns);
    // A thread's name is other people's text, and this goes to a terminal.
    let thread = name.chars().filter(|char| !char.is_control()).collect();
    Some(Sight { pid, tid, thread, policy, cpu: field(39)? as u32, ran_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` with threads as a test wants them.
    struct Proc(PathBuf);

    impl Proc {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("ontick-rivals-{name}-{}", std::process::id()));
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        /// Thread `tid` of its own process, of this policy (as the kernel numbers it) and priority.
        fn put(&self, tid: u32, (policy, priority): (u64, u8), flags: u64, cpu: u32, ran_ns: u64, cpus: &str) {
            let folder = task(&self.0, tid, tid);
            fs::create_dir_all(&folder).unwrap();
            let zeros = |count| "0 ".repeat(count);
            let stat = format!(
                "{tid} (ti) (mer) S 1 1 1 0 -1 {flags} {} 0 0 {} {cpu} {priority} {policy} 0 0 0",
                zeros(4),
                zeros(23)
            );
            assert_eq!(stat.rsplit_once(')').unwrap().1.split_whitespace().nth(36), Some(cpu.to_string().as_str()));
            fs::write(folder.join("stat"), stat).unwrap();
            fs::write(folder.join("schedstat"), format!("{ran_ns} 0 7\n")).unwrap();
            fs::write(folder.join("status"), format!("Name:\tx\nCpus_allowed_list:\t{cpus}\n")).unwrap();
            fs::write(self.0.join(tid.to_string()).join("cmdline"), b"/usr/bin/ontick\0latency\0timer\0").unwrap();
        }
    }

    impl Drop for Proc {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const MS: u64 = 1_000_000;
    // No process has such a number.
    const FIRST: u32 = 5_000_001;

    #[test]
    fn a_rival_is_named_with_what_it_ran_on_this_cpu_while_it_was_watched() {
        let proc = Proc::new("named");
        let put = |cpu, ran_ns| proc.put(FIRST, (FIFO, 99), 0, cpu, ran_ns, "0");
        put(0, 70 * MS);
        let mut watch = RivalWatch::of(proc.0.clone(), 0, Policy::Fifo(99));
        put(0, 75 * MS);
        watch.look_now();
        // Elsewhere, where it does no harm, and back.
        put(1, 95 * MS);
        watch.look_now();
        put(0, 96 * MS);
        watch.look_now();
        put(0, 98 * MS);
        let found = watch.end();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].ran_ns, found[0].policy), (7 * MS, Policy::Fifo(99)));
        let name = "the real-time thread ti) (mer (fifo:99) of ontick latency timer (process 5000001)";
        assert_eq!(found[0].to_string(), name);
    }

    /// The kernel cuts names after 15 octets.
    #[test]
    fn one_whose_name_is_cut_in_the_middle_of_a_character_is_seen() {
        let proc = Proc::new("cut");
        proc.put(FIRST, (FIFO, 99), 0, 3, 0, "3");
        for (file, name) in [("stat", "ti) (mer"), ("status", "x")] {
            let path = task(&proc.0, FIRST, FIRST).join(file);
            let (before, after) =
                fs::read_to_string(&path).unwrap().split_once(name).map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
            fs::write(&path, [before.as_bytes(), b"Regelungsschl\xc3", after.as_bytes()].concat()).unwrap();
        }
        let all = pinned(&proc.0);
        assert_eq!(
            all.iter().map(|(cpu, rival)| (*cpu, rival.thread.as_str())).collect::<Vec<_>>(),
            [(3, "Regelungsschl\u{fffd}")]
        );
    }

    #[test]
    fn one_that_ends_before_the_run_is_remembered() {
        let proc = Proc::new("ended");
        proc.put(FIRST, (ROUND_ROBIN, 99), 0, 0, 0, "0-1");
        let mut watch = RivalWatch::of(proc.0.clone(), 0, Policy::Fifo(99));
        proc.put(FIRST, (ROUND_ROBIN, 99), 0, 0, 3 * MS, "0-1");
        watch.update();
        fs::remove_dir_all(proc.0.join(FIRST.to_string())).unwrap();
        assert_eq!(watch.end().iter().map(|rival| rival.ran_ns).collect::<Vec<_>>(), [3 * MS]);
    }

    #[test]
    fn who_does_no_harm_is_no_rival() {
        let proc = Proc::new("harmless");
        let all = |ran: u64| {
            proc.put(FIRST, (FIFO, 98), 0, 0, ran * MS, "0"); // of lower priority
            proc.put(FIRST + 1, (FIFO, 99), KERNEL_THREAD, 0, ran * MS, "0"); // the kernel's own
            proc.put(FIRST + 2, (FIFO, 99), 0, 1, ran * MS, "1"); // on another CPU
            proc.put(FIRST + 3, (FIFO, 99), 0, 0, ran * 99_000, "0"); // now and then
            proc.put(FIRST + 4, (0, 0), 0, 0, ran * MS, "0"); // of normal scheduling
        };
        all(0);
        let watch = RivalWatch::of(proc.0.clone(), 0, Policy::Fifo(99));
        all(1);
        assert_eq!(watch.end(), []);
        // To a thread of normal scheduling each of real-time is one.
        all(1);
        let watch = RivalWatch::of(proc.0.clone(), 0, Policy::Other);
        all(2);
        assert_eq!(watch.end().iter().map(|rival| rival.tid).collect::<Vec<_>>(), [FIRST]);
    }

    #[test]
    fn only_a_thread_that_cannot_go_elsewhere_keeps_a_cpu() {
        let proc = Proc::new("pinned");
        proc.put(FIRST, (FIFO, 1), 0, 3, 0, "3");
        proc.put(FIRST + 1, (FIFO, 99), 0, 2, 0, "0-3");
        proc.put(FIRST + 2, (DEADLINE, 0), 0, 1, 0, "1");
        let all = pinned(&proc.0);
        assert_eq!(all.keys().copied().collect::<Vec<_>>(), [1, 3]);
        assert!(matches!(all[&1].policy, Policy::Deadline { .. }));
    }
}
