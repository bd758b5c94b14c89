//! `--explain`: nothing is left in the kernel's tracing, and a run that was killed keeps its causes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use rustix::process::Signal;
use serde_json::Value;

use crate::{ontick, record, run, send, stderr, stdout, wait_until};

/// The kernel's tracing, wherever it is mounted or not; `None` where it cannot be used.
pub(super) struct Tracing {
    _mount: rustix::fd::OwnedFd,
    instances: PathBuf,
}

impl Tracing {
    pub(super) fn find() -> Option<Self> {
        use rustix::fd::AsRawFd;
        let mounted = || {
            let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
            fsconfig_create(&context)?;
            fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
        };
        let mount = mounted().ok();
        if mount.is_none() {
            ontick_skip::skipped!("the kernel's tracing cannot be used here");
        }
        let mount = mount?;
        let instances = format!("/proc/self/fd/{}/instances", mount.as_raw_fd()).into();
        Some(Self { _mount: mount, instances })
    }

    /// The instance that this process made.
    pub(super) fn of(&self, pid: u32) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.instances).unwrap().flatten();
        let prefix = format!("ontick-{pid}-");
        entries.map(|entry| entry.path()).find(|path| name(path).starts_with(&prefix))
    }
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Starts a run that explains, kills it once its journal holds an outlier, and returns its process id.
fn killed(tracing: &Tracing, record: &Path) -> u32 {
    let record = record.to_str().unwrap();
    // Every cycle is late enough.
    let line = "latency timer --method clock_nanosleep --duration 10min --explain --outlier-threshold 1ns --record";
    let words: Vec<&str> = line.split(' ').chain([record]).collect();
    let mut child = ontick(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let journal = format!("{record}.journal");
    wait_until("causes in the journal", || {
        // The last line may not be whole yet.
        let whole = |text: &str| text.rfind('\n').map_or(String::new(), |end| text[..end].to_owned());
        let text = fs::read_to_string(&journal).map_or(String::new(), |text| whole(&text));
        text.lines().skip(1).any(|line| line.contains("\"cause\":")) || child.try_wait().unwrap().is_some()
    });
    assert!(tracing.of(child.id()).is_some(), "the run traces");
    send(child.id(), Signal::KILL);
    child.wait().unwrap();
    child.id()
}

#[test]
fn what_a_killed_run_left_in_tracing_goes_with_the_next_command_and_its_causes_stay() {
    let Some(tracing) = Tracing::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    for (index, next) in ["check", "tune status", "latency timer --count 10", "run -- true"].into_iter().enumerate() {
        let path = folder.path().join(format!("{index}.json"));
        let pid = killed(&tracing, &path);
        // Any other command of a test that runs beside this one removes it just as well.
        run(&next.split(' ').collect::<Vec<_>>());
        assert_eq!(tracing.of(pid), None, "{next}");

        let journal = path.with_extension("json.journal");
        let output = run(&["report", journal.to_str().unwrap(), "--as", "json"]);
        let run: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", stderr(&output)));
        let series = &run["series"][0];
        let counted: u64 = series["causes"].as_array().unwrap().iter().map(|c| c["count"].as_u64().unwrap()).sum();
        // All are counted; of those that a journal does not keep, nothing but that is known.
        let seen = series["outlier_count"].as_u64().unwrap();
        let named = series["outliers"].as_array().unwrap().iter().filter(|o| o["cause"].is_u64()).count() as u64;
        assert!(named > 0 && named <= counted && counted <= seen, "{named} named, {counted} counted, {seen} in all");
    }
}

#[test]
fn a_run_that_ends_leaves_nothing_in_tracing() {
    let Some(tracing) = Tracing::find() else { return };
    let child = ontick(&["latency", "timer", "--count", "500", "--explain", "--json"]).stdout(Stdio::piped()).spawn();
    let child = child.unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(run["series"][0]["tracing"]["events"].as_u64().unwrap() > 0);
    assert_eq!(tracing.of(pid), None);
}

#[test]
fn samples_that_came_late_have_their_causes_in_the_record() {
    let Some(tracing) = Tracing::find() else { return };
    // Every sample is late enough.
    let line = "sample --rate 1kHz --source wave:sine --to udp:127.0.0.1:9 --load cpu --explain --outlier-threshold 1ns --count 500 --json";
    let child = ontick(&line.split(' ').collect::<Vec<_>>()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap();
    let pid = child.id();
    let run = record(&child.wait_with_output().unwrap());
    assert_eq!(tracing.of(pid), None, "nothing is left in tracing");
    let series = &run["series"][0];
    assert!(series["tracing"]["events"].as_u64().unwrap() > 0);
    assert_eq!(series["outlier_count"].as_u64(), Some(500));
    let causes = series["causes"].as_array().unwrap();
    let counted: u64 = causes.iter().map(|cause| cause["count"].as_u64().unwrap()).sum();
    assert_eq!(counted, 500, "every one has a cause");
    let outliers = series["outliers"].as_array().unwrap();
    assert!(!outliers.is_empty(), "{series}");
    for outlier in outliers {
        let cause = outlier["cause"].as_u64().expect("its cause") as usize;
        assert!(!causes[cause]["cause"].as_str().unwrap().is_empty(), "{outlier}");
    }
}

/// A load that is in the kernel nearly all of the time, on the CPU that is measured.
#[test]
fn a_task_that_a_timer_interrupts_in_the_kernel_is_shown_with_its_functions() {
    if Tracing::find().is_none() || !crate::has("taskset") {
        return;
    }
    let cpu = ontick_rt::cpus::allowed()[0];
    let load = format!("cmd:taskset -c {cpu} dd if=/dev/zero of=/dev/null bs=64M status=none");
    let cpu = cpu.to_string();
    let words =
        ["latency", "timer", "--method", "clock_nanosleep", "--cpu", &cpu, "--policy", "fifo:10", "--load", &load];
    let more = ["--explain", "--stack", "--outlier-threshold", "1ns", "--duration", "1s", "--json"];
    let output = run(&[&words[..], &more].concat());
    let run = record(&output);
    let notes = run["notes"].to_string();
    if notes.contains("kernel_stack") || notes.contains("no stack is kept") {
        return ontick_skip::skipped!("this kernel keeps no stacks");
    }
    let explained = run["series"][0]["explained"].as_array().unwrap();
    let stacks: Vec<&Vec<Value>> = explained.iter().filter_map(|outlier| outlier["stack"].as_array()).collect();
    assert!(!stacks.is_empty(), "{explained:?}");
    // The interrupt's own functions are left out.
    let names: Vec<&str> = stacks.iter().flat_map(|stack| stack.iter().map(|name| name.as_str().unwrap())).collect();
    assert!(!names.iter().any(|name| name.contains("hrtimer_interrupt")), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("0x")), "{names:?}");
    for outlier in explained {
        assert_eq!(outlier["stack"].is_array(), outlier["stack_of"].is_string(), "{outlier}");
    }
    crate::errors::fails(&["latency", "timer", "--stack"], &["--explain"]);
}

/// In a mount namespace of its own, with an empty folder over every place where tracing is, and without the
/// right to mount: a kernel without tracing looks the same.
#[test]
fn without_tracing_counters_must_do_and_it_is_said() {
    let line = "latency timer --method clock_nanosleep --count 300 --explain --outlier-threshold 1ns";
    let Some(output) = untraced(&line.split(' ').collect::<Vec<_>>()) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    assert!(said.contains("explained by counters"), "{said}");
    // Notes below it speak of interrupts as well.
    let (_, named) = said.split_once(" outliers above 1ns: ").unwrap_or_else(|| panic!("{said}"));
    assert!(["unknown", "steal", "device interrupt"].iter().any(|cause| named.starts_with(cause)), "{said}");
}

/// It asked for FIFO, which was refused: neither the fair server nor throttling takes anything from a normal thread.
#[test]
fn a_thread_without_a_real_time_policy_is_delayed_by_tasks() {
    if !rustix::process::geteuid().is_root() || !crate::has("setpriv") || Tracing::find().is_none() {
        return ontick_skip::skipped!("needs root, setpriv and tracing");
    }
    let refused = ["--bounding-set=-sys_nice", "--inh-caps=-sys_nice", env!("CARGO_BIN_EXE_ontick")];
    let line =
        "latency timer --method hybrid --duration 3s --explain --outlier-threshold 100us --load source-004 --json";
    let output = std::process::Command::new("setpriv").args(refused).args(line.split(' ')).output().unwrap();
    let series = record(&output)["series"][0].clone();
    if series["settings"]["policy"] != "other" {
        return ontick_skip::skipped!("it is real-time all the same: {}", series["settings"]);
    }
    let causes: Vec<&str> = series["causes"].as_array().unwrap().iter().map(|c| c["cause"].as_str().unwrap()).collect();
    assert!(!causes.is_empty(), "beside such a load something is late");
    assert!(!causes.iter().any(|cause| ["fair server", "RT throttling"].contains(cause)), "{causes:?}");
}

/// Runs ontick where nothing can be traced.
pub(super) fn untraced(words: &[&str]) -> Option<Output> {
    if !rustix::process::geteuid().is_root() || !crate::has("unshare") || !crate::has("setpriv") {
        ontick_skip::skipped!("needs root, unshare and setpriv");
        return None;
    }
    let hidden = "set -e; for f in /sys/kernel/tracing /sys/kernel/debug; do [ ! -d $f ] || mount -t tmpfs none $f; done; exec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin \"$@\"";
    let program = env!("CARGO_BIN_EXE_ontick");
    let mut command = std::process::Command::new("unshare");
    command.args(["--mount", "sh", "-c", hidden, "sh", program]).args(words);
    let output = command.output().unwrap();
    if !output.status.success() && stderr(&output).contains("unshare") {
        ontick_skip::skipped!("{}", stderr(&output));
        return None;
    }
    Some(output)
}
