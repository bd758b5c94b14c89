//! Records: written safely, read back in every form, and distinguished from other files.

use std::fs;

use rustix::process::Signal;

use crate::errors::fails;
use crate::{ontick, record, run, samples, send, stderr, stdout, wait_until};

#[test]
fn a_record_reads_back_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let path = path.to_str().unwrap();
    let measured = run(&["latency", "timer", "--count", "100", "--record", path]);
    assert!(measured.status.success(), "{}", stderr(&measured));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "neither journal nor temporary file may stay");

    let again = run(&["report", path]);
    assert_eq!(stdout(&again), stdout(&measured));
    for (format, word) in [
        ("plot", "┤"),
        ("uncertainty", "reading the clock"),
        ("rows", "0us:"),
        ("cyclictest", "# Histogram"),
        ("hlog", "Tag=hybrid,0.000,"),
        ("openmetrics", "# EOF"),
        ("json", "ontick-run/1"),
    ] {
        let output = run(&["report", path, "--as", format]);
        assert!(output.status.success() && stdout(&output).contains(word), "{format}: {}", stdout(&output));
    }
    for (option, begin) in [("--svg", &b"<svg"[..]), ("--png", b"\x89PNG"), ("--html", b"<!DOCTYPE")] {
        let file = folder.path().join("file");
        let output = run(&["report", path, option, file.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        let written = fs::read(&file).unwrap();
        assert!(written.starts_with(begin), "{option}: {:?}", String::from_utf8_lossy(&written[..20]));
    }
    let compared = run(&["compare", path, path]);
    assert!(stdout(&compared).contains("p99"), "{}", stdout(&compared));
}

/// What a report is made of is worth more than the report.
#[test]
fn no_file_is_replaced_that_is_read_or_written_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let [own, link, other, network] =
        ["own.json", "link", "other", "network.toml"].map(|name| folder.path().join(name).display().to_string());
    let foreign = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/fixtures/cyclictest.hist");
    assert!(run(&["import", foreign, "--to", &own]).status.success());
    fs::write(&network, "[[stream]]\n").unwrap();
    std::os::unix::fs::symlink(&own, &link).unwrap();
    let before = fs::read(&own).unwrap();
    let replaced = format!("{own} is read, and --html would replace it");
    fails(&["report", &own, "--html", &own], &[&replaced]);
    fails(&["report", &own, "--html", &link], &[&replaced]);
    fails(&["compare", foreign, &own, "--html", &own], &[&replaced]);
    fails(&["import", &own, "--to", &own], &["--to would replace it"]);
    fails(&["network", "plan", &network, "--out", &network], &["--out would replace it"]);
    fails(&["report", &own, "--svg", &other, "--html", &other], &["--html and --svg name the same file"]);
    let timer = ["latency", "timer", "--count", "10", "--record", &other, "--html"];
    fails(&[&timer[..], &[&other]].concat(), &["--record and --html name the same file"]);
    let dotted = format!("{}/./other", folder.path().display());
    fails(&[&timer[..], &[&dotted]].concat(), &["--record and --html name the same file"]);
    assert_eq!(fs::read(&own).unwrap(), before);
    assert!(!fs::exists(&other).unwrap());
    let output = run(&["report", &own, "--html", "/dev/null", "--svg", "/dev/null"]);
    assert!(output.status.success(), "a device takes what comes: {}", stderr(&output));
}

#[test]
fn comparisons_and_imports_are_there_for_machines() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.json");
    let foreign = concat!(env!("CARGO_MANIFEST_DIR"), "/../record/tests/fixtures/cyclictest.hist");
    let own = own.to_str().unwrap();

    let imported = run(&["import", foreign, "--to", own, "--json"]);
    assert!(samples(&record(&imported)["series"][0]) > 0);
    assert_eq!(imported.stdout, fs::read(own).unwrap());
    fails(&["import", own], &[&format!("{own} is a record already: ontick report {own} shows it")]);

    let compared = record(&run(&["compare", foreign, own, foreign, "--json"]));
    assert_eq!(compared["before"], foreign);
    let against = compared["against"].as_array().unwrap();
    assert_eq!(against.iter().map(|a| a["after"].as_str().unwrap()).collect::<Vec<_>>(), [own, foreign]);
    assert_eq!(
        (&against[0]["pairs"][0]["p50"]["ratio"], &against[0]["only_before"]),
        (&1.0.into(), &serde_json::json!([]))
    );
}

#[test]
fn a_killed_run_loses_at_most_its_last_second() {
    let folder = tempfile::tempdir().unwrap();
    let (path, journal) = (folder.path().join("run.json"), folder.path().join("run.json.journal"));
    let mut child = ontick(&[
        "latency",
        "timer",
        "--method",
        "clock_nanosleep",
        "--duration",
        "1h",
        "--record",
        path.to_str().unwrap(),
    ])
    .spawn()
    .unwrap();
    let lines = || fs::read_to_string(&journal).map(|text| text.lines().count()).unwrap_or(0);
    wait_until("three seconds in the journal", || lines() >= 4);
    child.kill().unwrap();
    child.wait().unwrap();

    // A line without samples, where the machine stood still, is none of a second.
    let is_second = |line: &&str| line.starts_with("{\"series\"") && !line.contains("\"buckets\":[]");
    let seconds = fs::read_to_string(&journal).unwrap().lines().filter(is_second).count();
    let recovered = record(&run(&["report", journal.to_str().unwrap(), "--as", "json"]));
    assert_eq!(recovered["interrupted"], true);
    assert_eq!(recovered["series"][0]["maxima"]["max_ns"].as_array().unwrap().len(), seconds);
    let acted = samples(&recovered["series"][0]) + recovered["series"][0]["missed"].as_u64().unwrap();
    // Each line is written when its second is over, so it has that second's thousand cycles.
    assert!(acted >= seconds as u64 * 900, "{acted} samples in {seconds} s");
    assert!(!path.exists());
}

/// No gap is a result, which needs the time that was watched.
#[test]
fn a_killed_search_for_gaps_that_found_none_says_how_long_it_watched() {
    let folder = tempfile::tempdir().unwrap();
    let (path, journal) = (folder.path().join("run.json"), folder.path().join("run.json.journal"));
    let noise = ["latency", "noise", "--over", "20s", "--duration", "1h", "--policy", "other", "--record"];
    let mut child = ontick(&[&noise[..], &[path.to_str().unwrap()]].concat()).spawn().unwrap();
    let lines = || fs::read_to_string(&journal).map(|text| text.lines().count()).unwrap_or(0);
    // The first line behind the head says how it is measured, sooner than a second.
    wait_until("two seconds in the journal", || lines() >= 4);
    child.kill().unwrap();
    child.wait().unwrap();
    let recovered = record(&run(&["report", journal.to_str().unwrap(), "--as", "json"]));
    assert!(recovered["duration_ns"].as_u64().unwrap() >= 2_000_000_000, "{recovered}");
    let said = stdout(&run(&["report", journal.to_str().unwrap()]));
    assert!(said.contains("no gap was found") && said.contains("interrupted after"), "{said}");
}

#[test]
fn ctrl_c_ends_a_run_with_what_was_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (path, journal) = (folder.path().join("run.json"), folder.path().join("run.json.journal"));
    let child = ontick(&["latency", "timer", "--duration", "1h", "--record", path.to_str().unwrap()])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    // Before the first one a line may tell the time alone.
    let has_samples = |text: String| text.lines().skip(1).any(|line| !line.contains("\"buckets\":[]"));
    wait_until("a second in the journal", || fs::read_to_string(&journal).is_ok_and(has_samples));
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert!(stdout(&output).contains("hybrid"), "{}", stdout(&output));
    let run: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(run["interrupted"], true);
    assert!(samples(&run["series"][0]) > 500);
    assert!(!journal.exists());
}

#[test]
fn a_full_disk_is_reported_and_keeps_the_journal_out_of_the_way() {
    // /dev/full takes nothing: the record cannot be written when the run is over.
    let output = run(&["latency", "timer", "--count", "5", "--html", "/dev/full"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/dev/full"), "{}", stderr(&output));
    // A device has no journal beside it.
    assert_eq!(run(&["latency", "timer", "--count", "5", "--record", "/dev/full"]).status.code(), Some(2));
    assert!(!std::path::Path::new("/dev/full.journal").exists());
}

#[test]
fn a_run_that_is_ended_before_it_began_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("run.json");
    let child =
        ontick(&["latency", "timer", "--interval", "1h", "--duration", "2h", "--record", record.to_str().unwrap()])
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
    wait_until("the journal", || folder.path().join("run.json.journal").exists());
    send(child.id(), Signal::INT);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("before anything was measured"), "{}", stderr(&output));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
