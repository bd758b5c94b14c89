//! `--samples FILE`: every sample as a row, which programs of others read and which is what the record says.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use rustix::fs::{CWD, FileType, mknodat};
use rustix::process::Signal;
use serde_json::Value;

use crate::bad_disks::with_mounts;
use crate::errors::fails;
use crate::judges::{python_runs, python_with, said};
use crate::{ontick, record, run, samples, stderr, stdout};

/// Of each series: CPU, rows, the largest latency, the last number, and whether all were due on one grid; each row's time
/// is checked against the one before.
const READ_CSV: &str = "
import csv, json, sys
found = {}
for row in csv.DictReader(open(sys.argv[1], newline='')):
    of = found.setdefault(row['series'], dict(cpu=row['cpu'], rows=0, max=0, sum=0, last=-1, due=None, apart=[]))
    cycle, due, latency = (int(row[name]) for name in ('cycle', 'due_ns', 'latency_ns'))
    assert cycle > of['last'], row
    if of['due'] is not None: of['apart'].append((due - of['due']) / (cycle - of['last']))
    of.update(cpu=row['cpu'], rows=of['rows'] + 1, max=max(of['max'], latency), sum=of['sum'] + latency, last=cycle, due=due)
for of in found.values(): of['apart'] = [min(of['apart']), max(of['apart'])]
print(json.dumps(found))
";

const READ_ARROW: &str = "
import json, sys, pyarrow.ipc
table = pyarrow.ipc.open_file(sys.argv[1]).read_all()
assert table.schema.names == ['series', 'cpu', 'cycle', 'due_ns', 'latency_ns'], table.schema
found = {}
for row in table.to_pylist():
    of = found.setdefault(row['series'], dict(cpu=str(row['cpu']), rows=0, max=0, sum=0, last=-1, apart=[2e6, 2e6]))
    assert row['cycle'] > of['last'], row
    of.update(rows=of['rows'] + 1, max=max(of['max'], row['latency_ns']), sum=of['sum'] + row['latency_ns'], last=row['cycle'])
print(json.dumps(found))
";

/// What a program of others found in the file is what the record says of each series.
fn holds(found: &BTreeMap<String, Value>, run: &Value) {
    let all = run["series"].as_array().unwrap();
    assert_eq!(found.len(), all.len(), "{found:?}");
    for series in all {
        let of = &found[series["name"].as_str().unwrap()];
        let latency = &series["latency"];
        assert_eq!((of["rows"].as_u64(), &of["max"]), (Some(samples(series)), &latency["max_ns"]), "{of}");
        let mean_ns = of["sum"].as_f64().unwrap() / samples(series) as f64;
        assert!((mean_ns - latency["mean_ns"].as_f64().unwrap()).abs() < 1e-3, "{of}: {latency}");
        assert_eq!(of["cpu"].as_str().unwrap(), series["settings"]["cpu"].to_string());
        // Missed cycles have numbers, and no rows.
        assert_eq!(
            of["last"].as_u64().map(|last| last + 1),
            Some(samples(series) + series["missed"].as_u64().unwrap())
        );
        assert_eq!(of["apart"], serde_json::json!([2e6, 2e6]), "each is due on the grid: {of}");
    }
}

/// Measures and writes; what a program of others finds in the file is what the record says.
fn judged(module: &str, program: &str, file: &Path, words: &[&str]) {
    let Some(python) = python_with(module) else { return };
    let each = ["--interval", "2ms", "--policy", "other", "--phase", "chance", "--json", "--samples"];
    let file = file.to_str().unwrap();
    let output = run(&[&["latency", "timer"], words, &each, &[file]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let read = python_runs(&python, program, &[file], "");
    assert!(read.status.success(), "{}", said(&read));
    let run = record(&output);
    let rows: u64 = run["series"].as_array().unwrap().iter().map(samples).sum();
    assert!(stderr(&output).contains(&format!("{file} has every sample: {rows} rows")), "{}", stderr(&output));
    holds(&serde_json::from_slice(&read.stdout).unwrap(), &run);
}

#[test]
fn rows_are_what_the_histograms_of_all_methods_and_cpus_say() {
    let cpus = ontick_rt::cpus::allowed();
    let list = cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("samples.csv");
    let on_each = ["--method", "clock_nanosleep", "--cpu", &list, "--count", "200"];
    judged("csv", READ_CSV, &csv, &on_each);
    judged("csv", READ_CSV, &csv, &["--method", "all", "--cpu", &cpus[0].to_string(), "--count", "30"]);
    if cfg!(feature = "arrow") {
        judged("pyarrow", READ_ARROW, &folder.path().join("samples.arrow"), &on_each);
    }
}

#[test]
fn wake_ups_times_of_day_and_delays_have_rows_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("samples.csv");
    fs::write(&file, "what was there before").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    for line in ["wakeup", "wallclock --interval 10ms", "delay --delay 20us --method nanosleep"] {
        if line == "wakeup" && ontick_rt::cpus::allowed().len() < 2 {
            continue;
        }
        let words: Vec<&str> = ["latency"].into_iter().chain(line.split(' ')).collect();
        let more = ["--count", "30", "--policy", "other", "--samples", file.to_str().unwrap()];
        let output = run(&[&words[..], &more].concat());
        assert!(output.status.success(), "{line}: {}", stderr(&output));
        let text = fs::read_to_string(&file).unwrap();
        assert_eq!(text.lines().count(), 31, "{line}: {text}");
    }
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640, "as every file that is replaced");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_cannot_be_is_refused_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let refused = |more: &[&str], words: &[&str]| fails(&[&["latency", "timer"], more].concat(), words);
    refused(&["--samples", &path("samples.json")], &["samples.json", ".csv or in .arrow"]);
    refused(&["--samples", &path("none/samples.csv")], &["none/samples.csv", "No such file"]);
    refused(&["--samples", &path("a.csv"), "--record", &path("a.csv")], &["--record and --samples name the same file"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Rows would be mixed with the result, and a file that the shell made for it be replaced.
#[test]
fn standard_output_and_standard_error_are_for_other_things() {
    let job = ["latency", "timer", "--count", "10", "--policy", "other", "--samples"];
    let refused = ["standard output", "name a file, or a FIFO"];
    fails(&[&job[..], &["/dev/stdout", "--json"]].concat(), &refused);
    fails(&[&job[..], &["/dev/stderr"]].concat(), &["standard error"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("all.csv");
    for name in ["/dev/stdout", "/proc/self/fd/1", file.to_str().unwrap()] {
        fs::write(&file, "before\n").unwrap();
        let appended = fs::File::options().append(true).open(&file).unwrap();
        let output = ontick(&[&job[..], &[name]].concat()).stdout(appended).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", stderr(&output));
        assert!(refused.iter().all(|word| stderr(&output).contains(word)), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(&file).unwrap(), "before\n", "{name}");
    }
    let nowhere = fs::File::options().write(true).open("/dev/null").unwrap();
    assert!(ontick(&[&job[..], &["/dev/null"]].concat()).stdout(nowhere).output().unwrap().status.success());
}

#[test]
fn a_disk_that_fills_costs_the_file_and_not_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "cd {}; mkdir small; mount -t tmpfs -o size=32k none small; \
         job='latency timer --method clock_nanosleep --interval 200us --count 3000 --policy other --cpu any --phase chance'; \
         ontick $job --record run.json --samples small/samples.csv || echo status $?; ls -A small; ls -A",
        folder.path().display()
    );
    let Some(output) = with_mounts(&script) else { return };
    let (text, said) = (stdout(&output), stderr(&output));
    let (shown, names) = text.split_once("status 2\n").unwrap_or_else(|| panic!("{text}{said}"));
    assert!(shown.contains("clock_nanosleep") && shown.contains("p99"), "the table is shown: {shown}");
    assert_eq!(names, "run.json\nsmall\n", "no half of a file");
    assert!(said.contains("small/samples.csv: No space left"), "{said}");
}

/// Of a run that ended by itself, the first signal is about the file; of one that a signal ended, the second.
#[test]
fn a_reader_that_does_not_read_keeps_no_result_back_and_a_signal_gives_the_file_up() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, kept, shown) = (folder.path().join("pipe"), folder.path().join("run.json"), folder.path().join("shown"));
    mknodat(CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
    let _reader = fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let job = ["latency", "timer", "--interval", "100us", "--policy", "other", "--cpu", "any", "--phase", "chance"];
    for (length, signals) in [("1s", &[Signal::TERM][..]), ("1h", &[Signal::INT, Signal::TERM])] {
        let _ = fs::remove_file(&kept);
        let files = ["--samples", pipe.to_str().unwrap(), "--record", kept.to_str().unwrap(), "--duration", length];
        let mut command = ontick(&[&job[..], &files].concat());
        let child = command.stdout(fs::File::create(&shown).unwrap()).stderr(Stdio::piped()).spawn().unwrap();
        let (pid, mut signals) = (child.id(), signals.iter());
        if signals.len() > 1 {
            crate::wait_until("the handler", || crate::catches_interrupt(pid));
            // Long enough that the pipe is full.
            std::thread::sleep(std::time::Duration::from_secs(2));
            crate::send(pid, *signals.next().unwrap());
        }
        let table = || fs::read_to_string(&shown).unwrap();
        crate::wait_until("the result", || kept.exists() && table().contains("p99"));
        // Until it waits for the file alone.
        std::thread::sleep(std::time::Duration::from_secs(1));
        crate::send(pid, *signals.next().unwrap());
        let output = child.wait_with_output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{length}: {said}");
        assert!(said.contains(&format!("ontick: {} was given up", pipe.display())), "{length}: {said}");
    }
}
