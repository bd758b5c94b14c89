use proptest::prelude::*;

use super::recover::recover_lines;
use super::*;
use crate::histogram::Bucket;
use crate::run::{Outlier, RoundTrips, Series, Settings};

fn journal(dir: &Path) -> (PathBuf, Journal) {
    let mut run = Run::new("ontick 0.1.0", "timer");
    run.series.push(Series { name: "hybrid".into(), ..Default::default() });
    let path = dir.join("run.json");
    let journal = Journal::create(&path, &run).unwrap();
    (path_for(&path), journal)
}

fn second(n: u64) -> Added {
    Added {
        duration_ns: n * 1_000_000_000,
        buckets: vec![Bucket { low_ns: 400, width_ns: 4, count: 1000 }],
        min_ns: Some(401),
        max_ns: Some(402),
        mean_ns: Some(400.0 + n as f64),
        second_max_ns: 402,
        outliers: vec![Outlier { at_ns: n, latency_ns: 402, cause: None }],
        ..Added::default()
    }
}

#[test]
fn cut_anywhere_it_loses_only_the_last_line() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    (1..=3).for_each(|n| journal.append(&second(n)).unwrap());
    let text = std::fs::read_to_string(path).unwrap();
    let first_line = text.find('\n').unwrap() + 1;
    for end in first_line..=text.len() {
        let run = recover(&text[..end]).unwrap();
        // A line that lacks nothing but its newline is whole.
        let whole = text[..end].matches('\n').count() - 1;
        let seconds = run.series[0].latency.count() / 1000;
        assert!(
            seconds as usize == whole || serde_json::from_str::<Added>(text[..end].lines().last().unwrap()).is_ok()
        );
        assert!(run.interrupted);
    }
    let run = recover(&text).unwrap();
    assert_eq!(
        (run.series[0].latency.count(), run.duration_ns, run.series[0].outliers.len()),
        (3000, 3_000_000_000, 3)
    );
}

#[test]
fn causes_are_counted_by_the_outliers_that_bear_them() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    let named = |cause: &str| CauseName { cause: cause.into(), detail: format!("of {cause}") };
    let outlier = |latency_ns, cause| Outlier { at_ns: 1, latency_ns, cause };
    journal.append(&Added { causes: vec![named("steal")], outliers: vec![outlier(30, Some(0))], ..second(1) }).unwrap();
    let later = vec![outlier(50, Some(1)), outlier(70, Some(0)), outlier(20, Some(1)), outlier(9, Some(7))];
    journal.append(&Added { causes: vec![named("softirq")], outliers: later, ..second(2) }).unwrap();
    let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
    let series = &run.series[0];
    let reported: Vec<_> =
        series.causes.iter().map(|c| (c.cause.as_str(), c.count, c.share, c.p50_ns, c.max_ns, c.sum_ns)).collect();
    assert_eq!(reported, [("steal", 2, 0.5, 70, 70, 100), ("softirq", 2, 0.5, 50, 50, 70)]);
    assert_eq!(series.causes[1].detail, "of softirq");
    assert_eq!(series.outliers.iter().find(|outlier| outlier.latency_ns == 9).unwrap().cause, None);
}

#[test]
fn a_journal_left_behind_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let (path, journal) = journal(dir.path());
    drop(journal);
    let error = Journal::create(&dir.path().join("run.json"), &Run::new("t", "m")).err().unwrap().to_string();
    assert!(error.contains("then remove it"), "{error}");
    assert!(path.exists());
    let absent = |record: &str| check_absent(&dir.path().join(record)).map_err(|error| error.to_string());
    assert_eq!((absent("run.json"), absent("other.json")), (Err(error), Ok(())), "and this is known before");
}

#[test]
fn a_mean_of_no_samples_gives_way_to_that_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    journal.append(&Added { mean_ns: Some(7.0), buckets: Vec::new(), ..second(1) }).unwrap();
    journal.append(&second(2)).unwrap();
    let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(run.series[0].latency.mean_ns, Some(402.0));
}

#[test]
fn counts_of_requests_are_those_of_all_seconds() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    let counts = |sent, overdue| RoundTrips { sent, answered: sent - 3, overdue, ..RoundTrips::default() };
    journal.append(&Added { round_trips: Some(counts(100, 1)), ..second(1) }).unwrap();
    journal.append(&second(2)).unwrap();
    journal.append(&Added { round_trips: Some(counts(50, 2)), ..second(3) }).unwrap();
    let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
    let all = run.series[0].round_trips.clone().unwrap();
    assert_eq!((all.sent, all.answered, all.overdue, all.lost()), (150, 144, 3, 3));
}

/// As a search for gaps that finds none, or none any more.
#[test]
fn a_line_without_samples_tells_how_long_the_run_went_on() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    let nothing = |seconds: u64| Added { duration_ns: seconds * 1_000_000_000, ..Added::default() };
    let recovered = || recover(&std::fs::read_to_string(&path).unwrap()).unwrap();
    (1..=3).for_each(|n| journal.append(&nothing(n)).unwrap());
    assert_eq!((recovered().duration_ns, recovered().series[0].latency.count()), (3_000_000_000, 0));
    journal.append(&second(4)).unwrap();
    journal.append(&nothing(9)).unwrap();
    let run = recovered();
    assert_eq!((run.duration_ns, run.series[0].maxima.max_ns.as_slice()), (9_000_000_000, &[402][..]));
}

#[test]
fn means_of_seconds_are_weighed_by_their_samples() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    for (count, mean_ns) in [(1, 400.0), (2, 403.0), (3, 410.0)] {
        let buckets = vec![Bucket { low_ns: 400, width_ns: 4, count }];
        journal.append(&Added { buckets, mean_ns: Some(mean_ns), ..second(1) }).unwrap();
    }
    let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(run.series[0].latency.mean_ns, Some((400.0 + 2.0 * 403.0 + 3.0 * 410.0) / 6.0));
}

#[test]
fn a_deviation_of_seconds_is_that_of_all_their_samples() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    // 2, 4, 4, 4 and 5, 5, 7, 9 us.
    for (mean_ns, square) in [(3_500.0, 0.75f64), (6_500.0, 2.75)] {
        let buckets = vec![Bucket { low_ns: 400, width_ns: 4, count: 4 }];
        let std_dev_ns = Some(square.sqrt() * 1e3);
        journal.append(&Added { buckets, mean_ns: Some(mean_ns), std_dev_ns, ..second(1) }).unwrap();
    }
    let run = recover(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let deviation = run.series[0].latency.std_dev_ns.unwrap();
    assert!((deviation - 2_000.0).abs() < 1e-6, "{deviation}");
    // A second from a program that kept none.
    journal.append(&second(1)).unwrap();
    let run = recover(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!((run.series[0].latency.std_dev_ns, run.series[0].latency.mean_ns.is_some()), (None, true));
}

#[test]
fn a_line_without_end_is_refused_before_it_fills_the_memory() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    journal.append(&second(1)).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let longest = text.lines().map(str::len).max().unwrap() as u64 + 1;
    assert_eq!(recover_lines(text.as_bytes(), longest), recover(&text));
    let why = recover_lines(text.as_bytes(), longest - 1).unwrap_err();
    assert!(why.to_string().contains("a line is longer than"), "{why}");
}

#[test]
fn a_damaged_line_in_the_middle_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    (1..=3).for_each(|n| journal.append(&second(n)).unwrap());
    let text = std::fs::read_to_string(path).unwrap().replacen("duration_ns\":2", "duration_ns\":x", 1);
    assert!(recover(&text).unwrap_err().to_string().contains("line 3"));
}

#[test]
fn the_run_in_a_journal_is_checked_as_a_record_is() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = journal(dir.path());
    let text = std::fs::read_to_string(path).unwrap();
    assert!(recover(&text.replace("ontick-run/1", "ontick-run/9")).unwrap_err().to_string().contains("ontick-run/9"));
    let unsorted = text.replace("\"buckets\":[]", "\"buckets\":[[400,4,7],[300,4,7]]");
    assert!(recover(&unsorted).unwrap_err().to_string().contains("ascending"));
}

/// A journal that no disk slows down, where the machine has memory for files.
fn fast_folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// A second of a method that sleeps, at 1 kHz: each wake-up is an outlier, and they spread over 50 buckets.
fn sleeping_second(n: u64) -> Added {
    let latency_ns = |i: u64| 50_000 + (n * 1000 + i).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 40_000;
    let outliers = (0..1000).map(|i| Outlier {
        at_ns: n * 1_000_000_000 + i * 1_000_000,
        latency_ns: latency_ns(i),
        cause: Some((i % 2) as u32),
    });
    let causes = ["steal", "softirq"].map(|cause| CauseName { cause: cause.into(), detail: String::new() });
    Added {
        duration_ns: (n + 1) * 1_000_000_000,
        buckets: (0..50).map(|i| Bucket { low_ns: 50_000 + i * 800, width_ns: 800, count: 20 }).collect(),
        min_ns: Some(50_000),
        max_ns: Some(90_000),
        mean_ns: Some(70_000.0),
        second_max_ns: 90_000,
        outliers: outliers.collect(),
        outlier_count: 1000,
        causes: if n == 0 { causes.to_vec() } else { Vec::new() },
        ..Added::default()
    }
}

#[test]
fn a_day_of_a_sleeping_method_stays_small_and_is_recovered() {
    const SECONDS: u64 = 86_400;
    let dir = fast_folder();
    let (path, mut journal) = journal(dir.path());
    let mut largest = 0;
    for n in 0..SECONDS {
        journal.append(&sleeping_second(n)).unwrap();
        largest = largest.max(journal.length);
    }
    // Killed: nothing more is written.
    drop(journal);
    assert!(largest < 16 << 20, "{largest} bytes");
    assert!(std::fs::metadata(&path).unwrap().len() <= largest);
    let run = crate::store::read(&path).unwrap();
    let series = &run.series[0];
    assert_eq!((run.duration_ns, run.interrupted), (SECONDS * 1_000_000_000, true));
    assert_eq!((series.latency.count(), series.outlier_count), (SECONDS * 1000, SECONDS * 1000));
    assert_eq!((series.latency.min_ns, series.latency.max_ns), (Some(50_000), Some(90_000)));
    assert_eq!(series.maxima.max_ns.len() as u64, SECONDS);
    assert!((1000..=2000).contains(&series.outliers.len()), "{}", series.outliers.len());
    assert!(series.outliers.iter().any(|outlier| outlier.latency_ns >= 89_990), "the worst are there");
    let causes: Vec<_> = series.causes.iter().map(|cause| (cause.cause.as_str(), cause.count, cause.share)).collect();
    assert_eq!(causes, [("steal", SECONDS * 500, 0.5), ("softirq", SECONDS * 500, 0.5)]);
    // Of all, not of the worst.
    assert!(series.causes.iter().all(|cause| (65_000..75_000).contains(&cause.p50_ns)), "{:?}", series.causes);
}

#[test]
fn what_a_full_disk_did_not_take_comes_when_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let (path, mut journal) = journal(dir.path());
    journal.append(&second(1)).unwrap();
    let before = std::fs::read(&path).unwrap();
    journal.file = File::options().write(true).open("/dev/full").unwrap();
    let error = journal.append(&second(2)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(std::fs::read(&path).unwrap() == before, "what is there stays");
    journal.append(&second(3)).unwrap();
    journal.append(&second(4)).unwrap();
    let run = recover(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!((run.series[0].latency.count(), run.series[0].outliers.len()), (4000, 4));
}

#[test]
fn a_journal_with_all_outliers_is_read_as_ever() {
    let dir = tempfile::tempdir().unwrap();
    let (path, _) = journal(dir.path());
    let mut text = std::fs::read_to_string(path).unwrap();
    for n in 0..5 {
        text += &(serde_json::to_string(&sleeping_second(n)).unwrap() + "\n");
    }
    let run = recover(&text).unwrap();
    assert_eq!((run.series[0].outlier_count, run.series[0].causes[1].count), (5000, 2500));
    assert!(run.series[0].outliers.len() <= 2000);
}

proptest! {
    #[test]
    fn any_text_is_answered(text in "(\\{\"journal\":)?.{0,64}\n?.{0,32}") {
        let _ = recover(&text);
    }
}

#[test]
fn a_run_that_was_killed_says_how_it_was_measured() {
    let dir = tempfile::tempdir().unwrap();
    let mut run = Run::new("ontick 0.1.0", "timer");
    run.series.push(Series { name: "hybrid".into(), ..Default::default() });
    run.series[0].settings.load = "cpu".into();
    let mut journal = Journal::create(&dir.path().join("run.json"), &run).unwrap();
    let settings = Settings { method: "hybrid".into(), interval_ns: 1_000_000, cpu: Some(3), ..Settings::default() };
    journal.append(&Added { settings: Some(Box::new(settings.clone())), ..Added::default() }).unwrap();
    journal.append(&second(1)).unwrap();
    let kept = recover(&std::fs::read_to_string(journal.path()).unwrap()).unwrap();
    assert_eq!(kept.series[0].settings, Settings { load: "cpu".into(), ..settings });
    assert_eq!(kept.series[0].maxima.max_ns.len(), 1, "what is told of the thread is no second");
}
