//! `report --fleet`: records in folders of machines, in text, page, JSON and Arrow.

use std::fs;
use std::path::Path;

use ontick_record::{Environment, Run, Series, store};
use serde_json::Value;

use crate::{ontick, run, stderr, stdout};

/// Sixteen machines in two weeks; half get a kernel in the second that makes them three times as late, and one is broken.
fn lay(folder: &Path) {
    for machine in 0..16u64 {
        for week in 0..2u64 {
            let moved = week == 1 && machine < 8;
            let kernel = if moved { "6.12.57" } else { "6.12.25" };
            let mut run = Run::new("ontick", "timer");
            run.started = ["2026-11-10T02:00:00Z", "2026-11-17T02:00:00Z"][week as usize].into();
            run.environment =
                Some(Environment { machine: "Board <1>".into(), kernel: kernel.into(), ..Environment::default() });
            let mut series = Series { name: "hybrid".into(), missed: 1, ..Series::default() };
            let times = if moved { 3 } else { 1 } * if machine == 15 { 40 } else { 1 };
            series.latency.add(1_000, 1, 9_000);
            series.latency.add((10_000 + machine * 10) * times, 1, 1_000);
            run.series.push(series);
            let of = folder.join(format!("pi-{machine}"));
            fs::create_dir_all(&of).unwrap();
            fs::write(of.join(format!("{week}.json")), store::text(&run)).unwrap();
        }
    }
}

fn surveyed(place: &str) -> Value {
    let output = run(&["report", "--fleet", place, "--as", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_fleet_is_ranked_compared_and_searched_for_machines_apart() {
    let folder = tempfile::tempdir().unwrap();
    let records = folder.path().join("records");
    lay(&records);
    fs::write(records.join("pi-3/broken.json"), "{\"schema\":\"ontick-run/1\"").unwrap();
    let place = records.to_str().unwrap();
    let survey = surveyed(place);
    assert_eq!(
        (&survey["schema"], &survey["records"], &survey["machines"]),
        (&"ontick-fleet/1".into(), &32.into(), &16.into())
    );
    assert_eq!(survey["refused"]["files"], 1);
    let job = &survey["jobs"][0];
    assert_eq!(job["weeks"], serde_json::json!(["2026-W46", "2026-W47"]));
    let [worse, same] = &job["shifts"].as_array().unwrap()[..] else { panic!("{}", job["shifts"]) };
    assert_eq!((&worse["verdict"], &worse["machines"], &worse["ratio"]), (&"worse".into(), &8.into(), &3.0.into()));
    assert_eq!((&same["verdict"], &same["machines"]), (&"no-worse".into(), &8.into()));
    let [apart] = &job["outlying"].as_array().unwrap()[..] else { panic!("{}", job["outlying"]) };
    assert_eq!(apart["machine"], "pi-15");
    // All records of a kind together, as `compare` and `report` have one.
    let groups = job["groups"].as_array().unwrap();
    let samples = |group: &Value| crate::samples(group);
    assert_eq!(groups.iter().map(samples).sum::<u64>(), 320_000);

    let output = run(&["report", "--fleet", place]);
    let text = stdout(&output);
    for words in
        ["32 records of 16 machines", "kernel 6.12.25 → 6.12.57", "×3.00", "pi-15", "not read: ", "broken.json"]
    {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(surveyed(&records.join("*/*.json").to_string_lossy()), survey, "a pattern finds the same");

    let (page, table) = (folder.path().join("fleet.html"), folder.path().join("all.arrow"));
    let files = ["--html", page.to_str().unwrap(), "--arrow", table.to_str().unwrap()];
    let output = run(&[["report", "--fleet", place].as_slice(), &files].concat());
    assert!(output.status.success() && stdout(&output).is_empty(), "{}", stderr(&output));
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Board &lt;1&gt;") && page.contains("Week by week") && page.contains("pi-15"), "{page}");
    assert!(fs::read(table).unwrap().starts_with(b"ARROW1"));
}

#[test]
fn kinds_whose_kernels_differ_at_their_end_have_rows_that_differ() {
    let folder = tempfile::tempdir().unwrap();
    let kernels = ["6.12.95+deb13-cloud-amd64 (PREEMPT_DYNAMIC)", "6.12.95+deb13-cloud-amd65 (PREEMPT_DYNAMIC)"];
    for (n, kernel) in kernels.iter().enumerate() {
        let mut run = Run::new("ontick", "timer");
        let machine = "Raspberry Pi 4 Model B Rev 1.4".into();
        run.environment = Some(Environment { machine, kernel: (*kernel).into(), ..Environment::default() });
        let mut series = Series::from("hybrid".to_owned());
        series.latency.add(1_000, 1, 9_000);
        run.series.push(series);
        let file = folder.path().join(format!("pi-{n}/a.json"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, store::text(&run)).unwrap();
    }
    for columns in ["80", "200"] {
        let words = ["report", "--fleet", folder.path().to_str().unwrap()];
        let text = stdout(&ontick(&words).env("COLUMNS", columns).output().unwrap());
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(kernels.iter().all(|kernel| words.contains(kernel)), "{text}");
        let width = columns.parse().unwrap();
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn cycles_in_time_are_those_of_the_report_and_what_nobody_counted_is_a_dash() {
    let folder = tempfile::tempdir().unwrap();
    let of = |machine: &str, tool: &str, change: &dyn Fn(&mut Series)| {
        let mut run = Run::new(tool, "timer");
        let mut series = Series::from("hybrid".to_owned());
        change(&mut series);
        run.series.push(series);
        let file = folder.path().join(machine).join("a.json");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, store::text(&run)).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let place = folder.path().to_str().unwrap();
    // The last two columns of the first row below the head; a name may have a line of its own.
    let last_row = |args: &[&str]| {
        let text = stdout(&run(&[&["report"], args].concat()));
        let below = text.lines().skip_while(|line| !line.contains("< 3us")).skip(1);
        let columns =
            below.map(|line| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>());
        let row = columns.into_iter().find(|row| row.len() > 5).unwrap_or_else(|| panic!("{text}"));
        [row[row.len() - 2].to_owned(), row[row.len() - 1].to_owned()]
    };
    let early = of("pi-1", "ontick", &|series| {
        series.latency.add(0, 1, 1_000);
        (series.early, series.missed) = (600, 24);
    });
    assert_eq!(last_row(&["--fleet", place]), ["39.06%", "24"]);
    assert_eq!(last_row(&[&early]), ["39.06%", "24"]);
    let group = &surveyed(place)["jobs"][0]["groups"][0];
    assert_eq!((&group["cycles"], &group["in_time"], &group["missed"]), (&1_024.into(), &400.into(), &24.into()));

    let summary = of("pi-2", "cyclictest", &|series| {
        (series.latency.overflow, series.latency.max_ns) = (1_000, Some(41_000));
    });
    assert_eq!(last_row(&["--fleet", place]), ["—", "—"]);
    assert_eq!(last_row(&[&summary]), ["—", "—"]);
    let group = &surveyed(place)["jobs"][0]["groups"][0];
    assert_eq!((&group["in_time"], &group["missed"]), (&Value::Null, &Value::Null));
}

#[test]
fn what_is_no_fleet_is_refused_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().to_str().unwrap().to_owned();
    let refused = |words: &[&str], why: &str| {
        let output = run(&[["report"].as_slice(), words].concat());
        assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    };
    refused(&["--fleet", &place], "there is no file whose name ends with .json");
    refused(&["--fleet", &format!("{place}/*.json")], "no file is named so");
    refused(&["--fleet", &format!("{place}/none")], "No such file or directory");
    refused(&["--fleet", &place, "--as", "rows"], "of a fleet there is a summary or --as json");
    let picture = folder.path().join("a.picture");
    refused(&["--fleet", &place, "--svg", picture.to_str().unwrap()], "of a fleet there is no picture");
    #[cfg(feature = "png")]
    refused(&["--fleet", &place, "--png", picture.to_str().unwrap()], "of a fleet there is no picture");
    refused(&["--fleet", &place, "--plot", "latency", "--svg", "a.svg"], "cannot be used with");
    fs::write(folder.path().join("package.json"), "{}").unwrap();
    let table = folder.path().join("all.arrow");
    refused(&["--fleet", &place, "--arrow", table.to_str().unwrap()], "none of the 1 files is a record");
    assert!(!table.exists(), "nothing is left of a table that was not made");
}
