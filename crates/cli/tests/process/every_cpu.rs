//! `--cpu` with several CPUs: a thread on each at once, their rows, the row of all and the picture.

use ontick_record::store;

use crate::{alone_on_this_machine, run, stderr, stdout};

#[test]
fn each_cpu_has_a_row_at_its_place_in_the_period_and_all_have_one() {
    let online = ontick_rt::cpus::online();
    if online.len() < 2 {
        return ontick_skip::skipped!("one CPU");
    }
    let _alone = alone_on_this_machine();
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("run.json");
    let list = format!("{}-{}", online[0], online[online.len() - 1]);
    let out = run(&[
        "latency",
        "timer",
        "--cpu",
        &list,
        "--phase",
        "stagger",
        "--interval",
        "4ms",
        "--duration",
        "2500ms",
        "--record",
        record.to_str().unwrap(),
    ]);
    assert!(out.status.success(), "{}", stderr(&out));
    let text = stdout(&out);
    assert!(online.iter().all(|cpu| text.contains(&format!("hybrid, CPU {cpu} "))), "{text}");
    assert!(text.contains("hybrid, together "), "{text}");

    let run_kept = store::parse(&std::fs::read_to_string(&record).unwrap()).unwrap();
    assert_eq!(run_kept.series.len(), online.len());
    for (n, series) in run_kept.series.iter().enumerate() {
        assert_eq!(series.settings.cpu, Some(online[n]));
        let phase_ns = |series: &ontick_record::Series| series.settings.phase_ns.unwrap();
        let beyond_ns = phase_ns(series) + 4_000_000 - phase_ns(&run_kept.series[0]);
        assert_eq!(beyond_ns % 4_000_000, 4_000_000 * n as u64 / online.len() as u64);
        let cycles = series.cycles();
        assert!((620..=626).contains(&cycles), "none from before the others were ready: {cycles}");
    }

    let svg = folder.path().join("cpus.svg");
    let path = record.to_str().unwrap();
    let out = run(&["report", path, "--plot", "cpus", "--svg", svg.to_str().unwrap()]);
    assert!(out.status.success(), "{}", stderr(&out));
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(online.iter().all(|cpu| svg.contains(&format!("CPU {cpu}: "))), "{svg}");
}

#[test]
fn gaps_and_wake_ups_are_measured_on_several_too() {
    let online = ontick_rt::cpus::online();
    if online.len() < 2 {
        return ontick_skip::skipped!("one CPU");
    }
    let _alone = alone_on_this_machine();
    let out = run(&["latency", "wakeup", "--cpu", "all", "--count", "50", "--json"]);
    let kept = store::parse(&stdout(&out)).unwrap_or_else(|e| panic!("{e}: {}", stderr(&out)));
    assert_eq!(
        kept.series.iter().map(|series| series.case.cpu).collect::<Vec<_>>(),
        online.iter().map(|cpu| Some(*cpu)).collect::<Vec<_>>()
    );
    assert!(kept.series.iter().all(|series| series.latency.count() == 50));
    // What spins leaves a CPU to the rest of the system.
    let out = run(&["latency", "noise", "--cpu", "all", "--duration", "200ms"]);
    let text = stdout(&out);
    assert!(out.status.success() && text.contains(&format!("CPU {} was left to the rest", online[0])), "{text}");
}

#[test]
fn what_cannot_be_on_several_is_said_in_one_sentence() {
    let listed = ontick_rt::cpus::online().iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let every = ["latency", "timer", "--method", "spin", "--cpu", &listed];
    for (arguments, sentence) in [
        (&["latency", "delay", "--cpu", "0-1"][..], "\"0-1\" is several CPUs"),
        (&["latency", "timer", "--cpu", "3-1"], "no CPU nor a list"),
        (&["latency", "timer", "--cpu", "0-4000"], "is not online"),
        (&["latency", "timer", "--phase", "stagger"], "--cpu all"),
        (&["latency", "timer", "--cpu", "all", "--waits", "2"], "leave out --waits"),
        (&every, "CPU"),
    ] {
        let out = run(arguments);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {}", stdout(&out));
        assert!(
            stderr(&out).contains(sentence) && stderr(&out).trim().lines().count() <= 2,
            "{arguments:?}: {}",
            stderr(&out)
        );
    }
}
