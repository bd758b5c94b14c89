//! `ontick check` on machines that stand in folders, and on this one.

use serde_json::Value;

use crate::machine::{MACHINES, Machine};
use crate::{run, stderr, stdout};

fn checked(arguments: &[&str]) -> (Option<i32>, Value) {
    let output = run(&[&["check", "--json"], arguments].concat());
    let document = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
    (output.status.code(), document)
}

#[test]
fn every_machine_is_looked_at_worst_first_and_left_as_it_is() {
    for name in MACHINES {
        let machine = Machine::lay(name);
        let before = machine.snapshot();
        let (status, document) = checked(&["--root", machine.folder().to_str().unwrap()]);
        let findings = document["findings"].as_array().unwrap();
        let severities: Vec<&str> = findings.iter().map(|f| f["severity"].as_str().unwrap()).collect();
        let order = ["bad", "warn", "unknown", "ok"];
        let ranks: Vec<_> = severities.iter().map(|s| order.iter().position(|o| o == s).unwrap()).collect();
        assert!(ranks.is_sorted() && findings.len() > 15, "{name}: {severities:?}");
        assert_eq!(status, Some(i32::from(severities[0] == "bad")), "{name}");
        assert!(findings.iter().all(|f| !f["why"].as_str().unwrap().is_empty()), "{name}");
        assert!(machine.snapshot() == before, "{name} was changed");
    }
}

/// Programs read these by name.
#[test]
fn documents_have_the_keys_that_programs_know() {
    let machine = Machine::lay("pi4");
    let keys = |arguments: &[&str]| {
        let output = run(&[arguments, &["--json", "--root", machine.folder().to_str().unwrap()]].concat());
        let document: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        move |part: Option<&str>| {
            let part = part.map_or(&document, |part| &document[part]);
            part.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        }
    };
    assert_eq!(keys(&["check"])(None), ["aim", "findings"]);
    let plan = keys(&["tune", "plan"]);
    assert_eq!(
        (plan(None), plan(Some("plan"))),
        (vec!["boot".into(), "plan".into()], vec!["aim".into(), "items".into()])
    );
}

#[test]
fn the_list_fits_and_tells_what_mends() {
    let machine = Machine::lay("pi4");
    let root = machine.folder().to_str().unwrap();
    let short = stdout(&run(&["check", "--root", root]));
    assert!(short.starts_with("machine   Raspberry Pi 4"), "{short}");
    for word in [" bad ", "ontick tune apply governor", "ontick tune apply --boot", "more are fine (--all)"] {
        assert!(short.contains(word), "{word}: {short}");
    }
    assert!(short.lines().all(|line| line.chars().count() <= 80), "{short}");
    let long = stdout(&run(&["check", "--all", "--root", root]));
    assert!(long.contains(" ok ") && long.contains("says  ") && long.lines().count() > short.lines().count(), "{long}");
}

#[test]
fn a_cpu_is_watched() {
    let (_, document) = checked(&["--cpu", "0", "--duration", "300ms"]);
    let own = &document["ownership"];
    assert_eq!(own["cpu"], 0);
    assert!(own["watched_ns"].as_u64().unwrap() >= 300_000_000);
    let may = own["may"].as_array().unwrap();
    assert!(may.iter().any(|m| m["movable"] == "bound"), "each CPU has kernel threads of its own: {own}");
    let text = stdout(&run(&["check", "--cpu", "0", "--duration", "100ms"]));
    assert!(
        text.contains("CPU 0 in ")
            && !text.contains("nothing was watched")
            && text.contains(" may ")
            && text.contains("more (--all)"),
        "{text}"
    );
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}
