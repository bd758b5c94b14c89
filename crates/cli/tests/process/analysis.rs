//! Many records as one Arrow table: programs of others read it, and find what the records and `compare` say.

use std::fs;
use std::path::{Path, PathBuf};

use ontick_record::{Environment, Histogram, Run, Series, store};
use serde_json::Value;

use crate::judges::{python_runs, python_with, said};
use crate::{run, stderr, stdout};

const KERNELS: [&str; 3] = ["6.1.0-18-amd64", "6.12.1-rt", "6.18.0"];
const METHODS: [&str; 2] = ["hybrid", "clock_nanosleep"];
/// Before the day in the page, and since.
const WEEKS: [&str; 2] = ["2026-11-10T08:00:00Z", "2026-11-18T08:00:00Z"];

/// Latencies with a tail, each series' its own, by a linear congruential generator.
fn latency(seed: u64) -> Histogram {
    let mut histogram = Histogram::default();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..20_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = state >> 33;
        let tail_ns = if random % 977 == 0 { random % 60_000 } else { 0 };
        histogram.add((500 + seed * 40 + random % 1_000 + tail_ns) / 16 * 16, 16, 1);
    }
    // Within the last bucket, as an exact largest value is.
    histogram.max_ns = histogram.max_ns.map(|ns| ns - 5);
    histogram
}

fn one_run(kernel: usize, week: usize) -> Run {
    let series = |place: usize| {
        let mut series = Series { name: METHODS[place].into(), missed: 2, ..Series::default() };
        series.latency = latency((kernel * 10 + week * 3 + place) as u64);
        series.settings.method = METHODS[place].into();
        series
    };
    let machine = format!("board {kernel}");
    let environment = Environment { kernel: KERNELS[kernel].into(), machine, ..Default::default() };
    Run {
        started: WEEKS[week].into(),
        environment: Some(environment),
        series: (0..METHODS.len()).map(series).collect(),
        ..Run::new("ontick 0.1.0", "timer")
    }
}

/// A record of each kernel in each week, with its file.
fn records(folder: &Path) -> Vec<(PathBuf, Run)> {
    let of_kernel = |kernel| (0..WEEKS.len()).map(move |week| (kernel, week));
    let all = (0..KERNELS.len()).flat_map(of_kernel).map(|(kernel, week)| {
        let (path, run) = (folder.join(format!("{kernel}-{week}.json")), one_run(kernel, week));
        fs::write(&path, store::text(&run)).unwrap();
        (path, run)
    });
    all.collect()
}

/// The records and their table in a folder.
fn gathered(folder: &Path) -> (Vec<(PathBuf, Run)>, PathBuf) {
    let (records, table) = (records(folder), folder.join("all.arrow"));
    let files = records.iter().map(|(path, _)| path.to_str().unwrap());
    let words: Vec<&str> = ["report"].into_iter().chain(files).chain(["--arrow", table.to_str().unwrap()]).collect();
    let output = run(&words);
    assert!(output.status.success() && output.stdout.is_empty(), "{}", stderr(&output));
    (records, table)
}

/// What a program in Python prints as JSON.
fn printed_by(python: &str, program: &str, arguments: &[&str]) -> Value {
    let output = python_runs(python, program, arguments, "");
    assert!(output.status.success(), "{program}: {}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)))
}

const WITH_PYARROW: &str = "
import json, sys, pyarrow.ipc
with pyarrow.ipc.open_file(sys.argv[1]) as file: table = file.read_all()
table.validate(full=True)
assert all(field.metadata[b'description'] for field in table.schema), table.schema
assert table.schema.field('p99_ns').metadata[b'unit'] == b'ns'
assert table.schema.metadata[b'ontick'] == b'ontick-series/1'
assert str(table.schema.field('started').type) == 'timestamp[ns, tz=UTC]', table.schema
print(json.dumps(table.to_pylist(), default=str))
";
const WITH_POLARS: &str = "
import json, sys, polars
frame = polars.read_ipc(sys.argv[1])
assert frame.equals(polars.scan_ipc(sys.argv[1]).collect())
print(json.dumps(frame.to_dicts(), default=str))
";

#[test]
fn pyarrow_and_polars_find_what_the_records_say() {
    let folder = tempfile::tempdir().unwrap();
    let (records, table) = gathered(folder.path());
    for (module, program) in [("pyarrow", WITH_PYARROW), ("polars", WITH_POLARS)] {
        let Some(python) = python_with(module) else { continue };
        let rows = printed_by(&python, program, &[table.to_str().unwrap()]);
        let mut rows = rows.as_array().unwrap().iter();
        for (path, run) in &records {
            for series in &run.series {
                let row = rows.next().expect("a row for each series");
                let latency = &series.latency;
                let machine = run.environment.as_ref().unwrap();
                assert_eq!(row["file"], path.to_str().unwrap());
                assert_eq!((&row["kernel"], &row["machine"]), (&(*machine.kernel).into(), &(*machine.machine).into()));
                assert_eq!((&row["series"], &row["method"]), (&(*series.name).into(), &(*series.name).into()));
                assert!(row["started"].as_str().unwrap().replace(' ', "T").starts_with(&run.started[..19]));
                for (name, q) in [("p50_ns", 0.5), ("p99_ns", 0.99), ("p99_9_ns", 0.999), ("p99_99_ns", 0.9999)] {
                    assert_eq!(row[name].as_u64(), latency.quantile(q), "{module}: {name}");
                }
                assert_eq!((row["min_ns"].as_u64(), row["max_ns"].as_u64()), (latency.min_ns, latency.max_ns));
                assert_eq!((row["samples"].as_u64(), row["missed"].as_u64()), (Some(latency.count()), Some(2)));
                assert_eq!(row["share_below_3us"].as_f64(), Some(series.share_in_time(3_000)));
                // Nothing tells these.
                assert!(row["mean_ns"].is_null() && row["loaded"].is_null() && row["width_buckets"].is_null(), "{row}");
                assert_eq!((&row["interrupted"], &row["tuned"]), (&false.into(), &Value::Array(Vec::new())));
                let buckets = row["buckets"].as_array().unwrap().iter();
                let buckets = buckets.map(|b| ["low_ns", "high_ns", "count"].map(|name| b[name].as_u64().unwrap()));
                assert!(buckets.eq(latency.buckets().iter().map(|b| [b.low_ns, b.high_ns(), b.count])), "{module}");
            }
        }
        assert!(rows.next().is_none());
    }
}

/// Blocks of the page in a language.
fn blocks(language: &str) -> Vec<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/analysis.md");
    let page = fs::read_to_string(page).unwrap();
    let opening = format!("```{language}\n");
    page.split(&opening).skip(1).filter_map(|rest| rest.split("```").next()).map(String::from).collect()
}

const WITH_DUCKDB: &str = "
import json, sys, duckdb, pyarrow.dataset
runs = pyarrow.dataset.dataset(sys.argv[1], format='ipc')
print(json.dumps(duckdb.sql(sys.argv[2]).fetchall(), default=float))
";

#[test]
fn duckdb_answers_the_pages_questions_as_ontick_would() {
    let folder = tempfile::tempdir().unwrap();
    let (records, table) = gathered(folder.path());
    let Some(python) = python_with("duckdb, pyarrow.dataset") else { return };
    let queries = blocks("sql");
    let answers = |query: &str| -> Vec<Vec<Value>> {
        serde_json::from_value(printed_by(&python, WITH_DUCKDB, &[table.to_str().unwrap(), query])).unwrap()
    };
    let [worst, changed] = &queries[..] else { panic!("the page has two queries") };

    let mut expected = Vec::new();
    for (kernel, weeks) in KERNELS.iter().zip(records.chunks(WEEKS.len())) {
        for (place, method) in METHODS.iter().enumerate() {
            let mut both = Histogram::default();
            weeks.iter().for_each(|(_, run)| both.merge(&run.series[place].latency));
            expected.push((*kernel, *method, both.quantile(0.9999).unwrap()));
        }
    }
    expected.sort_by_key(|(.., ns)| std::cmp::Reverse(*ns));
    let found = answers(worst);
    let found =
        found.iter().map(|row| (row[0].as_str().unwrap(), row[1].as_str().unwrap(), row[2].as_f64().unwrap() as u64));
    assert_eq!(found.collect::<Vec<_>>(), expected);

    let found = answers(changed);
    assert_eq!(found.len(), KERNELS.len() * METHODS.len());
    assert!(found.is_sorted_by(|a, b| a[4].as_f64() >= b[4].as_f64()), "{found:?}");
    for (kernel, weeks) in records.chunks(WEEKS.len()).enumerate() {
        let files = [0, 1].map(|week| weeks[week].0.to_str().unwrap());
        let compared: Value = serde_json::from_str(&stdout(&run(&["compare", files[0], files[1], "--json"]))).unwrap();
        let pairs = compared["against"][0]["pairs"].as_array().unwrap();
        assert_eq!(pairs.len(), METHODS.len(), "{compared}");
        for pair in pairs {
            let (machine, series) = (Value::from(format!("board {kernel}")), &pair["before"]);
            let row = found.iter().find(|row| row[0] == machine && &row[1] == series);
            let row = row.unwrap_or_else(|| panic!("{machine} {series}: {found:?}"));
            assert_eq!(row[4].as_f64(), pair["p99"]["ratio"].as_f64(), "{row:?} {pair}");
        }
    }
}

#[test]
fn the_pages_programs_run() {
    let folder = tempfile::tempdir().unwrap();
    gathered(folder.path());
    let Some(python) = python_with("duckdb, polars, pyarrow.dataset") else { return };
    let programs = blocks("python");
    assert_eq!(programs.len(), 2);
    for program in programs {
        let there = format!("import os; os.chdir({:?})\n{program}", folder.path());
        let output = python_runs(&python, &there, &[], "");
        assert!(output.status.success() && stdout(&output).contains("0-1.json"), "{}", said(&output));
    }
}

#[test]
fn the_page_names_every_column() {
    let folder = tempfile::tempdir().unwrap();
    let (_, table) = gathered(folder.path());
    let Some(python) = python_with("pyarrow") else { return };
    let program = "import json, sys, pyarrow.ipc; print(json.dumps(pyarrow.ipc.open_file(sys.argv[1]).schema.names))";
    let names = printed_by(&python, program, &[table.to_str().unwrap()]);
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/analysis.md")).unwrap();
    let (_, columns) = page.split_once("## Columns").unwrap();
    let missing =
        names.as_array().unwrap().iter().filter(|name| !columns.contains(&format!("`{}`", name.as_str().unwrap())));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
    assert!(names.as_array().unwrap().len() > 60);
}

#[test]
fn one_file_that_cannot_be_read_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let (records, table) = gathered(folder.path());
    let before = fs::read(&table).unwrap();
    let bad = folder.path().join("bad.json");
    fs::write(&bad, "{\"schema\":\"ontick-run/1\"").unwrap();
    for bad in [&bad, &folder.path().join("gone.json")] {
        let bad = bad.to_str().unwrap();
        let words = ["report", records[0].0.to_str().unwrap(), bad, records[1].0.to_str().unwrap()];
        for (to, there) in [(&table, Some(&before)), (&folder.path().join("new.arrow"), None)] {
            let output = run(&[&words[..], &["--arrow", to.to_str().unwrap()]].concat());
            assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(2), ""));
            assert!(stderr(&output).starts_with(&format!("ontick: {bad}: ")), "{}", stderr(&output));
            assert_eq!(fs::read(to).ok().as_ref(), there);
        }
    }
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, records.len() + 2, "the records, the table, the bad file");
}

#[test]
fn several_files_are_for_the_table_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (records, table) = gathered(folder.path());
    let files = [0, 1].map(|n| records[n].0.to_str().unwrap());
    for more in [&[][..], &["--html", "x.html"], &["--arrow", "x.arrow", "--as", "json"]] {
        let output = run(&[&["report"], &files[..], more].concat());
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(stderr(&output).contains("--arrow"), "{}", stderr(&output));
    }
    // One is a table, too, beside all else.
    let output = run(&["report", files[0], "--as", "rows", "--arrow", table.to_str().unwrap()]);
    assert!(output.status.success() && stdout(&output).contains("0us:"), "{}", stderr(&output));
    assert!(fs::read(&table).unwrap().ends_with(b"ARROW1"));
}

#[test]
fn memory_does_not_grow_with_the_number_of_records() {
    let folder = tempfile::tempdir().unwrap();
    let (record, table) = (folder.path().join("run.json"), folder.path().join("all.arrow"));
    // Half a megabyte in the table.
    let mut run = one_run(0, 0);
    run.series.truncate(1);
    (0..20_000).for_each(|ns| run.series[0].latency.add(1_000_000 + ns, 1, 1));
    fs::write(&record, store::text(&run)).unwrap();
    let (few, many) = (peak_kib(&record, 4, &table), peak_kib(&record, 80, &table));
    assert!(fs::metadata(&table).unwrap().len() > 80 * 480_000);
    assert!(many < few + 15_000, "{few} KiB and {many} KiB");
}

/// The largest resident set of a run with so many records.
fn peak_kib(record: &Path, count: usize, table: &Path) -> i64 {
    let mut command = crate::ontick(&["report"]);
    #[allow(clippy::zombie_processes, reason = "wait4 waits for it")]
    let child = command.args(vec![record; count]).arg("--arrow").arg(table).spawn().unwrap();
    let mut status = 0;
    // SAFETY: a structure of numbers, and a child of this process that nobody else waits for.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::wait4(child.id() as i32, &mut status, 0, &mut usage), child.id() as i32);
        usage
    };
    assert_eq!(status, 0);
    usage.ru_maxrss
}
