//! A folder of records as the baseline of later runs: by several runs, with what changes from one to the next.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{run, stderr, stdout};

/// A record of 1 000 cycles, each so late.
fn record(folder: &Path, name: &str, latency_ns: u64) -> String {
    let mut run = ontick_record::Run::new("ontick 0.1.0", "timer");
    run.started = "2026-11-01T12:00:00Z".into();
    let mut series = ontick_record::Series { name: "hybrid".into(), ..Default::default() };
    series.latency.add(latency_ns, 1, 1_000);
    run.series.push(series);
    let path = folder.join(name);
    fs::write(&path, ontick_record::store::text(&run)).unwrap();
    path.to_str().unwrap().into()
}

fn records(folder: &Path, name: &str, latencies_ns: &[u64]) -> Vec<String> {
    latencies_ns.iter().enumerate().map(|(i, ns)| record(folder, &format!("{name}{i}"), *ns)).collect()
}

fn baseline(action: &str, folder: &Path, records: &[String], more: &[&str]) -> (Option<i32>, String, String) {
    let records: Vec<&str> = records.iter().map(String::as_str).collect();
    let output = run(&[&["baseline", action, folder.to_str().unwrap()], &records[..], more].concat());
    // As one line: a narrow terminal wraps sentences.
    let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    (output.status.code(), text, stderr(&output))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn later_runs_are_held_against_the_runs_of_the_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let of = |name: &str, all: &[u64]| records(temporary.path(), name, all);
    let folder = temporary.path().join("baseline");
    let (status, text, said) = baseline("save", &folder, &of("base", &[10_000, 11_800, 10_400]), &[]);
    assert!(status == Some(0) && text.matches("saved").count() == 3 && files(&folder).len() == 3, "{text}{said}");

    let require = ["--require", "p99 <= 1.3x"];
    let check = |new: &[u64], more: &[&str]| baseline("check", &folder, &of("new", new), &[&require, more].concat());
    let (status, text, _) = check(&[10_100, 11_500, 10_800], &[]);
    assert!(status == Some(0) && text.starts_with("met "), "{text}");
    let (status, text, _) = check(&[20_100, 21_500, 20_800], &[]);
    assert!(status == Some(1) && text.starts_with("not met "), "{text}");
    assert!(text.contains("20.1us to 21.5us in 3 runs, before 10us to 11.8us in 3 runs"), "{text}");
    let (status, text, _) = check(&[10_100, 11_500], &[]);
    assert!(status == Some(3) && text.contains("3 runs of each side would settle it"), "{text}");

    let junit = temporary.path().join("junit.xml");
    let (status, text, _) = check(&[20_100, 21_500, 20_800], &["--json", "--junit", junit.to_str().unwrap()]);
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((status, &json[0]["verdict"], &json[0]["runs"][0]), (Some(1), &"broken".into(), &3.into()));
    let junit = fs::read_to_string(junit).unwrap();
    assert!(
        junit.contains(r#"tests="1" failures="1" errors="0""#) && junit.contains("ontick baseline check"),
        "{junit}"
    );
}

#[test]
fn a_baseline_is_replaced_as_a_whole() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("baseline");
    baseline("save", &folder, &records(temporary.path(), "old", &[1, 2, 3]), &[]);
    fs::write(folder.join("README"), "mine").unwrap();
    let (status, _, said) = baseline("save", &folder, &records(temporary.path(), "new", &[2, 9]), &["--replace"]);
    assert!(status == Some(0) && files(&folder).len() == 3, "{said} {:?}", files(&folder));
    let (_, text, _) = baseline("save", &folder, &records(temporary.path(), "new", &[2]), &[]);
    assert!(text.starts_with("there "), "{text}");
}

#[test]
fn what_is_no_record_keeps_a_baseline_from_being_replaced() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("baseline");
    baseline("save", &folder, &records(temporary.path(), "old", &[1, 2]), &[]);
    let before = files(&folder);
    for (name, text) in [("package.json", "{\"name\":\"mine\"}"), ("notes.json", "mine")] {
        fs::write(folder.join(name), text).unwrap();
        let (status, _, said) = baseline("save", &folder, &records(temporary.path(), "new", &[9]), &["--replace"]);
        assert!(status == Some(2) && said.contains(name), "{said}");
        assert_eq!(files(&folder).len(), before.len() + 1);
        fs::remove_file(folder.join(name)).unwrap();
    }

    // A record of the folder itself stays what it is, also where ontick would write it in other words.
    let text = fs::read_to_string(&before[0]).unwrap().replace(',', ", ");
    let own = folder.join("own.json");
    fs::write(&own, &text).unwrap();
    let (status, text_of_save, said) = baseline("save", &folder, &[own.to_str().unwrap().into()], &["--replace"]);
    assert!(status == Some(0) && text_of_save.starts_with("there "), "{text_of_save}{said}");
    assert_eq!(files(&folder).len(), 1);
}

#[test]
fn what_is_of_another_job_or_nothing_at_all_is_refused() {
    let temporary = tempfile::tempdir().unwrap();
    let folder = temporary.path().join("baseline");
    let own = records(temporary.path(), "own", &[10_000]);
    let require = ["--require", "p99 <= 1.2x"];

    let (status, _, said) = baseline("check", &folder, &own, &require);
    assert!(status == Some(2) && said.contains("No such file"), "{said}");
    fs::create_dir(&folder).unwrap();
    let (status, _, said) = baseline("check", &folder, &own, &require);
    assert!(status == Some(2) && said.contains("no record is in this folder"), "{said}");

    baseline("save", &folder, &own, &[]);
    let (status, _, said) = baseline("check", &folder, &own, &require);
    assert!(status == Some(2) && said.contains("are the same run"), "{said}");
    let mut other = ontick_record::store::read(Path::new(&own[0])).unwrap();
    other.series[0].settings.interval_ns = 5;
    let path = temporary.path().join("other");
    fs::write(&path, ontick_record::store::text(&other)).unwrap();
    let other = [path.to_str().unwrap().to_owned()];
    for action in [baseline("check", &folder, &other, &require), baseline("save", &folder, &other, &[])] {
        let (status, _, said) = action;
        assert!(
            status == Some(2) && said.contains("the interval in ns of \"hybrid\" is \"0\" there and \"5\" here"),
            "{said}"
        );
    }
    assert_eq!(files(&folder).len(), 1);
    let new = records(temporary.path(), "new", &[10_500]);
    let (status, _, said) = baseline("check", &folder, &new, &[]);
    assert!(status == Some(2) && said.contains("--require"), "{said}");
}
