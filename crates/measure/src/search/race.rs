//! The race: which quartet comes next, and what all of them come to.

use super::quartet::{Comparison, Done, Paired, Quartet};
use super::track::{Rule, Track, fewest};
use ontick_record::compare;
use ontick_record::search::{Effect, Judge, Search, Skipped, Verdict};
use ontick_record::tail::simulation::Random;

/// The part of the error that is for candidates alone; the rest is for sets.
const ALONE: f64 = 0.8;

/// What may be on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Whether it can be set together with others.
    pub combines: bool,
}

/// What is searched, and by which rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// What is tried.
    pub candidates: Vec<Candidate>,
    /// What counts.
    pub judge: Judge,
    /// A gain smaller than this is worth nothing, in percent.
    pub smallest: f64,
    /// The chance, at most, that any effect is claimed that is none.
    pub error: f64,
    /// What all may cost: the time of all blocks, in ns.
    pub most: u64,
    /// What a comparison costs before one was measured.
    pub each: u64,
    /// The coins follow from it.
    pub seed: u64,
    /// The part of the CPUs' time that the hypervisor may take of a block.
    pub steal_limit: f64,
}

/// A search under way.
#[derive(Debug, Clone)]
pub struct Race {
    pub(super) plan: Plan,
    pub(super) tracks: Vec<Track>,
    pub(super) spent: u64,
    quartets: u64,
    set_aside: u64,
    /// What was judged of each block without any candidate.
    base: Vec<f64>,
    excluded: Vec<Excluded>,
}

/// Candidates that are not measured together any more.
#[derive(Debug, Clone)]
struct Excluded {
    on: Vec<usize>,
    why: String,
}

impl Race {
    /// Begins.
    pub fn new(plan: Plan) -> Self {
        let tracks = (0..plan.candidates.len()).map(|n| Track::new(Comparison::of(vec![n]))).collect();
        Self { plan, tracks, spent: 0, quartets: 0, set_aside: 0, base: Vec::new(), excluded: Vec::new() }
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What was spent of what it may cost.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Quartets so far.
    pub fn quartets(&self) -> u64 {
        self.quartets
    }

    /// Measures no block any more in which all of these are on.
    pub fn exclude(&mut self, on: Vec<usize>, why: String) {
        self.excluded.push(Excluded { on, why });
    }

    /// Whether blocks with these candidates are not to be measured.
    pub(super) fn is_unusable(&self, on: &[usize]) -> bool {
        self.excluded.iter().any(|excluded| excluded.on.iter().all(|n| on.contains(n)))
    }

    /// The candidates, and how many of them are settled.
    pub fn settled(&self) -> (usize, usize) {
        let alone = self.tracks.iter().filter(|track| track.comparison.is_alone());
        (
            self.plan.candidates.len(),
            alone.filter(|track| track.settled.is_some() || self.is_unusable(&track.comparison.trial)).count(),
        )
    }

    /// The quartet that comes next; `None` where all is settled or the time is over.
    pub fn next(&self) -> Option<Quartet> {
        if self.plan.most.saturating_sub(self.spent) < self.each() {
            return None;
        }
        let comparison = self.next_comparison()?;
        // By its number, so that a search that goes on throws the same coins.
        let trial_first = self.random(self.quartets).uniform() < 0.5;
        Some(Quartet { comparison, trial_first })
    }

    /// Counts a quartet.
    pub fn add(&mut self, done: Done) {
        self.count(&done.paired(self.plan.judge, self.plan.steal_limit));
    }

    /// Counts what was measured of a comparison.
    pub(super) fn count(&mut self, paired: &Paired) {
        self.quartets += 1;
        self.spent += paired.cost;
        self.set_aside += u64::from(paired.disturbed);
        self.base.extend(&paired.base);
        let comparison = &paired.comparison;
        let rule = self.rule(comparison);
        match self.tracks.iter_mut().find(|track| track.comparison == *comparison) {
            Some(track) => track.add(paired, &rule),
            None => {
                let mut track = Track::new(comparison.clone());
                track.add(paired, &rule);
                self.tracks.push(track);
            }
        }
    }

    /// What all of it comes to. What the race does not know is left empty.
    pub fn result(&self) -> Search {
        let plan = &self.plan;
        let set = self.set();
        let name = |n: usize| plan.candidates[n].name.clone();
        let mut effects: Vec<Effect> = self
            .tracks
            .iter()
            .filter(|t| t.comparison.is_alone() && !self.is_unusable(&t.comparison.trial))
            .map(|t| self.effect(t, name(t.comparison.trial[0])))
            .collect();
        let rank = |effect: &Effect| (effect.verdict != Verdict::Helps, effect.verdict == Verdict::Hurts);
        effects.sort_by(|a, b| {
            let gain = |effect: &Effect| effect.gain.unwrap_or(f64::NEG_INFINITY);
            rank(a).cmp(&rank(b)).then(gain(b).total_cmp(&gain(a)))
        });
        let (whole, members) = self.set_tracks();
        let joined = |of: &[usize]| of.iter().map(|n| name(*n)).collect::<Vec<_>>().join(" + ");
        Search {
            judged_by: plan.judge,
            limit_ns: 0,
            smallest: plan.smallest,
            error: plan.error,
            seed: plan.seed,
            time_ns: plan.most,
            spent_ns: self.spent,
            block_ns: 0,
            interval_ns: 0,
            job: String::new(),
            load: String::new(),
            profile: String::new(),
            quartets: self.quartets,
            set_aside: self.set_aside,
            steal_limit: plan.steal_limit,
            base: compare::paired(self.base.iter().copied()).map(|all| self.figure(all.median)),
            effects,
            skipped: self.excluded.iter().map(|of| Skipped { name: joined(&of.on), why: of.why.clone() }).collect(),
            boots: None,
            set: set.into_iter().map(name).collect(),
            together: whole.map(|track| self.effect(track, joined(&track.comparison.trial))),
            members: members.into_iter().map(|(member, track)| self.effect(track, name(member))).collect(),
        }
    }

    /// A value of the judge as the figure that it was: percent, or ns.
    fn figure(&self, value: f64) -> f64 {
        match self.plan.judge {
            Judge::Share => value,
            Judge::Missed => -value,
            Judge::P99_9 | Judge::Max => (-value).exp().round(),
        }
    }

    fn effect(&self, track: &Track, name: String) -> Effect {
        let rule = self.rule(&track.comparison);
        let wants = track.wants(&rule);
        Effect { wants_ns: wants.map(|times| times.saturating_mul(self.each())), ..track.effect(name, &rule) }
    }

    /// What a comparison costs, as this race shows it.
    pub(super) fn each(&self) -> u64 {
        self.spent.checked_div(self.quartets).unwrap_or(self.plan.each)
    }

    /// The rule of a comparison: the error of the whole search is shared out beforehand (Bonferroni), so that it holds
    /// whatever the race does.
    fn rule(&self, comparison: &Comparison) -> Rule {
        let count = self.plan.candidates.len();
        let shared = match comparison.is_alone() {
            true => of_one(self.plan.error, count),
            false => (1.0 - ALONE) * self.plan.error / Self::most_of_sets(count) as f64,
        };
        Rule { error: shared / 2.0, smallest: self.plan.judge.difference(self.plan.smallest), judge: self.plan.judge }
    }

    /// So many comparisons of sets there may be: twice what one set needs, for a search that goes on and finds more.
    pub(super) fn most_of_sets(candidates: usize) -> usize {
        2 * (candidates + 2)
    }

    /// Chance, by a number that counts what it is for.
    pub(super) fn random(&self, number: u64) -> Random {
        Random(self.plan.seed ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }
}

/// The error of one of so many candidates alone, out of that of the whole search.
fn of_one(error: f64, candidates: usize) -> f64 {
    ALONE * error / candidates as f64
}

/// So often must each of so many candidates be compared with the base before an effect of it can be shown.
pub fn fewest_comparisons(error: f64, candidates: usize) -> usize {
    fewest(of_one(error, candidates) / 2.0)
}
