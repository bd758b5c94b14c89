//! A run as a JUnit file, as continuous integration reads it: a test case for each requirement, and one for the
//! measurement itself. The format is that of Ant's task, as Jenkins' schema (`junit-10.xsd`) describes it.

use ontick_record::Run;
use ontick_record::compare::{Decision, Verdict};
use ontick_record::run::Judged;

use crate::decisions::sentence;
use crate::markup::Markup;
use crate::text::{Style, summary};

/// The run as JUnit XML. A requirement that is not met is a failure; one that could not be judged, and a run that was cut
/// short, is an error.
///
/// ```
/// let mut run = ontick_record::Run::new("ontick 0.1.0", "timer");
/// run.interrupted = true;
/// assert!(ontick_report::junit(&run).contains("<error message=\"the run was cut short\""));
/// ```
pub fn junit(run: &Run) -> String {
    let mut cases = vec![Case::of_the_run(run)];
    cases.extend(run.requirements.iter().map(Case::of));
    let mut properties = vec![("tool", run.tool.clone())];
    if let Some(machine) = &run.environment {
        properties.extend([
            ("machine", machine.machine.clone()),
            ("processor", machine.processor.clone()),
            ("kernel", machine.kernel.clone()),
            ("preemption", machine.preemption.clone()),
            ("cpus", machine.cpus_online.to_string()),
            ("isolated", machine.isolated.clone()),
            ("hypervisor", machine.hypervisor.clone()),
        ]);
    }
    properties.extend(run.simulated.iter().map(|what| ("simulated", what.clone())));
    properties.retain(|(_, value)| !value.is_empty());
    let suite = Suite {
        name: format!("ontick {}", run.measurement.as_str()),
        seconds: run.duration_ns as f64 / 1e9,
        // Without a zone, as the schema has it; it is UTC.
        began: run.started.trim_end_matches('Z').into(),
        properties,
        cases,
    };
    suite.xml(&summary(run, &Style::default()))
}

/// The file of a run that could not be: one case, an error with this sentence.
pub fn junit_of_failure(measurement: &str, sentence: &str) -> String {
    let error = Some(Problem { kind: "error", message: sentence.into() });
    let cases = vec![Case { name: MEASURED.into(), problem: error }];
    let name = format!("ontick {measurement}");
    Suite { name, seconds: 0.0, began: String::new(), properties: Vec::new(), cases }.xml("")
}

/// The decisions of a comparison as JUnit XML: a test case for each requirement and series. A percentile that is worse is a
/// failure; where nobody can tell, it is an error.
pub fn junit_of_decisions(command: &str, decisions: &[Decision]) -> String {
    let case = |decision: &Decision| {
        let kind = match decision.verdict {
            Verdict::Met => None,
            Verdict::Broken => Some("failure"),
            Verdict::CannotTell => Some("error"),
        };
        let problem = kind.map(|kind| Problem { kind, message: sentence(decision) });
        Case { name: format!("{}: {}", decision.series.1, decision.requirement), problem }
    };
    let cases = decisions.iter().map(case).collect();
    let name = format!("ontick {command}");
    Suite { name, seconds: 0.0, began: String::new(), properties: Vec::new(), cases }.xml("")
}

const MEASURED: &str = "measured";

struct Suite {
    name: String,
    seconds: f64,
    began: String,
    properties: Vec<(&'static str, String)>,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    problem: Option<Problem>,
}

struct Problem {
    /// The element: `failure` or `error`.
    kind: &'static str,
    message: String,
}

impl Case {
    fn of_the_run(run: &Run) -> Self {
        let problem = run.interrupted.then(|| Problem { kind: "error", message: "the run was cut short".into() });
        Self { name: MEASURED.into(), problem }
    }

    fn of(judged: &Judged) -> Self {
        let at = if judged.series.is_empty() { String::new() } else { format!(" ({})", judged.series) };
        let problem = (!judged.met).then(|| Problem {
            kind: if judged.unproven { "error" } else { "failure" },
            message: format!("{}{at}", judged.observed),
        });
        Self { name: judged.requirement.clone(), problem }
    }
}

impl Suite {
    fn xml(&self, output: &str) -> String {
        let count = |kind: &str| self.cases.iter().flat_map(|case| &case.problem).filter(|p| p.kind == kind).count();
        let (tests, failures, errors) = (self.cases.len(), count("failure"), count("error"));
        let seconds = format!("{:.3}", self.seconds);
        let mut xml = Markup::default();
        let class = self.name.replace(' ', ".");
        let mut of_suite: Vec<(&str, &dyn std::fmt::Display)> = vec![
            ("name", &self.name),
            ("tests", &tests),
            ("failures", &failures),
            ("errors", &errors),
            ("skipped", &0),
            ("time", &seconds),
        ];
        // Without a moment at which it began there is none to state: an empty one is no date to whoever reads it.
        if !self.began.is_empty() {
            of_suite.push(("timestamp", &self.began));
        }
        xml.raw("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        xml.open("testsuites", &[]).raw("\n");
        xml.open("testsuite", &of_suite);
        xml.raw("\n");
        if !self.properties.is_empty() {
            xml.open("properties", &[]);
            for (name, value) in &self.properties {
                xml.empty("property", &[("name", name), ("value", value)]);
            }
            xml.close().raw("\n");
        }
        for (place, case) in self.cases.iter().enumerate() {
            // All of a run's time is the measurement's.
            let time = if place == 0 { seconds.as_str() } else { "0.000" };
            xml.open("testcase", &[("classname", &class), ("name", &case.name), ("time", &time)]);
            if let Some(problem) = &case.problem {
                xml.leaf(problem.kind, &[("message", &problem.message), ("type", &"requirement")], &problem.message);
            }
            xml.close().raw("\n");
        }
        if !output.is_empty() {
            xml.open("system-out", &[]);
            for line in output.lines() {
                xml.words(line).raw("\n");
            }
            xml.close().raw("\n");
        }
        xml.close().raw("\n").close().raw("\n");
        xml.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(requirement: &str, met: bool, unproven: bool) -> Judged {
        Judged {
            requirement: requirement.into(),
            series: "sleep, idle".into(),
            observed: "98.2 %".into(),
            met,
            unproven,
        }
    }

    #[test]
    fn what_is_not_met_is_a_failure_and_what_is_not_proven_an_error() {
        let mut run = Run::new("ontick 0.1.0", "timer");
        run.requirements = vec![
            judged("99% < 3us", false, false),
            judged("max < 1ms", true, false),
            judged("sent > 95%", false, true),
        ];
        let xml = junit(&run);
        let document = roxmltree::Document::parse(&xml).unwrap();
        let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
        let counts = ["tests", "failures", "errors"].map(|name| suite.attribute(name).unwrap());
        assert_eq!(counts, ["4", "1", "1"]);
        let failed = document.descendants().find(|node| node.has_tag_name("failure")).unwrap();
        assert_eq!(failed.attribute("message"), Some("98.2 % (sleep, idle)"));
        assert_eq!(failed.parent().unwrap().attribute("name"), Some("99% < 3us"));
    }

    #[test]
    fn a_name_with_markup_in_it_stays_a_name() {
        let xml = junit_of_failure("timer", "</testcase> & \"quotes\" \u{1b}[2J");
        let document = roxmltree::Document::parse(&xml).unwrap();
        let error = document.descendants().find(|node| node.has_tag_name("error")).unwrap();
        assert_eq!(error.attribute("message"), Some("</testcase> & \"quotes\" \u{fffd}[2J"));
    }
}
