//! Everything that keeps a machine from good timing, worst first.
//!
//! Each thing that is looked at is one small entry in a table below: what was seen and what it should be
//! is said by its `look`, why it matters and on whose word stands beside it.

mod board;
mod cpu;
mod firmware;
mod interrupts;
mod kernel;
mod memory;
mod network;
mod noise;
mod remedy;
mod scheduling;

pub use ontick_record::findings::{Finding, Severity, any_bad};
pub use remedy::Remedy;

use crate::facts::Facts;
use crate::target::Target;

/// Looks at everything, for the CPUs of a target; worst first. `words` says how a remedy is written.
pub fn check(facts: &Facts, target: &Target, words: &dyn Fn(&Remedy) -> String) -> Vec<Finding> {
    let look = CheckInput { facts, target };
    let mut found: Vec<Finding> =
        all().flat_map(|check| (check.look)(&look).into_iter().map(|found| check.finding(found, words))).collect();
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
        firmware::CHECKS,
        network::CHECKS,
        board::CHECKS,
    ];
    tables.into_iter().flatten()
}

/// What a `look` is given.
struct CheckInput<'a> {
    facts: &'a Facts,
    target: &'a Target,
}

/// One thing to look at.
struct Check {
    id: &'static str,
    why: &'static str,
    source: &'static str,
    /// What was seen: nothing where it does not concern this machine, more than one where it can.
    look: fn(&CheckInput) -> Vec<Observation>,
}

impl Check {
    fn finding(&self, found: Observation, words: &dyn Fn(&Remedy) -> String) -> Finding {
        Finding {
            id: self.id.into(),
            severity: found.severity,
            observed: found.observed,
            should: found.should,
            why: self.why.into(),
            source: self.source.into(),
            effect_ns: found.effect.map(|effect| effect.ns),
            effect_elsewhere: found.effect.is_some_and(|effect| effect.elsewhere),
            knob: found.knob.map(str::to_owned),
            now: found.knob.map(Remedy::Knob).or(found.now).as_ref().map(words),
            boot: found.boot.as_ref().map(words),
        }
    }
}

/// How long something can hold a timed program up.
#[derive(Clone, Copy)]
struct Effect {
    ns: u64,
    elsewhere: bool,
}

/// What a `look` saw.
struct Observation {
    severity: Severity,
    observed: String,
    should: String,
    effect: Option<Effect>,
    knob: Option<&'static str>,
    now: Option<Remedy>,
    boot: Option<Remedy>,
}

impl Observation {
    fn new(severity: Severity, observed: impl Into<String>, should: impl Into<String>) -> Self {
        let (observed, should) = (observed.into(), should.into());
        Self { severity, observed, should, effect: None, knob: None, now: None, boot: None }
    }

    fn ok(observed: impl Into<String>) -> Self {
        Self::new(Severity::Ok, observed, "")
    }

    fn warn(observed: impl Into<String>, should: impl Into<String>) -> Self {
        Self::new(Severity::Warn, observed, should)
    }

    fn bad(observed: impl Into<String>, should: impl Into<String>) -> Self {
        Self::new(Severity::Bad, observed, should)
    }

    fn unknown(observed: impl Into<String>, should: impl Into<String>) -> Self {
        Self::new(Severity::Unknown, observed, should)
    }

    /// As this machine's settings say.
    fn costs(mut self, ns: u64) -> Self {
        self.effect = Some(Effect { ns, elsewhere: false });
        self
    }

    /// As it was on other machines: nobody measured it here.
    fn costs_elsewhere(mut self, ns: u64) -> Self {
        self.effect = Some(Effect { ns, elsewhere: true });
        self
    }

    fn knob(mut self, name: &'static str) -> Self {
        self.knob = Some(name);
        self
    }

    fn now(mut self, remedy: impl Into<Remedy>) -> Self {
        self.now = Some(remedy.into());
        self
    }

    fn boot(mut self, remedy: impl Into<Remedy>) -> Self {
        self.boot = Some(remedy.into());
        self
    }

    fn only(self) -> Vec<Self> {
        vec![self]
    }
}

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
    fn what_another_machine_measured_is_called_so() {
        let sources = all().map(|c| c.source).chain(crate::knobs::all().map(|k| k.source));
        let unlabelled = |s: &&str| s.contains("measured") && !s.contains("measured on another machine");
        assert_eq!(sources.filter(unlabelled).collect::<Vec<_>>(), Vec::<&str>::new());
    }

    #[test]
    fn remedies_name_knobs_that_exist() {
        let mut facts = Facts::default();
        facts.cpus.online = "0-3".parse().unwrap();
        let target = Target::new(&facts, None, crate::Profile::DedicatedCore).unwrap();
        for finding in check(&facts, &target, &Remedy::to_string) {
            assert!(finding.knob.as_deref().is_none_or(|k| crate::knobs::named(k).is_ok()), "{}", finding.id);
        }
    }
}
