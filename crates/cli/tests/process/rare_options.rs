//! Options that few runs need: what each of them changes.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::errors::fails;
use crate::gpio::{Chip, json};
use crate::kernel_tree::Modelled;
use crate::{Running, has, ontick, record, run, samples, stderr, stdout, wait_until};

#[test]
fn with_catch_up_no_deadline_is_skipped() {
    // No thread of ordinary priority meets each of these.
    let words = ["latency", "timer", "--method", "spin", "--policy", "other", "--interval", "5us", "--count", "3000"];
    let taken = record(&run(&[&words[..], &["--duty", "100%", "--catch-up", "--json"]].concat()));
    let series = &taken["series"][0];
    assert_eq!((samples(series), &series["missed"]), (3_000, &0.into()), "{series}");
    // Deadlines that had passed were acted on: the worst is later than the next deadline.
    assert!(series["latency"]["max_ns"].as_u64() > Some(5_000), "no deadline had passed");
}

#[test]
fn noise_is_watched_for_as_much_of_the_time_as_was_asked_for() {
    let words = ["latency", "noise", "--policy", "other", "--duration", "400ms"];
    let taken = record(&run(&[&words[..], &["--duty", "50%", "--json"]].concat()));
    let series = &taken["series"][0];
    let taken_ns = series["latency"]["mean_ns"].as_f64().unwrap_or(0.0) * samples(series) as f64;
    let watched_ns = series["settings"]["watched_ns"].as_u64().unwrap() as f64;
    // It may lose its CPU while it watches for as long as others like, and it rests as long as it spins.
    assert!(watched_ns > taken_ns && watched_ns - taken_ns < 240e6, "{taken_ns} of {watched_ns}");
    let text = stdout(&run(&[&words[..], &["--over", "100ns"]].concat())).replace('\n', " ");
    assert!(text.contains("Taken from the thread: ") && text.contains(" watched"), "{text}");
}

#[test]
fn a_margin_that_is_named_is_kept_and_stated() {
    if ontick_rt::cpus::online().len() < 2 {
        return ontick_skip::skipped!("on one CPU no real-time loop spins");
    }
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("timer.json");
    let file = file.to_str().unwrap();
    let words = ["latency", "timer", "--policy", "other", "--count", "50", "--phase", "chance", "--margin", "60us"];
    let output = run(&[&words[..], &["--record", file]].concat());
    assert!(stdout(&output).contains("fixed margin 60us"), "{}{}", stdout(&output), stderr(&output));
    let taken: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let settings = &taken["series"][0]["settings"];
    assert_eq!((&settings["margin_ns"], &settings["margin_fixed"]), (&60_000.into(), &true.into()), "{settings}");
    let timer = |more: &[&str], words: &[&str]| fails(&[&["latency", "timer"], more].concat(), words);
    timer(&["--margin", "0us"], &["margin must be above 0"]);
    timer(&["--margin", "40"], &["unit"]);
    timer(&["--margin", "950us"], &["margin must be at most 900us"]);
    timer(&["--margin", "600us", "--duty", "50%"], &["margin must be at most 500us"]);
    timer(&["--margin", "200us", "--waits", "4"], &["margin must be at most 112.5us"]);
    timer(&["--margin", "40us", "--method", "spin"], &["--margin is of the hybrid wait"]);
    fails(&["prove", "--margin", "2ms"], &["margin must be at most 900us"]);
}

#[test]
fn the_other_side_has_the_cpu_that_was_named() {
    let [first, second, ..] = ontick_rt::cpus::allowed()[..] else {
        return ontick_skip::skipped!("this needs two CPUs");
    };
    let (first, second) = (first.to_string(), second.to_string());
    for (command, option) in [("edge", "--from-cpu"), ("wakeup", "--from-cpu"), ("response", "--observer-cpu")] {
        for (cpu, other) in [(&first, &second), (&second, &first)] {
            let words =
                ["latency", command, "--policy", "other", "--count", "20", "--cpu", cpu, option, other, "--json"];
            let settings = &record(&run(&words))["series"][0]["settings"];
            let cpus = [&settings["cpu"], &settings["peer_cpu"]].map(Value::to_string);
            assert_eq!(cpus, [cpu.as_str(), other.as_str()], "{command}");
        }
    }
}

#[test]
fn one_cpu_for_both_ends_is_refused_by_the_option_that_names_another() {
    let [first, _, ..] = ontick_rt::cpus::allowed()[..] else {
        return ontick_skip::skipped!("this needs two CPUs");
    };
    let first = first.to_string();
    for (command, option) in [
        ("edge", "--from-cpu"),
        ("wakeup", "--from-cpu"),
        ("response", "--observer-cpu"),
        ("roundtrip", "--responder-cpu"),
    ] {
        let both = format!("CPU {first} is both ends: name another one with {option}");
        fails(&["latency", command, "--policy", "other", "--count", "20", "--cpu", &first, option, &first], &[&both]);
    }
}

#[test]
fn an_inverse_answer_is_high_while_the_input_is_low() {
    let chip = Chip::new("inverse");
    assert!(run(&["gpio", "wire", &chip.line(1), &chip.line(2)]).status.success());
    let (driven, input, output) = (chip.line(1), chip.line(2), chip.line(3));
    let level = |line: &str| json(&["gpio", "list", line])[0]["lines"][0]["level"].clone();
    for (inverse, levels) in [(true, [1, 0]), (false, [0, 1])] {
        let words =
            ["latency", "response", "--respond-only", "--policy", "other", "--input", &input, "--output", &output];
        let more = if inverse { &["--inverse"][..] } else { &[] };
        let mut command = ontick(&[&words[..], more].concat());
        let _responds = Running(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        for (value, wanted) in (0..2).zip(levels) {
            let set = format!("{driven}={value}");
            let mut command = ontick(&["gpio", "set", &set]);
            let _drives = Running(command.stdout(Stdio::null()).spawn().unwrap());
            wait_until(&format!("the answer to {value}, inverse: {inverse}"), || {
                level(&input) == value && level(&output) == wanted
            });
        }
    }
}

#[test]
fn no_power_states_and_memory_to_lock_are_the_programs_alone() {
    if !has("sh") || !rustix::process::geteuid().is_root() {
        return;
    }
    // Held open by ontick, whose child keeps the program.
    let held = "ontick=$(cut -d' ' -f4 /proc/$PPID/stat); ls -l /proc/$ontick/fd | grep -c cpu_dma_latency";
    if std::path::Path::new("/dev/cpu_dma_latency").exists() {
        for (more, times) in [(&["--no-cstates"][..], "1\n"), (&[], "0\n")] {
            let words = [&["run", "--policy", "other", "--cpu", "any"], more, &["--", "sh", "-c", held]].concat();
            let output = run(&words);
            assert_eq!(stdout(&output), times, "{more:?}: {}", stderr(&output));
        }
    }
    // A user's program, where no more than 64 KiB may be locked: the limit goes, or that is an error.
    let program = env!("CARGO_BIN_EXE_ontick");
    let limited = |more: &str| {
        let line = format!("ulimit -l 64; exec {program} run --policy other --cpu any {more} -- cat /proc/self/limits");
        let user = [("SUDO_UID", "65534"), ("SUDO_GID", "65534"), ("SUDO_USER", "nobody")];
        Command::new("sh").args(["-c", &line]).envs(user).current_dir("/").output().unwrap()
    };
    let locked = |text: &str| {
        let line = text.lines().find(|line| line.starts_with("Max locked memory")).unwrap_or_default();
        line.split_whitespace().nth(3).unwrap_or_default().to_owned()
    };
    assert_eq!(locked(&stdout(&limited(""))), "65536");
    let with = limited("--lock");
    match with.status.code() {
        Some(0) => assert_eq!(locked(&stdout(&with)), "unlimited", "{}", stderr(&with)),
        _ => assert!(stderr(&with).contains("no more than 65536 bytes may be locked"), "{}", stderr(&with)),
    }
}

#[test]
fn a_kernel_is_built_by_so_many_compilers() {
    let Some(tree) = Modelled::lay() else { return };
    // A make that writes down how it was called.
    let (bin, log) = (tree.folder().join("watched"), tree.folder().join("calls"));
    fs::create_dir(&bin).unwrap();
    let command = tree.ontick("build", &["--jobs", "3", "--format", "tar", "--output", "one", "--json"]);
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let script = format!("#!/bin/sh\necho \" $* \" >> '{}'\nPATH='{path}' exec make \"$@\"\n", log.display());
    fs::write(bin.join("make"), script).unwrap();
    fs::set_permissions(bin.join("make"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = command;
    let output = command.env("PATH", format!("{}:{path}", bin.display())).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let calls = fs::read_to_string(log).unwrap();
    assert!(calls.contains(" -j3 ") || calls.contains(" -j 3 ") || calls.contains("--jobs=3"), "{calls}");
}

#[test]
fn a_source_package_that_there_is_not_is_named() {
    if !has("apt-cache") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    fails(
        &["kernel", "build", "--package", "linux-source-0.0", "--output", output.to_str().unwrap()],
        &["linux-source-0.0", "--source"],
    );
}

/// Where the kernel has the tracer it is run for a second, elsewhere the reason is said.
#[test]
fn gaps_without_interrupts_need_the_kernels_tracer() {
    fails(&["latency", "noise", "--hwlat", "--cpu", "0-1"], &["--hwlat looks at one CPU at a time"]);
    let output = run(&["latency", "noise", "--hwlat", "--cpu", "0", "--duration", "1s", "--json"]);
    match output.status.code() {
        Some(0) => {
            let settings = &record(&output)["series"][0]["settings"];
            assert_eq!((&settings["method"], &settings["cpu"]), (&"hwlat, interrupts off".into(), &0.into()));
        }
        _ => {
            let said = stderr(&output);
            let reasons = ["CONFIG_HWLAT_TRACER", "it needs root", "tracefs is not mounted"];
            assert!(output.status.code() == Some(2) && reasons.iter().any(|why| said.contains(why)), "{said}");
        }
    }
}

#[test]
fn what_needs_other_hardware_or_a_wider_range_is_refused() {
    fails(&["pulse", "--without", "interrupts", "--count", "3"], &["choose --method udelay"]);
    fails(&["pulse", "--pru", "P9_31"], &["--table"]);
    fails(&["link", "tune", "--lost", "100"], &["from 0 to below 100 percent"]);
    fails(
        &["switch", "run", "--keep-throttling", "--never-rest", "/none.toml"],
        &["--keep-throttling", "--never-rest"],
    );
}
