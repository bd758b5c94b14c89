//! A real irqbalance, told by its own socket what it may not use. It has mounts of its own, in which no interrupt of this machine
//! can be moved.

use serde_json::Value;

use crate::bad_disks::with_mounts;
use crate::{has, stderr, stdout};

/// Starts one that looks at the machine every second.
const START: &str = "mount -t tmpfs -o mode=755 tmpfs /run; mount -t tmpfs -o mode=755 tmpfs /var/lib; \
     mount --bind /proc/irq /proc/irq; mount -o remount,bind,ro /proc/irq; mkdir /run/irqbalance; \
     irqbalance --foreground --interval=1 >/dev/null 2>&1 & balancer=$!; \
     trap 'kill -9 $balancer || true' EXIT; \
     until [ -S /run/irqbalance/irqbalance$balancer.sock ]; do kill -0 $balancer; sleep 0.02; done; ";

/// What `ontick` printed as JSON in a script, one document after the other; the rest goes to standard error.
fn documents(script: &str) -> Option<Vec<Value>> {
    if !has("irqbalance") {
        return None;
    }
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        ontick_skip::skipped!("it needs two CPUs");
        return None;
    }
    let output = with_mounts(&format!("{START}{script}"))?;
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    Some(serde_json::Deserializer::from_str(&text).into_iter().map(Result::unwrap).collect())
}

/// The only item of a plan: what is kept off now and what is to be done.
fn planned(document: &Value) -> (&str, &str) {
    let item = &document["plan"]["items"][0];
    assert_eq!(item["path"], "irqbalance:banned-cpus", "{document}");
    (item["current"].as_str().unwrap(), item["state"]["state"].as_str().unwrap())
}

#[test]
fn a_real_irqbalance_keeps_off_until_it_is_told_otherwise() {
    let plan = "ontick tune plan irqbalance --cpu 1 --json; ";
    let script = format!(
        "{plan} ontick check --cpu 1 --json || true; ontick tune apply irqbalance --cpu 1 >&2; {plan} ontick tune status --json; \
         ontick check --cpu 1 --json || true; ontick tune revert >&2; {plan} kill -9 $balancer; wait $balancer || true; {plan}"
    );
    let Some(all) = documents(&script) else { return };
    let [free, found, kept, status, well, free_again, gone] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(
        (planned(free), planned(kept), planned(free_again)),
        (("none", "change"), ("1", "as_wanted"), planned(free))
    );
    assert_eq!((planned(gone).0, planned(gone).1), ("", "absent"));
    assert_eq!(status["changes"][0]["state"], "as_set", "{status}");
    let rivals = |document: &Value| {
        let findings = document["findings"].as_array().unwrap();
        let about = |finding: &&Value| finding["id"] == "rivals" && finding.to_string().contains("irqbalance");
        findings.iter().find(about).unwrap()["severity"].clone()
    };
    assert_eq!((rivals(found), rivals(well)), ("bad".into(), "ok".into()));
}

/// It does what it was told within a second, which nobody waits for any more.
#[test]
fn what_was_told_by_one_that_was_killed_is_taken_back() {
    let script = format!(
        "'{}' tune apply irqbalance --cpu 1 >&2 & apply=$!; \
         until grep -q irqbalance /var/lib/ontick/tune.jsonl 2>/dev/null; do sleep 0.01; done; sleep 0.1; kill -9 $apply; \
         wait $apply || true; ontick tune revert >&2; sleep 2.5; ontick tune plan irqbalance --cpu 1 --json",
        env!("CARGO_BIN_EXE_ontick")
    );
    let Some(all) = documents(&script) else { return };
    assert_eq!(planned(&all[0]), ("none", "change"));
}
