//! `--cpu` with several CPUs on the commands that prove, evaluate, check and plan.

use std::process::Output;

use ontick_record::{Side, store};
use serde_json::Value;

use crate::{alone_on_this_machine, machine::Machine, run, stderr, stdout};

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", stdout(output), stderr(output)))
}

#[test]
fn a_proof_on_several_cpus_has_each_and_all() {
    let online = ontick_rt::cpus::online();
    if online.len() < 2 {
        return ontick_skip::skipped!("one CPU");
    }
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let list = format!("{}-{}", online[0], online[1]);
    let out = run(&[
        "prove",
        "--cpu",
        &list,
        "--duration",
        "1500ms",
        "--load",
        "none",
        "--html",
        &path("report.html"),
        "--record",
        &path("run.json"),
        "--require",
        "max < 100s",
    ]);
    assert!(out.status.success(), "{}{}", stdout(&out), stderr(&out));
    let kept = store::parse(&std::fs::read_to_string(path("run.json")).unwrap()).unwrap();
    let places: Vec<_> = kept.series.iter().map(|series| (series.case.side, series.settings.cpu)).collect();
    let on = |side, cpu| (Some(side), Some(cpu));
    let [first, second] = [online[0], online[1]];
    let expected = [on(Side::Stock, first), on(Side::Stock, second), on(Side::Ontick, first), on(Side::Ontick, second)];
    assert_eq!(places, expected);
    assert!(kept.series.iter().all(|series| series.blocks.len() == 3 && series.latency.count() > 0));
    let text = stdout(&out).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        &format!("ontick, CPU {second} ")[..],
        "ontick, together",
        "6 blocks of",
        &format!("core CPU {first}-{second} "),
        "This machine, on 2 CPUs at once,",
        &format!("By CPU: CPU {first} "),
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(std::fs::read_to_string(path("report.html")).unwrap().contains("on 2 CPUs at once"));
    // All but one are one CPU here, and then as ever.
    if online.len() == 2 {
        let out = run(&["prove", "--cpu", "all", "--duration", "10m", "--load", "cmd:/nowhere/at all"]);
        assert_eq!(out.status.code(), Some(2), "{}", stdout(&out));
    }
}

#[test]
fn the_source_s_timers_run_on_several_cpus() {
    let online = ontick_rt::cpus::online();
    if online.len() < 2 {
        return ontick_skip::skipped!("one CPU");
    }
    let _alone = alone_on_this_machine();
    let list = online.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let out = run(&["kernel", "evaluate", "--cpu", &list, "--loops", "40", "--load", "none", "--json"]);
    let kept = store::parse(&stdout(&out)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&out)));
    let of = |method: &str| -> Vec<_> {
        kept.series.iter().filter(|series| series.case.method.as_deref() == Some(method)).map(|s| s.case.cpu).collect()
    };
    let each: Vec<_> = online.iter().map(|cpu| Some(*cpu)).collect();
    assert_eq!((of("clock_nanosleep"), of("futex")), (each.clone(), each));
    // One timer of the process, and one that would leave no CPU to anybody.
    assert!(of("setitimer").is_empty() && of("spin").is_empty());
    let whole = serde_json::to_string(&kept.facts).unwrap();
    assert!(whole.contains("setitimer is left out") && whole.contains("spin is left out"), "{whole}");
    assert!(kept.series[0].published.is_some(), "beside source 004's figure");
}

#[test]
fn several_cpus_are_checked_and_planned() {
    let machine = Machine::lay("pi4");
    let root = machine.folder().to_str().unwrap();
    let plan = |cpu: &str| json(&run(&["tune", "plan", "--json", "--root", root, "--cpu", cpu]));
    let aim = |document: &Value| (document["plan"]["aim"]["cpus"].clone(), document["plan"]["aim"]["others"].clone());
    assert_eq!(aim(&plan("all")), ("1-3".into(), "0".into()));
    assert_eq!(aim(&plan("2-3")), ("2-3".into(), "0-1".into()));
    let listed = json(&run(&["check", "--json", "--root", root, "--cpu", "all"]));
    assert_eq!(listed["aim"]["cpus"], "1-3");
    let watched: Vec<&Value> = listed["ownerships"].as_array().unwrap().iter().map(|own| &own["cpu"]).collect();
    assert_eq!((watched, listed.get("ownership")), (vec![&1.into(), &2.into(), &3.into()], None));
    let text = stdout(&run(&["check", "--root", root, "--cpu", "2-3"]));
    assert!(text.contains(&format!("ontick tune plan --boot --cpu 2-3 --root {root}")), "{text}");
    let none = run(&["check", "--root", root, "--cpu", "isolated"]);
    assert_eq!(none.status.code(), Some(2), "{}", stdout(&none));
    assert!(stderr(&none).contains("no CPU of this machine is isolated: name CPUs (--cpu 1-3)"), "{}", stderr(&none));
    machine.write("/sys/devices/system/cpu/isolated", "3\n");
    assert_eq!(aim(&plan("isolated")), ("3".into(), "0-2".into()));
    let wrong = run(&["tune", "plan", "--root", root, "--cpu", "some"]);
    assert!(wrong.status.code() == Some(2) && stderr(&wrong).contains("isolated or all"), "{}", stderr(&wrong));
    // As the one that it was.
    let (_, live) = (run(&["check"]), run(&["check", "--cpu", "0", "--duration", "50ms", "--json"]));
    assert_eq!(json(&live)["ownership"]["cpu"], 0);
}
