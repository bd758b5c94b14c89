//! A program's threads, from `/proc` (proc(5)).

use std::fs;

use ontick_rt::kernel_text;

/// Threads of a program that are looked at, at most.
const MOST: usize = 4096;

/// What `/proc` says of a thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadState {
    /// Its number.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// Its scheduling policy, by its number (sched(7)).
    pub policy: u32,
    /// Its real-time priority.
    pub priority: u32,
    /// When it began, in ticks since boot: what tells it from a later one of the same number.
    pub started: u64,
    /// The CPU it ran on last.
    pub cpu: u32,
    /// Page faults that found their page in memory, and those that had to wait for a disk.
    pub faults: (u64, u64),
    /// By how much the kernel may delay its timers, in ns, where it may be known.
    pub slack_ns: Option<u64>,
    /// How long it ran, and how long it waited for a CPU, in ns.
    pub ran_ns: u64,
    /// See above.
    pub waited_ns: u64,
    /// How often it gave its CPU up, where that may be known.
    pub sleeps: Option<u64>,
}

impl ThreadState {
    /// Of a thread that is there.
    pub fn read(pid: i32, tid: i32) -> Option<Self> {
        let folder = format!("/proc/{pid}/task/{tid}");
        let text = |name: &str| kernel_text::read(format!("{folder}/{name}"));
        let mut state = Self::parse(tid, &text("stat").ok()?)?;
        if let Ok(schedstat) = text("schedstat") {
            let mut numbers = schedstat.split_whitespace().filter_map(|word| word.parse().ok());
            (state.ran_ns, state.waited_ns) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        }
        state.sleeps = text("status").ok().and_then(|status| voluntary_switches(&status));
        // Here a thread is its own process.
        let slack = fs::read_to_string(format!("/proc/{tid}/timerslack_ns")).ok();
        state.slack_ns = slack.and_then(|slack| slack.trim().parse().ok());
        Some(state)
    }

    /// From `/proc/PID/task/TID/stat`.
    fn parse(tid: i32, stat: &str) -> Option<Self> {
        // The name may hold spaces and parentheses.
        let (front, after) = stat.rsplit_once(')')?;
        let name = front.split_once('(')?.1.to_owned();
        let fields: Vec<&str> = after.split_whitespace().collect();
        // The third field of the manual page is the first here.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        if fields.first().is_some_and(|state| ["Z", "X"].contains(state)) {
            return None;
        }
        Some(Self {
            tid,
            name,
            policy: number(41)? as u32,
            priority: number(40)? as u32,
            started: number(22)?,
            cpu: number(39)? as u32,
            faults: (number(10)?, number(12)?),
            ..Self::default()
        })
    }

    /// Whether it comes before normal threads.
    pub fn is_real_time(&self) -> bool {
        [libc::SCHED_FIFO as u32, libc::SCHED_RR as u32, libc::SCHED_DEADLINE as u32].contains(&self.policy)
    }

    /// See [`rank`].
    pub fn rank(&self) -> u32 {
        rank(self.policy, self.priority)
    }

    /// As sched(7) names it, with its priority: `fifo:80`.
    pub fn policy_name(&self) -> String {
        policy_name(self.policy, self.priority)
    }
}

/// From `/proc/PID/task/TID/status`.
fn voluntary_switches(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?.trim().parse().ok()
}

/// Deadline threads come before all others, and their order among each other is that of their deadlines.
pub const DEADLINE: u32 = 100;

/// Of two threads the one of the higher rank comes first: its real-time priority, which deadline threads do not have.
pub fn rank(policy: u32, priority: u32) -> u32 {
    match policy as i32 {
        libc::SCHED_FIFO | libc::SCHED_RR => priority,
        libc::SCHED_DEADLINE => DEADLINE,
        _ => 0,
    }
}

/// A policy as people write it.
pub fn policy_name(policy: u32, priority: u32) -> String {
    match policy as i32 {
        libc::SCHED_OTHER => "other".into(),
        libc::SCHED_FIFO => format!("fifo:{priority}"),
        libc::SCHED_RR => format!("rr:{priority}"),
        libc::SCHED_BATCH => "batch".into(),
        libc::SCHED_IDLE => "idle".into(),
        libc::SCHED_DEADLINE => "deadline".into(),
        other => format!("policy {other}"),
    }
}

/// The numbers of a program's threads; none once it has ended.
pub fn numbers(pid: i32) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).take(MOST).collect()
}

/// The process that a thread belongs to.
pub fn process_of(tid: i32) -> Option<i32> {
    let status = kernel_text::read(format!("/proc/{tid}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_file_is_read_whatever_the_name() {
        let stat = "812 (a) b (c) S 1 812 812 0 -1 4194560 331 0 7 0 12 30 0 0 -81 0 3 0 99123 8000 200 1 2 3 4 5 0 0 0 0 0 0 0 0 17 3 80 1 0 0 0 0";
        let state = ThreadState::parse(813, stat).unwrap();
        assert_eq!((state.tid, state.name.as_str(), state.started), (813, "a) b (c", 99_123));
        assert_eq!((state.policy_name().as_str(), state.cpu, state.faults), ("fifo:80", 3, (331, 7)));
        assert!(state.is_real_time());
        assert_eq!(ThreadState::parse(1, &stat.replace(") S", ") Z")), None, "it has ended");
        assert_eq!(ThreadState::parse(1, "812 (a) S 1"), None);
    }

    #[test]
    fn this_process_is_found() {
        let pid = std::process::id() as i32;
        let threads: Vec<_> = numbers(pid).into_iter().filter_map(|tid| ThreadState::read(pid, tid)).collect();
        assert!(threads.iter().any(|thread| thread.tid == pid && thread.started > 0));
        let own = ontick_rt::thread::current_tid();
        assert_eq!(process_of(own), Some(pid));
        assert_eq!(numbers(i32::MAX), [0; 0]);
    }

    /// The kernel cuts names after 15 octets.
    #[test]
    fn a_thread_whose_name_is_cut_in_the_middle_of_a_character_is_found() {
        let thread = std::thread::spawn(|| {
            rustix::thread::set_name(c"pr\xc3").unwrap();
            let tid = ontick_rt::thread::current_tid();
            (process_of(tid), ThreadState::read(std::process::id() as i32, tid).map(|state| state.name))
        });
        assert_eq!(thread.join().unwrap(), (Some(std::process::id() as i32), Some("pr\u{fffd}".into())));
    }
}
