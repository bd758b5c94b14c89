//! Which CPUs the core of the switches and the talkers have.

use ontick_rt::cpus;
use ontick_rt::thread::{Policy, set_affinity};
use ontick_switch::user::CorePlacement;

/// Where the talkers run beside a core: on another CPU, where this process may have one, else as ordinary threads. The
/// kernel's switches have no core, and work wherever frames come in: beside them they are ordinary threads, too.
pub fn beside(core: Option<CorePlacement>) -> CorePlacement {
    let other = |core: CorePlacement| {
        let other = cpus::allowed().into_iter().rev().find(|cpu| Some(*cpu) != core.cpu)?;
        core.policy.is_real_time().then_some((other, core.policy))
    };
    match core.and_then(other) {
        Some((cpu, policy)) => CorePlacement { cpu: Some(cpu), policy, never_rest: false },
        None => CorePlacement { cpu: None, policy: Policy::Other, never_rest: false },
    }
}

/// Keeps the calling thread, and what it starts, off the core's CPU.
pub(super) fn leave(core: CorePlacement) {
    let Some(cpu) = core.cpu else { return };
    let others: Vec<u32> = cpus::allowed().into_iter().filter(|other| *other != cpu).collect();
    if !others.is_empty() {
        // Not allowed everywhere, and not essential.
        let _ = set_affinity(&others);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn talkers_are_never_on_the_core_s_cpu() {
        let core = |cpu, policy| CorePlacement { cpu, policy, never_rest: false };
        for cpu in cpus::allowed() {
            let talkers = beside(Some(core(Some(cpu), Policy::Fifo(99))));
            assert!(talkers.cpu != Some(cpu));
            assert_eq!(talkers.policy.is_real_time(), talkers.cpu.is_some());
        }
        assert_eq!(beside(Some(core(None, Policy::Other))).policy, Policy::Other);
        assert_eq!(beside(None).policy, Policy::Other);
    }
}
