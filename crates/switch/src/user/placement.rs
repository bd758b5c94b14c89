//! Where the core runs.

use ontick_rt::thread::Policy;

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
