//! What the commands find, print and write when all is well.

use crate::{has, ontick, record, run, samples, stderr, stdout};

const METHODS: [&str; 12] = [
    "hybrid",
    "spin",
    "clock_nanosleep",
    "nanosleep",
    "timerfd",
    "epoll",
    "posix_timer",
    "setitimer",
    "select",
    "poll",
    "futex",
    "io_uring",
];

#[test]
fn every_method_measures() {
    let run = record(&run(&["latency", "timer", "--method", "all", "--count", "30", "--json"]));
    let series = run["series"].as_array().unwrap();
    assert_eq!(series.iter().map(|s| s["name"].as_str().unwrap()).collect::<Vec<_>>(), METHODS);
    for s in series {
        assert_eq!(samples(s), 30, "{s}");
        assert_eq!(s["early"], 0, "{s}");
        assert_eq!(s["settings"]["phase_ns"], series[0]["settings"]["phase_ns"], "all have the same phase");
    }
}

#[test]
fn a_phase_is_kept() {
    let run = record(&run(&["latency", "timer", "--count", "20", "--phase", "123us", "--json"]));
    assert_eq!(run["series"][0]["settings"]["phase_ns"], 123_000);
    assert_eq!(run["series"][0]["settings"]["phase_choice"], "fixed");
}

#[test]
fn the_other_measurements_measure() {
    for (arguments, count) in [
        (&["latency", "wakeup", "--method", "all", "--count", "20"][..], 4),
        (&["latency", "wallclock", "--interval", "10ms", "--count", "20"], 1),
        (&["latency", "wallclock", "--interval", "10ms", "--count", "20", "--clock", "tai", "--sleep-only"], 1),
        (&["latency", "delay", "--delay", "0us,50us", "--count", "20"], 10),
        (&["latency", "noise", "--count", "3", "--over", "100ns"], 1),
    ] {
        let run = record(&run(&[arguments, &["--json"]].concat()));
        let series = run["series"].as_array().unwrap();
        assert_eq!(series.len(), count, "{arguments:?}");
        assert!(series.iter().all(|s| samples(s) > 0), "{arguments:?}");
    }
}

#[test]
fn a_run_says_what_it_was_measured_on() {
    let run = record(&run(&["latency", "timer", "--count", "20", "--json"]));
    let environment = &run["environment"];
    for what in ["kernel", "architecture", "preemption", "clocksource", "rt_throttling"] {
        assert!(!environment[what].as_str().unwrap().is_empty(), "{what}: {environment}");
    }
    assert_eq!(run["series"][0]["settings"]["load"], "none");
    assert!(run["started"].as_str().unwrap().ends_with('Z'));
}

/// Where no CPU is named all commands take the same one, and say why if it is not the expected one.
#[test]
fn a_cpu_that_nobody_named_is_explained() {
    let chosen = record(&run(&["latency", "timer", "--count", "20", "--json"]));
    let cpu = chosen["series"][0]["settings"]["cpu"].as_u64().unwrap();
    let noted = |run: &serde_json::Value| {
        let notes = run["facts"].as_array().cloned().unwrap_or_default();
        notes.iter().filter_map(|n| n.as_str()).find(|n| n.contains("none was named")).map(str::to_owned)
    };
    if let Some(note) = noted(&chosen) {
        assert!(
            note.starts_with(&format!("CPU {cpu} was taken"))
                && ["interrupt", "real-time thread"].iter().any(|why| note.contains(why)),
            "{note}"
        );
    }
    let named = record(&run(&["latency", "timer", "--count", "20", "--cpu", &cpu.to_string(), "--json"]));
    assert_eq!(noted(&named), None);
    // What other tests run meanwhile takes CPUs and leaves them.
    let agrees = || {
        let chosen = record(&run(&["latency", "timer", "--count", "20", "--json"]));
        let plan: serde_json::Value = serde_json::from_slice(&run(&["tune", "plan", "--json"]).stdout).unwrap();
        plan["plan"]["aim"]["cpus"].as_str() == Some(&chosen["series"][0]["settings"]["cpu"].to_string())
    };
    assert!((0..50).any(|_| agrees()), "what is tuned is what is measured");
}

#[test]
fn a_requirement_decides_the_exit_status() {
    let measured = |requirement| run(&["latency", "timer", "--count", "20", "--require", requirement]);
    let met = measured("max < 1h");
    assert!(met.status.success() && stdout(&met).contains("met"), "{}", stdout(&met));
    let missed = measured("max < 1ns");
    assert_eq!(missed.status.code(), Some(1));
    assert!(stdout(&missed).contains("not met"), "{}", stdout(&missed));
}

#[test]
fn a_latency_over_the_limit_ends_the_run() {
    let run = record(&run(&[
        "latency",
        "timer",
        "--method",
        "clock_nanosleep",
        "--duration",
        "1h",
        "--stop-over",
        "1ns",
        "--json",
    ]));
    assert_eq!(samples(&run["series"][0]), 1);
    let notes = run["notes"].to_string();
    assert!(notes.contains("clock_nanosleep: ended at the first latency above 1ns ("), "{notes}");
    assert!(notes.contains("), after 1 sample"), "{notes}");
}

#[test]
fn prove_leaves_a_report_and_a_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let proved =
        ontick(&["prove", "--duration", "900ms", "--load", "none", "--require", "50% < 1h", "--require", "max < 1ns"])
            .current_dir(folder.path())
            .output()
            .unwrap();
    assert_eq!(proved.status.code(), Some(1), "{}", stderr(&proved));
    let text = stdout(&proved);
    for word in ["stock", "ontick", "p99.99", "missed", "This machine acts within 3 us", "ontick-report.html"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let html = std::fs::read_to_string(folder.path().join("ontick-report.html")).unwrap();
    assert!(html.contains("<svg") && html.ends_with("</html>\n"));
}

#[test]
fn prove_measures_under_load() {
    if !has("stress-ng") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let html = folder.path().join("report.html");
    let run =
        record(&run(&["prove", "--duration", "1200ms", "--load", "cpu", "--html", html.to_str().unwrap(), "--json"]));
    let series = run["series"].as_array().unwrap();
    let names: Vec<&str> = series.iter().map(|s| s["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["stock, idle", "ontick, idle", "stock, loaded", "ontick, loaded"]);
    assert!(series[3]["settings"]["load"].as_str().unwrap().contains("stress-ng"));
    assert_eq!(series.iter().map(|s| s["blocks"].as_array().unwrap().len()).collect::<Vec<_>>(), [3, 3, 3, 3]);
}

/// A folder with only these of the machine's programs, to be the PATH.
fn with_only(programs: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in programs {
        let found =
            ["/usr/bin", "/bin"].map(|bin| std::path::Path::new(bin).join(name)).into_iter().find(|file| file.exists());
        std::os::unix::fs::symlink(found.unwrap(), folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn without_stress_ng_prove_has_a_load_all_the_same_and_says_which() {
    let (path, folder) = (with_only(&["sh", "seq", "cat"]), tempfile::tempdir().unwrap());
    let mut prove = ontick(&["prove", "--duration", "900ms", "--json"]);
    let out = prove.env("PATH", path.path()).current_dir(folder.path()).output().unwrap();
    let run = record(&out);
    assert!(run["series"][3]["settings"]["load"].as_str().unwrap().contains("/dev/zero"), "{run}");
    assert!(run["notes"].to_string().contains("sudo apt install stress-ng"), "{}", run["notes"]);
}

#[test]
fn a_load_that_is_not_installed_is_refused_before_anything_is_measured() {
    let (path, folder) = (with_only(&[]), tempfile::tempdir().unwrap());
    let mut prove = ontick(&["prove", "--duration", "1h", "--load", "all"]);
    let out = prove.env("PATH", path.path()).current_dir(folder.path()).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(stderr(&out).contains("stress-ng is not installed"), "{}", stderr(&out));
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
}

/// The knob, which there is not, would be refused next: nothing was changed before it was known.
#[test]
fn what_cannot_be_measured_or_kept_is_refused_before_settings_change() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("left.json.journal");
    std::fs::write(&left, "a run that was killed").unwrap();
    for (wrong, word) in [
        (["--require", "sent > 95%"], "no frames go through a switch"),
        (["--interval", "500ns"], "at least 1us"),
        (["--html", "no such folder/page.html"], "no such folder/page.html"),
        (["--record", "left.json"], "left.json.journal exists"),
    ] {
        let mut prove = ontick(&["prove", "--tune=no-such-knob", "--load", "none", "--junit", "proof.xml"]);
        let out = prove.args(wrong).current_dir(folder.path()).output().unwrap();
        assert_eq!(out.status.code(), Some(2), "{wrong:?}");
        assert!(stderr(&out).contains(word), "{wrong:?}: {}", stderr(&out));
        let junit = std::fs::read_to_string(folder.path().join("proof.xml")).unwrap();
        assert!(junit.contains("<error"), "{junit}");
        std::fs::remove_file(folder.path().join("proof.xml")).unwrap();
    }
}

#[test]
fn the_schema_is_that_of_the_records() {
    let schema: serde_json::Value = serde_json::from_slice(&run(&["schema"]).stdout).unwrap();
    let run = record(&run(&["latency", "timer", "--count", "5", "--json"]));
    let properties = schema["properties"].as_object().unwrap();
    for field in run.as_object().unwrap().keys() {
        assert!(properties.contains_key(field), "{field}");
    }
}

#[test]
fn help_has_an_example_everywhere() {
    let commands = commands_below(&[]);
    // All of them, as the help itself lists them.
    for known in ["check", "run", "switch plan", "network show", "gpio list", "sample", "kernel install", "link send"] {
        assert!(commands.iter().any(|(command, _)| command.join(" ") == known), "{known} is not listed");
    }
    let without: Vec<_> = commands.iter().filter(|(_, help)| !help.contains("Example")).map(|(c, _)| c).collect();
    assert!(without.is_empty(), "no example in the help of {without:?}");
}

/// Every command that has none below it, with its help.
fn commands_below(path: &[String]) -> Vec<(Vec<String>, String)> {
    let words: Vec<&str> = path.iter().map(String::as_str).chain(["--help"]).collect();
    let help = run(&words);
    assert!(help.status.success(), "{words:?}");
    let help = stdout(&help);
    let listed = help.split_once("Commands:\n").map_or("", |(_, list)| list).lines();
    let names = listed.take_while(|line| !line.trim().is_empty()).filter(|line| !line.starts_with("   "));
    let below: Vec<Vec<String>> = names
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(|name| [path, &[name.to_owned()]].concat())
        .collect();
    match below.is_empty() {
        true => vec![(path.to_vec(), help)],
        false => below.iter().flat_map(|path| commands_below(path)).collect(),
    }
}

/// A deadline thread may not start others by itself, yet the watchdog must be there.
#[test]
fn the_deadline_policy_measures() {
    let policy = "deadline:100us/1ms/1ms";
    let run = record(&run(&[
        "latency",
        "timer",
        "--count",
        "50",
        "--method",
        "clock_nanosleep",
        "--policy",
        policy,
        "--json",
    ]));
    assert_eq!(samples(&run["series"][0]), 50);
}
