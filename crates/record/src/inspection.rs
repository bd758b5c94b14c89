//! What a program does that breaks its own timing, as a document: what, how often, what it cost, where, and how to mend it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::findings::Severity;

/// The schema's name and version, which a document begins with.
pub const SCHEMA: &str = "ontick-inspect/1";

/// Where what is known of a program comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// `/proc` alone: what holds now, and how counters changed.
    #[default]
    Proc,
    /// The kernel's events of page faults and context switches besides, without system calls.
    Faults,
    /// All events.
    Events,
}

/// What was found out about a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Inspection {
    /// `ontick-inspect/1`.
    pub schema: String,
    /// The program's name.
    pub program: String,
    /// Its process.
    pub pid: i32,
    /// How long it was observed, in ns.
    pub observed_ns: u64,
    /// What happened in the first so many ns of a thread's observation does not count.
    pub after_ns: u64,
    /// Where what is known comes from.
    pub evidence: Evidence,
    /// Events that the kernel dropped because they came faster than they were read.
    pub lost: u64,
    /// For so long nothing was recorded, as other threads were to be, in ns.
    pub unseen_ns: u64,
    /// Threads that were to be inspected and were not: there are too many, or they began too shortly before the end.
    pub left_out: u64,
    /// Why there is less evidence than there could be, what the program did meanwhile, and what was not looked at.
    pub notes: Vec<String>,
    /// The threads that were inspected.
    pub threads: Vec<InspectedThread>,
    /// What breaks the program's timing, worst first.
    pub problems: Vec<Problem>,
}

/// A thread, and what it did in its loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InspectedThread {
    /// Its number.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// Scheduling policy and priority: `fifo:80`, `other`.
    pub policy: String,
    /// For how long its events counted, in ns.
    pub counted_ns: u64,
    /// How often it waited for something: rounds of its loop.
    pub waits: u64,
    /// How long it was kept from a CPU after it was woken up, where that was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wake_up: Option<Cost>,
    /// The system calls of its loop, the longest first.
    pub calls: Vec<CallStats>,
}

/// One system call of a loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CallStats {
    /// Its name: `write`.
    pub name: String,
    /// How often it was made.
    pub count: u64,
    /// How long it took, time spent waiting included.
    pub took: Cost,
    /// Whether the thread waits for its next round, or for something to do, by it.
    pub wait: bool,
}

/// What something costs each time, in ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cost {
    /// What half cost no more than.
    pub p50_ns: u64,
    /// What 99 % cost no more than.
    pub p99_ns: u64,
    /// The most.
    pub worst_ns: u64,
    /// Whether this is what it costs on this machine, measured beside the program, not what it cost the program.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// A place in a program.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Place {
    /// The function, or an address in a file without symbols.
    pub function: String,
    /// The file that it is in.
    pub object: String,
    /// The program's own function that called it, where another one's was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// How often it was there.
    pub count: u64,
}

/// One thing that breaks a thread's timing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Problem {
    /// Its name: `page-fault`.
    pub id: String,
    /// How bad it is.
    pub severity: Severity,
    /// The thread.
    pub tid: i32,
    /// The thread's name.
    pub thread: String,
    /// What was observed.
    pub observed: String,
    /// How often; 0 for what holds all the time.
    pub count: u64,
    /// What it cost each time, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Where, the most frequent place first.
    pub places: Vec<Place>,
    /// Why it matters.
    pub why: String,
    /// What mends it.
    pub mend: String,
    /// The documentation that says so.
    pub source: String,
}

impl Inspection {
    /// Whether nothing was found.
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    /// Whether all that is looked for could be seen.
    pub fn is_whole(&self) -> bool {
        let missing = self.lost > 0 || self.unseen_ns > 0 || self.left_out > 0;
        self.evidence == Evidence::Events && !self.threads.is_empty() && !missing
    }

    /// Puts the worst first: by severity, then by what it cost, then by how often.
    pub fn sort(&mut self) {
        let worst = |problem: &Problem| problem.cost.map_or(0, |cost| cost.worst_ns);
        self.problems.sort_by(|a, b| {
            let by_cost = worst(b).cmp(&worst(a)).then(b.count.cmp(&a.count));
            a.severity.cmp(&b.severity).then(by_cost).then_with(|| a.id.cmp(&b.id)).then(a.tid.cmp(&b.tid))
        });
    }

    /// The JSON Schema of this document.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(Inspection).to_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_comes_first() {
        let problem = |id: &str, severity, worst_ns: Option<u64>, count| Problem {
            id: id.into(),
            severity,
            cost: worst_ns.map(|worst_ns| Cost { worst_ns, ..Cost::default() }),
            count,
            ..Problem::default()
        };
        let mut inspection = Inspection {
            problems: vec![
                problem("signal", Severity::Warn, Some(9_000_000), 9),
                problem("memory-lock", Severity::Bad, None, 0),
                problem("file-write", Severity::Bad, Some(40_000), 3),
                problem("heap", Severity::Bad, Some(40_000), 5),
                problem("page-fault", Severity::Bad, Some(70_000), 1),
            ],
            ..Inspection::default()
        };
        inspection.sort();
        let order: Vec<&str> = inspection.problems.iter().map(|problem| problem.id.as_str()).collect();
        assert_eq!(order, ["page-fault", "heap", "file-write", "memory-lock", "signal"]);
        assert!(!inspection.is_clean() && Inspection::default().is_clean());
    }

    #[test]
    fn what_was_not_seen_is_not_the_whole() {
        let whole = Inspection {
            evidence: Evidence::Events,
            threads: vec![InspectedThread::default()],
            ..Inspection::default()
        };
        assert!(whole.is_whole());
        for part in [
            Inspection { evidence: Evidence::Faults, ..whole.clone() },
            Inspection { threads: Vec::new(), ..whole.clone() },
            Inspection { lost: 1, ..whole.clone() },
            Inspection { unseen_ns: 1, ..whole.clone() },
            Inspection { left_out: 1, ..whole.clone() },
        ] {
            assert!(!part.is_whole(), "{part:?}");
        }
    }

    #[test]
    fn a_document_comes_back_as_it_was() {
        let inspection = Inspection {
            schema: SCHEMA.into(),
            evidence: Evidence::Events,
            problems: vec![Problem {
                cost: Some(Cost { p50_ns: 1, p99_ns: 2, worst_ns: 3, estimated: true }),
                ..Problem::default()
            }],
            ..Inspection::default()
        };
        let text = serde_json::to_string(&inspection).unwrap();
        assert!(text.contains(r#""evidence":"events""#) && text.contains(r#""estimated":true"#), "{text}");
        assert_eq!(serde_json::from_str::<Inspection>(&text).unwrap(), inspection);
    }
}
