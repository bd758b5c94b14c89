//! What a thread's loop did, counted.

use std::collections::BTreeMap;

use super::durations::Durations;
use super::rules::{Breach, Rule};
use super::symbols::PlaceId;

/// Details of one rule that are kept apart; the rest is counted together.
const MOST_DETAILS: usize = 64;
const OTHERS: &str = "others";

/// What broke one rule.
#[derive(Debug, Clone)]
pub struct Found {
    /// The rule.
    pub rule: &'static Rule,
    /// What it was, and how often.
    pub details: BTreeMap<String, u64>,
    /// How often altogether.
    pub count: u64,
    /// What it cost.
    pub cost: Durations,
    /// Where.
    pub places: BTreeMap<PlaceId, u64>,
    /// How long the holder of a lock was kept from its CPU meanwhile, at most, in ns.
    pub holder_off_ns: u64,
}

/// One system call.
#[derive(Debug, Clone, Default)]
pub struct CallTally {
    /// How long it took.
    pub took: Durations,
    /// How often.
    pub count: u64,
    /// How often the thread waited by it.
    pub waits: u64,
}

/// All that a loop did.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// By the names of the rules.
    pub found: BTreeMap<&'static str, Found>,
    /// By their numbers.
    pub calls: BTreeMap<i64, CallTally>,
    /// How often the thread waited.
    pub waits: u64,
    /// How long it took to get a CPU after it was woken up.
    pub wake_up: Durations,
}

impl Tally {
    fn of(&mut self, rule: &'static Rule) -> &mut Found {
        self.found.entry(rule.id).or_insert_with(|| Found {
            rule,
            details: BTreeMap::new(),
            count: 0,
            cost: Durations::default(),
            places: BTreeMap::new(),
            holder_off_ns: 0,
        })
    }

    /// Counts what broke a rule, so often.
    pub fn add(&mut self, breach: Breach, count: u64, place: Option<PlaceId>) -> &mut Found {
        let found = self.of(breach.rule);
        found.count += count;
        add_detail(&mut found.details, breach.detail, count);
        breach.cost_ns.into_iter().for_each(|ns| found.cost.add(ns));
        if let Some(place) = place {
            *found.places.entry(place).or_default() += count;
        }
        found
    }

    /// Adds what something cost that was counted before.
    pub fn add_cost(&mut self, rule: &'static Rule, ns: u64) {
        self.of(rule).cost.add(ns);
    }

    /// Adds another's counts to this one's, and leaves it empty.
    pub fn absorb(&mut self, other: &mut Tally) {
        let other = std::mem::take(other);
        for (_, found) in other.found {
            let own = self.of(found.rule);
            own.count += found.count;
            own.cost.merge(&found.cost);
            own.holder_off_ns = own.holder_off_ns.max(found.holder_off_ns);
            found.details.into_iter().for_each(|(detail, count)| add_detail(&mut own.details, detail, count));
            found.places.into_iter().for_each(|(place, count)| *own.places.entry(place).or_default() += count);
        }
        for (number, call) in other.calls {
            let own = self.calls.entry(number).or_default();
            own.count += call.count;
            own.waits += call.waits;
            own.took.merge(&call.took);
        }
        self.waits += other.waits;
        self.wake_up.merge(&other.wake_up);
    }
}

fn add_detail(details: &mut BTreeMap<String, u64>, detail: String, count: u64) {
    let room = details.len() < MOST_DETAILS || details.contains_key(&detail);
    *details.entry(if room { detail } else { OTHERS.into() }).or_default() += count;
}
