//! Formats that other programs read: rows, cyclictest's histogram, OpenMetrics.

#[path = "../../record/tests/judges/mod.rs"]
mod judges;
mod sample;

use std::collections::BTreeSet;

use ontick_report::{Style, cyclictest_hist, html, openmetrics, rows};

#[test]
fn a_summary_has_no_rows_beyond_which_samples_lie() {
    let mut run = ontick_record::Run::new("cyclictest", "timer");
    let mut series = ontick_record::Series::default();
    (series.latency.overflow, series.latency.max_ns) = (1_000, Some(41_000));
    run.series.push(series);
    let text = cyclictest_hist(&run, None);
    assert!(text.ends_with("# Max Latencies: 00041\n") && !text.contains("Overflow"), "{text}");
    let shown = ontick_report::text::summary(&run, &Style::default());
    assert!(!shown.contains("beyond the last bucket"), "{shown}");
    let page = html(&run);
    assert!(!page.contains("by percentile"), "nothing is drawn");
    run.series[0].latency.add(5_000, 1, 1);
    assert!(cyclictest_hist(&run, None).contains("# Histogram Overflows: 01000"));
    assert!(ontick_report::text::summary(&run, &Style::default()).contains("beyond the last bucket"));
    assert!(html(&run).contains("by percentile"));
}

#[test]
fn rows_count_every_sample() {
    let run = sample::single();
    let text = rows(&run);
    let mut sum = 0;
    for line in text.lines() {
        let (first, counts) = line.split_once("us: ").unwrap();
        assert_eq!(first.parse::<u64>().unwrap() % 10, 0, "{line}");
        let counts: Vec<u64> = counts.split(' ').map(|n| n.parse().unwrap()).collect();
        assert_eq!(counts.len(), 10, "{line}");
        sum += counts.iter().sum::<u64>();
    }
    assert_eq!(sum, run.series[0].latency.count());
}

/// What the plot scripts for cyclictest do: the maximum by its line, then columns by tab.
#[test]
fn a_plot_script_reads_the_histogram() {
    let run = sample::prove();
    let text = cyclictest_hist(&run, None);
    let max = text.lines().filter(|l| l.contains("Max Latencies")).flat_map(|l| l.split(' '));
    let max = max.filter_map(|word| word.parse::<u64>().ok()).max().unwrap();
    assert_eq!(max, run.series.iter().filter_map(|s| s.latency.max_ns).max().unwrap() / 1_000);
    let data: Vec<String> =
        text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| l.replace(' ', "\t")).collect();
    assert_eq!(data.len() as u64, max + 1);
    for (column, series) in run.series.iter().enumerate() {
        let sum: u64 = data.iter().map(|l| l.split('\t').nth(column + 1).unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(sum, series.latency.count());
    }
    assert!(data[0].starts_with("000000\t000000"));
}

/// As of a cyclictest histogram whose last lines were lost, and of one that some samples exceed by nobody knows how much.
#[test]
fn an_unknown_maximum_is_read_back_as_nothing_wrong() {
    let mut run = ontick_record::Run::new("cyclictest", "timer");
    let mut series = ontick_record::Series::default();
    series.latency.add(3_000, 1_000, 90);
    series.latency.add(7_000, 1_000, 10);
    (series.latency.min_ns, series.latency.max_ns) = (None, None);
    run.series.push(series);
    let read = |run: &ontick_record::Run| {
        let text = cyclictest_hist(run, None);
        let back = ontick_record::import::read(&text, "x", None).unwrap_or_else(|e| panic!("{e}: {text}"));
        let latency = back.series.into_iter().next().unwrap().latency;
        (latency.count(), latency.min_ns, latency.max_ns, latency.quantile(0.5), latency.quantile(0.99))
    };
    assert_eq!(read(&run), (100, Some(3_000), Some(7_999), Some(3_999), Some(7_999)));
    run.series[0].latency.overflow = 5;
    assert_eq!(read(&run), (105, Some(3_000), None, Some(3_999), None));
    run.series[0].latency.max_ns = Some(95_000);
    assert_eq!(read(&run), (105, Some(3_000), Some(95_999), Some(3_999), Some(95_999)));
}

#[test]
fn rows_beyond_the_histogram_are_overflows() {
    let run = sample::prove();
    let text = cyclictest_hist(&run, Some(50));
    assert_eq!(text.lines().filter(|l| !l.starts_with('#')).count(), 50);
    let numbers = |start: &str| -> Vec<u64> {
        let line = text.lines().find(|l| l.starts_with(start)).unwrap();
        line[start.len()..].split(' ').map(|n| n.parse().unwrap()).collect()
    };
    let (total, over) = (numbers("# Total: "), numbers("# Histogram Overflows: "));
    for (i, series) in run.series.iter().enumerate() {
        assert_eq!(total[i] + over[i], series.latency.count());
    }
    assert!(over[0] > 0 && text.contains(&format!("# Thread 0: # {:05} others", over[0])), "{text}");
}

#[test]
fn nothing_in_a_record_begins_a_line_of_its_own() {
    let hist = cyclictest_hist(&sample::hostile(), None);
    let data = |l: &&str| !l.starts_with('#');
    assert!(hist.lines().filter(data).all(|l| l.chars().all(|c| c.is_ascii_digit() || c == ' ' || c == '\t')));
    assert_eq!(openmetrics(&sample::hostile()).lines().filter(|l| *l == "# EOF").count(), 1);
}

#[test]
fn metrics_are_well_formed() {
    for run in [sample::prove(), sample::methods(), sample::hostile(), sample::explained()] {
        let text = openmetrics(&run);
        judges::openmetrics(&text);
        assert!(text.ends_with("# EOF\n"));
        let (mut family, mut families, mut seen) = (String::new(), BTreeSet::new(), BTreeSet::new());
        for line in text.lines().filter(|l| *l != "# EOF") {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                family = rest.split(' ').next().unwrap().into();
                assert!(families.insert(family.clone()), "{family} twice");
            } else if line.starts_with("# ") {
                assert!(line.contains(&family), "{line}");
            } else {
                let (metric, value) = line.rsplit_once(' ').unwrap();
                assert!(metric.starts_with(&family) && metric.ends_with('}'), "{line}");
                assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
                assert!(seen.insert(metric.to_string()), "twice: {line}");
            }
        }
    }
}

#[test]
fn buckets_are_cumulative_and_end_in_all() {
    let run = sample::prove();
    let text = openmetrics(&run);
    for s in &run.series {
        let mark = format!("series=\"{}\"", s.name);
        let counts: Vec<u64> = text
            .lines()
            .filter(|l| l.starts_with("ontick_latency_seconds_bucket") && l.contains(&mark))
            .map(|l| l.rsplit_once(' ').unwrap().1.parse().unwrap())
            .collect();
        assert!(counts.len() > 20 && counts.is_sorted(), "{counts:?}");
        assert_eq!(*counts.last().unwrap(), s.latency.count());
    }
}

#[test]
fn two_series_of_one_name_stay_two_metrics() {
    let mut run = sample::single();
    run.series.push(run.series[0].clone());
    assert!(openmetrics(&run).contains("series=\"hybrid (2)\""));
}

#[test]
fn the_histogram_is_read_back_with_every_sample() {
    let run = sample::prove();
    let text = cyclictest_hist(&run, None);
    let back = ontick_record::import::read(&text, "prove.hist", None).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(back.series.len(), run.series.len());
    for (ours, theirs) in run.series.iter().zip(&back.series) {
        assert_eq!(ours.latency.count(), theirs.latency.count());
    }
    // One microsecond wide, and in the same microseconds: so the rows agree as well.
    let counts = |text: &str| text.lines().filter(|l| l.contains("us: ")).map(String::from).collect::<Vec<_>>();
    assert_eq!(counts(&rows(&run)), counts(&rows(&back)));
}
