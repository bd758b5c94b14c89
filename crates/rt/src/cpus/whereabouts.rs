//! Whether a thread is still on the CPU that it was pinned to. The kernel moves it without a word when that CPU is
//! unplugged, and so may anybody who changes its affinity. Looked at from beside: the thread itself does nothing for it.

use crate::kernel_text;

/// Looks where a thread of this process is.
#[derive(Debug, Clone)]
pub struct Whereabouts {
    cpu: u32,
    strayed_to: Vec<u32>,
}

impl Whereabouts {
    /// Of a thread that was pinned to `cpu`.
    pub fn of_one_pinned_to(cpu: u32) -> Self {
        Self { cpu, strayed_to: Vec::new() }
    }

    /// Looks for the thread `tid` of this process; the CPU that it is on, if that is another one for the first time.
    pub fn update(&mut self, tid: i32) -> Option<u32> {
        let stat = kernel_text::read(format!("/proc/self/task/{tid}/stat")).ok()?;
        self.take(processor(&stat)?)
    }

    fn take(&mut self, cpu: u32) -> Option<u32> {
        let new = cpu != self.cpu && !self.strayed_to.contains(&cpu);
        new.then(|| {
            self.strayed_to.push(cpu);
            cpu
        })
    }

    /// The CPU that it was pinned to.
    pub fn cpu(&self) -> u32 {
        self.cpu
    }

    /// Other CPUs on which it was found, in the order of their discovery.
    pub fn strayed_to(&self) -> &[u32] {
        &self.strayed_to
    }

    /// What happened to its CPU, in words.
    pub fn why(&self) -> String {
        match super::online().contains(&self.cpu) {
            true => format!("CPU {} was taken from it", self.cpu),
            false => format!("CPU {} is offline", self.cpu),
        }
    }
}

/// The CPU that a thread ran on last (proc_pid_stat(5), field 39). Its name, in parentheses, may hold anything.
fn processor(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thread::{current_tid, set_affinity, set_affinity_of};

    #[test]
    fn a_cpu_that_is_lost_is_reported_once() {
        let mut whereabouts = Whereabouts::of_one_pinned_to(3);
        let found: Vec<Option<u32>> = [3, 3, 0, 0, 1, 3, 0].map(|cpu| whereabouts.take(cpu)).into();
        assert_eq!(found, [None, None, Some(0), None, Some(1), None, None]);
        assert_eq!(whereabouts.strayed_to(), [0, 1]);
        assert_eq!(Whereabouts::of_one_pinned_to(1023).why(), "CPU 1023 is offline");
    }

    #[test]
    fn a_thread_with_an_odd_name_is_found() {
        let stat =
            "7 (a) 9 (b)) S 1 7 7 0 -1 64 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 5 99 1 0 0 0";
        assert_eq!(processor(stat), Some(5));
        assert_eq!(processor("7 (cut"), None);
    }

    /// As when its CPU is unplugged: somebody else gives it another.
    #[test]
    fn a_thread_that_is_moved_is_found_elsewhere() {
        let allowed = crate::cpus::allowed();
        let [first, .., last] = allowed[..] else { return ontick_skip::skipped!("one CPU") };
        let (ready, begun) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            set_affinity(&[first]).unwrap();
            ready.send(current_tid()).unwrap();
            ended.recv().unwrap_err();
        });
        let tid = begun.recv().unwrap();
        let mut whereabouts = Whereabouts::of_one_pinned_to(first);
        assert_eq!(whereabouts.update(tid), None);
        set_affinity_of(tid, &[last]).unwrap();
        // A thread that sleeps is moved when it wakes.
        drop(end);
        thread.join().unwrap();
        let stay = std::thread::spawn(move || {
            set_affinity(&[last]).unwrap();
            (whereabouts.update(current_tid()), whereabouts.why())
        });
        assert_eq!(stay.join().unwrap(), (Some(last), format!("CPU {first} was taken from it")));
    }
}
