//! Without privileges, without a terminal, with a reader that goes away.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::terminal::Terminal;
use crate::{ontick, record, run, samples, stderr};

/// Any user that is not root.
const NOBODY: u32 = 65_534;

#[test]
fn without_privileges_it_measures_and_says_what_was_missing() {
    let folder = tempfile::tempdir().unwrap();
    // The build folder may lie where only its owner may look.
    let program = folder.path().join("ontick");
    // Another process copies: one that is forked here meanwhile would hold the copy open for writing.
    assert!(Command::new("cp").arg(env!("CARGO_BIN_EXE_ontick")).arg(&program).status().unwrap().success());
    for path in [folder.path(), program.as_path()] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    // Whoever starts the tests may have a limit that allows it.
    let mut command = Command::new("prlimit");
    command.arg("--rtprio=0:0").arg(&program).args(["latency", "timer", "--count", "50", "--json"]);
    if rustix::process::getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let run = record(&command.output().unwrap());
    let series = &run["series"][0];
    assert_eq!(samples(series), 50);
    assert_eq!(series["settings"]["policy"], "other");
    let refused = series["settings"]["refused"].to_string();
    assert!(refused.contains("fifo:99") && refused.contains("limits.conf"), "{refused}");
}

#[test]
fn watching_without_a_terminal_is_plain_lines() {
    let output = run(&["latency", "timer", "--duration", "1500ms", "--watch"]);
    let said = stderr(&output);
    assert!(output.status.success());
    assert!(said.lines().count() >= 1 && said.contains("p99") && !said.contains('\x1b'), "{said:?}");
}

/// Two signals that reach a program at once: the second one ends it without giving it another moment.
#[test]
fn a_second_interrupt_gives_the_terminal_back() {
    let timer = ["latency", "timer", "--duration", "1h", "--policy", "other", "--watch"];
    let sample = ["sample", "--source", "wave:sine", "--duration", "1h", "--policy", "other", "--watch"];
    for arguments in [&timer[..], &sample] {
        let terminal = Terminal::open();
        let mut child = ontick(arguments).stdout(terminal.side()).stderr(terminal.side()).spawn().unwrap();
        let pid = child.id();
        terminal.wait_for("\x1b[?1049h");
        crate::wait_until("the handler", || crate::catches_interrupt(pid));
        for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
            crate::send(pid, signal);
        }
        assert!(child.wait().unwrap().signal().is_some(), "it ended by the signal, not by itself");
        terminal.wait_for("\x1b[?7h\x1b[?25h\x1b[?1049l");
    }
}

/// As nohup(1) starts it, and a script with `&`: what it is to outlive was ignored before it began.
#[test]
fn signals_that_were_ignored_at_the_start_stay_ignored() {
    for (ignored, signal) in [("HUP", Signal::HUP), ("INT", Signal::INT)] {
        let started = format!("trap '' {ignored}; exec \"$0\" latency timer --duration 1h --policy other --watch");
        let mut command = Command::new("sh");
        command.args(["-c", &started, env!("CARGO_BIN_EXE_ontick")]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = crate::Running(command.spawn().unwrap());
        let pid = child.0.id();
        let status = || std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let has = |set: &str, signal: Signal| {
            let set = status().lines().find_map(|line| line.strip_prefix(set)?.strip_prefix(":\t").map(str::to_owned));
            u64::from_str_radix(&set.unwrap_or_default(), 16).is_ok_and(|set| set >> (signal.as_raw() - 1) & 1 == 1)
        };
        crate::wait_until("the handler", || has("SigCgt", Signal::TERM));
        assert!(has("SigIgn", signal) && !has("SigCgt", signal), "{ignored}: {}", status());
        crate::send(pid, signal);
        crate::send(pid, Signal::TERM);
        assert!(child.0.wait().unwrap().code().is_some(), "{ignored}: SIGTERM alone is the first request");
    }
}

/// timeout(1) sends its signal to the program, and once more to the group that the program is in: late enough that a busy
/// machine has measured something.
#[test]
fn a_signal_that_comes_in_pairs_is_one() {
    let program = env!("CARGO_BIN_EXE_ontick");
    let arguments = ["latency", "timer", "--duration", "1h", "--policy", "other", "--json"];
    let output = Command::new("timeout").args(["--preserve-status", "4", program]).args(arguments).output();
    let Ok(output) = output else { return ontick_skip::skipped!("there is no timeout(1)") };
    assert_eq!(output.status.code(), Some(0), "{}", crate::stderr(&output));
    assert!(record(&output)["series"][0]["latency"]["max_ns"].is_u64(), "what was measured till then");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = ontick(&["schema"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().success(), said.as_str()), (true, ""));
}

/// Loop and watchdog share a CPU here, so the watchdog needs a priority that the loop does not have.
#[test]
fn in_a_cpuset_of_one_cpu_the_watchdog_comes_first() {
    // A switch of another test would hold that CPU.
    let _alone = crate::alone_on_this_machine();
    let group = Cgroup(format!("/sys/fs/cgroup/cpuset/ontick-test-{}", std::process::id()).into());
    let set = |file: &str, value: &str| std::fs::write(group.0.join(file), value);
    let made =
        std::fs::create_dir(&group.0).and_then(|()| set("cpuset.cpus", "0")).and_then(|()| set("cpuset.mems", "0"));
    if made.is_err() {
        return ontick_skip::skipped!("there are no v1 cpusets here, or only root may make one");
    }
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$0\" latency timer --count 20 --json", group.0.display());
    let output = Command::new("sh").args(["-c", &enter, env!("CARGO_BIN_EXE_ontick")]).output().unwrap();
    let settings = record(&output)["series"][0]["settings"].clone();
    let refused = settings["refused"].to_string();
    if refused.contains("fifo:99: it needs") {
        return ontick_skip::skipped!("{refused}");
    }
    assert_eq!((settings["cpu"].as_u64(), settings["policy"].as_str()), (Some(0), Some("fifo:98")));
    assert!(refused.contains("lowered to fifo:98"), "{refused}");
}

/// A v1 cgroup of this test's own; only the program that the test starts enters it.
struct Cgroup(std::path::PathBuf);

impl Drop for Cgroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_cgroup_without_real_time_budget_is_named() {
    let group = Cgroup(format!("/sys/fs/cgroup/cpu/ontick-test-{}", std::process::id()).into());
    let budget = group.0.join("cpu.rt_runtime_us");
    if std::fs::create_dir(&group.0).is_err() || !budget.exists() {
        return ontick_skip::skipped!("this kernel has no v1 cpu cgroups with a real-time budget");
    }
    let enter = format!("echo $$ > {}/cgroup.procs && exec \"$0\" latency timer --count 20 --json", group.0.display());
    let output = Command::new("sh").args(["-c", &enter, env!("CARGO_BIN_EXE_ontick")]).output().unwrap();
    let refused = record(&output)["series"][0]["settings"]["refused"].to_string();
    assert!(refused.contains(budget.to_str().unwrap()) && refused.contains("950000"), "{refused}");
}

/// No gap is a result, also of a run that was ended early.
#[test]
fn an_interrupted_search_for_gaps_that_found_none_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("noise.json");
    let noise = ["latency", "noise", "--over", "20s", "--duration", "1h", "--policy", "other", "--record"];
    let mut command = ontick(&[&noise[..], &[path.to_str().unwrap(), "--require", "max < 30s"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    // It says how long it takes once it records.
    assert!(lines.by_ref().any(|line| line.unwrap().contains("This takes 1 h")));
    crate::send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    let said = crate::stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{:?}", lines.collect::<Vec<_>>());
    let wrapped = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(wrapped.contains("no gap was found") && wrapped.contains("no gap of 20s or more"), "{said}");
    assert!(std::fs::read_to_string(path).unwrap().contains("shortest_ns"));
}

/// Its idle half was in time; what it was to prove is about the other one.
#[test]
fn a_proof_that_is_interrupted_before_its_load_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut prove = ontick(&["prove", "--duration", "40s", "--load", "source-004", "--require", "missed <= 100000"]);
    prove.args(["--junit", "proof.xml", "--record", "proof.json"]).current_dir(folder.path());
    let child = prove.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let journal = folder.path().join("proof.json.journal");
    let has_both_sides = || std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("{\"series\":1"));
    crate::wait_until("samples of ontick's side", has_both_sides);
    crate::send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let text = std::fs::read_to_string(folder.path().join("proof.xml")).unwrap();
    // The run itself was cut short, too.
    assert!(text.contains(r#"failures="0" errors="2""#) && text.contains("under load"), "{text}");
}

/// What was measured is kept, and is no comparison.
#[test]
fn a_proof_that_is_interrupted_within_its_first_block_keeps_the_stock_side() {
    for (asked, status) in [(&[][..], 0), (&["--require", "99% < 3us"], 3)] {
        let folder = tempfile::tempdir().unwrap();
        let mut prove = ontick(&["prove", "--duration", "1h", "--load", "none", "--record", "proof.json"]);
        prove.args(asked).current_dir(folder.path());
        let child = prove.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let journal = folder.path().join("proof.json.journal");
        let has_stock = || std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("{\"series\":0"));
        crate::wait_until("samples of the stock side", has_stock);
        crate::send(child.id(), Signal::INT);
        let output = child.wait_with_output().unwrap();
        let said = crate::stdout(&output);
        assert_eq!(output.status.code(), Some(status), "{said}{}", stderr(&output));
        let wrapped = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(wrapped.contains("Only the stock side was measured, so there is no verdict."), "{said}");
        assert!(!said.contains("Not met") && !wrapped.contains("in turn"), "{said}");
        assert_eq!(wrapped.contains("as the run was cut short"), status == 3, "{said}");
        let kept = std::fs::read_to_string(folder.path().join("proof.json")).unwrap();
        let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
        assert!(samples(&kept["series"][0]) > 0 && kept["series"].as_array().unwrap().len() == 1, "{kept}");
        assert!(!journal.exists() && folder.path().join("ontick-report.html").exists());
    }
}

/// The first part is measured, and met; the others never begin.
#[test]
fn a_run_of_several_parts_that_is_interrupted_in_the_first_is_not_proven() {
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("run.json.journal");
    for parts in [&["--method", "all"][..], &["--cpus", "1,all"]] {
        let words = ["latency", "timer", "--duration", "1h", "--policy", "other", "--require", "max < 1h"];
        let record = folder.path().join("run.json");
        let child = ontick(&[&words[..], parts].concat())
            .arg("--record")
            .arg(&record)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let has_samples = || std::fs::read_to_string(&journal).is_ok_and(|text| text.contains("{\"series\":0"));
        crate::wait_until("samples in the journal", has_samples);
        crate::send(child.id(), rustix::process::Signal::INT);
        let output = child.wait_with_output().unwrap();
        let said = crate::stdout(&output);
        assert_eq!(output.status.code(), Some(3), "{parts:?}: {said}{}", stderr(&output));
        let wrapped = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(wrapped.contains("cut short before it came to all that this is about"), "{said}");
    }
}

#[test]
fn a_job_once_an_hour_and_a_time_of_day_end_on_ctrl_c() {
    let hourly = ["latency", "timer", "--interval", "1h", "--duration", "3h"];
    for arguments in [&hourly[..], &["latency", "wallclock", "--at", "00:00"]] {
        let child = ontick(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let pid = child.id();
        crate::wait_until("the handler", || crate::catches_interrupt(pid));
        let began = std::time::Instant::now();
        crate::send(pid, rustix::process::Signal::INT);
        let output = child.wait_with_output().unwrap();
        // Nothing was due yet.
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", stderr(&output));
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{arguments:?}");
    }
}
