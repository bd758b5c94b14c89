//! Processes that are stopped, as by a debugger.

use rustix::process::{Pid, Signal, kill_process};

/// They go on when this goes.
pub struct Frozen(Vec<Pid>);

impl Frozen {
    pub fn stop(processes: &[u32]) -> Self {
        let pids: Vec<Pid> = processes.iter().filter_map(|pid| Pid::from_raw(*pid as i32)).collect();
        for pid in &pids {
            let _ = kill_process(*pid, Signal::STOP);
        }
        Self(pids)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(*pid, Signal::CONT);
        }
    }
}
