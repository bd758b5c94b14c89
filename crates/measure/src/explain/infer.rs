//! Switches out of idle that the kernel did not record.
//!
//! Some kernels record nothing that the idle task does outside of interrupts, its own end included: the next
//! event then shows a task that no switch brought. When a task was woken in an interrupt of this CPU, the CPU
//! left idle for it right after the last interrupt, and this is what is put in.

use std::collections::BTreeMap;

use super::events::{Event, Kind, Task, Vector};

/// What is known of a CPU between two looks.
#[derive(Default)]
struct Cpu {
    /// Who is current; 0 is idle.
    current: Option<i32>,
    last_ns: u64,
    /// Who was made runnable here since it went idle.
    woken: Vec<i32>,
    /// Another CPU asked it to reschedule since it went idle.
    called: bool,
}

/// Puts in what is missing.
#[derive(Default)]
pub struct IdleExits {
    cpus: BTreeMap<u32, Cpu>,
}

impl IdleExits {
    /// Adds `recorded`, in the order of time for each CPU, to `events`, with the switches that they lack.
    pub fn infer(&mut self, recorded: Vec<Event>, events: &mut Vec<Event>) {
        for (index, event) in recorded.iter().enumerate() {
            let cpu = self.cpus.entry(event.cpu).or_default();
            if let (true, Some(0)) = (event.kind != Kind::Lost, cpu.current) {
                let current = current(event);
                if current != 0 && (cpu.called || cpu.woken.contains(&current)) {
                    let kind = Kind::LeftIdle(task(current, &recorded[index..]));
                    events.push(Event { at_ns: cpu.last_ns, cpu: event.cpu, pid: 0, kind });
                }
            }
            cpu.meet(event);
            events.push(event.clone());
        }
    }
}

impl Cpu {
    fn meet(&mut self, event: &Event) {
        self.last_ns = event.at_ns;
        self.current = Some(current(event));
        match event.kind {
            Kind::Switch { next, .. } => {
                *self = Cpu { current: Some(next.pid), last_ns: event.at_ns, ..Cpu::default() }
            }
            Kind::Wakeup(pid) if self.current == Some(0) => self.woken.push(pid),
            Kind::VectorEntry(Vector::Reschedule) => self.called = true,
            Kind::Lost => *self = Cpu::default(),
            _ => {}
        }
    }
}

/// Who was current when an event began.
fn current(event: &Event) -> i32 {
    match event.kind {
        Kind::Switch { prev, .. } => prev.pid,
        _ => event.pid,
    }
}

/// The task's name and priority stand where it is switched from.
fn task(pid: i32, later: &[Event]) -> Task {
    let cpu = later.first().map(|event| event.cpu);
    let named = later.iter().filter(|event| Some(event.cpu) == cpu).find_map(|event| match event.kind {
        Kind::Switch { prev, .. } => Some(prev),
        _ => None,
    });
    named.filter(|task| task.pid == pid).unwrap_or_else(|| Task::unnamed(pid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at_ns: u64, pid: i32, kind: Kind) -> Event {
        Event { at_ns, cpu: 1, pid, kind }
    }

    fn switch(prev: i32, next: i32) -> Kind {
        let task = |pid| Task { priority: 49, ..Task::unnamed(pid) };
        Kind::Switch { prev: task(prev), state: 1, next: task(next) }
    }

    fn mended(recorded: Vec<Event>) -> Vec<Event> {
        let mut events = Vec::new();
        IdleExits::default().infer(recorded, &mut events);
        events
    }

    #[test]
    fn a_task_woken_on_an_idle_cpu_leaves_idle_after_the_interrupt() {
        let events = mended(vec![
            event(10, 7, switch(7, 0)),
            event(50, 0, Kind::VectorEntry(Vector::Timer)),
            event(51, 0, Kind::Wakeup(7)),
            event(55, 0, Kind::VectorExit(Vector::Timer)),
            event(90, 7, switch(7, 0)),
        ]);
        let left = Kind::LeftIdle(Task { priority: 49, ..Task::unnamed(7) });
        assert_eq!((events.len(), &events[4]), (6, &event(55, 0, left)));
    }

    #[test]
    fn nothing_is_put_in_where_the_kernel_tells_or_where_nobody_was_woken() {
        let reported = vec![
            event(10, 7, switch(7, 0)),
            event(50, 0, Kind::VectorEntry(Vector::Timer)),
            event(51, 0, Kind::Wakeup(7)),
            event(56, 0, switch(0, 7)),
            event(90, 7, switch(7, 0)),
        ];
        assert_eq!(mended(reported.clone()), reported);
        // It may have left idle at any time since.
        let polled = vec![event(10, 7, switch(7, 0)), event(90, 7, switch(7, 0))];
        assert_eq!(mended(polled.clone()), polled);
        let lost = vec![event(10, 7, switch(7, 0)), event(60, 8, Kind::Lost), event(90, 7, switch(7, 0))];
        assert_eq!(mended(lost.clone()), lost);
    }

    fn left(at_ns: u64, priority: i32) -> Event {
        event(at_ns, 0, Kind::LeftIdle(Task { priority, ..Task::unnamed(7) }))
    }

    /// Nobody was woken here, but another CPU asked for it.
    #[test]
    fn a_cpu_that_was_asked_to_reschedule_left_idle_for_what_came() {
        let came = vec![
            event(10, 7, switch(7, 0)),
            event(50, 0, Kind::VectorEntry(Vector::Reschedule)),
            event(55, 0, Kind::VectorExit(Vector::Reschedule)),
            event(90, 7, Kind::PageFault),
        ];
        let events = mended(came.clone());
        // Its name and priority are reported by no later event.
        assert_eq!(events, [&came[..3], &[left(55, 120)], &came[3..]].concat());
        let called = |vector| mended(vec![came[0].clone(), event(50, 0, Kind::VectorEntry(vector)), came[3].clone()]);
        assert_eq!((called(Vector::Reschedule).len(), called(Vector::Call).len()), (4, 3));
    }

    /// What is not known of a CPU is not guessed: after a loss, and of wake-ups before it went idle.
    #[test]
    fn what_was_before_a_loss_or_a_switch_tells_nothing() {
        let woken_before = vec![
            event(5, 8, Kind::Wakeup(7)),
            event(8, 8, Kind::VectorEntry(Vector::Reschedule)),
            event(10, 8, switch(8, 0)),
            event(90, 7, switch(7, 0)),
        ];
        assert_eq!(mended(woken_before.clone()), woken_before);
        let lost = vec![
            event(10, 7, switch(7, 0)),
            event(50, 0, Kind::VectorEntry(Vector::Reschedule)),
            event(51, 0, Kind::Wakeup(7)),
            event(60, 0, Kind::Lost),
            event(90, 7, switch(7, 0)),
        ];
        assert_eq!(mended(lost.clone()), lost);
        let another = vec![event(10, 7, switch(7, 0)), event(51, 0, Kind::Wakeup(9)), event(90, 7, switch(7, 0))];
        assert_eq!(mended(another.clone()), another, "someone else was woken");
    }

    /// Each CPU has its own idle task, and the mender knows from look to look what came before.
    #[test]
    fn cpus_are_mended_each_for_itself_and_across_looks() {
        let on = |cpu, event: Event| Event { cpu, ..event };
        let (mut idle_exits, mut events) = (IdleExits::default(), Vec::new());
        let first =
            vec![event(10, 7, switch(7, 0)), event(51, 0, Kind::Wakeup(7)), on(2, event(60, 9, Kind::PageFault))];
        idle_exits.infer(first.clone(), &mut events);
        let second = vec![on(2, event(70, 7, Kind::PageFault)), event(90, 7, switch(7, 0))];
        idle_exits.infer(second.clone(), &mut events);
        assert_eq!(events, [&first[..], &second[..1], &[left(51, 49)], &second[1..]].concat());
    }
}
