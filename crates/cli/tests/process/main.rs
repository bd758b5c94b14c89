//! The real program as a process: what it prints, writes and leaves behind.

mod advise;
mod always_on;
#[cfg(feature = "arrow")]
mod analysis;
mod ansible;
mod ansible_drift;
mod apart;
mod bad_disks;
mod baselines;
mod beside_the_watch;
mod boot_search;
mod cached_work;
mod campaign;
mod capabilities;
mod card;
mod chain;
mod check;
mod dips;
mod durations;
mod endings;
mod errors;
mod escapes;
mod escapes_of_programs;
mod every_cpu;
mod every_sample;
mod examples;
mod explain;
mod fewer_cpus;
mod fleet;
mod foreign_chips;
mod full_disks;
mod gpio;
mod inspecting;
mod install;
mod instruments;
mod interface_settings;
mod irqbalance;
#[path = "../../../record/tests/judges/mod.rs"]
mod judges;
mod junit;
mod kept_awake;
mod kernel;
mod kernel_build;
mod kernel_install;
mod kernel_tree;
mod killed_together;
mod library_examples;
mod lines;
mod link;
mod link_faults;
mod link_pty;
mod link_rates;
mod listeners;
mod load_pings;
mod loads;
#[path = "../../../machine/tests/machine/mod.rs"]
mod machine;
mod machines;
#[path = "../../../switch/tests/testbed/namespace.rs"]
mod namespace;
mod neighbours;
mod netconf;
mod netconf_ansible;
mod netconf_errors;
mod netconf_stations;
mod netconf_streams;
mod network_apply;
mod network_check;
mod network_programs;
mod network_prove;
mod network_stations;
mod network_time;
mod network_time_status;
mod network_time_watch;
mod no_worse;
mod observers;
mod otlp;
mod own_settings;
mod pico;
mod plan_options;
mod planted;
mod played;
mod program_copy;
mod prometheus;
mod proven_cpus;
mod pru;
mod pulse;
mod put_back;
mod rare_options;
mod records;
mod resting;
mod results;
mod rivals;
mod round;
mod round_trips;
mod run_command;
mod sample;
mod sample_faults;
mod scraped;
mod search;
mod service_unit;
mod settings;
mod several_waits;
mod split;
mod state_dir;
mod switch_already;
mod switch_calibration;
mod switch_config;
mod switch_cores;
mod switch_elsewhere;
mod switch_loop;
mod switch_names;
mod switch_path;
mod switch_plan;
mod switch_ports;
mod switch_preemption;
mod switch_proof;
mod switch_proof_shaped;
mod switch_redundancy;
mod switch_spanning_tree;
mod switch_streams;
mod switch_synchronised;
mod switch_tables;
mod switch_tags;
mod switch_user;
mod switch_windows;
mod tails;
mod terminal;
mod time_loss;
mod timed_section;
mod tools;
mod trace_break;
mod transparent_clock;
mod tune;
mod verify_truth;
mod watched_round_trips;
mod watching;
mod wire_capture;

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output};
use std::time::{Duration, Instant};

use ontick_switch::verify::namespace::{Namespace, NamespaceError};
use program_copy::copy_of_ontick;
use serde_json::Value;
use tools::has;

/// The program, with a command line.
fn ontick(arguments: &[&str]) -> Command {
    apart::beside_others(arguments);
    let mut command = Command::new(env!("CARGO_BIN_EXE_ontick"));
    // Lines are as long as they are without a terminal.
    command.args(arguments).env_remove("COLUMNS");
    // A script that starts the tests with `&` has SIGINT ignored, and the program leaves it so.
    // SAFETY: signal(2) may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGINT, libc::SIGHUP] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    command
}

/// Killed if the test fails half-way.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs it to its end.
fn run(arguments: &[&str]) -> Output {
    ontick(arguments).output().expect("the program starts")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("output is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("output is text")
}

/// The record that a run with `--json` printed.
fn record(output: &Output) -> Value {
    assert!(output.status.success(), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).expect("--json prints a record")
}

/// Number of samples in a series of a record.
fn samples(series: &Value) -> u64 {
    let buckets = series["latency"]["buckets"].as_array().expect("buckets");
    buckets.iter().map(|bucket| bucket[2].as_u64().expect("a count")).sum()
}

/// A terminal that does not become this process's own.
fn open_terminal(path: &str) -> File {
    let no_terminal_of_ours = rustix::fs::OFlags::NOCTTY.bits() as i32;
    File::options().read(true).write(true).custom_flags(no_terminal_of_ours).open(path).unwrap()
}

/// Waits until `done`, at most as long as any of this may take on a loaded machine.
fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < Duration::from_secs(60), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is there and has not ended.
fn runs(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Whether a process's handler for Ctrl-C is there: the signal is caught (proc(5), SigCgt).
fn catches_interrupt(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap_or("0");
    u64::from_str_radix(caught.trim(), 16).is_ok_and(|caught| caught & 2 != 0)
}

fn send(pid: u32, signal: rustix::process::Signal) {
    let pid = rustix::process::Pid::from_raw(pid as i32).expect("a process id");
    rustix::process::kill_process(pid, signal).expect("the process is there");
}

/// Held by a test that changes settings of this machine or keeps a CPU, against all others, of other checkouts too.
fn alone_on_this_machine() -> apart::Alone {
    apart::Alone::new()
}

/// Whether this test may change settings of this machine.
fn may_tune() -> bool {
    let may = rustix::process::geteuid().is_root()
        && std::fs::OpenOptions::new().write(true).open("/proc/sys/vm/stat_interval").is_ok();
    // Whoever tests must not find their own settings reverted.
    let untouched = !std::path::Path::new("/var/lib/ontick/tune.jsonl").exists();
    if !may || !untouched {
        ontick_skip::skipped!("only root may change settings, and only where none of ontick's stand already");
    }
    may && untouched
}

/// Puts back what a test changed, should it fail half-way.
struct Restored;

impl Drop for Restored {
    fn drop(&mut self) {
        run(&["tune", "revert"]);
    }
}
