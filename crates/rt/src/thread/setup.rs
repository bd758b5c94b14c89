//! The builder, and what it obtained.

use super::{KeptAwake, LatencyRequest, Policy, Refusal, affinity, memory, policy};

/// What to ask for. Nothing is asked that was not named.
#[derive(Debug, Clone, Copy, Default)]
pub struct Setup {
    cpu: Option<u32>,
    policy: Option<Policy>,
    lock_memory: bool,
    cpu_latency_us: Option<i32>,
    awake: bool,
    timer_slack_ns: Option<u64>,
    policy_ends_here: bool,
}

/// What the calling thread obtained. When it is dropped, memory is unlocked unless some was locked before, the power-state
/// request ends and the CPU may idle again; CPU and policy stay with the thread.
#[derive(Debug, Default)]
pub struct ThreadSetup {
    refused: Vec<Refusal>,
    memory_locked: bool,
    cpu: Option<u32>,
    policy: Option<Policy>,
    latency_request: Option<LatencyRequest>,
    kept_awake: Option<KeptAwake>,
}

impl Setup {
    /// Asks for nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Run on this CPU only.
    pub fn cpu(mut self, cpu: u32) -> Self {
        self.cpu = Some(cpu);
        self
    }

    /// Run under this policy.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Lock the process's memory (mlockall(2)) and touch stack and heap, so that no page fault follows.
    pub fn lock_memory(mut self) -> Self {
        self.lock_memory = true;
        self
    }

    /// Keep all CPUs out of power states that take longer than this to leave, by `/dev/cpu_dma_latency`.
    pub fn cpu_latency_us(mut self, us: i32) -> Self {
        self.cpu_latency_us = Some(us);
        self
    }

    /// Keep the CPU that [`cpu`](Self::cpu) names from idling ([`KeptAwake`]).
    pub fn keep_awake(mut self) -> Self {
        self.awake = true;
        self
    }

    /// Let the kernel delay this thread's timers by no more than this (prctl(2) `PR_SET_TIMERSLACK`).
    /// Real-time policies have none anyway.
    pub fn timer_slack_ns(mut self, ns: u64) -> Self {
        self.timer_slack_ns = Some(ns);
        self
    }

    /// What this thread starts, threads and processes, gets normal scheduling instead of its policy (sched(7),
    /// `SCHED_RESET_ON_FORK`). Without the right to change any policy the mark stays with the thread for good.
    pub fn keep_policy_from_children(mut self) -> Self {
        self.policy_ends_here = true;
        self
    }

    /// Sets the calling thread up as far as the system allows; [`ThreadSetup::refused`] tells the rest.
    pub fn best_effort(self) -> ThreadSetup {
        let mut ready = ThreadSetup::default();
        // Memory first: what the other steps allocate is then locked too.
        if self.lock_memory {
            match memory::lock() {
                Ok(()) => ready.memory_locked = true,
                Err(refusal) => ready.refused.push(refusal),
            }
            memory::prefault_heap();
            memory::prefault_stack();
        }
        if let Some(cpu) = self.cpu {
            match affinity::pin(cpu) {
                Ok(()) => ready.cpu = Some(cpu),
                Err(refusal) => ready.refused.push(refusal),
            }
        }
        if let Some(us) = self.cpu_latency_us {
            match LatencyRequest::hold(us) {
                Ok(request) => ready.latency_request = Some(request),
                Err(refusal) => ready.refused.push(refusal),
            }
        }
        if self.awake {
            let pinned = ready
                .cpu
                .ok_or_else(|| Refusal::new("a CPU kept awake", "the thread is pinned to none", "name its CPU"));
            match pinned.and_then(KeptAwake::hold) {
                Ok(held) => ready.kept_awake = Some(held),
                Err(refusal) => ready.refused.push(refusal),
            }
        }
        if let Some(ns) = self.timer_slack_ns {
            if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(ns.max(1))) {
                ready.refused.push(Refusal::new("timer slack", error.to_string(), "nothing: it is not essential"));
            }
        }
        if let Some(wanted) = self.policy {
            match policy::obtain(wanted, self.policy_ends_here) {
                Ok(()) => ready.policy = Some(wanted),
                Err(refusal) => ready.refused.push(refusal),
            }
        }
        ready
    }

    /// Sets the calling thread up, or tells the first thing that was refused. CPU and policy that were
    /// already set stay with the thread.
    pub fn strict(self) -> Result<ThreadSetup, Refusal> {
        let ready = self.best_effort();
        match ready.refused.first().cloned() {
            None => Ok(ready),
            Some(refusal) => Err(refusal),
        }
    }
}

impl ThreadSetup {
    /// What was asked and not obtained, with reason and remedy.
    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    /// Whether memory is locked.
    pub fn memory_locked(&self) -> bool {
        self.memory_locked
    }

    /// The CPU that the thread is pinned to.
    pub fn cpu(&self) -> Option<u32> {
        self.cpu
    }

    /// The longest that power states may take to leave, in microseconds, where that is held.
    pub fn cpu_latency_us(&self) -> Option<i32> {
        self.latency_request.as_ref().map(LatencyRequest::us)
    }

    /// Whether that CPU is kept awake.
    pub fn is_kept_awake(&self) -> bool {
        self.kept_awake.is_some()
    }

    /// The policy that was obtained.
    pub fn policy(&self) -> Option<Policy> {
        self.policy
    }
}

impl Drop for ThreadSetup {
    fn drop(&mut self) {
        if self.memory_locked {
            memory::unlock();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_its_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(work).join().unwrap())
    }

    #[test]
    fn an_unknown_cpu_is_refused_and_the_rest_is_done() {
        let refused = on_its_own_thread(|| {
            let ready = Setup::new().cpu(1023).timer_slack_ns(1).best_effort();
            assert_eq!(ready.cpu(), None);
            ready.refused().to_vec()
        });
        assert_eq!(refused.len(), 1);
        assert!(refused[0].to_string().contains("CPU 1023"), "{}", refused[0]);
    }

    #[test]
    fn strict_fails_where_best_effort_reports() {
        let refusal = on_its_own_thread(|| Setup::new().cpu(1023).strict().unwrap_err());
        assert!(refusal.to_string().contains("online"), "{refusal}");
    }

    #[test]
    fn a_pinned_thread_stays_on_its_cpu() {
        let cpu = crate::cpus::preferred();
        on_its_own_thread(move || {
            assert_eq!(Setup::new().cpu(cpu).strict().unwrap().cpu(), Some(cpu));
            assert_eq!(crate::cpus::allowed(), [cpu]);
        });
    }

    /// The watchdog is such a thread.
    #[test]
    fn a_deadline_thread_may_start_others() {
        on_its_own_thread(|| {
            let policy = Policy::Deadline { runtime_ns: 100_000, deadline_ns: 1_000_000, period_ns: 1_000_000 };
            let _ready = Setup::new().policy(policy).best_effort();
            std::thread::Builder::new().spawn(|| ()).unwrap().join().unwrap();
        });
    }

    /// Memory is locked for the whole process, so one thread's end must not unlock another's.
    #[test]
    fn memory_stays_locked_until_the_last_holder_ends() {
        let (first, second) = (Setup::new().lock_memory().best_effort(), Setup::new().lock_memory().best_effort());
        if !second.memory_locked() {
            return;
        }
        drop(first);
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let locked = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap();
        assert_ne!(locked.trim(), "0 kB");
        drop(second);
    }

    /// Holds with and without privileges: either the policy is in force or the reason is reported.
    #[test]
    fn a_policy_is_in_force_or_explained() {
        for wanted in [Policy::Fifo(10), Policy::RoundRobin(10), Policy::Other] {
            on_its_own_thread(move || {
                let ready = Setup::new().policy(wanted).best_effort();
                let in_force = policy::in_force(0).unwrap();
                match ready.refused() {
                    [] => assert_eq!(in_force, wanted),
                    [refusal] => assert!(refusal.remedy.len() > 10 && in_force != wanted, "{refusal}"),
                    more => panic!("{more:?}"),
                }
            });
        }
    }
}
