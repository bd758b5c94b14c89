//! `ontick run`: the program is on time, and everything else is its own.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::{has, ontick, run, runs, send, stderr, stdout, wait_until};

/// A shell script as the program; real-time where this test may.
fn script(options: &[&str], text: &str) -> Command {
    let policy: &[&str] = if may_be_real_time() { &[] } else { &["--policy", "other"] };
    ontick(&[&["run"], policy, options, &["--", "sh", "-c", text]].concat())
}

pub(super) fn may_be_real_time() -> bool {
    run(&["run", "--", "true"]).status.success()
}

fn code(output: &Output) -> Option<i32> {
    output.status.code()
}

#[test]
fn input_output_and_status_are_the_programs_own() {
    let mut child = script(&[], "cat; echo aside >&2; exit 7")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"through").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((stdout(&output), stderr(&output), code(&output)), ("through".into(), "aside\n".into(), Some(7)));
    assert_eq!(code(&script(&[], "kill -TERM $$").output().unwrap()), Some(128 + 15));
    assert_eq!(code(&run(&["run", "--policy", "other", "--", "true", "--help", "--cpu"])), Some(0));
}

/// getpgrp(2) and getsid(2) return 0 there.
#[test]
fn a_process_group_led_from_outside_its_namespace_is_none_of_its_business() {
    let ontick = env!("CARGO_BIN_EXE_ontick");
    let words =
        ["--pid", "--fork", "--mount-proc", ontick, "run", "--policy", "other", "--", "sh", "-c", "echo here; exit 7"];
    if !has("unshare") {
        return;
    }
    let output = Command::new("unshare").args(words).output().unwrap();
    if stderr(&output).starts_with("unshare: ") {
        return ontick_skip::skipped!("{}", stderr(&output));
    }
    assert_eq!((stdout(&output), stderr(&output), code(&output)), ("here\n".into(), String::new(), Some(7)));
}

#[test]
fn normal_scheduling_is_normal_also_below_a_real_time_policy() {
    let policy_of = |word: &str| {
        let mut chrt = Command::new("chrt");
        chrt.args([word, if word == "--fifo" { "1" } else { "0" }, env!("CARGO_BIN_EXE_ontick")]);
        chrt.args(["run", "--policy", "other", "--", "sh", "-c", "chrt -p $$"]).output().unwrap()
    };
    if !has("chrt") {
        return;
    }
    let output = policy_of("--fifo");
    if stderr(&output).contains("chrt: failed to set") {
        return ontick_skip::skipped!("{}", stderr(&output));
    }
    assert!(stdout(&output).contains("SCHED_OTHER"), "{}{}", stdout(&output), stderr(&output));
    let output = policy_of("--batch");
    assert!(stdout(&output).contains("SCHED_BATCH"), "{}{}", stdout(&output), stderr(&output));
}

/// As shells and env(1) do.
#[test]
fn a_program_that_cannot_be_run_has_a_status_of_its_own() {
    for (program, status, why) in [("/no/such/program", 127, "no such program"), ("/dev/null", 126, "executable")] {
        let output = run(&["run", "--policy", "other", "--", program]);
        let said = stderr(&output);
        assert_eq!(code(&output), Some(status), "{said}");
        assert!(said.starts_with(&format!("ontick: {program}: ")) && said.contains(why), "{said}");
    }
}

/// In a user namespace that has one user only, nobody may become another.
#[test]
fn a_step_before_the_program_that_is_refused_is_named() {
    if !has("unshare") {
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", env!("CARGO_BIN_EXE_ontick"), "run", "--policy", "other", "--", "true"]);
    let output = command.env("SUDO_UID", "65534").env("SUDO_GID", "65534").output().unwrap();
    let said = stderr(&output);
    if said.starts_with("unshare: ") {
        return ontick_skip::skipped!("{said}");
    }
    assert!(said.contains("true was not started: it cannot become user nobody"), "{said}");
    assert_eq!(code(&output), Some(2), "{said}");
}

#[test]
fn the_program_has_its_cpu_and_policy() {
    let cpu = "0";
    let reported = script(&["--cpu", cpu], "grep Cpus_allowed_list /proc/$$/status; cut -d' ' -f40,41 /proc/$$/stat");
    let text = stdout(&{ reported }.output().unwrap());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0].split_whitespace().last(), Some(cpu), "{text}");
    // Fields 40 and 41 of proc(5): priority and policy.
    assert_eq!(lines[1], if may_be_real_time() { "80 1" } else { "0 0" }, "{text}");
}

#[test]
fn signals_pass_through() {
    for (signal, name) in [(Signal::TERM, "TERM"), (Signal::HUP, "HUP"), (Signal::USR1, "USR1"), (Signal::USR2, "USR2")]
    {
        let folder = tempfile::tempdir().unwrap();
        let ready = folder.path().join("ready");
        let text = format!("trap 'exit 42' {name}; touch {}; while :; do sleep 0.02; done", ready.display());
        let mut group = Group(script(&[], &text).process_group(0).spawn().unwrap());
        let child = &mut group.0;
        wait_until("the trap", || ready.exists());
        send(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), Some(42), "{name}");
    }
}

#[test]
fn a_signal_to_the_whole_group_is_not_passed_on() {
    if !has("strace") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Each USR1 is one line; TERM ends it.
    let text = format!(
        "trap 'echo x >> {1}' USR1; trap 'exit 0' TERM; touch {1}; touch {0}; while :; do sleep 0.01; done",
        path("ready").display(),
        path("count").display()
    );
    // The signals that ontick sends are counted: two that reach the program at once are one to it. Traced from a
    // process group of its own.
    let mut traced = Command::new("strace");
    traced.args(["-DD", "-e", "trace=kill,pidfd_send_signal", "-e", "signal=none", "-o"]).arg(path("sent"));
    traced.args([env!("CARGO_BIN_EXE_ontick"), "run", "--policy", "other", "--", "sh", "-c", &text]);
    let mut group = Group(traced.process_group(0).spawn().unwrap());
    let child = &mut group.0;
    wait_until("the trap", || path("ready").exists());
    let lines = || std::fs::read_to_string(path("count")).unwrap().lines().count();
    for sent in 1..=6 {
        // One that comes before the last was taken is the same one to it.
        wait_until("ontick to wait for signals", || waits_for_signals(child.id()));
        match sent % 2 {
            0 => send(child.id(), Signal::USR1),
            _ => kill_process_group(Pid::from_child(child), Signal::USR1).unwrap(),
        }
        wait_until("the signal", || lines() >= sent);
    }
    send(child.id(), Signal::TERM);
    assert_eq!((child.wait().unwrap().code(), lines()), (Some(0), 6));
    wait_until("the trace", || std::fs::read_to_string(path("sent")).unwrap().contains("exited"));
    let trace = std::fs::read_to_string(path("sent")).unwrap();
    assert_eq!(trace.matches("SIGUSR1").count(), 3, "{trace}");
}

/// A command that leads a process group, all of which ends with the test.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Whether it sleeps in sigwaitinfo(2), as proc(5) numbers system calls.
fn waits_for_signals(pid: u32) -> bool {
    let call = std::fs::read_to_string(format!("/proc/{pid}/syscall")).unwrap_or_default();
    call.split(' ').next() == Some(&libc::SYS_rt_sigtimedwait.to_string())
}

#[test]
fn the_program_stops_and_goes_on_with_its_supervisor() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let text = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid_file.display());
    // A process group with a session above it, as a shell's job: an orphaned one is not stopped by SIGTSTP.
    let mut group = Group(script(&[], &text).process_group(0).spawn().unwrap());
    let child = &mut group.0;
    wait_until("the program", || pid_file.exists());
    let program: u32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    let state = |pid: u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()
    };
    send(child.id(), Signal::TSTP);
    wait_until("both stopped", || state(child.id()) == 'T' && state(program) == 'T');
    send(child.id(), Signal::CONT);
    wait_until("both going on", || state(child.id()) != 'T' && state(program) != 'T');
    send(child.id(), Signal::TERM);
    assert_eq!(child.wait().unwrap().code(), Some(128 + 15));
}

#[test]
fn a_killed_supervisor_takes_the_program_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pid_file = folder.path().join("pid");
    let text = format!("echo $$ > {0}.new; mv {0}.new {0}; exec sleep 1000", pid_file.display());
    let mut group = Group(script(&[], &text).process_group(0).spawn().unwrap());
    let child = &mut group.0;
    wait_until("the program", || pid_file.exists());
    let program: i32 = std::fs::read_to_string(&pid_file).unwrap().trim().parse().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    wait_until("the program's end", || !runs(program));
}

/// A child that ignores SIGTERM, a grandchild in a session of its own, a child of another user.
#[test]
fn a_killed_supervisor_ends_the_whole_tree() {
    if !has("setpriv") || !rustix::process::geteuid().is_root() {
        return ontick_skip::skipped!("root and setpriv are needed");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // Each writes its number; the file is there once it is whole.
    let note = |name: &str| format!("echo $$ > {0}.new; mv {0}.new {0}", path(name).display());
    let (deaf, detached, program) = (note("deaf"), note("detached"), note("program"));
    let other = path("other").display().to_string();
    let text = format!(
        "sh -c 'trap \"\" TERM; {deaf}; while :; do sleep 0.05; done' & \
         (setsid sh -c '{detached}; exec sleep 1000' &) ; \
         setpriv --reuid 65534 --regid 65534 --clear-groups sleep 1000 & echo $! > {other}.new; mv {other}.new {other}; \
         {program}; exec sleep 1000"
    );
    let names = ["deaf", "detached", "other", "program"];
    let real_time = may_be_real_time();
    for group in [false, true] {
        let mut started = Group(script(&[], &text).process_group(0).spawn().unwrap());
        let child = &mut started.0;
        let mut pids = Vec::new();
        for name in names {
            wait_until(name, || path(name).exists());
            let pid: i32 = std::fs::read_to_string(path(name)).unwrap().trim().parse().unwrap();
            wait_until("its policy", || is_real_time(pid) == real_time);
            pids.push((name, pid));
        }
        match group {
            true => {
                kill_process_group(Pid::from_child(child), Signal::KILL).unwrap();
            }
            false => child.kill().unwrap(),
        }
        child.wait().unwrap();
        for (name, pid) in pids {
            wait_until(&format!("the end of {name}"), || !runs(pid));
            std::fs::remove_file(path(name)).unwrap();
        }
    }
}

/// Field 41 of proc(5): SCHED_FIFO is 1.
fn is_real_time(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| fields.split(' ').nth(38) == Some("1"))
}

/// What it started and left behind is its own business, as in a shell.
#[test]
fn what_outlives_the_program_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("left");
    let text = format!("sleep 1000 >&- 2>&- & echo $! > {}; exit 3", file.display());
    assert_eq!(script(&[], &text).output().unwrap().status.code(), Some(3));
    let pid: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    assert!(runs(pid));
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn a_program_that_never_sleeps_is_ended_and_that_is_reported() {
    if !may_be_real_time() || std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim() == "0" {
        return ontick_skip::skipped!("real-time priority on a CPU to spare is needed");
    }
    let output = script(&["--runaway-after", "100ms"], "while :; do :; done").output().unwrap();
    assert_eq!(code(&output), Some(128 + 24));
    assert!(
        stderr(&output).contains("100ms") && stderr(&output).contains("--runaway-after off"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_program_that_ends_by_its_own_limit_is_not_said_to_have_run_away() {
    let output = script(&["--policy", "other"], "kill -XCPU $$").output().unwrap();
    assert_eq!(code(&output), Some(128 + 24));
    assert!(!stderr(&output).contains("--runaway-after"), "{}", stderr(&output));
}

#[test]
fn behind_sudo_the_program_is_the_users_and_keeps_its_scheduling() {
    if !rustix::process::geteuid().is_root() || !may_be_real_time() {
        return ontick_skip::skipped!("root is needed");
    }
    let text = "id -u; id -g; echo $USER ${SUDO_UID:-none}; cut -d' ' -f40,41 /proc/$$/stat";
    let behind = |options: &[&str]| {
        let mut command = script(options, text);
        command.env("SUDO_UID", "65534").env("SUDO_GID", "65534").env("SUDO_USER", "nobody").current_dir("/");
        stdout(&command.output().unwrap())
    };
    assert_eq!(behind(&[]), "65534\n65534\nnobody none\n80 1\n");
    assert!(behind(&["--keep-root"]).starts_with("0\n"));
}
