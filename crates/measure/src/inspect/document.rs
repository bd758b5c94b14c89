//! Counts as a document.

use ontick_record::inspection::{CallStats, Cost, InspectedThread, Place, Problem};
use ontick_units::show;

use super::calls;
use super::inspected::Inspected;
use super::program::ThreadState;
use super::rules::{self, Breach};
use super::symbols::Symbols;
use super::tally::Found;

/// Details and places of a problem that are named.
const SHOWN_DETAILS: usize = 4;
const SHOWN_PLACES: usize = 5;

/// A thread, and what it did.
pub fn thread(inspected: &Inspected) -> InspectedThread {
    let tally = &inspected.tally;
    let mut stats: Vec<CallStats> = tally
        .calls
        .iter()
        .map(|(number, call)| CallStats {
            name: calls::name(*number),
            count: call.count,
            took: call.took.cost().unwrap_or_default(),
            wait: call.waits * 2 > call.count,
        })
        .collect();
    stats.sort_by(|a, b| a.wait.cmp(&b.wait).then(b.took.worst_ns.cmp(&a.took.worst_ns)).then(a.name.cmp(&b.name)));
    InspectedThread {
        tid: inspected.state.tid,
        name: inspected.state.name.clone(),
        policy: inspected.state.policy_name(),
        counted_ns: inspected.counted_ns(),
        waits: tally.waits,
        wake_up: tally.wake_up.cost(),
        calls: stats,
    }
}

/// What a thread's loop broke.
pub fn problems(inspected: &Inspected, symbols: &Symbols, fault: Option<Cost>) -> Vec<Problem> {
    inspected.tally.found.values().map(|found| problem(found, &inspected.state, symbols, fault)).collect()
}

fn problem(found: &Found, thread: &ThreadState, symbols: &Symbols, fault: Option<Cost>) -> Problem {
    let estimated = fault.filter(|_| rules::is_page_fault(found.rule));
    let mut places: Vec<Place> = found
        .places
        .iter()
        .filter_map(|(id, count)| {
            let location = symbols.place(*id)?;
            let caller = location.caller().map(String::from);
            Some(Place { function: location.function.clone(), object: location.object.clone(), caller, count: *count })
        })
        .collect();
    places.sort_by(|a, b| b.count.cmp(&a.count).then(a.cmp(b)));
    let mut merged: Vec<Place> = Vec::new();
    for place in places {
        let same = |other: &&mut Place| {
            (&other.function, &other.object, &other.caller) == (&place.function, &place.object, &place.caller)
        };
        match merged.iter_mut().find(same) {
            Some(other) => other.count += place.count,
            None => merged.push(place),
        }
    }
    merged.truncate(SHOWN_PLACES);
    Problem { places: merged, count: found.count, cost: found.cost.cost().or(estimated), ..of_rule(found, thread) }
}

fn of_rule(found: &Found, thread: &ThreadState) -> Problem {
    let rule = found.rule;
    Problem {
        id: rule.id.into(),
        severity: rule.severity,
        tid: thread.tid,
        thread: thread.name.clone(),
        observed: observed(found),
        why: rule.why.into(),
        mend: rule.mend.into(),
        source: rule.source.into(),
        ..Problem::default()
    }
}

/// `access to files: write to /var/log/loop.log (120), openat (3)`
fn observed(found: &Found) -> String {
    let mut details: Vec<(&String, &u64)> = found.details.iter().collect();
    details.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let more = details.len().saturating_sub(SHOWN_DETAILS);
    let several = details.len() > 1;
    let one = |(detail, count): &(&String, &u64)| match several {
        true => format!("{detail} ({count})"),
        false => (*detail).clone(),
    };
    let shown: Vec<String> = details.iter().take(SHOWN_DETAILS).map(one).collect();
    let mut text = format!("{}: {}", found.rule.what, shown.join(", "));
    if more > 0 {
        text += &format!(", and {more} more");
    }
    if found.holder_off_ns > 0 {
        text += &format!("; the holder was kept from its CPU for up to {} of it", show(found.holder_off_ns));
    }
    text
}

/// What holds for a thread or the whole program, without having happened.
pub fn standing(breach: Breach, thread: &ThreadState) -> Problem {
    let cost = breach.cost_ns.map(|ns| Cost { p50_ns: ns, p99_ns: ns, worst_ns: ns, estimated: true });
    let rule = breach.rule;
    Problem {
        id: rule.id.into(),
        severity: rule.severity,
        tid: thread.tid,
        thread: thread.name.clone(),
        observed: format!("{}: {}", rule.what, breach.detail),
        cost,
        why: rule.why.into(),
        mend: rule.mend.into(),
        source: rule.source.into(),
        ..Problem::default()
    }
}
