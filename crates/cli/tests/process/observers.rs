//! A logic analyser beside a measurement: sigrok-cli itself with its demo driver, and a stand-in that sees the simulated
//! lines with known faults.

use std::fs;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::gpio::Chip;
use crate::{has, ontick, record, run, runs, send, stderr, stdout, wait_until};

/// A folder with a program that is called sigrok-cli.
struct StandIn(tempfile::TempDir);

impl StandIn {
    fn script(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("sigrok-cli");
        fs::write(&file, format!("#!/bin/sh\n{text}\n")).unwrap();
        for path in [folder.path(), &file] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    /// One that sees these lines, with these faults; nothing without Python.
    fn seeing(lines: &[&str], faults: Value) -> Option<Self> {
        if !has("python3") {
            return None;
        }
        let mut faults = faults;
        faults["lines"] = lines.into();
        let script = format!("{}/tests/process/stand_in_analyser.py", env!("CARGO_MANIFEST_DIR"));
        let words = ["python3", &script, env!("CARGO_BIN_EXE_ontick"), &faults.to_string()];
        Some(Self::script(&format!("exec {}", shlex::try_join(words).unwrap())))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// ontick, which finds the stand-in.
    fn ontick(&self, arguments: &[&str]) -> Command {
        let mut command = ontick(arguments);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.0.path().display()));
        command
    }
}

fn check(run: &Value) -> &Value {
    &run["series"][0]["instrument_check"]
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("a number: {value}"))
}

#[test]
fn offset_drift_and_each_missing_or_extra_edge_are_found() {
    let chip = Chip::new("observer");
    let line = chip.line(17);
    let faults = json!({"offset_ns": 250_000_000, "ppm": 40, "lacks": [150], "adds_after": [200, 201]});
    let Some(analyser) = StandIn::seeing(&[&line], faults) else { return };
    let files = ["run.json", "run.html"].map(|name| analyser.path(name).to_str().unwrap().to_owned());
    let arguments =
        ["pulse", "--output", &line, "--count", "400", "--record", &files[0], "--html", &files[1], "--observer"];
    let output = analyser.ontick(&[&arguments[..], &["sigrok:stand-in,channel=D0"]].concat()).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run_: Value = serde_json::from_slice(&fs::read(&files[0]).unwrap()).unwrap();
    let check = check(&run_);
    let alignment = &check["alignment"];
    assert!((float(&alignment["offset_ns"]) - 250e6).abs() < 100.0, "{check}");
    let (ppm, within) = (float(&alignment["rate_ppm"]), float(&alignment["rate_uncertainty_ppm"]));
    assert!((ppm - 40.0).abs() <= 2.0 * within && within < 1.0, "{alignment}");
    assert_eq!((&alignment["missing"]["count"], &alignment["extra"]["count"]), (&2.into(), &4.into()), "{alignment}");
    assert_eq!((&alignment["uncovered"], &alignment["outside"]), (&0.into(), &0.into()));
    assert_eq!(alignment["matched"].as_u64().unwrap() + 2, check["own_edges"].as_u64().unwrap());
    let names: Vec<&Value> =
        check["quantities"].as_array().unwrap().iter().map(|quantity| &quantity["quantity"]).collect();
    assert_eq!(names, ["width", "period"]);
    for quantity in check["quantities"].as_array().unwrap() {
        let difference = &quantity["difference"];
        // Both took the times of the same edges, the instrument to a sample of 40 ns.
        assert!(float(&difference["max_ns"]) <= 41.0 && float(&difference["min_ns"]) >= -41.0, "{quantity}");
    }
    let text = stdout(&output);
    for words in [
        "beside    sigrok:stand-in, channel D0 (25 MHz, ±40 ns)",
        "width, instrument",
        "difference",
        "ontick's first is 0.2500000",
        "capture lacks: 2 (at ",
        "does not know of: 4",
    ] {
        assert!(text.contains(words) || text.replace("\n  ", " ").contains(words), "{words}: {text}");
    }
    assert_eq!(stdout(&run(&["report", &files[0]])), text);
    let html = fs::read_to_string(&files[1]).unwrap();
    assert!(html.contains("Beside an instrument: hybrid") && html.contains("width, instrument"));
}

#[test]
fn the_time_between_two_channels_stands_beside_the_observers() {
    if ontick_rt::cpus::allowed().len() < 2 {
        return ontick_skip::skipped!("it needs two CPUs");
    }
    let chip = Chip::new("observed-response");
    let [stimulus, input, output, scope] = [5, 6, 7, 8].map(|line| chip.line(line));
    for (from, to) in [(&stimulus, &input), (&output, &scope)] {
        assert!(run(&["gpio", "wire", from, to]).status.success());
    }
    let faults = json!({"offset_ns": 90_000_000, "ppm": -25});
    let Some(analyser) = StandIn::seeing(&[&input, &output], faults) else { return };
    let lines = ["--input", &input, "--output", &output, "--return-output", &stimulus, "--return-input", &scope];
    let observed = ["--observer", "sigrok:stand-in,input=D0,output=D1", "--count", "300", "--json"];
    let command = analyser.ontick(&[&["latency", "response"], &lines[..], &observed].concat()).output().unwrap();
    let run_ = record(&command);
    let check = check(&run_);
    assert!(check["alignment"].is_object(), "{check}");
    let [response] = &check["quantities"].as_array().unwrap()[..] else { panic!("{check}") };
    assert_eq!(response["quantity"], "response");
    assert!(response["count"].as_u64().unwrap() >= 290, "{check}");
    // The way from the answer to the observer's clock is in the observer's figure alone.
    let median = float(&response["difference"]["p50_ns"]);
    assert!((-100_000.0..=41.0).contains(&median), "{response}");
    assert_eq!(check["channels"], json!(["D0", "D1"]));
}

#[test]
fn a_device_that_vanishes_leaves_what_both_have_seen() {
    let chip = Chip::new("vanishing");
    let line = chip.line(17);
    let faults = json!({"offset_ns": 5_000_000, "ppm": 0, "vanishes_after": 500});
    let Some(analyser) = StandIn::seeing(&[&line], faults) else { return };
    let arguments = ["pulse", "--output", &line, "--count", "1500", "--json", "--method", "sleep"];
    let output =
        analyser.ontick(&[&arguments[..], &["--observer", "sigrok:stand-in,channel=D0"]].concat()).output().unwrap();
    let run_ = record(&output);
    assert_eq!(crate::samples(&run_["series"][0]), 1500);
    let notes = run_["notes"].to_string();
    let said = "observer sigrok:stand-in ended before the run did (sigrok-cli: the device is gone)";
    assert!(notes.contains(said), "{notes}");
    let alignment = &check(&run_)["alignment"];
    assert!(alignment["uncovered"].as_u64().unwrap() > 500, "{run_}");
    assert!(alignment["matched"].as_u64().unwrap() > 400, "{run_}");
}

#[test]
fn ctrl_c_ends_both_and_compares_what_there_is() {
    let chip = Chip::new("observed-until");
    let (line, folder) = (chip.line(17), tempfile::tempdir().unwrap());
    let pid = folder.path().join("pid");
    let faults = json!({"offset_ns": 5_000_000, "ppm": 0, "pid": pid});
    let Some(analyser) = StandIn::seeing(&[&line], faults) else { return };
    let arguments = ["pulse", "--output", &line, "--duration", "1h", "--method", "sleep"];
    let to = folder.path().join("run.json");
    let record = ["--observer", "sigrok:stand-in,channel=D0", "--record", to.to_str().unwrap()];
    let mut child = analyser.ontick(&[&arguments[..], &record].concat());
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It speaks when it measures.
    child.stderr.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let run_: Value = serde_json::from_slice(&fs::read(to).unwrap()).unwrap();
    assert_eq!(run_["interrupted"], true);
    assert!(check(&run_)["alignment"].is_object(), "{}", check(&run_));
    assert!(!runs(number(&pid)), "the analyser's program has ended");
}

fn number(file: &Path) -> i32 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Also where it runs as the user who called sudo.
#[test]
fn the_analysers_program_does_not_outlive_a_run_that_is_killed() {
    let users = if rustix::process::geteuid().is_root() { &[None, Some("65534")][..] } else { &[None] };
    for user in users {
        let chip = Chip::new("observed-killed");
        let analyser =
            StandIn::script("cd \"$(dirname \"$0\")\"; echo $$ > pids/begun; mv pids/begun pids/pid; exec sleep 600");
        let (pids, pid) = (analyser.path("pids"), analyser.path("pids/pid"));
        fs::create_dir(&pids).unwrap();
        fs::set_permissions(&pids, fs::Permissions::from_mode(0o777)).unwrap();
        let arguments = ["pulse", "--output", &chip.line(17), "--duration", "1h", "--observer"];
        let mut command = analyser.ontick(&[&arguments[..], &["sigrok:stand-in,channel=D0"]].concat());
        user.iter().for_each(|user| {
            command.env("SUDO_UID", user).env("SUDO_GID", user);
        });
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("the analyser's program", || pid.exists());
        let program = number(&pid);
        assert!(runs(program));
        send(child.id(), Signal::KILL);
        child.wait().unwrap();
        wait_until("its end", || !runs(program));
    }
}

/// What it was given, in the words that it fails with.
#[test]
fn the_analysers_program_is_the_users_own_and_has_a_clean_environment() {
    let analyser = StandIn::script("echo \"$0 $(id -u) ${SUDO_UID:-none} ${SECRET:-none} $*\" >&2; exit 3");
    let arguments = ["pulse", "--count", "10", "--observer", "sigrok:some,channel=D0,samplerate=24MHz"];
    let mut command = analyser.ontick(&arguments);
    let root = rustix::process::geteuid().is_root();
    if root {
        command.env("SUDO_UID", "65534").env("SUDO_GID", "65534");
    }
    let output = command.env("SECRET", "told").current_dir("/").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let user = if root { 65_534 } else { rustix::process::geteuid().as_raw() };
    let given = "--driver=some --config=samplerate=24MHz --channels=D0 --continuous --output-format=vcd";
    let said = format!("{} {user} none none {given}", analyser.path("sigrok-cli").display());
    assert!(stderr(&output).contains(&said), "{said}: {}", stderr(&output));
}

#[test]
fn what_is_wrong_with_the_analyser_is_one_sentence_before_anything_is_measured() {
    let refused = |command: &mut Command, words: &str| {
        let output = command.output().unwrap();
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(words) && text.trim_end().lines().count() == 1, "{words}: {text}");
    };
    let pulse = |observer: &str| ontick(&["pulse", "--count", "10", "--observer", observer]);
    let empty = tempfile::tempdir().unwrap();
    refused(
        pulse("sigrok:demo,channel=D0").env("PATH", empty.path()),
        "observer sigrok:demo: sigrok-cli is not installed (sudo apt install sigrok-cli)",
    );
    refused(&mut pulse("sigrok:demo"), "name it, such as sigrok:demo,channel=D0");
    refused(&mut pulse("latmon://board"), "is no analyser");
    let all = ["pulse", "--method", "all", "--count", "10", "--observer", "sigrok:demo,channel=D0"];
    refused(&mut ontick(&all), "choose one --method");
    let response = ["latency", "response", "--observer", "sigrok:demo,channel=D0"];
    refused(&mut ontick(&response), "such as sigrok:demo,input=D0,output=D1");
    refused(&mut ontick(&["latency", "response", "--observer", "latmon://board"]), "name the lines");
    if has("sigrok-cli") {
        refused(&mut pulse("sigrok:nosuch,channel=D0"), "observer sigrok:nosuch: sigrok-cli: Driver nosuch not found");
        refused(&mut pulse("sigrok:demo,channel=D77"), "unknown channel 'D77'");
        refused(&mut pulse("sigrok:demo,channel=D0,samplerate=fast"), "Invalid value: 'fast'");
    }
}

/// The demo driver shows a pattern of its own, whatever the line does.
#[test]
fn sigrok_cli_itself_records_and_its_demo_pattern_is_found_to_be_another() {
    if !has("sigrok-cli") {
        return;
    }
    let chip = Chip::new("demo");
    let pulse = |observer: &str| {
        let line = chip.line(17);
        record(&run(&["pulse", "--output", &line, "--count", "200", "--json", "--observer", observer]))
    };
    let run_ = pulse("sigrok:demo,channel=D0,samplerate=100kHz");
    let check = check(&run_);
    assert_eq!(crate::samples(&run_["series"][0]), 200);
    assert_eq!((&check["instrument"]["rate_hz"], &check["observer"]), (&100_000.into(), &"sigrok:demo".into()));
    assert!(check["recorded_ns"].as_u64().unwrap() > 200_000_000, "as long as the run: {check}");
    let why = check["unaligned"].as_str().unwrap();
    assert!(why.contains("channel D0 shows another pattern than the program made"), "{why}");
    assert_eq!(run_.get("notes"), None, "{run_}");
    // One that has enough before the run is over.
    let run_ = pulse("sigrok:demo,channel=D1,samplerate=100kHz,samples=2000");
    let notes = run_["notes"].to_string();
    assert!(notes.contains("observer sigrok:demo ended before the run did"), "{notes}");
    assert_eq!(crate::samples(&run_["series"][0]), 200);
}
