//! Looks whether the machine's clock is set.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use ontick_rt::cpus;
use ontick_rt::thread::{Policy, set_affinity, set_policy};
use ontick_switch::user::time::Distance;

use super::steps::Steps;

const LOOK: Duration = Duration::from_millis(20);

/// Follows the distance of a clock from the monotonic one, on a thread of its own, as long as this lives.
#[derive(Debug)]
pub struct Following {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    steps: Arc<Steps>,
}

impl Following {
    /// Starts to. The caller may run at a priority, and on a CPU of its own: the thread does neither.
    pub fn start(distance: Distance) -> io::Result<Self> {
        let steps = Arc::new(Steps::default());
        let (stop, stopped) = channel();
        let work = {
            let steps = steps.clone();
            move || {
                // Neither needs privileges.
                let _ = set_policy(0, Policy::Other);
                let _ = set_affinity(&cpus::online());
                while stopped.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                    if let Some(step_ns) = distance.follow() {
                        steps.add(step_ns);
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("ontick-clock".into()).spawn(work)?;
        Ok(Self { stop: Some(stop), thread: Some(thread), steps })
    }

    /// How often the clock was set so far, and by how much the last time, in ns.
    pub fn steps(&self) -> (u64, i64) {
        self.steps.so_far()
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
