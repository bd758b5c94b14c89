//! Names and priorities of tasks, which only switches tell.
//!
//! A CPU that left idle without a switch, or after a loss, shows a task by its number alone. Some switch before or after,
//! on this CPU or another, usually names it.

use std::collections::BTreeMap;

use super::events::{Event, Kind, Task};

/// Tasks by their number.
pub struct Names(BTreeMap<i32, Task>);

impl Names {
    /// All that these events name, as they do it last.
    pub fn of(events: &[Event]) -> Self {
        let mut names = BTreeMap::new();
        let mut note = |task: &Task| {
            if task.is_named() {
                names.insert(task.pid, *task);
            }
        };
        for event in events {
            match &event.kind {
                Kind::Switch { prev, next, .. } => {
                    note(prev);
                    note(next);
                }
                Kind::LeftIdle(next) => note(next),
                _ => {}
            }
        }
        Self(names)
    }

    /// The task of this number.
    pub fn task(&self, pid: i32) -> Task {
        self.0.get(&pid).copied().unwrap_or_else(|| Task::unnamed(pid))
    }
}

#[cfg(test)]
mod tests {
    use super::super::events::Comm;
    use super::*;

    #[test]
    fn a_task_is_named_by_any_switch() {
        let task = |pid, priority, name: &str| Task { pid, priority, comm: Comm::new(name.as_bytes()) };
        let switch = |prev, next| Event { at_ns: 1, cpu: 1, pid: 5, kind: Kind::Switch { prev, state: 0, next } };
        let [sh, worker, late] = [task(5, 120, "sh"), task(6, 49, "irq/9"), task(7, 98, "woken")];
        let left = Event { kind: Kind::LeftIdle(late), ..switch(sh, sh) };
        let names = Names::of(&[switch(sh, worker), switch(worker, Task::unnamed(5)), left]);
        assert_eq!([5, 6, 7, 8].map(|pid| names.task(pid)), [sh, worker, late, Task::unnamed(8)]);
        // It became another program meanwhile.
        let sleep = task(5, 120, "sleep");
        assert_eq!(Names::of(&[switch(sh, worker), switch(sleep, worker)]).task(5), sleep);
    }
}
