//! Where the core runs.

use ontick_rt::cpus::claim::{ClaimError, Occupancy, dedicate};
use ontick_rt::thread::Policy;
use ontick_rt::{cpus, watchdog};
use ontick_tsn::model::Switch;

/// Where and how the core runs.
#[derive(Debug, Clone, Copy)]
pub struct CorePlacement {
    /// Its CPU; absent: as the scheduler likes.
    pub cpu: Option<u32>,
    /// Its scheduling.
    pub policy: Policy,
    /// It does not rest for the sake of normal threads of its CPU. It still does where real-time throttling is on or the
    /// kernel is a PREEMPT_RT one.
    pub never_rest: bool,
}

/// Where the user data plane runs: on `cpu`, the CPU that the configuration names, or as [`spinning`] chooses.
pub fn place(switch: &Switch, cpu: Option<u32>) -> CorePlacement {
    spinning(cpu.or(switch.cpus.first().copied()))
}

/// Where the cores of a switch run: on the CPUs that the configuration names, or one as [`spinning`] chooses.
pub fn places(switch: &Switch) -> Vec<CorePlacement> {
    match switch.cpus.as_slice() {
        [] | [_] => vec![place(switch, None)],
        several => several.iter().map(|cpu| spinning(Some(*cpu))).collect(),
    }
}

/// Where a core runs that keeps its CPU: on this one, or the one that suits best of those that no other process holds, which
/// is this process's from here on. Where it cannot have one for itself, it is an ordinary thread on one that is left.
pub fn spinning(cpu: Option<u32>) -> CorePlacement {
    let spinning = |cpu| CorePlacement { cpu: Some(cpu), policy: Policy::Fifo(99), never_rest: false };
    let ordinary = |cpu| CorePlacement { cpu, policy: Policy::Other, never_rest: false };
    if watchdog::may_occupy(cpus::online().len()).is_err() {
        return ordinary(None);
    }
    match cpu.map_or_else(dedicated, Ok) {
        Ok(cpu) => spinning(cpu),
        Err(_) => ordinary(Some(cpus::preferred())),
    }
}

/// Kept until the process ends: the core is started later.
fn dedicated() -> Result<u32, ClaimError> {
    dedicate(Occupancy::Spins).map(|(choice, claim)| {
        claim.keep();
        choice.cpu
    })
}
