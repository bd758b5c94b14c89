//! The sequence of faults that a seed decides.

use std::time::Duration;

/// The commands that run side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Timer,
    Sample,
    Link,
    Switch,
    Watch,
}

pub const TARGETS: [Target; 5] = [Target::Timer, Target::Sample, Target::Link, Target::Switch, Target::Watch];

/// What is done to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Killed by SIGKILL, judged by what it leaves, and started again.
    Kill(Target),
    /// Stopped by SIGSTOP for a while.
    Freeze(Target),
    /// All its threads on one CPU for a while.
    OneCpu(Target),
    /// A client of `sample` takes nothing for a while.
    HangingClient,
    /// A client of `sample` resets its connection, as a killed one does, and comes back.
    ResetClient,
    /// The disk of records has no room for a while.
    FullDisk,
    /// A cable of the switch is out for a while.
    Cable(usize),
    /// A wire of the link is out for a while.
    Wire,
    /// The gates of the switch are changed.
    Gates,
    /// Memory is taken by another program for a while.
    Memory,
    /// CPUs are kept busy by another program for a while.
    Load,
}

impl Fault {
    /// Whether it lasts for a while, and is over then.
    pub fn lasts(self) -> bool {
        !matches!(self, Self::Kill(_) | Self::ResetClient | Self::Gates)
    }
}

/// A fault, how long it lasts, and the rest after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    pub fault: Fault,
    pub lasts: Duration,
    pub rest: Duration,
}

/// How long faults last and rests are, in ms, least and most.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    pub lasts: [u64; 2],
    pub rest: [u64; 2],
}

/// Endless: rounds, each with every kind of fault, in an order of its own.
pub struct Plan {
    random: SplitMix64,
    pace: Pace,
    round: Vec<Fault>,
}

impl Plan {
    pub fn new(seed: u64, pace: Pace) -> Self {
        Self { random: SplitMix64(seed), pace, round: Vec::new() }
    }

    /// Whether the next step begins a round.
    pub fn is_round_over(&self) -> bool {
        self.round.is_empty()
    }

    pub fn next_step(&mut self) -> Step {
        if self.round.is_empty() {
            self.round = self.shuffled_round();
        }
        let fault = self.round.pop().expect("a round has faults");
        let between = |random: &mut SplitMix64, [least, most]: [u64; 2]| {
            Duration::from_millis(least + random.below(most - least + 1))
        };
        Step {
            fault,
            lasts: between(&mut self.random, self.pace.lasts),
            rest: between(&mut self.random, self.pace.rest),
        }
    }

    fn shuffled_round(&mut self) -> Vec<Fault> {
        let random = &mut self.random;
        let mut round: Vec<Fault> = TARGETS.map(Fault::Kill).into();
        let some = |random: &mut SplitMix64| TARGETS[random.below(TARGETS.len() as u64) as usize];
        round.push(Fault::Freeze(some(random)));
        round.push(Fault::OneCpu(some(random)));
        round.push(Fault::Cable(random.below(2) as usize));
        round.extend([Fault::HangingClient, Fault::ResetClient, Fault::FullDisk, Fault::Wire]);
        round.extend([Fault::Gates, Fault::Gates, Fault::Memory, Fault::Load]);
        // Fisher and Yates.
        for last in (1..round.len()).rev() {
            round.swap(last, random.below(last as u64 + 1) as usize);
        }
        round
    }
}

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the same numbers on every machine.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: Pace = Pace { lasts: [100, 300], rest: [0, 50] };

    fn steps(seed: u64, count: usize) -> Vec<Step> {
        let mut plan = Plan::new(seed, PACE);
        (0..count).map(|_| plan.next_step()).collect()
    }

    #[test]
    fn a_seed_decides_the_sequence() {
        assert_eq!(steps(7, 100), steps(7, 100));
        assert_ne!(steps(7, 100), steps(8, 100));
        // As Vigna's splitmix64.c has it for 1234567.
        let mut random = SplitMix64(1_234_567);
        assert_eq!([random.next(), random.next()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
    }

    #[test]
    fn a_round_kills_each_command_and_has_every_kind() {
        let mut plan = Plan::new(3, PACE);
        for _ in 0..10 {
            assert!(plan.is_round_over());
            let round: Vec<Step> = (0..16).map(|_| plan.next_step()).collect();
            for target in TARGETS {
                assert_eq!(round.iter().filter(|step| step.fault == Fault::Kill(target)).count(), 1);
            }
            for fault in
                [Fault::HangingClient, Fault::ResetClient, Fault::FullDisk, Fault::Wire, Fault::Memory, Fault::Load]
            {
                assert_eq!(round.iter().filter(|step| step.fault == fault).count(), 1, "{fault:?}");
            }
            assert!(round.iter().all(|step| (100..=300).contains(&step.lasts.as_millis())));
        }
    }
}
