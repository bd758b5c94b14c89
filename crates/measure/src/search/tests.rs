//! What a search finds on machines whose truth is known.

use ontick_record::search::Verdict;

use super::model::Model;
use super::*;

const MIN_NS: u64 = 60_000_000_000;
/// What a search of 20 minutes finds on the model, in points of the share.
const FOUND: f64 = 2.0;

fn plan(candidates: usize, minutes: u64, seed: u64) -> Plan {
    Plan {
        candidates: (0..candidates).map(|n| Candidate { name: format!("k{n}"), combines: true }).collect(),
        judge: Judge::Share,
        smallest: 0.5,
        error: 0.05,
        most: minutes * MIN_NS,
        each: 2_200_000_000,
        seed,
        steal_limit: 0.05,
    }
}

fn searched(effects: &[f64], plan: Plan) -> Race {
    let seed = plan.seed;
    let mut race = Race::new(plan);
    let mut model = Model::new(effects.to_vec(), 500_000_000, 1_000_000, seed);
    let Ok(()) = run(&mut race, &mut model, |_, _| Ok(()));
    race
}

/// Which candidate an effect is of.
fn number(name: &str) -> usize {
    name[1..].parse().unwrap()
}

/// Of 12 candidates in 20 minutes, over 200 searches: each that gains 2 points or more is found; of those that do nothing
/// at most one in twenty is called helpful, and in at most one search of twenty anything is claimed of any of them; and the
/// intervals of all hold the truth in at least 19 of 20 searches.
#[test]
fn effects_are_found_and_null_knobs_are_not() {
    let effects = [0.0, 2.0, 0.0, 0.0, -3.0, 0.0, 3.0, 0.0, 0.0, 0.0, 2.0, 0.0];
    let (searches, nulls) = (200, effects.iter().filter(|effect| **effect == 0.0).count());
    let (mut missed, mut claims, mut wrong_searches, mut outside) = (Vec::new(), 0, 0, 0);
    let (mut spent_ns, mut early) = (0, 0);
    for seed in 0..searches {
        let race = searched(&effects, Plan { smallest: FOUND / 2.0, ..plan(effects.len(), 20, seed) });
        let result = race.result();
        assert!(result.spent_ns <= 20 * MIN_NS);
        spent_ns += result.spent_ns;
        let (mut wrong, mut all_inside) = (0, true);
        for effect in &result.effects {
            let truth = effects[number(&effect.name)];
            match effect.verdict {
                Verdict::Helps | Verdict::Hurts if truth == 0.0 => wrong += 1,
                Verdict::Helps if truth > 0.0 => {}
                Verdict::Hurts if truth < 0.0 => {}
                _ if truth.abs() >= FOUND => missed.push((seed, effect.name.clone(), effect.verdict)),
                _ => {}
            }
            all_inside &= effect.low.is_none_or(|low| low <= truth) && effect.high.is_none_or(|high| truth <= high);
            early += u64::from(truth == 0.0 && effect.verdict == Verdict::NoEffect);
        }
        claims += wrong;
        wrong_searches += u64::from(wrong > 0);
        outside += u64::from(!all_inside);
    }
    assert!(missed.is_empty(), "{missed:?}");
    assert!(claims * 20 <= searches * nulls as u64, "{claims} claims");
    assert!(wrong_searches * 20 <= searches, "{wrong_searches} searches claim something of what does nothing");
    assert!(outside * 20 <= searches, "{outside} searches have an interval without the truth");
    // Useless ones are given up, not measured to the end.
    assert!(early * 2 > searches * nulls as u64, "{early} of {}", searches * nulls as u64);
    println!(
        "{claims} claims in {wrong_searches} searches, {outside} with an interval without the truth, {early} given up, {} s each",
        spent_ns / searches / 1_000_000_000
    );
}

/// Knobs that help have a set, and each member its part; the time is kept.
#[test]
fn the_set_is_what_helps() {
    let race = searched(&[2.0, 0.0, 1.8], plan(3, 20, 5));
    let result = race.result();
    assert_eq!(result.set, ["k0", "k2"]);
    let together = result.together.unwrap();
    assert_eq!(together.verdict, Verdict::Helps);
    assert!(together.low.unwrap() <= 3.8 && together.high.unwrap() >= 3.8, "{together:?}");
    assert!(result.members.iter().all(|member| member.verdict == Verdict::Helps), "{:?}", result.members);
    assert_eq!(result.members.len(), 2);
}

/// Two settings that do the same: what one does, the other need not do again.
struct Redundant(Model);

impl Bench for Redundant {
    type Error = std::convert::Infallible;

    fn block(&mut self, on: &[usize]) -> Result<Attempt, Self::Error> {
        // The first stands for both.
        let mut on = on.to_vec();
        if on.contains(&0) {
            on.retain(|n| *n != 1);
        }
        self.0.block(&on)
    }
}

#[test]
fn a_member_that_adds_nothing_is_taken_out() {
    let mut race = Race::new(plan(3, 40, 3));
    let mut bench = Redundant(Model::new(vec![2.0, 2.0, 1.5], 500_000_000, 1_000_000, 3));
    let Ok(()) = run(&mut race, &mut bench, |_, _| Ok(()));
    let result = race.result();
    assert_eq!(result.that(Verdict::Helps).count(), 3);
    let out: Vec<&str> =
        result.members.iter().filter(|m| m.verdict == Verdict::NoEffect).map(|m| m.name.as_str()).collect();
    assert_eq!(out.len(), 1, "{:?}", result.members);
    assert!(["k0", "k1"].contains(&out[0]) && !result.set.contains(&out[0].to_owned()) && result.set.len() == 2);
}

/// The same quartets come to the same result, wherever a search was ended and went on.
#[test]
fn a_search_that_goes_on_is_the_same_search() {
    let effects = [1.5, 0.0, -1.0];
    let mut all: Vec<Done> = Vec::new();
    let mut race = Race::new(plan(3, 5, 9));
    let mut model = Model::new(effects.to_vec(), 500_000_000, 1_000_000, 9);
    let Ok(()) = run(&mut race, &mut model, |done, _| {
        all.push(done.clone());
        Ok(())
    });
    assert!(all.len() > 20);
    let mut again = Race::new(plan(3, 5, 9));
    for done in &all {
        assert_eq!(again.next().as_ref(), Some(&done.quartet));
        again.add(done.clone());
    }
    assert_eq!(again.next(), None);
    assert_eq!(again.result(), race.result());
    // With more time there is more to do.
    let mut longer = Race::new(Plan { most: 60 * MIN_NS, ..plan(3, 5, 9) });
    all.into_iter().for_each(|done| longer.add(done));
    assert_eq!(longer.next().is_some(), race.result().wants_ns().is_some());
}

#[test]
fn a_search_without_time_says_what_it_would_take() {
    let result = searched(&[2.0, 0.0], plan(2, 0, 1)).result();
    assert_eq!((result.quartets, result.base), (0, None));
    assert!(result.effects.iter().all(|e| e.verdict == Verdict::Unsettled && e.wants_ns > Some(0) && e.gain.is_none()));
    let short = searched(&[0.3, 0.0, 0.0, 0.0], plan(4, 1, 1)).result();
    assert!(short.wants_ns() > Some(MIN_NS), "{short:?}");
}

/// A candidate that cannot be set together with others is reported, and is in no set.
#[test]
fn what_does_not_combine_is_in_no_set() {
    let mut plan = plan(2, 10, 4);
    plan.candidates[0].combines = false;
    let mut race = Race::new(plan);
    let mut model = Model::new(vec![3.0, 3.0], 500_000_000, 1_000_000, 4);
    let Ok(()) = run(&mut race, &mut model, |_, _| Ok(()));
    assert_eq!(race.result().set, ["k1"]);
    assert_eq!(race.result().that(Verdict::Helps).count(), 2);
}

/// Blocks that the hypervisor disturbed count for no side, and are counted.
#[test]
fn disturbed_quartets_are_set_aside() {
    struct Stolen(Model, u64);
    impl Bench for Stolen {
        type Error = std::convert::Infallible;
        fn block(&mut self, on: &[usize]) -> Result<Attempt, Self::Error> {
            self.1 += 1;
            let steal = if self.1 % 2 == 0 { 0.3 } else { 0.0 };
            match self.0.block(on)? {
                Attempt::Measured(block) => Ok(Attempt::Measured(Block { steal, ..block })),
                other => Ok(other),
            }
        }
    }
    let mut race = Race::new(plan(1, 2, 4));
    let Ok(()) = run(&mut race, &mut Stolen(Model::new(vec![3.0], 500_000_000, 1_000_000, 4), 0), |_, _| Ok(()));
    let result = race.result();
    assert!(result.set_aside == result.quartets && result.quartets > 10);
    assert_eq!((result.effects[0].verdict, result.effects[0].quartets), (Verdict::Unsettled, 0));
    assert!(result.effects[0].gain_of_all > Some(1.0));
}

/// A machine that cannot be used while all of some candidates are on.
struct Hanging {
    model: Model,
    together: Vec<usize>,
    hung: u32,
}

impl Bench for Hanging {
    type Error = std::convert::Infallible;

    fn block(&mut self, on: &[usize]) -> Result<Attempt, Self::Error> {
        if self.together.iter().all(|n| on.contains(n)) {
            self.hung += 1;
            return Ok(Attempt::Undone(Some(Unusable { on: on.to_vec(), undone_after_ns: 30_000_000_000 })));
        }
        self.model.block(on)
    }
}

fn searched_hanging(effects: &[f64], together: &[usize]) -> (Race, u32) {
    let mut race = Race::new(plan(effects.len(), 20, 5));
    let model = Model::new(effects.to_vec(), 500_000_000, 1_000_000, 5);
    let mut bench = Hanging { model, together: together.to_vec(), hung: 0 };
    let Ok(()) = run(&mut race, &mut bench, |_, _| Ok(()));
    (race, bench.hung)
}

#[test]
fn what_makes_the_machine_unusable_is_tried_once_and_the_rest_is_judged() {
    let (race, hung) = searched_hanging(&[2.0, 3.0, 1.8, 0.0], &[1]);
    let result = race.result();
    assert_eq!((hung, result.set), (1, vec!["k0".to_owned(), "k2".to_owned()]));
    assert_eq!(result.effects.len(), 3);
    assert!(result.effects.iter().all(|effect| effect.name != "k1" && effect.verdict != Verdict::Unsettled));
    let skipped: Vec<String> = result.skipped.iter().map(|of| format!("{}: {}", of.name, of.why)).collect();
    assert_eq!(skipped, ["k1: unusable: undone after 30s"]);
    assert_eq!(race.settled(), (4, 4));
}

#[test]
fn of_a_set_that_makes_the_machine_unusable_the_best_member_remains() {
    let (race, hung) = searched_hanging(&[2.0, 3.0, 1.8], &[0, 1]);
    let result = race.result();
    assert_eq!((hung, result.set.clone()), (1, vec!["k1".to_owned()]));
    assert!(result.together.is_none() && result.members.is_empty());
    assert_eq!(result.that(Verdict::Helps).count(), 3);
    assert_eq!(result.skipped[0].name, "k0 + k1 + k2");
}

/// A quartet in whose midst the process was stopped is measured again.
#[test]
fn a_quartet_that_was_undone_without_a_reason_of_its_own_is_measured_again() {
    struct Stopped(Model, u32);
    impl Bench for Stopped {
        type Error = std::convert::Infallible;
        fn block(&mut self, on: &[usize]) -> Result<Attempt, Self::Error> {
            self.1 += 1;
            if self.1 == 7 { Ok(Attempt::Undone(None)) } else { self.0.block(on) }
        }
    }
    let mut race = Race::new(plan(1, 2, 4));
    let mut bench = Stopped(Model::new(vec![3.0], 500_000_000, 1_000_000, 4), 0);
    let Ok(()) = run(&mut race, &mut bench, |_, _| Ok(()));
    // The two blocks before it in its quartet are lost, and itself.
    assert_eq!(u64::from(bench.1), race.quartets() * 4 + 3);
    assert!(race.result().skipped.is_empty());
}
