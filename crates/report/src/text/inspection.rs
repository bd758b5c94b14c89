//! What in a program breaks its own timing, worst first.

use ontick_record::inspection::{CallStats, Cost, Evidence, InspectedThread, Place, Problem};
use ontick_record::{Inspection, Severity};

use super::Style;
use super::lines::{dotted, hanging};
use super::list::{Entry, Mark, list};
use crate::number::{counted, plain};
use crate::printable::printable;

/// Threads without problems are named up to so many.
const MOST_THREADS: usize = 12;
/// The width of the labels at the top.
const LABEL: usize = 10;

/// The result: program, threads, problems; `all` adds the sources and the system calls.
pub fn inspection(found: &Inspection, all: bool, style: &Style) -> String {
    let labelled = |label: &str, parts: &[String]| {
        let label = format!("{label:<LABEL$}");
        hanging(&label, "", &dotted(parts, style.width.saturating_sub(LABEL)), style.width)
    };
    let mut text = labelled("program", &program(found));
    for thread in found.threads.iter().take(MOST_THREADS) {
        text.push_str(&labelled("thread", &about(thread)));
        if all && !thread.calls.is_empty() {
            text.push_str(&labelled("  calls", &thread.calls.iter().map(call).collect::<Vec<_>>()));
        }
    }
    if found.threads.len() > MOST_THREADS {
        text.push_str(&labelled("", &[format!("and {} more threads", found.threads.len() - MOST_THREADS)]));
    }
    text.push('\n');
    let several = found.threads.len() > 1;
    let entries: Vec<Entry> = found.problems.iter().map(|problem| entry(problem, several, all)).collect();
    text.push_str(&list(&entries, style));
    if !entries.is_empty() {
        text.push('\n');
    }
    text.push_str(&hanging("", "", &verdict(found), style.width));
    for note in &found.notes {
        text.push_str(&hanging("note: ", "", &printable(note), style.width));
    }
    if found.lost > 0 {
        let lost = counted(found.lost, "event");
        text.push_str(&hanging("note: ", "", &format!("{lost} came too fast and were not seen"), style.width));
    }
    if found.unseen_ns > 0 {
        let unseen = format!("for {} nothing was recorded, as threads came or went", plain(found.unseen_ns));
        text.push_str(&hanging("note: ", "", &unseen, style.width));
    }
    text
}

fn program(found: &Inspection) -> Vec<String> {
    let evidence = match found.evidence {
        Evidence::Events => "by the kernel's events",
        Evidence::Faults => "by page faults and context switches alone",
        Evidence::Proc => "by /proc alone",
    };
    vec![
        format!("{} (process {})", found.program, found.pid),
        format!("observed for {}", plain(found.observed_ns / 1_000_000 * 1_000_000)),
        format!("counted from {} on", plain(found.after_ns)),
        evidence.into(),
    ]
}

fn about(thread: &InspectedThread) -> Vec<String> {
    let mut parts =
        vec![format!("{} ({})", thread.name, thread.tid), thread.policy.clone(), counted(thread.waits, "wait")];
    if let Some(cost) = &thread.wake_up {
        parts.push(format!("on a CPU after {}", costs(cost)));
    }
    parts
}

fn costs(cost: &Cost) -> String {
    format!("{}, p99 {}, worst {}", plain(cost.p50_ns), plain(cost.p99_ns), plain(cost.worst_ns))
}

fn call(call: &CallStats) -> String {
    let wait = if call.wait { "waits by " } else { "" };
    format!("{wait}{} {}×: {}", call.name, call.count, costs(&call.took))
}

fn entry(problem: &Problem, several: bool, all: bool) -> Entry {
    let mark = if problem.severity == Severity::Bad { Mark::Bad } else { Mark::Look };
    let mut said = if several { format!("{}: {}", problem.thread, problem.observed) } else { problem.observed.clone() };
    if problem.count > 0 {
        said.push_str(&format!(" · {}", counted(problem.count, "time")));
    }
    let mut below = Vec::new();
    if let Some(cost) = &problem.cost {
        let cost = match (cost.estimated, cost.p50_ns == cost.worst_ns) {
            (true, true) => plain(cost.worst_ns),
            (true, false) => format!("about {} each on this machine", costs(cost)),
            (false, _) => format!("{} each", costs(cost)),
        };
        below.push(("cost", cost));
    }
    if !problem.places.is_empty() {
        below.push(("where", problem.places.iter().map(place).collect::<Vec<_>>().join("; ")));
    }
    below.push(("why", problem.why.clone()));
    below.push(("mend", problem.mend.clone()));
    if all {
        below.push(("says", problem.source.clone()));
    }
    Entry { mark, word: problem.severity.name().into(), name: problem.id.clone(), said, below }
}

fn place(place: &Place) -> String {
    let inside = if place.object.is_empty() { String::new() } else { format!(" in {}", place.object) };
    let caller = place.caller.as_ref().map(|caller| format!(", called by {caller}")).unwrap_or_default();
    format!("{}{inside}{caller} ({})", place.function, place.count)
}

fn verdict(found: &Inspection) -> String {
    if found.threads.is_empty() {
        return "No thread was observed for long enough: nothing is known of the program.".into();
    }
    let of = |severity| found.problems.iter().filter(|problem| problem.severity == severity).count() as u64;
    match (of(Severity::Bad), found.problems.len()) {
        (0, 0) if found.evidence == Evidence::Events => "Nothing in the program breaks its timing.".into(),
        (0, 0) => "Nothing was found in what could be seen.".into(),
        (bad, all) => format!("{bad} bad, {}.", counted(all as u64 - bad, "warning")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found() -> Inspection {
        let cost = Cost { p50_ns: 12_000, p99_ns: 31_000, worst_ns: 402_000, estimated: false };
        Inspection {
            program: "loop".into(),
            pid: 41,
            observed_ns: 5_000_700_000,
            after_ns: 1_000_000_000,
            evidence: Evidence::Events,
            threads: vec![InspectedThread {
                tid: 41,
                name: "loop".into(),
                policy: "fifo:80".into(),
                waits: 4_000,
                wake_up: Some(Cost { p50_ns: 3_000, p99_ns: 9_000, worst_ns: 50_000, estimated: false }),
                calls: vec![CallStats { name: "write".into(), count: 4_000, took: cost, wait: false }],
                ..InspectedThread::default()
            }],
            problems: vec![Problem {
                id: "file".into(),
                severity: Severity::Bad,
                thread: "loop".into(),
                observed: "access to files: write to /var/log/x".into(),
                count: 4_000,
                cost: Some(cost),
                places: vec![Place {
                    function: "write".into(),
                    object: "libc.so.6".into(),
                    caller: Some("log_line".into()),
                    count: 4_000,
                }],
                why: "it may wait".into(),
                mend: "write elsewhere".into(),
                source: "write(2)".into(),
                ..Problem::default()
            }],
            ..Inspection::default()
        }
    }

    #[test]
    fn a_problem_has_what_how_often_cost_place_and_remedy() {
        let text = inspection(&found(), false, &Style::default());
        for part in [
            "loop (process 41) · observed for 5s",
            "fifo:80 · 4 000 waits",
            "write to /var/log/x · 4 000 times",
            "12us, p99 31us, worst 402us each",
            "write in libc.so.6, called by log_line (4000)",
            "mend   write elsewhere",
            "1 bad, 0 warnings.",
        ] {
            assert!(text.replace('\u{a0}', " ").contains(part), "{part}: {text}");
        }
        assert!(!text.contains("write(2)") && !text.contains("4000×"), "{text}");
        let all = inspection(&found(), true, &Style::default());
        assert!(all.contains("write(2)") && all.contains("4000×"), "{all}");
    }

    #[test]
    fn what_was_not_seen_is_not_called_clean() {
        let clean = Inspection { problems: Vec::new(), ..found() };
        let last = |found: &Inspection| inspection(found, false, &Style::default()).lines().last().unwrap().to_owned();
        assert_eq!(last(&clean), "Nothing in the program breaks its timing.");
        assert_eq!(
            last(&Inspection { evidence: Evidence::Faults, ..clean.clone() }),
            "Nothing was found in what could be seen."
        );
        assert!(last(&Inspection { threads: Vec::new(), ..clean.clone() }).starts_with("No thread was observed"));
        assert_eq!(
            last(&Inspection { unseen_ns: 21_000_000, ..clean.clone() }),
            "note: for 21ms nothing was recorded, as threads came or went"
        );
        assert_eq!(last(&Inspection { lost: 7, ..clean }), "note: 7 events came too fast and were not seen");
    }
}
