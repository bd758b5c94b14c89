//! Where in the kernel the task was that had the CPU, taken whenever a timer interrupted one.

use super::attribute::Window;
use super::cause::Cause;
use super::events::{Event, Kind, Task};
use super::symbols::Symbols;
use super::timeline::{Occupant, Span, Thread};

/// Functions of a stack that are told, at most.
const TOLD: usize = 24;
/// By which interrupts enter the kernel: what lies below was interrupted. On Arm those from the kernel and those from user
/// space differ, and those before Linux 5.14 from those since; before 5.8 x86 had others, too.
const ENTRIES: [&str; 14] = [
    "asm_sysvec_",
    "asm_common_interrupt",
    "apic_timer_interrupt",
    "common_interrupt",
    "el1h_64_irq",
    "el1h_64_fiq",
    "el0t_64_irq",
    "el0t_64_fiq",
    "el0t_32_irq",
    "el0t_32_fiq",
    "el1_irq",
    "el0_irq",
    "__irq_svc",
    "__irq_usr",
];

/// A stack, innermost first.
#[derive(Debug)]
struct Stack {
    at_ns: u64,
    cpu: u32,
    pid: i32,
    returns: Box<[u64]>,
}

/// A stack as it is told.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Whose.
    pub task: String,
    /// Innermost first.
    pub functions: Vec<String>,
}

/// Those that may be asked for.
#[derive(Debug)]
pub struct Stacks {
    symbols: Symbols,
    taken: Vec<Stack>,
}

impl Stacks {
    /// None yet, of this kernel.
    pub fn new(symbols: Symbols) -> Self {
        Self { symbols, taken: Vec::new() }
    }

    /// Takes stacks out of what was recorded.
    pub fn take(&mut self, recorded: &mut Vec<Event>) {
        recorded.retain_mut(|event| {
            let Kind::Stack(returns) = &mut event.kind else { return true };
            let Event { at_ns, cpu, pid, .. } = *event;
            self.taken.push(Stack { at_ns, cpu, pid, returns: std::mem::take(returns) });
            false
        });
        self.taken.sort_by_key(|stack| stack.at_ns);
    }

    /// Drops those before a time.
    pub fn forget(&mut self, before_ns: u64) {
        let old = self.taken.partition_point(|stack| stack.at_ns < before_ns);
        self.taken.drain(..old);
    }

    /// The first stack within this time of a task that had the CPU on which the timed thread was to run: of the task that
    /// the cause names, if it names one. None where each was outside the kernel.
    pub fn within(&self, window: Window, cause: &Cause, spans: &[Span], tid: i32) -> Option<Told> {
        let pid = match names_a_task(cause) {
            true => Some(longest_of(cause, spans, window)?.pid),
            false => None,
        };
        let from = self.taken.partition_point(|stack| stack.at_ns < window.deadline_ns);
        let within = self.taken[from..].iter().take_while(|stack| stack.at_ns <= window.now_ns);
        let mut wanted = within.filter(|stack| {
            pid.map_or(stack.pid != tid, |pid| stack.pid == pid) && is_on_the_threads_cpu(stack, spans)
        });
        wanted.find_map(|stack| {
            let functions = self.named(stack);
            (!functions.is_empty()).then(|| Told { task: task(stack.pid, spans), functions })
        })
    }

    /// Without the interrupt's own; none where these cannot be told from the task's.
    fn named(&self, stack: &Stack) -> Vec<String> {
        let mut names: Vec<String> = stack.returns.iter().map(|address| self.symbols.name(*address)).collect();
        let is_entry = |name: &String| ENTRIES.iter().any(|entry| name.starts_with(entry));
        let Some(entry) = names.iter().rposition(is_entry) else { return Vec::new() };
        names.drain(..=entry);
        names.truncate(TOLD);
        names
    }
}

fn is_on_the_threads_cpu(stack: &Stack, spans: &[Span]) -> bool {
    let after = spans.partition_point(|span| span.to_ns < stack.at_ns);
    spans.get(after).is_some_and(|span| span.from_ns <= stack.at_ns && span.cpu == stack.cpu)
}

fn names_a_task(cause: &Cause) -> bool {
    matches!(cause, Cause::AnotherTask(_) | Cause::FairServer(_) | Cause::Throttling)
}

/// The task that had the CPU in the longest stretch that is of this cause.
fn longest_of<'s>(cause: &Cause, spans: &'s [Span], window: Window) -> Option<&'s Task> {
    let inside = |span: &Span| span.within(window.deadline_ns, window.now_ns);
    let of_cause = |span: &'s Span| match (&span.who, cause) {
        (Occupant::Task(task), Cause::AnotherTask(name)) if task.to_string() == *name => Some((task, inside(span))),
        (Occupant::Task(task), Cause::FairServer(_) | Cause::Throttling) if span.thread == Thread::Preempted => {
            Some((task, inside(span)))
        }
        _ => None,
    };
    let longest = spans.iter().filter_map(of_cause).filter(|(_, ns)| *ns > 0).max_by_key(|(_, ns)| *ns);
    longest.map(|(task, _)| task)
}

/// Its name and policy, where a stretch tells them.
fn task(pid: i32, spans: &[Span]) -> String {
    let known = spans.iter().rev().find_map(|span| match &span.who {
        Occupant::Task(task) if task.pid == pid => Some(task),
        _ => None,
    });
    known.map_or_else(|| Task::unnamed(pid).to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests;
