//! Why the switch's core was kept from its work: the kernel's own account of its CPU, with `--explain`.

use std::collections::BTreeMap;

use ontick_measure::Placement;
use ontick_measure::explain::{Explainer, Findings};
use ontick_record::Series;
use ontick_record::run::{Cause, Outlier};
use ontick_record::switching::Trial;
use ontick_switch::user;
use ontick_switch::verify::trial::TrialProgress;

/// The last frames that a stall held up arrive within this after it, in ns.
const AFTER_NS: i64 = 100_000;

/// Finds out, while it goes on.
pub struct Explaining {
    explainer: Explainer,
    findings: Findings,
    /// Stalls by their length, which hardly any two share to the nanosecond, with their cause's number.
    explained: BTreeMap<u64, u32>,
    tid: i32,
}

impl Explaining {
    /// Begins; where tracing is not to be had, the second value says so.
    pub fn start(placement: user::CorePlacement) -> (Self, Option<String>) {
        let placement = Placement {
            cpu: placement.cpu,
            policy: placement.policy,
            prepared: true,
            wake_within_us: Some(0),
            awake: false,
        };
        let (explainer, note) = Explainer::start(placement);
        (Self { explainer, findings: Findings::default(), explained: BTreeMap::new(), tid: 0 }, note)
    }

    /// Looks at the stalls that came.
    pub fn look(&mut self, moment: &TrialProgress) {
        let Some(worker) = moment.worker else { return };
        // A trial has a core of its own.
        if worker.tid != self.tid {
            self.settle();
            self.tid = worker.tid;
        }
        let outlier = |stall: &user::core::Stall| Outlier {
            at_ns: stall.until_ns.wrapping_add_signed(-worker.distance_ns),
            latency_ns: stall.until_ns - stall.from_ns,
            cause: None,
        };
        let came = moment.stalls.iter().map(outlier).collect();
        let explained = self.explainer.explain(came, self.tid, false, &mut self.findings);
        self.keep(explained);
    }

    fn settle(&mut self) {
        let rest = self.explainer.explain(Vec::new(), self.tid, true, &mut self.findings);
        self.keep(rest);
    }

    fn keep(&mut self, explained: Vec<Outlier>) {
        self.explained.extend(explained.iter().filter_map(|outlier| Some((outlier.latency_ns, outlier.cause?))));
    }

    /// Ends, and writes causes to the trials' stalls and violations.
    pub fn end(mut self, trials: &mut [Trial]) {
        self.settle();
        self.explainer.end(&mut self.findings);
        let mut series = Series::default();
        self.findings.describe(&mut series);
        for trial in trials {
            for stall in &mut trial.stalls {
                let cause = self.explained.get(&stall.length_ns).and_then(|n| series.causes.get(*n as usize));
                stall.cause = cause.map(named);
            }
            blame(trial);
        }
    }
}

fn named(cause: &Cause) -> String {
    if cause.detail.is_empty() { cause.cause.clone() } else { format!("{} {}", cause.cause, cause.detail) }
}

/// A violation that came of a stall has the stall's cause.
fn blame(trial: &mut Trial) {
    for violation in trial.violations.iter_mut().filter(|violation| violation.cause.is_some()) {
        let at_ns = violation.at_ns as i64;
        let over = |from_ns: i64, length_ns: u64| (from_ns..=from_ns + length_ns as i64 + AFTER_NS).contains(&at_ns);
        let stalls = trial.stalls.iter().filter(|stall| over(stall.at_ns, stall.length_ns));
        let longest = stalls.max_by_key(|stall| stall.length_ns).and_then(|stall| stall.cause.as_ref());
        if let (Some(cause), Some(of)) = (&mut violation.cause, longest) {
            *cause += &format!(": {of}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ontick_record::switching::{Stall, Violation};

    #[test]
    fn a_violation_has_the_cause_of_its_stall() {
        let stall = |at_ns, length_ns, cause: &str| Stall { at_ns, length_ns, cause: Some(cause.into()) };
        let violation =
            |at_ns, cause: Option<&str>| Violation { at_ns, cause: cause.map(Into::into), ..Violation::default() };
        let mut trial = Trial {
            stalls: vec![stall(-5, 30_000, "timer tick"), stall(1_000_000, 5_200_000, "outside the kernel")],
            violations: vec![
                violation(6_201_000, Some("the switch did not run for 5.20ms")),
                violation(9_000_000, Some("…")),
                violation(6_201_000, None),
            ],
            ..Trial::default()
        };
        blame(&mut trial);
        let causes: Vec<Option<&str>> = trial.violations.iter().map(|violation| violation.cause.as_deref()).collect();
        assert_eq!(causes, [Some("the switch did not run for 5.20ms: outside the kernel"), Some("…"), None]);
    }
}
