//! Which CPU a timed thread gets when nobody named one.

use std::fmt;

use super::Interrupt;

/// Fewer deliveries since boot than this are start-up and configuration, whichever CPU they hit.
const FEW: u64 = 1000;
/// A CPU is worse than another if it receives this many times as many.
const CLEARLY: u64 = 4;

/// A CPU, and why that one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its number.
    pub cpu: u32,
    /// Why.
    pub why: Why,
}

/// Why a CPU was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// The kernel keeps other tasks off it.
    Isolated,
    /// There is no other that this thread may use.
    Only,
    /// Device interrupts that cannot be moved go to the CPUs that would have come first.
    FixedInterrupts {
        /// The one delivered most often: its device and number.
        worst: String,
        /// The CPU that it is delivered to.
        on: u32,
    },
    /// Device interrupts go to the CPUs that would have come first; these could be moved.
    Interrupts,
    /// A real-time thread of another process has the CPU that would have come first.
    Occupied {
        /// That CPU.
        cpu: u32,
        /// Who has it.
        by: String,
    },
    /// Nothing speaks against it, and boards send interrupts and start-up work to the first.
    Last,
}

impl Why {
    /// Whether another CPU than the expected one came of it, so that a reader must know.
    pub fn is_unexpected(&self) -> bool {
        matches!(self, Self::FixedInterrupts { .. } | Self::Interrupts | Self::Occupied { .. })
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Isolated => f.write_str("it is the last one that is isolated"),
            Why::Only => f.write_str("it is the only one that may be used"),
            Why::FixedInterrupts { worst, on } => {
                write!(f, "the interrupt {worst} is delivered to CPU {on}, and the kernel does not let it be moved")
            }
            Why::Interrupts => f.write_str("it is the last one that receives few device interrupts"),
            Why::Occupied { cpu, by } => write!(f, "CPU {cpu} has a real-time thread already, that of {by}"),
            Why::Last => f.write_str("it is the last one that may be used"),
        }
    }
}

/// The CPU to dedicate: the last isolated one; else, of those `allowed`, one without device interrupts that
/// cannot be moved; of these the last that receives few others. CPU 0, where the kernel's housekeeping lives, is taken
/// only where interrupts that cannot be moved go to every other CPU clearly more.
pub fn choose(online: &[u32], allowed: &[u32], isolated: &[u32], interrupts: &[Interrupt]) -> Choice {
    let among = |list: &[u32]| {
        let mut cpus: Vec<u32> = list.iter().copied().filter(|cpu| online.contains(cpu)).collect();
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    };
    if let Some(cpu) = among(isolated).last() {
        return Choice { cpu: *cpu, why: Why::Isolated };
    }
    let all = among(allowed);
    let Some(last) = all.last().copied() else { return Choice { cpu: 0, why: Why::Only } };
    if all.len() == 1 {
        return Choice { cpu: last, why: Why::Only };
    }
    let mut calm = least_interrupted(&all, |cpu| deliveries(interrupts, cpu, Interrupt::is_fixed));
    if calm.len() > 1 {
        calm.retain(|cpu| *cpu != 0);
    }
    let calmest = least_interrupted(&calm, |cpu| deliveries(interrupts, cpu, |_| true));
    let cpu = calmest.last().copied().unwrap_or(last);
    let why = match calm.last() {
        _ if cpu == last => Why::Last,
        Some(best) if *best == cpu => fixed_there(interrupts, &all, cpu),
        _ => Why::Interrupts,
    };
    Choice { cpu, why }
}

/// The CPUs that do not receive clearly more than the one that receives least.
fn least_interrupted(cpus: &[u32], deliveries: impl Fn(u32) -> u64) -> Vec<u32> {
    let least = cpus.iter().map(|cpu| deliveries(*cpu)).min().unwrap_or(0);
    let clearly_more = |count: u64| count >= FEW && count >= least.saturating_mul(CLEARLY);
    cpus.iter().copied().filter(|cpu| !clearly_more(deliveries(*cpu)) || deliveries(*cpu) == least).collect()
}

fn deliveries(interrupts: &[Interrupt], cpu: u32, counted: impl Fn(&Interrupt) -> bool) -> u64 {
    interrupts.iter().filter(|i| counted(i)).fold(0, |sum: u64, i| sum.saturating_add(i.deliveries(cpu)))
}

/// The fixed interrupt delivered most often to the passed-over CPUs after `chosen`.
fn fixed_there(interrupts: &[Interrupt], all: &[u32], chosen: u32) -> Why {
    let on = |i: &Interrupt| all.iter().copied().filter(|cpu| *cpu > chosen).max_by_key(|cpu| i.deliveries(*cpu));
    let fixed = interrupts.iter().filter(|i| i.is_fixed());
    match fixed.filter_map(|i| Some((i, on(i)?))).max_by_key(|(i, on)| i.deliveries(*on)) {
        Some((i, on)) => Why::FixedInterrupts { worst: format!("{} ({})", i.device, i.number), on },
        None => Why::Interrupts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interrupt(number: u32, fixed: bool, affinity: &[u32], effective: &[u32], counts: &[u64]) -> Interrupt {
        Interrupt {
            number,
            device: format!("device{number}"),
            fixed: Some(fixed),
            affinity: affinity.into(),
            effective: effective.into(),
            counts: (0..).zip(counts.iter().copied()).collect(),
        }
    }

    #[test]
    fn an_isolated_cpu_wins_whatever_it_receives() {
        let disk = interrupt(36, true, &[0, 1, 2, 3], &[2], &[0, 0, 90_000, 0]);
        let choice = choose(&[0, 1, 2, 3], &[0, 1, 3], &[2], &[disk]);
        assert_eq!(choice, Choice { cpu: 2, why: Why::Isolated });
    }

    #[test]
    fn nothing_known_means_the_last() {
        assert_eq!(choose(&[0, 1, 2, 3], &[0, 1, 2, 3], &[], &[]), Choice { cpu: 3, why: Why::Last });
        assert_eq!(choose(&[0, 1, 2, 3], &[0, 1], &[7], &[]), Choice { cpu: 1, why: Why::Last });
        assert_eq!(choose(&[0, 1], &[0], &[], &[]), Choice { cpu: 0, why: Why::Only });
        assert_eq!(choose(&[0, 1], &[], &[], &[]), Choice { cpu: 0, why: Why::Only });
    }

    /// A guest with two CPUs whose only disk queue sits on the second.
    #[test]
    fn an_interrupt_that_cannot_be_moved_is_avoided_even_for_cpu_0() {
        let disk = interrupt(36, true, &[0, 1], &[1], &[0, 90_000]);
        let network = interrupt(39, false, &[0, 1], &[0], &[4_000, 6_000]);
        let choice = choose(&[0, 1], &[0, 1], &[], &[network, disk]);
        assert_eq!(choice.cpu, 0);
        let reported = "the interrupt device36 (36) is delivered to CPU 1, and the kernel does not let it be moved";
        assert_eq!(choice.why.to_string(), reported);
        assert!(choice.why.is_unexpected());
    }

    #[test]
    fn cpu_0_is_not_taken_while_another_is_about_as_calm() {
        let disk = interrupt(36, true, &[0, 1, 2, 3], &[3], &[0, 0, 0, 90_000]);
        assert_eq!(choose(&[0, 1, 2, 3], &[0, 1, 2, 3], &[], &[disk]).cpu, 2);
        let seldom = interrupt(36, true, &[0, 1], &[1], &[0, 900]);
        assert_eq!(choose(&[0, 1], &[0, 1], &[], &[seldom]), Choice { cpu: 1, why: Why::Last });
        let both = [interrupt(36, true, &[0, 1], &[1], &[0, 90_000]), interrupt(37, true, &[0, 1], &[0], &[30_000, 0])];
        assert_eq!(choose(&[0, 1], &[0, 1], &[], &both).cpu, 1);
    }

    #[test]
    fn one_that_can_be_moved_decides_between_others_but_not_for_cpu_0() {
        let network = interrupt(40, false, &[0, 1, 2, 3], &[3], &[0, 0, 0, 500_000]);
        let choice = choose(&[0, 1, 2, 3], &[0, 1, 2, 3], &[], std::slice::from_ref(&network));
        assert_eq!(choice, Choice { cpu: 2, why: Why::Interrupts });
        let network = Interrupt { counts: [(0, 0), (1, 500_000)].into(), effective: vec![1], ..network };
        assert_eq!(choose(&[0, 1], &[0, 1], &[], &[network]), Choice { cpu: 1, why: Why::Last });
    }

    /// A disk with a queue for each CPU: the last one's queue serves that CPU alone, and is quiet when it is.
    #[test]
    fn a_queue_of_the_cpus_own_does_not_count() {
        let queues: Vec<Interrupt> = (0..4u32)
            .map(|cpu| {
                let mut counts = [0; 4];
                counts[cpu as usize] = 100 * 10u64.pow(cpu);
                interrupt(50 + cpu, true, &[cpu], &[cpu], &counts)
            })
            .collect();
        assert_eq!(choose(&[0, 1, 2, 3], &[0, 1, 2, 3], &[], &queues).cpu, 3);
    }
}
