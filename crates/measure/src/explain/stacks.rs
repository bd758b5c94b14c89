//! Where in the kernel the task was that had the CPU, taken whenever a timer interrupted one.

use super::attribute::Window;
use super::events::{Event, Kind};
use super::symbols::Symbols;

/// Functions of a stack that are told, at most.
const TOLD: usize = 24;
/// By which interrupts enter the kernel: what lies below was interrupted.
const ENTRIES: [&str; 5] = ["asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "el1_irq", "__irq_svc"];

/// A stack, innermost first.
#[derive(Debug)]
struct Stack {
    at_ns: u64,
    pid: i32,
    returns: Box<[u64]>,
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
            self.taken.push(Stack { at_ns: event.at_ns, pid: event.pid, returns: std::mem::take(returns) });
            false
        });
        self.taken.sort_by_key(|stack| stack.at_ns);
    }

    /// Drops those before a time.
    pub fn forget(&mut self, before_ns: u64) {
        let old = self.taken.partition_point(|stack| stack.at_ns < before_ns);
        self.taken.drain(..old);
    }

    /// Functions in which another task than the timed thread was within this time, the first that there was; none where each
    /// was outside the kernel.
    pub fn within(&self, window: Window, tid: i32) -> Vec<String> {
        let from = self.taken.partition_point(|stack| stack.at_ns < window.deadline_ns);
        let within = self.taken[from..].iter().take_while(|stack| stack.at_ns <= window.now_ns);
        let mut named = within.filter(|stack| stack.pid != tid).map(|stack| self.named(stack));
        named.find(|names| !names.is_empty()).unwrap_or_default()
    }

    /// Without the interrupt's own.
    fn named(&self, stack: &Stack) -> Vec<String> {
        let mut names: Vec<String> = stack.returns.iter().map(|address| self.symbols.name(*address)).collect();
        let is_entry = |name: &String| ENTRIES.iter().any(|entry| name.starts_with(entry));
        let interrupted = names.iter().rposition(is_entry).map_or(0, |entry| entry + 1);
        names.drain(..interrupted);
        names.truncate(TOLD);
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TID: i32 = 7;

    fn stacks() -> Stacks {
        let names =
            ["asm_sysvec_apic_timer_interrupt", "hrtimer_interrupt", "rcu_core", "ext4_writepages", "do_writepages"];
        let text: String = names.iter().zip(1..).map(|(name, n)| format!("{:x} t {name}\n", n * 0x1000)).collect();
        Stacks::new(Symbols::of(&text))
    }

    fn event(at_ns: u64, pid: i32, kind: Kind) -> Event {
        Event { at_ns, cpu: 0, pid, kind }
    }

    /// Of the functions with these numbers, from 1.
    fn stack(at_ns: u64, pid: i32, functions: &[u64]) -> Event {
        event(at_ns, pid, Kind::Stack(functions.iter().map(|n| n * 0x1000 + 5).collect()))
    }

    fn within(stacks: &Stacks, deadline_ns: u64, now_ns: u64) -> Vec<String> {
        stacks.within(Window { deadline_ns, now_ns }, TID)
    }

    #[test]
    fn a_stack_is_of_what_was_interrupted_first_within_the_time() {
        let mut stacks = stacks();
        let fault = event(900, 9, Kind::PageFault);
        let mut recorded = vec![
            stack(2_000, 9, &[2, 1, 5]),
            fault.clone(),
            stack(1_000, TID, &[2, 1, 4]),
            // In user space, and then in the kernel.
            stack(1_100, 9, &[2, 1]),
            stack(1_200, 9, &[2, 1, 4, 5]),
            stack(900, 9, &[3]),
        ];
        stacks.take(&mut recorded);
        assert_eq!(recorded, [fault], "others stay");
        assert_eq!(within(&stacks, 950, 1_900), ["ext4_writepages", "do_writepages"]);
        assert_eq!(within(&stacks, 950, 1_199), [""; 0]);
        assert_eq!(within(&stacks, 1_900, 2_000), ["do_writepages"]);
        assert_eq!(within(&stacks, 900, 1_900), ["rcu_core"], "one that no interrupt's entry is known of, as a whole");
        stacks.forget(1_200);
        assert_eq!(within(&stacks, 900, 1_900), ["ext4_writepages", "do_writepages"]);
        stacks.forget(1_201);
        assert_eq!(within(&stacks, 900, 1_900), [""; 0]);
    }
}
