//! Networks with the verdict of an exact solver, drawn and decided by bench/planner_judge.py: what it can schedule is
//! never called impossible, and what it cannot schedule never has a plan.

use std::cell::Cell;

use serde_json::Value;

use super::{Outcome, PlanOptions, Timetable, certificate, gate_control_list, plan};
use crate::egress::EgressTiming;
use crate::network::{self, Network};
use crate::validate::{MOST_MESSAGES, TARGETS, ValidationInput, validate};

/// 2 to 7 streams, deadlines near to what is possible at all.
const SMALL: &str = include_str!("small.jsonl");
/// As those, each with what a data plane needs: ontick's, the kernel's, a port's hardware, or such as was never seen.
const MARGINS: &str = include_str!("margins.jsonl");
/// 22 to 34 streams, the fullest link up to 90 %, mixed periods, short deadlines.
const LARGE: &str = include_str!("large.jsonl");

struct KnownInstance {
    name: String,
    feasible: bool,
    network: Network,
}

fn judged(lines: &str) -> Vec<KnownInstance> {
    let one = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let name = value["name"].as_str().unwrap().to_owned();
        let feasible = match value["verdict"].as_str() {
            Some("feasible") => true,
            Some("infeasible") => false,
            other => panic!("{name}: {other:?}"),
        };
        let timing = match &value["timing"] {
            Value::Null => EgressTiming::IDEAL,
            timing => serde_json::from_value(timing.clone()).unwrap(),
        };
        KnownInstance { name, feasible, network: network::read(&value["network"].to_string()).unwrap().timed(timing) }
    };
    lines.lines().map(one).collect()
}

/// A search of so many steps.
fn planned(network: &Network, steps: u32) -> Outcome {
    let left = Cell::new(steps);
    let go_on = || {
        left.set(left.get().saturating_sub(1));
        left.get() > 0
    };
    plan(network, &PlanOptions::default(), &Timetable::default(), &go_on)
}

fn holds(network: &Network, table: &Timetable) -> bool {
    let schedule = gate_control_list::schedule(network, table).unwrap();
    validate(&ValidationInput {
        network,
        schedule: &schedule,
        target: &TARGETS[0],
        guard_bands: false,
        most_messages: MOST_MESSAGES,
    })
    .holds()
}

#[test]
fn no_certificate_is_false() {
    let all = judged(SMALL);
    assert!(all.len() >= 300 && all.iter().filter(|one| one.feasible).count() >= 100);
    let mut proved = 0;
    for one in all.iter().chain(&judged(LARGE)) {
        let proofs = certificate::certificates(&one.network);
        let words: Vec<String> = proofs.iter().map(|proof| proof.in_words(&one.network)).collect();
        assert!(!one.feasible || proofs.is_empty(), "{} can be scheduled: {words:?}", one.name);
        proved += usize::from(!proofs.is_empty());
    }
    assert!(proved >= 280, "{proved}");
}

/// What a data plane takes to send, to forward and from frame to frame is in the proofs, and no more of it than is so.
#[test]
fn no_certificate_with_margins_is_false() {
    let all = judged(MARGINS);
    assert!(all.len() >= 150 && all.iter().filter(|one| one.feasible).count() >= 60);
    let (mut proved, mut by_margin) = (0, 0);
    for one in &all {
        let proofs = certificate::certificates(&one.network);
        let words: Vec<String> = proofs.iter().map(|proof| proof.in_words(&one.network)).collect();
        assert!(!one.feasible || proofs.is_empty(), "{} can be scheduled: {words:?}", one.name);
        proved += usize::from(!proofs.is_empty());
        let ideal = certificate::certificates(&one.network.clone().timed(EgressTiming::IDEAL));
        by_margin += usize::from(!proofs.is_empty() && ideal.is_empty());
    }
    assert!(proved >= 60 && by_margin >= 10, "{proved} {by_margin}");
}

#[test]
fn what_cannot_be_scheduled_with_margins_has_no_plan() {
    let mut found = 0;
    for one in judged(MARGINS) {
        if let Outcome::Planned(table) = planned(&one.network, 300) {
            assert!(one.feasible && holds(&one.network, &table), "{}", one.name);
            found += 1;
        }
    }
    assert!(found >= 10, "{found}");
}

#[test]
fn what_cannot_be_scheduled_has_no_plan() {
    let mut found = 0;
    for one in judged(SMALL) {
        if let Outcome::Planned(table) = planned(&one.network, 300) {
            assert!(one.feasible && holds(&one.network, &table), "{}", one.name);
            found += 1;
        }
    }
    assert!(found >= 80, "{found}");
}

#[test]
fn what_can_be_scheduled_is_found() {
    for one in judged(LARGE).iter().filter(|one| one.feasible) {
        let Outcome::Planned(table) = planned(&one.network, 20_000) else { panic!("{}", one.name) };
        assert!(holds(&one.network, &table), "{}", one.name);
    }
}

/// Neither a plan nor a proof: nothing but the end of its time ends the search, and what it did follows from its seed.
#[test]
fn restarts_use_the_time_that_they_have() {
    let all = judged(SMALL);
    let open = |one: &&KnownInstance| !one.feasible && certificate::certificates(&one.network).is_empty();
    let one = all.iter().find(open).unwrap();
    let asked = Cell::new(0);
    let go_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 4_000
    };
    let first = plan(&one.network, &PlanOptions::default(), &Timetable::default(), &go_on);
    assert!(asked.get() >= 4_000, "it gave up after {}", asked.get());
    assert_eq!(first, planned(&one.network, 4_000));
    assert!(matches!(first, Outcome::NotFound(_)));
}
