//! Everything that stands between a machine and good timing, worst first.
//!
//! Each thing that is looked at is one small entry in a table below: what was seen and what it should be
//! is said by its `look`, why it matters and on whose word stands beside it.

mod board;
mod cpu;
mod interrupts;
mod kernel;
mod memory;
mod noise;
mod scheduling;

pub use ontick_record::findings::{Finding, Severity, any_bad};

use crate::facts::Facts;
use crate::target::Target;

/// Looks at everything, for the CPUs of a target; worst first.
pub fn check(facts: &Facts, target: &Target) -> Vec<Finding> {
    let look = Look { facts, target };
    let mut found: Vec<Finding> =
        all().flat_map(|check| (check.look)(&look).into_iter().map(|seen| check.finding(seen))).collect();
    // Stable: what is equally bad stays in the order of the tables.
    found.sort_by_key(|f| (f.severity, std::cmp::Reverse(f.effect_ns)));
    found
}

fn all() -> impl Iterator<Item = &'static Check> {
    let tables = [
        kernel::CHECKS,
        scheduling::CHECKS,
        cpu::CHECKS,
        interrupts::CHECKS,
        memory::CHECKS,
        noise::CHECKS,
        board::CHECKS,
    ];
    tables.into_iter().flatten()
}

/// What a `look` is given.
struct Look<'a> {
    facts: &'a Facts,
    target: &'a Target,
}

/// One thing to look at.
struct Check {
    id: &'static str,
    why: &'static str,
    source: &'static str,
    /// What was seen: nothing where it does not concern this machine, more than one where it can.
    look: fn(&Look) -> Vec<Observation>,
}

impl Check {
    fn finding(&self, seen: Observation) -> Finding {
        Finding {
            id: self.id.into(),
            severity: seen.severity,
            seen: seen.seen,
            should: seen.should,
            why: self.why.into(),
            source: self.source.into(),
            effect_ns: seen.effect_ns,
            knob: seen.knob.map(str::to_owned),
            now: seen.knob.map(|knob| format!("ontick tune apply {knob}")).or(seen.now),
            boot: seen.boot,
        }
    }
}

/// What a `look` saw.
struct Observation {
    severity: Severity,
    seen: String,
    should: String,
    effect_ns: Option<u64>,
    knob: Option<&'static str>,
    now: Option<String>,
    boot: Option<String>,
}

impl Observation {
    fn new(severity: Severity, seen: impl Into<String>, should: impl Into<String>) -> Self {
        let (seen, should) = (seen.into(), should.into());
        Self { severity, seen, should, effect_ns: None, knob: None, now: None, boot: None }
    }

    fn ok(seen: impl Into<String>) -> Self {
        Self::new(Severity::Ok, seen, "")
    }

    fn warn(seen: impl Into<String>, should: impl Into<String>) -> Self {
        Self::new(Severity::Warn, seen, should)
    }

    fn bad(seen: impl Into<String>, should: impl Into<String>) -> Self {
        Self::new(Severity::Bad, seen, should)
    }

    fn unknown(seen: impl Into<String>, should: impl Into<String>) -> Self {
        Self::new(Severity::Unknown, seen, should)
    }

    fn costs(mut self, effect_ns: u64) -> Self {
        self.effect_ns = Some(effect_ns);
        self
    }

    fn knob(mut self, name: &'static str) -> Self {
        self.knob = Some(name);
        self
    }

    fn now(mut self, remedy: impl Into<String>) -> Self {
        self.now = Some(remedy.into());
        self
    }

    fn boot(mut self, remedy: impl Into<String>) -> Self {
        self.boot = Some(remedy.into());
        self
    }

    fn only(self) -> Vec<Self> {
        vec![self]
    }
}

const TUNE_BOOT: &str = "ontick tune apply --boot";
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_says_why_and_who() {
        let mut ids: Vec<_> = all().map(|c| c.id).collect();
        assert!(all().all(|c| c.why.len() > 20 && c.source.len() > 5));
        ids.sort_unstable();
        ids.windows(2).for_each(|w| assert_ne!(w[0], w[1]));
    }

    #[test]
    fn remedies_name_knobs_that_exist() {
        let mut facts = Facts::default();
        facts.cpus.online = "0-3".parse().unwrap();
        let target = Target::new(&facts, None, crate::Profile::DedicatedCore).unwrap();
        for finding in check(&facts, &target) {
            assert!(finding.knob.as_deref().is_none_or(|k| crate::knobs::named(k).is_ok()), "{}", finding.id);
        }
    }
}
