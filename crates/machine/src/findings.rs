//! Everything that stands between a machine and good timing, worst first.
//!
//! Each thing that is looked at is one small entry in a table below: what was seen and what it should be
//! is said by its `look`, why it matters and on whose word stands beside it.
//!
//! In a terminal a finding is meant to read like this, what is well on one line each at the end:
//!
//! ```text
//! BAD   rt-throttling   950000 of 1000000 µs; should be off, or a loop that sleeps part of each period
//!       up to 50.0ms: with throttling a loop that never sleeps loses 50 ms of every second
//!       now   ontick tune apply rt-throttling
//!       boot  ontick tune apply --boot
//! ok    clock-source    tsc, constant and never stopping
//! ```

mod board;
mod cpu;
mod interrupts;
mod kernel;
mod memory;
mod noise;
mod scheduling;

use serde::Serialize;

use crate::aim::Aim;
use crate::facts::Facts;

/// How bad a finding is. The order is that of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It will be seen in the worst case.
    Bad,
    /// It may be seen, or matters to some programs.
    Warn,
    /// It could not be told.
    Unknown,
    /// It is as it should be.
    Ok,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// Its name.
    pub id: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// What was seen.
    pub seen: String,
    /// What it should be; empty where it is.
    pub should: String,
    /// Why it matters.
    pub why: &'static str,
    /// Who says so, or where it was measured.
    pub source: &'static str,
    /// How long it can hold a timed program up, in ns, where that is known.
    pub effect_ns: Option<u64>,
    /// The knob of `ontick tune` that mends it until the next boot.
    pub knob: Option<&'static str>,
    /// What mends it now, where no knob does.
    pub now: Option<String>,
    /// What mends it at boot.
    pub boot: Option<String>,
}

impl Finding {
    /// The command or advice that mends it now.
    pub fn mend_now(&self) -> Option<String> {
        self.knob.map(|knob| format!("ontick tune apply {knob}")).or_else(|| self.now.clone())
    }
}

/// Looks at everything, for the CPUs of an aim; worst first.
pub fn check(facts: &Facts, aim: &Aim) -> Vec<Finding> {
    let look = Look { facts, aim };
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

/// Whether anything bad stands: `ontick check` then ends with status 1.
pub fn any_bad(findings: &[Finding]) -> bool {
    findings.iter().any(|f| f.severity == Severity::Bad)
}

/// What a `look` is given.
struct Look<'a> {
    facts: &'a Facts,
    aim: &'a Aim,
}

/// One thing to look at.
struct Check {
    id: &'static str,
    why: &'static str,
    source: &'static str,
    /// What was seen: nothing where it does not concern this machine, more than one where it can.
    look: fn(&Look) -> Vec<Seen>,
}

impl Check {
    fn finding(&self, seen: Seen) -> Finding {
        Finding {
            id: self.id,
            severity: seen.severity,
            seen: seen.seen,
            should: seen.should,
            why: self.why,
            source: self.source,
            effect_ns: seen.effect_ns,
            knob: seen.knob,
            now: seen.now,
            boot: seen.boot,
        }
    }
}

/// What a `look` saw.
struct Seen {
    severity: Severity,
    seen: String,
    should: String,
    effect_ns: Option<u64>,
    knob: Option<&'static str>,
    now: Option<String>,
    boot: Option<String>,
}

impl Seen {
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
        let aim = Aim::new(&facts, None, crate::Profile::DedicatedCore).unwrap();
        for finding in check(&facts, &aim) {
            assert!(finding.knob.is_none_or(|k| crate::knobs::named(k).is_ok()), "{}", finding.id);
        }
    }
}
