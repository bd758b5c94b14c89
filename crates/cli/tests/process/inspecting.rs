//! `ontick inspect`: every fault of a program is named, and none in a program without.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::Signal;
use serde_json::Value;

use crate::explain::Tracing;
use crate::terminal::Terminal;
use crate::{Running, alone_on_this_machine, has, ontick, run, runs, send, stderr, stdout, wait_until};

/// A fault of the test program, and what must be found.
const FAULTS: [(&str, &[&str]); 18] = [
    ("clean", &[]),
    ("late", &[]),
    ("inherit", &[]),
    ("page-fault", &["page-fault"]),
    ("memory-lock", &["memory-lock"]),
    ("file", &["file"]),
    ("terminal", &["terminal"]),
    ("heap", &["heap"]),
    ("lock", &["lock"]),
    ("relative-wait", &["relative-wait"]),
    ("poll", &["relative-wait"]),
    ("clock", &["clock"]),
    ("timerfd-realtime", &["clock"]),
    ("signal", &["signal"]),
    ("migration", &["migration"]),
    ("system-call", &["system-call"]),
    ("policy", &["policy", "timer-slack"]),
    ("highest-priority", &["highest-priority"]),
];
/// What is said where programs of bpf(2) may not be used.
const BY_PERF_ALONE: &str = "all was recorded by perf events";
/// Programs that are inspected at the same time.
const AT_ONCE: usize = 3;

/// Folder and test program; `None` where the tests cannot be made here.
struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Bench {
    fn new(options: &[&str]) -> Option<Self> {
        if !has("gcc") {
            return None;
        }
        Tracing::find()?;
        if !run(&["run", "--", "true"]).status.success() {
            ontick_skip::skipped!("no real-time scheduling");
            return None;
        }
        // Not in memory: a file there is none of a disk's.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let program = folder.path().join("timed");
        build("loop.c", &program, options);
        Some(Self { folder, program })
    }

    /// Another program.
    fn other(&self, source: &str) -> String {
        let program = self.folder.path().join("other");
        build(source, &program, &[]);
        program.to_str().unwrap().into()
    }

    fn command(&self, fault: &str, options: &[&str]) -> Command {
        let program = self.program.to_str().unwrap();
        let mut command =
            ontick(&[&["inspect", "--after", "300ms", "--duration", "2s"], options, &["--", program, fault]].concat());
        command.env("LOG", self.folder.path().join("log"));
        command
    }

    /// The program alone.
    fn alone(&self, arguments: &[&str]) -> Running {
        let mut command = Command::new(&self.program);
        command.args(arguments).env("LOG", self.folder.path().join("log")).stdout(Stdio::null());
        Running(command.spawn().unwrap())
    }
}

fn build(source: &str, program: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/inspect").join(source);
    let mut command = Command::new("gcc");
    command.args(["-O1", "-Wall", "-Werror", "-pthread", "-o"]).arg(program).args(options).arg(source);
    assert!(command.status().unwrap().success());
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", stderr(output)))
}

fn ids(document: &Value) -> Vec<String> {
    let problems = document["problems"].as_array().unwrap();
    let mut ids: Vec<String> = problems.iter().map(|p| p["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

fn problem<'d>(document: &'d Value, id: &str) -> &'d Value {
    let problems = document["problems"].as_array().unwrap();
    problems.iter().find(|p| p["id"] == id).unwrap_or_else(|| panic!("no {id}: {document:#}"))
}

fn notes(document: &Value) -> String {
    document["notes"].to_string()
}

#[test]
fn every_fault_is_named_and_no_other() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let terminal = Terminal::open();
    let side = terminal.side();
    let name = fs::read_link(format!("/proc/self/fd/{}", side.as_raw_fd())).unwrap();
    let mut found = Vec::new();
    for faults in FAULTS.chunks(AT_ONCE) {
        let started: Vec<Child> = faults
            .iter()
            .map(|(fault, _)| {
                let mut command = bench.command(fault, &["--json", "--require", "clean", "--keep-root"]);
                command.env("TERMINAL", &name).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
                command.spawn().unwrap()
            })
            .collect();
        found.extend(started.into_iter().map(|child| child.wait_with_output().unwrap()));
    }
    for ((fault, expected), output) in FAULTS.iter().zip(&found) {
        let document = document(output);
        assert_eq!(ids(&document), *expected, "{fault}: {document:#}");
        // A busy machine may lose events, and then nothing is called clean.
        let clean = if document["lost"] == 0 { 0 } else { 3 };
        let status = if expected.is_empty() { clean } else { 1 };
        assert_eq!(output.status.code(), Some(status), "{fault}: {document:#}");
        assert_eq!((&document["schema"], &document["evidence"]), (&"ontick-inspect/1".into(), &"events".into()));
    }
    let of = |fault: &str| document(&found[FAULTS.iter().position(|(name, _)| *name == fault).unwrap()]);
    let place = |fault: &str, id: &str| problem(&of(fault), id)["places"][0].clone();
    // Where: the program's own function, also behind the C library's.
    assert_eq!(place("page-fault", "page-fault")["function"], "touch_new_page");
    assert_eq!(place("file", "file")["caller"], "write_log");
    assert_eq!(place("terminal", "terminal")["caller"], "show_round");
    assert_eq!(place("heap", "heap")["caller"], "grow_heap");
    assert_eq!(place("lock", "lock")["caller"], "take_lock");
    assert_eq!(place("system-call", "system-call")["caller"], "start_thread");
    // What, and who.
    let observed = |fault: &str, id: &str| problem(&of(fault), id)["observed"].as_str().unwrap().to_owned();
    assert!(observed("lock", "lock").contains("held by holder (") && observed("lock", "lock").contains("inversion"));
    assert!(observed("file", "file").contains("write to /var/tmp/"));
    assert!(observed("signal", "signal").contains("SIGUSR1"));
    // How often, and what it cost.
    for (fault, id) in [("file", "file"), ("lock", "lock"), ("page-fault", "page-fault"), ("signal", "signal")] {
        let document = of(fault);
        let problem = problem(&document, id);
        assert!(problem["count"].as_u64().unwrap() > 3, "{problem}");
        let cost = |name: &str| problem["cost"][name].as_u64().unwrap();
        assert!(0 < cost("p99_ns") && cost("p99_ns") <= cost("worst_ns"), "{problem}");
    }
    assert_eq!(problem(&of("page-fault"), "page-fault")["cost"]["estimated"], true);
}

#[test]
fn a_loop_that_never_waits_is_named() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    if rustix::thread::sched_getaffinity(None).unwrap().count() < 2 {
        return ontick_skip::skipped!("a runaway loop on the only CPU would stop the test as well");
    }
    let output = bench.command("starvation", &["--json", "--duration", "1s"]).output().unwrap();
    let document = document(&output);
    assert_eq!(ids(&document), ["starvation"], "{document:#}");
}

#[test]
fn a_program_in_rust_is_inspected_too() {
    let Some(bench) = Bench::new(&[]) else { return };
    if !has("rustc") {
        return;
    }
    let program = bench.folder.path().join("rust");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/inspect/loop.rs");
    let built = Command::new("rustc").args(["--edition", "2024", "-O", "-o"]).arg(&program).arg(source).status();
    assert!(built.unwrap().success());
    let _alone = alone_on_this_machine();
    let words = ["inspect", "--after", "300ms", "--duration", "2s", "--json", "--", program.to_str().unwrap()];
    let document = document(&run(&words));
    let found = ids(&document);
    assert!(["lock", "relative-wait"].iter().all(|id| found.iter().any(|found| found == id)), "{document:#}");
    let lock = problem(&document, "lock");
    assert!(lock["observed"].as_str().unwrap().contains("held by reader ("), "{lock}");
    assert!(lock["places"][0]["caller"].as_str().unwrap().contains("lock_contended"), "{lock}");
}

#[test]
fn a_program_that_runs_is_inspected_by_its_number_and_goes_on() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let program = bench.alone(&["lock"]);
    let pid = program.0.id().to_string();
    let record = bench.folder.path().join("found.json");
    let times = ["--after", "300ms", "--duration", "1500ms"];
    let inspect = |more: &[&str]| run(&[&["inspect", &pid], &times[..], more].concat());
    let output = inspect(&["--all", "--record", record.to_str().unwrap()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = stdout(&output);
    for part in ["fifo:60", "bad  lock", "held by holder", "called by take_lock", "futex(2)", "mend"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let document: Value = serde_json::from_slice(&fs::read(record).unwrap()).unwrap();
    assert_eq!(ids(&document), ["lock"]);
    // One thread of it, and all of them.
    let document = self::document(&inspect(&["--json", "--thread", "holder"]));
    assert!(
        ids(&document).contains(&"relative-wait".into()) && ids(&document).contains(&"policy".into()),
        "{document:#}"
    );
    assert_eq!(document["threads"].as_array().unwrap().len(), 1);
    let document = self::document(&inspect(&["--json", "--all-threads"]));
    assert_eq!(document["threads"].as_array().unwrap().len(), 2);
    for named in [&["--thread", "nobody"][..], &["--thread", "holder", "--thread", "nobody"]] {
        let output = inspect(named);
        let said = stderr(&output);
        assert!(output.status.code() == Some(2) && said.contains("has no thread \"nobody\""), "{said}");
    }
    assert!(runs(program.0.id() as i32));
}

#[test]
fn a_real_time_thread_is_found_behind_any_number_of_others() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let many = bench.other("many.c");
    let inspect = |idle: &str, timed: &str| {
        let words = ["inspect", "--after", "500ms", "--duration", "2s", "--json", "--require", "clean", "--", &many];
        run(&[&words[..], &[idle, timed]].concat())
    };
    let found = document(&inspect("100", "1"));
    assert_eq!((ids(&found), &found["left_out"]), (vec!["heap".into()], &0.into()), "{found:#}");
    // The one with a fault is the last.
    let output = inspect("0", "98");
    let found = document(&output);
    assert_eq!((ids(&found).len(), &found["left_out"]), (0, &2.into()), "{found:#}");
    assert_eq!(output.status.code(), Some(3));
    assert!(notes(&found).contains("2 threads were not inspected"), "{found:#}");
}

/// Of a thread that ended, /proc shows neither memory nor files.
#[test]
fn a_program_whose_first_thread_ended_is_inspected_by_the_others() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let program = Running(Command::new(bench.other("many.c")).args(["0", "1"]).spawn().unwrap());
    let pid = program.0.id().to_string();
    wait_until("the end of the first thread", || {
        fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
    });
    let document = document(&run(&["inspect", "--after", "300ms", "--duration", "1s", "--json", &pid]));
    assert_eq!((ids(&document), &document["program"]), (vec!["heap".into()], &"other".into()), "{document:#}");
    let places = problem(&document, "heap")["places"].to_string();
    assert!(places.contains("change_rights") && document["notes"] == Value::Array(Vec::new()), "{document:#}");
}

#[test]
fn a_program_without_real_time_threads_counts_from_its_time_on() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let program = bench.alone(&["policy"]);
    let pid = program.0.id().to_string();
    let document = document(&run(&["inspect", "--after", "800ms", "--duration", "1400ms", "--json", &pid]));
    assert_eq!(ids(&document), ["policy", "timer-slack"], "{document:#}");
    let counted_ns = document["threads"][0]["counted_ns"].as_u64().unwrap();
    assert!(counted_ns > 400_000_000 && !notes(&document).contains("not counted"), "{document:#}");
}

/// Programs of bpf(2) need the kernel's types, which are hidden from the second.
#[test]
fn perf_events_alone_tell_the_same_as_programs_of_bpf() {
    let Some(bench) = Bench::new(&[]) else { return };
    if !has("unshare") {
        return;
    }
    let _alone = alone_on_this_machine();
    let program = bench.alone(&["lock"]);
    let pid = program.0.id().to_string();
    let words = ["inspect", "--after", "300ms", "--duration", "1500ms", "--json", &pid];
    let by_programs = document(&run(&words));
    if notes(&by_programs).contains(BY_PERF_ALONE) {
        return ontick_skip::skipped!("no programs of bpf(2): {}", notes(&by_programs));
    }
    let hide = "set -e; mount -t tmpfs none /sys/kernel/btf; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", hide, "sh", env!("CARGO_BIN_EXE_ontick")]).args(words);
    let by_perf = document(&command.output().unwrap());
    assert!(notes(&by_perf).contains(BY_PERF_ALONE), "{by_perf:#}");
    let of = |document: &Value| {
        let lock = problem(document, "lock");
        let calls = document["threads"][0]["calls"].as_array().unwrap().iter();
        let mut calls: Vec<String> = calls.map(|call| call["name"].to_string()).collect();
        calls.sort();
        let waits = document["threads"][0]["waits"].as_u64().unwrap();
        assert!(waits > 100 && lock["count"].as_u64().unwrap() > 3, "{document:#}");
        // After a semicolon, how long the holder was kept from its CPU, if it was.
        let holder = lock["observed"].as_str().unwrap().split(';').next().unwrap().to_owned();
        (ids(document), holder, lock["places"][0]["caller"].clone(), calls)
    };
    assert_eq!(of(&by_programs), of(&by_perf));
}

#[test]
fn the_end_of_a_program_is_no_fault_of_its_loop() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let mut command = bench.command("clean", &["--json", "--require", "clean", "--duration", "20s"]);
    command.arg("900");
    let output = command.output().unwrap();
    let document = document(&output);
    assert_eq!((output.status.code(), ids(&document).len()), (Some(0), 0), "{document:#}");
    assert!(notes(&document).contains("the program ended after"), "{document:#}");
    assert!(stderr(&output).contains("done after 900 rounds"), "its output is apart from the JSON");
    // One that ends before anything counts is not called clean.
    let output = run(&["inspect", "--require", "clean", "--", "sleep", "0.5"]);
    assert_eq!(output.status.code(), Some(3), "{}", stdout(&output));
    assert!(stdout(&output).contains("No thread was observed for long enough"), "{}", stdout(&output));
}

#[test]
fn a_program_that_becomes_another_one_is_counted_from_then_on() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let program = bench.program.to_str().unwrap();
    let script = format!("sleep 0.8; exec {program} file");
    let words = ["inspect", "--after", "300ms", "--duration", "3s", "--json", "--", "sh", "-c", &script];
    let document = document(&ontick(&words).env("LOG", bench.folder.path().join("log")).output().unwrap());
    assert_eq!(ids(&document), ["file"], "{document:#}");
    assert!(notes(&document).contains("the program became timed (execve)"), "{document:#}");
    assert_eq!(document["program"], "timed");
    assert_eq!(problem(&document, "file")["places"][0]["caller"], "write_log");
}

/// What its other threads did is not said of functions of the new program.
#[test]
fn threads_end_with_the_program_that_becomes_another_one() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let (becomes, program) = (bench.other("becomes.c"), bench.program.to_str().unwrap());
    let words = ["inspect", "--after", "300ms", "--duration", "3s", "--json", "--", &becomes, program, "file"];
    let document = document(&ontick(&words).env("LOG", bench.folder.path().join("log")).output().unwrap());
    assert_eq!(ids(&document), ["file"], "{document:#}");
    assert_eq!(document["threads"].as_array().unwrap().len(), 1, "{document:#}");
}

#[test]
fn without_symbols_places_are_addresses() {
    let Some(bench) = Bench::new(&["-s"]) else { return };
    let _alone = alone_on_this_machine();
    let document = document(&bench.command("page-fault", &["--json"]).output().unwrap());
    let place = &problem(&document, "page-fault")["places"][0];
    assert!(place["function"].as_str().unwrap().starts_with("+0x") && place["object"] == "timed", "{place}");
    assert!(notes(&document).contains("has no symbols"), "{document:#}");
}

/// The kernel's events have the numbers that threads have outside.
#[test]
fn in_a_container_faults_are_found_and_what_is_not_seen_is_named() {
    let Some(bench) = Bench::new(&[]) else { return };
    if !has("unshare") {
        return;
    }
    let _alone = alone_on_this_machine();
    let inside = bench.command("page-fault", &["--json"]);
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(inside.get_program()).args(inside.get_args());
    let document = document(&command.output().unwrap());
    assert_eq!((ids(&document), &document["evidence"]), (vec!["page-fault".into()], &"faults".into()), "{document:#}");
    assert!(notes(&document).contains("inspect it from outside the container"), "{document:#}");
}

#[test]
fn another_users_program_is_judged_by_what_everybody_may_see() {
    let Some(bench) = Bench::new(&[]) else { return };
    let _alone = alone_on_this_machine();
    let program = bench.alone(&["page-fault"]);
    let pid = program.0.id().to_string();
    let words = ["inspect", "--after", "300ms", "--duration", "1500ms", "--json", "--require", "clean", &pid];
    let nobody = 65_534;
    let output = match ontick(&words).uid(nobody).gid(nobody).output() {
        Ok(output) => output,
        Err(error) => return ontick_skip::skipped!("{error}"),
    };
    let document = document(&output);
    assert_eq!(document["evidence"], "proc", "{document:#}");
    assert_eq!(ids(&document), ["page-fault"], "{document:#}");
    assert!(notes(&document).contains("what /proc says is all there is"), "{document:#}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn what_cannot_be_inspected_is_refused_in_a_sentence() {
    for (words, status, part) in [
        (&["inspect", "2147483647"][..], 2, "there is no process 2147483647"),
        (&["inspect", "--after", "2s", "--duration", "1s", "1"], 2, "nothing would count"),
        (&["inspect", "--", "/no/such/program"], 127, "there is no such program"),
        (&["inspect", "--", "/etc/passwd"], 126, "it may not be run"),
        (&["inspect"], 2, "required"),
        (&["inspect", "1", "--", "true"], 2, "cannot be used with"),
        (&["inspect", "0"], 2, "0"),
    ] {
        let output = run(words);
        assert_eq!(output.status.code(), Some(status), "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{words:?}: {}", stderr(&output));
    }
    // kthreadd(7) is the second process, where processes of the kernel can be seen.
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name == "kthreadd\n") {
        assert!(stderr(&run(&["inspect", "2"])).contains("process 2 (kthreadd) is a thread of the kernel"));
    }
}

/// The events are the process's own, and the program that it started ends with it.
#[test]
fn nothing_is_left_when_it_is_killed() {
    let Some(bench) = Bench::new(&[]) else { return };
    let Some(tracing) = Tracing::find() else { return };
    let _alone = alone_on_this_machine();
    let mut killed = Running(bench.command("clean", &["--duration", "1min"]).stdout(Stdio::null()).spawn().unwrap());
    let pid = killed.0.id();
    let mut program = None;
    wait_until("the program and its events", || {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        program = children.split_whitespace().next().and_then(|child| child.parse::<i32>().ok());
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let links = files.filter_map(|file| fs::read_link(file.path()).ok());
        program.is_some() && links.filter(|link| link.to_string_lossy() == "anon_inode:[perf_event]").count() > 1
    });
    let programs = links_of_programs(pid);
    assert!(programs.iter().all(|link| is_attached(*link)), "{programs:?}");
    assert_eq!(tracing.of(pid), None, "no instance is made");
    send(pid, Signal::KILL);
    let _ = killed.0.wait();
    let program = program.unwrap();
    wait_until("the program's end", || !runs(program));
    wait_until("the end of programs of bpf(2)", || !programs.iter().any(|link| is_attached(*link)));
}

/// By what a process keeps programs of bpf(2) attached, by the kernel's numbers.
fn links_of_programs(pid: u32) -> Vec<u32> {
    let files = fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    let number = |text: String| text.lines().find_map(|line| line.strip_prefix("link_id:")?.trim().parse().ok());
    texts.filter_map(number).collect()
}

/// Whether the kernel still has it.
fn is_attached(link: u32) -> bool {
    const BPF_LINK_GET_FD_BY_ID: u32 = 30;
    let mut attributes = [link, 0, 0];
    // SAFETY: the attributes of this command, of which the first is the number.
    let fd =
        unsafe { libc::syscall(libc::SYS_bpf, BPF_LINK_GET_FD_BY_ID, &raw mut attributes, size_of_val(&attributes)) };
    // SAFETY: a new descriptor that is nobody else's.
    fd >= 0 && unsafe { libc::close(fd as i32) } == 0
}
