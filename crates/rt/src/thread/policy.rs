//! Scheduling policies (sched(7)), as people write them: `other`, `fifo:99`, `rr:55`,
//! `deadline:100us/1ms/1ms`.

use std::fmt;
use std::fs;
use std::io;
use std::str::FromStr;

use ontick_units::parse_time;
use rustix::process::{Pid, getpriority_process};

use super::Refusal;
use crate::sys::{self, SchedAttr};

/// The mark of a thread whose children get normal scheduling.
pub(super) const RESET_ON_FORK: u64 = libc::SCHED_FLAG_RESET_ON_FORK as u64;

/// A scheduling policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Policy {
    /// `SCHED_OTHER`: shares the CPU fairly.
    #[default]
    Other,
    /// `SCHED_FIFO` with a priority from 1 to 99: runs until it sleeps or a higher priority comes.
    Fifo(u8),
    /// `SCHED_RR`: as FIFO, taking turns with its equals.
    RoundRobin(u8),
    /// `SCHED_DEADLINE`: `runtime_ns` in every `period_ns`, finished by `deadline_ns` after its start.
    Deadline {
        /// CPU time per period, in ns.
        runtime_ns: u64,
        /// Deadline after the period's start, in ns.
        deadline_ns: u64,
        /// Period, in ns.
        period_ns: u64,
    },
}

/// A policy that could not be read; the text says what was wrong and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "policy \"{0}\": {1} (write other, fifo:1 to fifo:99, rr:1 to rr:99 or deadline:RUNTIME/DEADLINE/PERIOD such as deadline:100us/1ms/1ms)"
)]
pub struct PolicyError(String, &'static str);

impl Policy {
    /// Whether threads of this policy come before normal ones.
    pub fn is_real_time(self) -> bool {
        self != Policy::Other
    }

    pub(crate) fn attributes(self) -> SchedAttr {
        let mut attr = SchedAttr::default();
        match self {
            Policy::Other => attr.policy = libc::SCHED_OTHER as u32,
            Policy::Fifo(priority) => (attr.policy, attr.priority) = (libc::SCHED_FIFO as u32, priority.into()),
            Policy::RoundRobin(priority) => (attr.policy, attr.priority) = (libc::SCHED_RR as u32, priority.into()),
            Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
                attr.policy = libc::SCHED_DEADLINE as u32;
                // Without it the kernel lets the thread start no other (sched(7)).
                attr.flags = RESET_ON_FORK;
                (attr.runtime_ns, attr.deadline_ns, attr.period_ns) = (runtime_ns, deadline_ns, period_ns);
            }
        }
        attr
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let fail = |problem| PolicyError(text.into(), problem);
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        let priority = || match value.parse() {
            _ if value.is_empty() => Err(fail("the priority is missing")),
            Ok(priority @ 1..=99) => Ok(priority),
            _ => Err(fail("the priority is not from 1 to 99")),
        };
        match name {
            "other" if value.is_empty() => Ok(Policy::Other),
            "fifo" => priority().map(Policy::Fifo),
            "rr" => priority().map(Policy::RoundRobin),
            "deadline" => {
                let times: Vec<u64> = value.split('/').map(|time| nanoseconds(time).unwrap_or(0)).collect();
                match times[..] {
                    [runtime_ns, deadline_ns, period_ns] if runtime_ns == 0 || deadline_ns == 0 || period_ns == 0 => {
                        Err(fail("each of the three times must be above 0, such as 100us or 1ms"))
                    }
                    [runtime_ns, deadline_ns, period_ns] if runtime_ns > deadline_ns || deadline_ns > period_ns => {
                        Err(fail("it must hold that runtime <= deadline <= period"))
                    }
                    [runtime_ns, deadline_ns, period_ns] => Ok(Policy::Deadline { runtime_ns, deadline_ns, period_ns }),
                    _ => Err(fail("it needs three times")),
                }
            }
            _ => Err(fail("there is no such policy")),
        }
    }
}

/// A time, or a whole number of ns.
fn nanoseconds(text: &str) -> Option<u64> {
    text.parse().ok().or_else(|| parse_time(text).ok())
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Policy::Other => f.write_str("other"),
            Policy::Fifo(priority) => write!(f, "fifo:{priority}"),
            Policy::RoundRobin(priority) => write!(f, "rr:{priority}"),
            Policy::Deadline { runtime_ns, deadline_ns, period_ns } => {
                write!(f, "deadline:{runtime_ns}/{deadline_ns}/{period_ns}")
            }
        }
    }
}

/// The calling thread's id.
pub fn current_tid() -> i32 {
    rustix::thread::gettid().as_raw_nonzero().get()
}

/// Sets the policy of a thread (0: the calling one). Whether those that it starts get normal scheduling stays as it is. It
/// allocates nothing, so that it may be called between fork and exec.
pub fn set_policy(tid: i32, policy: Policy) -> io::Result<()> {
    // To take the mark away needs a privilege that to lower a policy does not.
    set(tid, policy, sys::sched_getattr(tid)?.flags & RESET_ON_FORK != 0)
}

fn set(tid: i32, policy: Policy, ends_here: bool) -> io::Result<()> {
    let mut attributes = policy.attributes();
    attributes.flags |= if ends_here { RESET_ON_FORK } else { 0 };
    if policy == Policy::Other {
        // Under `nice`, a better one than before is refused without privileges, and the policy with it.
        attributes.nice = getpriority_process(Pid::from_raw(tid))?;
    }
    sys::sched_setattr(tid, &mut attributes)
}

/// Sets the policy of the calling thread, or explains why not. With `ends_here`, what it starts does not get it.
pub(super) fn obtain(policy: Policy, ends_here: bool) -> Result<(), Refusal> {
    let obtained = if ends_here { set(0, policy, true) } else { set_policy(0, policy) };
    obtained.map_err(|error| {
        let what = format!("policy {policy}");
        let (why, remedy) = match (error.raw_os_error(), policy) {
            (Some(libc::EPERM), Policy::Deadline { .. }) => (
                "it needs CAP_SYS_NICE, and a thread that is pinned cannot have it outside an exclusive cpuset".into(),
                "run as root without naming a CPU, or use fifo".into(),
            ),
            (Some(libc::EBUSY), _) => (
                "admission control: the CPUs have no such bandwidth left".into(),
                "ask for less runtime per period".into(),
            ),
            (Some(libc::EPERM), _) => why_no_permission(policy),
            _ => (error.to_string(), "use another policy".into()),
        };
        Refusal::new(what, why, remedy)
    })
}

fn why_no_permission(policy: Policy) -> (String, String) {
    if let Some(path) = starved_cgroup() {
        let remedy = format!("write 950000 to {path}, or move this process to the root cpu cgroup");
        return (format!("its cpu cgroup has no real-time budget ({path} is 0)"), remedy);
    }
    let remedy = match policy {
        Policy::Fifo(p) | Policy::RoundRobin(p) => {
            format!("run as root, or add \"@realtime - rtprio {p}\" to /etc/security/limits.conf")
        }
        _ => "run as root".into(),
    };
    ("it needs CAP_SYS_NICE or a larger RLIMIT_RTPRIO".into(), remedy)
}

/// With `RT_GROUP_SCHED` and cgroup v1 a new cpu cgroup starts with a real-time budget of 0.
fn starved_cgroup() -> Option<String> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = cpu_cgroup(&groups)?;
    let file = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"]
        .iter()
        .map(|mount| format!("{mount}{}/cpu.rt_runtime_us", path.trim_end_matches('/')))
        .find(|file| fs::exists(file).unwrap_or(false))?;
    (fs::read_to_string(&file).ok()?.trim() == "0").then_some(file)
}

/// The v1 cpu controller's path in `/proc/self/cgroup`.
fn cpu_cgroup(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        controllers.split(',').any(|c| c == "cpu").then_some(path)
    })
}

/// The policy that a thread has (0: the calling one); [`Policy::Other`] also for `SCHED_BATCH` and `SCHED_IDLE`. It
/// allocates nothing, so that it may be called between fork and exec.
pub fn in_force(tid: i32) -> io::Result<Policy> {
    let attr = sys::sched_getattr(tid)?;
    Ok(match attr.policy as i32 {
        libc::SCHED_FIFO => Policy::Fifo(attr.priority as u8),
        libc::SCHED_RR => Policy::RoundRobin(attr.priority as u8),
        libc::SCHED_DEADLINE => {
            Policy::Deadline { runtime_ns: attr.runtime_ns, deadline_ns: attr.deadline_ns, period_ns: attr.period_ns }
        }
        _ => Policy::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nonsense_is_explained() {
        for (text, word) in [
            ("fifo", "the priority is missing"),
            ("fifo:0", "1 to 99"),
            ("fifo:100", "1 to 99"),
            ("idle", "no such"),
            ("deadline:1/2", "three times"),
            ("deadline:3/2/4", "runtime <= deadline"),
            ("deadline:x/2/4", "above 0"),
            ("other:1", "no such"),
        ] {
            let error = text.parse::<Policy>().unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn deadline_times_may_have_units() {
        let with_units = "deadline:0.1ms/1ms/1000000".parse();
        let expected = Policy::Deadline { runtime_ns: 100_000, deadline_ns: 1_000_000, period_ns: 1_000_000 };
        assert_eq!(with_units, Ok(expected));
    }

    #[test]
    fn the_cpu_controllers_path_is_found() {
        assert_eq!(cpu_cgroup("9:name=systemd:/\n1:cpu,cpuacct:/user.slice\n0::/x"), Some("/user.slice"));
        assert_eq!(cpu_cgroup("3:cpuset:/\n0::/"), None);
    }

    proptest! {
        #[test]
        fn shown_as_it_reads(text in "other|fifo:[1-9][0-9]?|rr:[1-9][0-9]?|deadline:[1-9]/1[0-9]/2[0-9]{3}") {
            prop_assert_eq!(text.parse::<Policy>().unwrap().to_string(), text);
        }

        #[test]
        fn any_text_is_answered(text in "(fifo|rr|deadline|other)?:?[0-9/x]{0,20}") {
            let _ = text.parse::<Policy>();
        }
    }
}
