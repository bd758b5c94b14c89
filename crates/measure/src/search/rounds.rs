//! A search by restarts, in rounds: each round is one boot of the base and one of every candidate that is still open, in an
//! order by chance.
//!
//! If a candidate changes nothing, its boot and the base's could change places in any round without anybody noticing, so the
//! sign of their difference is a fair coin whatever the others of the round do: the bets of the [race](super::Race) hold,
//! and one boot of the base serves all candidates of its round.

use super::quartet::{Comparison, Paired};
use super::race::{Plan, Race, fewest_comparisons};
use super::session::Session;

/// What a boot costs of what the race may cost.
pub const BOOT: u64 = 1_000;

/// A search by restarts under way.
#[derive(Debug, Clone)]
pub struct Rounds {
    race: Race,
    /// Rounds that are complete.
    rounds: u64,
    /// Boots that were measured.
    boots: u64,
    spent_ns: u64,
    /// Boots of the round under way.
    round: Vec<Session>,
}

/// The fewest boots by which an effect of any of so many candidates can be shown.
pub fn fewest_boots(error: f64, candidates: usize) -> u64 {
    (fewest_comparisons(error, candidates) * (candidates + 1)) as u64
}

impl Rounds {
    /// Begins. The plan's costs are in boots, each [`BOOT`].
    pub fn new(plan: Plan) -> Self {
        Self { race: Race::new(plan), rounds: 0, boots: 0, spent_ns: 0, round: Vec::new() }
    }

    /// From here on it may take so many boots, those of before included.
    pub fn set_most(&mut self, boots: u64) {
        self.race.plan.most = boots.saturating_mul(BOOT);
    }

    /// Boots that it may take.
    pub fn most(&self) -> u64 {
        self.race.plan().most / BOOT
    }

    /// What decides.
    pub fn race(&self) -> &Race {
        &self.race
    }

    /// Rounds that are complete.
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Boots that were measured.
    pub fn boots(&self) -> u64 {
        self.boots
    }

    /// How long they took, in ns.
    pub fn spent_ns(&self) -> u64 {
        self.spent_ns
    }

    /// The candidates that are on in the boot that comes next; `None` where all is settled, or no whole round is left.
    pub fn next(&self) -> Option<Vec<usize>> {
        let arms = self.arms();
        let left = self.race.plan().most.saturating_sub(self.boots * BOOT);
        if arms.is_empty() || self.round.is_empty() && left < arms.len() as u64 * BOOT {
            return None;
        }
        let open = arms.into_iter().filter(|arm| !self.round.iter().any(|session| session.arm == *arm));
        open.min_by_key(|arm| self.turn(arm))
    }

    /// Counts a boot.
    pub fn add(&mut self, session: Session) {
        self.boots += 1;
        self.spent_ns += session.took_ns;
        self.round.push(session);
        self.complete();
    }

    /// Boots none any more in which all of these are on.
    pub fn exclude(&mut self, on: Vec<usize>, why: String) {
        self.race.exclude(on, why);
        self.complete();
    }

    /// Each arm has a place in each round, and keeps it if another is excluded meanwhile.
    fn turn(&self, arm: &[usize]) -> u64 {
        let set = arm.iter().fold(0u64, |set, n| set | 1 << (n % 64));
        let number =
            (self.rounds + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (set + 1).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.race.random(number).uniform().to_bits()
    }

    /// What the round compares: every candidate that is open, or one thing of the set.
    fn comparisons(&self) -> Vec<Comparison> {
        match self.race.next_comparison() {
            Some(next) if next.is_alone() => self.race.open_alone(),
            Some(of_set) => vec![of_set],
            None => Vec::new(),
        }
    }

    fn arms(&self) -> Vec<Vec<usize>> {
        let mut arms: Vec<Vec<usize>> = Vec::new();
        for comparison in self.comparisons() {
            for arm in [comparison.base, comparison.trial] {
                if !arms.contains(&arm) {
                    arms.push(arm);
                }
            }
        }
        arms
    }

    /// Counts a round of which every boot was measured.
    fn complete(&mut self) {
        let comparisons = self.comparisons();
        let measured = |arm: &[usize]| self.round.iter().find(|session| session.arm == arm);
        let all: Option<Vec<(&Session, &Session)>> =
            comparisons.iter().map(|comparison| measured(&comparison.trial).zip(measured(&comparison.base))).collect();
        let Some(pairs) = all.filter(|pairs| !pairs.is_empty()) else { return };
        let (judge, steal) = (self.race.plan().judge, self.race.plan().steal_limit);
        let cost = self.round.len() as u64 * BOOT / pairs.len() as u64;
        let paired: Vec<Paired> = comparisons
            .into_iter()
            .zip(pairs)
            .enumerate()
            .map(|(n, (comparison, (trial, base)))| Paired {
                difference: trial.value(judge, steal) - base.value(judge, steal),
                disturbed: trial.is_disturbed(steal) || base.is_disturbed(steal),
                cost,
                // One boot of the base for all.
                base: if n == 0 && base.arm.is_empty() { vec![base.value(judge, steal)] } else { Vec::new() },
                comparison,
            })
            .collect();
        paired.iter().for_each(|paired| self.race.count(paired));
        self.rounds += 1;
        self.round.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::Candidate;
    use crate::search::model::Boots;
    use ontick_record::search::{Judge, Verdict};

    fn plan(candidates: usize, boots: u64, seed: u64) -> Plan {
        Plan {
            candidates: (0..candidates).map(|n| Candidate { name: format!("k{n}"), combines: true }).collect(),
            judge: Judge::Share,
            smallest: 1.0,
            error: 0.05,
            most: boots * BOOT,
            each: 2 * BOOT,
            seed,
            steal_limit: 0.05,
        }
    }

    fn searched(effects: &[f64], boots: u64, seed: u64) -> Rounds {
        let mut rounds = Rounds::new(plan(effects.len(), boots, seed));
        let mut machine = Boots::new(effects.to_vec(), seed);
        while let Some(arm) = rounds.next() {
            rounds.add(machine.boot(&arm, 10));
        }
        rounds
    }

    #[test]
    fn a_round_has_every_arm_once_in_an_order_by_chance() {
        let mut rounds = Rounds::new(plan(3, 400, 4));
        let mut machine = Boots::new(vec![0.0; 3], 4);
        let mut orders = Vec::new();
        for _ in 0..6 {
            let mut order = Vec::new();
            for _ in 0..4 {
                let arm = rounds.next().unwrap();
                order.push(arm.clone());
                rounds.add(machine.boot(&arm, 4));
            }
            let mut sorted = order.clone();
            sorted.sort();
            assert_eq!(sorted, [vec![], vec![0], vec![1], vec![2]]);
            orders.push(order);
        }
        assert_eq!(rounds.rounds(), 6);
        orders.dedup();
        assert!(orders.len() > 3, "{orders:?}");
    }

    /// The base comes first, and a candidate before another, in half of the rounds.
    #[test]
    fn no_arm_has_a_usual_place() {
        let (mut first, mut before) = (0, 0);
        for seed in 0..600 {
            let rounds = Rounds::new(plan(2, 400, seed));
            let turn = |arm: &[usize]| rounds.turn(arm);
            first += u32::from(turn(&[]) < turn(&[0]) && turn(&[]) < turn(&[1]));
            before += u32::from(turn(&[0]) < turn(&[1]));
        }
        assert!((150..250).contains(&first) && (250..350).contains(&before), "{first} {before}");
    }

    #[test]
    fn fewer_boots_than_the_fewest_show_no_effect() {
        // The table of docs/search.md.
        let all: Vec<u64> = (1..=8).map(|candidates| fewest_boots(0.05, candidates)).collect();
        assert_eq!(all, [14, 24, 32, 45, 54, 63, 72, 90]);
        let fewest = fewest_boots(0.05, 3);
        let rounds = searched(&[40.0, 0.0, 0.0], fewest - 1, 1);
        assert_eq!(rounds.race().result().that(Verdict::Helps).count(), 0);
        let rounds = searched(&[40.0, 0.0, 0.0], fewest, 1);
        let helps = rounds.race().result().that(Verdict::Helps).map(|effect| effect.name.clone()).collect::<Vec<_>>();
        assert_eq!(helps, ["k0"], "{fewest} boots");
        assert!(rounds.boots() <= fewest);
    }

    #[test]
    fn what_does_not_come_up_is_left_out_and_the_round_goes_on() {
        let mut rounds = Rounds::new(plan(2, 400, 3));
        let mut machine = Boots::new(vec![3.0, 0.0], 3);
        while rounds.next().unwrap() != [1] {
            let arm = rounds.next().unwrap();
            rounds.add(machine.boot(&arm, 4));
        }
        rounds.exclude(vec![1], "did not come up".into());
        while let Some(arm) = rounds.next() {
            assert_ne!(arm, [1]);
            rounds.add(machine.boot(&arm, 4));
        }
        let result = rounds.race().result();
        assert_eq!((result.set.clone(), result.skipped[0].name.as_str()), (vec!["k0".to_owned()], "k1"));
    }

    /// Of 6 candidates in at most 200 boots, over 200 searches: each that gains 2 points is found; anything is claimed of
    /// what does nothing in at most one search of twenty.
    #[test]
    fn effects_are_found_and_null_arguments_are_not() {
        let effects = [0.0, 2.0, 0.0, 0.0, 3.0, 0.0];
        let (searches, mut wrong, mut missed, mut boots) = (200, 0, 0, 0);
        for seed in 0..searches {
            let rounds = searched(&effects, 200, seed);
            boots += rounds.boots();
            let result = rounds.race().result();
            let truth = |name: &str| effects[name[1..].parse::<usize>().unwrap()];
            let claimed = |e: &&ontick_record::search::Effect| matches!(e.verdict, Verdict::Helps | Verdict::Hurts);
            wrong += u64::from(result.effects.iter().filter(claimed).any(|e| truth(&e.name) == 0.0));
            missed += result.effects.iter().filter(|e| truth(&e.name) > 0.0 && e.verdict != Verdict::Helps).count();
        }
        assert!(wrong * 20 <= searches, "{wrong} searches claim something of what does nothing");
        assert_eq!(missed, 0);
        println!("{wrong} wrong of {searches} searches, {} boots each", boots / searches);
    }
}
