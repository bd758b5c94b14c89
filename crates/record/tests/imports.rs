//! What other tools wrote, read from real output (fixtures/README.md says how it was made).

use std::path::{Path, PathBuf};

use ontick_record::import::{self, Format};
use ontick_record::{Run, hlog, store};
use proptest::prelude::*;

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn fixture(name: &str) -> String {
    std::fs::read_to_string(fixture_path(name)).unwrap()
}

fn fixtures() -> Vec<(String, String)> {
    let folder = std::fs::read_dir(fixture_path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = folder.map(|name| name.into_string().unwrap()).filter(|name| name != "README.md");
    names.map(|name| (fixture(&name), name)).map(|(text, name)| (name, text)).collect()
}

fn read(name: &str) -> Run {
    store::read_any(&fixture_path(name)).unwrap()
}

/// Count, overflow, minimum, maximum, mean in whole ns.
fn figures(run: &Run, series: usize) -> (u64, u64, Option<u64>, Option<u64>, Option<u64>) {
    let h = &run.series[series].latency;
    (h.count(), h.overflow, h.min_ns, h.max_ns, h.mean_ns.map(|m| m as u64))
}

fn names(run: &Run) -> Vec<&str> {
    run.series.iter().map(|s| s.name.as_str()).collect()
}

fn has_note(run: &Run, part: &str) -> bool {
    run.notes.iter().any(|note| note.contains(part))
}

#[test]
fn every_fixture_is_recognised_and_reads() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 13, "the fixtures are missing");
    for (name, text) in fixtures {
        let formats: Vec<Format> = Format::all().filter(|format| name.starts_with(&format.to_string())).collect();
        assert_eq!(import::detect(&text), formats.last().copied(), "{name}");
        let run = import::read(&text, &name, None).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(run, read(&name));
        assert_eq!(run, store::parse(&store::text(&run)).unwrap(), "{name} as a record");
        assert!(has_note(&run, &format!("imported from {name}")) && run.series.iter().all(|s| s.latency.count() > 0));
        let microseconds = run.series.iter().all(|s| s.latency.max_ns.is_none_or(|max_ns| max_ns % 1_000 == 999));
        assert_eq!(has_note(&run, "whole microseconds"), microseconds, "{name}");
    }
}

#[test]
fn a_cyclictest_histogram_file() {
    let run = read("cyclictest.hist");
    assert_eq!(names(&run), ["thread 0", "thread 1"]);
    assert_eq!((run.tool.as_str(), run.measurement.as_str()), ("cyclictest", "timer"));
    let (text, run) = (fixture("cyclictest.hist"), &run);
    for thread in 0..2 {
        // By hand: the rows as cyclictest printed them, against the buckets.
        let rows = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()).map(|l| {
            let figures: Vec<u64> = l.split_whitespace().map(|w| w.parse().unwrap()).collect();
            (figures[0] * 1_000, 1_000, figures[thread + 1])
        });
        let rows: Vec<_> = rows.filter(|(_, _, count)| *count > 0).collect();
        let buckets: Vec<_> = run.series[thread].latency.buckets().iter().map(|b| (*b).into()).collect();
        assert_eq!(rows, buckets);
        let sum: u64 = rows.iter().map(|(low, _, count)| low * count).sum();
        assert_eq!(figures(run, thread).4, Some(sum / 1_000));
    }
    assert_eq!(figures(run, 0).0, 1_000);
}

#[test]
fn a_histogram_that_some_samples_exceed() {
    let run = read("cyclictest-overflow.txt");
    assert_eq!(figures(&run, 0), (1_000, 3, Some(11_000), Some(173_999), Some(19_000)));
    assert_eq!(figures(&run, 1), (991, 3, Some(14_000), Some(3_733_999), Some(28_000)));
    assert_eq!(run.series[1].latency.quantile(0.999), Some(3_733_999));
}

#[test]
fn the_column_of_sums_is_no_thread() {
    let run = read("cyclictest-histofall.txt");
    assert_eq!(names(&run), ["thread 0", "thread 1"]);
    assert_eq!(figures(&run, 0).0, 60);
    let settings = &run.series[1].settings;
    assert_eq!((settings.interval_ns, settings.policy.as_str()), (1_000_000, "fifo:90"));
    assert_eq!(run.series[0].conditions.load_average, Some([0.18, 0.79, 0.55]));
}

#[test]
fn a_summary_is_no_histogram() {
    let run = read("cyclictest-summary.txt");
    assert_eq!(figures(&run, 0), (1_999, 1_999, Some(14_000), Some(500_999), Some(18_000)));
    assert_eq!(figures(&run, 1), (1_000, 1_000, Some(14_000), Some(115_999), Some(21_000)));
    assert_eq!((run.series[0].settings.interval_ns, run.series[1].settings.interval_ns), (500_000, 1_000_000));
    assert_eq!(run.series[0].latency.quantile(0.5), None);
    assert!(has_note(&run, "thread 0, thread 1: only count"));
}

#[test]
fn a_line_quoted_in_a_mail() {
    let text = "> policy: rr: loadavg: 0.2 0.1 0.0 1/88 3\n>\n> T: 0 ( 976) P:80 I:500 C: 100000 Min: 23 Act: 40 Avg: 37 Max: 95\n";
    let run = import::read(text, "mail", None).unwrap();
    assert_eq!(figures(&run, 0), (100_000, 100_000, Some(23_000), Some(95_999), Some(37_000)));
    assert_eq!((run.series[0].settings.policy.as_str(), run.series[0].settings.interval_ns), ("rr:80", 500_000));
}

#[test]
fn nanoseconds_are_recognised() {
    assert_eq!(figures(&read("cyclictest-nanoseconds.txt"), 0), (80, 80, Some(7_361), Some(27_120), Some(16_184)));
    let run = read("cyclictest-nanoseconds.json");
    let h = &run.series[0].latency;
    assert_eq!((h.count(), h.overflow, h.min_ns), (60, 2, h.buckets().first().map(|b| b.low_ns)));
    assert!(h.buckets().iter().all(|b| b.width_ns == 1) && h.max_ns > Some(40_000));
    let run = read("jitterdebugger-nanoseconds.json");
    assert_eq!((run.series[0].latency.count(), run.series[0].latency.buckets()[0].width_ns), (60, 1));
    // A histogram alone does not show it.
    let reported = import::read(&fixture("cyclictest.hist"), "x", "cyclictest-ns".parse().ok()).unwrap();
    let taken = read("cyclictest.hist");
    assert_eq!(reported.series[0].latency.min_ns.map(|ns| ns * 1_000), taken.series[0].latency.min_ns);
}

#[test]
fn cyclictest_json_tells_how_it_ran() {
    let run = read("cyclictest.json");
    assert_eq!((run.tool.as_str(), run.started.as_str()), ("cyclictest 2.40", "2026-11-21T08:07:41Z"));
    assert_eq!(run.duration_ns, 1_000_000_000);
    assert_eq!(figures(&run, 0), (980, 980, Some(11_000), Some(563_999), Some(20_090)));
    let settings = &run.series[1].settings;
    assert_eq!((settings.method.as_str(), settings.clock.as_str()), ("clock_nanosleep (relative)", "realtime"));
    assert_eq!((settings.policy.as_str(), settings.interval_ns, settings.cpu), ("rr:20", 1_500_000, Some(1)));
    let environment = run.environment.unwrap();
    assert_eq!((environment.kernel.as_str(), environment.architecture.as_str()), ("6.18.44", "x86_64"));
    let run = read("cyclictest-histogram.json");
    let h = &run.series[0].latency;
    assert!(h.overflow > 0 && !h.buckets().is_empty() && h.max_ns > Some(40_000));
    assert!(run.series[0].settings.memory_locked && run.series[1].settings.interval_ns == 1_000_000);
}

#[test]
fn jitterdebugger_drops_what_is_above_a_millisecond() {
    let run = read("jitterdebugger-overflow.json");
    let dropped: u64 = run.series.iter().map(|s| s.latency.overflow).sum();
    assert!(dropped > 0 && has_note(&run, "samples are counted but not in the histogram"));
    let last = run.series.iter().find(|s| s.latency.overflow > 0).unwrap();
    assert!(last.latency.max_ns > Some(1_000_000));
    assert_eq!(last.latency.quantile(1.0), last.latency.max_ns);
    assert_eq!(last.settings.cpu, Some(1));
    // With -a 1 the one thread is called "0": its CPU is not known.
    let run = read("jitterdebugger.json");
    assert_eq!((names(&run), run.series[0].settings.cpu), (vec!["thread 0"], None));
    assert_eq!(run.series[0].latency.overflow, 0);
    assert_eq!(run.environment.unwrap().cpus_online, 2);
}

#[test]
fn jitterdebugger_that_does_not_count_what_it_drops() {
    let text = r#"{"cpu":{"0":{"histogram":{"3":2},"count":2,"min":3,"max":2500,"avg":3.0}}}"#;
    let run = import::read(text, "x", None).unwrap();
    assert!(has_note(&run, "the largest sample (2.5ms) is missing"), "{:?}", run.notes);
}

#[test]
fn rtla_columns_are_series() {
    let run = read("rtla-timerlat.txt");
    assert_eq!(names(&run), ["cpu 0 irq", "cpu 0 thread", "cpu 1 irq", "cpu 1 thread"]);
    assert_eq!(figures(&run, 1), (10_000, 0, Some(1_000), Some(19_999), Some(2_146)));
    assert_eq!((run.duration_ns, run.series[3].settings.cpu), (10_000_000_000, Some(1)));
    assert_eq!(run.series[1].latency.quantile(0.5), Some(2_999));

    let run = read("rtla-timerlat-user.txt");
    assert_eq!(names(&run)[2..4], ["cpu 1 user", "cpu 3 irq"]);
    assert_eq!(figures(&run, 2), (5_000, 1, Some(2_310), Some(51_007), Some(3_541)));
    assert_eq!(
        (run.series[2].latency.buckets()[0].low_ns, run.series[2].latency.buckets()[0].width_ns),
        (2_000, 1_000)
    );
    assert!(has_note(&run, "12 (0.12%) events missed") && has_note(&run, "1000 wide"));
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    let hist = fixture("cyclictest.hist");
    let rtla = fixture("rtla-timerlat.txt");
    for (text, words) in [
        (hist.replacen("000018 ", "000018x ", 1), ["line 20:", "\"000018x\" is not a number"]),
        (hist.replacen("000019 000", "000017 000", 1), ["line 21:", "row 17 follows row 18"]),
        (hist.replacen("# Total: 000001000", "# Total: 000000999", 1), ["line 52:", "a row is damaged"]),
        (hist.replacen("# Max Latencies:", "# Max: ", 1), ["line 60:", "cut off"]),
        (format!("{hist}{hist}"), ["line 61:", "one run at a time"]),
        (hist[..300].into(), ["line 15:", "cut off"]),
        (rtla.replacen("7             0 ", "7             ", 1), ["line 11:", "3 figures for 4 columns"]),
        (rtla.replacen("count:    10000", "count:    10001", 1), ["cpu 0 irq", "a row is damaged"]),
        (rtla.replacen("Index   IRQ-000", "        IRQ-000", 1), ["line 4:", "--no-index"]),
        (rtla[..rtla.find("over:").unwrap()].into(), ["line 13:", "cut off"]),
        (fixture("cyclictest.json").replacen("980", "x", 1), ["line 21:", "expected value"]),
        (fixture("cyclictest.json").replacen("980", "-4", 1), ["line 21:", "invalid value"]),
        (fixture("jitterdebugger.json")[..500].into(), ["line 27:", "cut off"]),
        ("T: 0 (1) P:80 I:500 C: 10 Min: 1 Avg: 1".into(), ["line 1:", "Max:"]),
        ("Dear diary\n".into(), ["not recognised", "cyclictest"]),
    ] {
        let error = import::read(&text, "x", None).unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}\nshould contain {words:?}");
        assert!(!error.contains('\n'));
    }
}

#[test]
fn an_early_sample_makes_the_maximum_unknown() {
    let text =
        fixture("cyclictest.hist").replacen("# Max Latencies: 00042", "# Max Latencies: 18446744073709551612", 1);
    assert!(text.contains("18446744073709551612"));
    let run = import::read(&text, "x", None).unwrap();
    assert_eq!((run.series[0].latency.max_ns, run.series[0].latency.count()), (None, 1_000));
    assert!(has_note(&run, "thread 0: a sample came before its time"));
}

#[test]
fn oslat_rounds_up_and_its_last_row_has_all_that_is_longer() {
    let run = read("oslat.json");
    assert_eq!((run.tool.as_str(), run.measurement.as_str()), ("oslat 2.40", "noise"));
    assert_eq!((names(&run), run.started.as_str()), (vec!["thread 0", "thread 1"], "2026-11-23T17:44:21Z"));
    let latency = &run.series[0].latency;
    let first = latency.buckets()[0];
    assert_eq!((first.low_ns, first.width_ns, first.count), (0, 1_000, 6_245_464));
    assert_eq!((latency.overflow, latency.min_ns, latency.max_ns), (64, Some(0), Some(67_225_999)));
    assert_eq!((run.series[1].settings.cpu, run.duration_ns), (Some(1), 1_006_000_000));
    let missing = fixture("oslat.json").replacen("\"min\": 1,", "", 1);
    let why = import::read(&missing, "x", None).unwrap_err().to_string();
    assert!(why.starts_with("looks like oslat 2.40, line ") && why.ends_with("the field \"min\" is missing"), "{why}");
}

#[test]
fn osnoises_figures_are_those_of_rows() {
    let run = read("rtla-osnoise.txt");
    assert_eq!((names(&run), run.measurement.as_str()), (vec!["cpu 0", "cpu 1"], "noise"));
    // The largest lies somewhere in the row from 30 us; on CPU 1 one is beyond the rows, and how long is not known.
    assert_eq!(figures(&run, 0), (4_429, 0, Some(0), Some(39_999), None));
    assert_eq!(figures(&run, 1), (4_717, 1, Some(0), None, None));
}

/// The only row begins at 0 and may be 1 or 100 us wide.
#[test]
fn rows_of_which_nothing_tells_the_width_bound_nothing() {
    let first = "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\n\
                 Index   CPU-000   CPU-001\n0          4298      4628\nover:         0         0\n\
                 count:     4298      4628\nmin:          0         0\navg:          0         0\nmax:          0         0\n";
    let run = import::read(first, "x", None).unwrap();
    assert_eq!(figures(&run, 0), (4_298, 4_298, Some(0), None, None));
    assert_eq!(run.series[1].latency.quantile(0.5), None);
    assert!(has_note(&run, "all samples are in the first row, whose width rtla does not say"));
    assert!(!has_note(&run, "maximum are known"));
    assert_eq!(run, store::parse(&store::text(&run)).unwrap());

    // Without its figures timerlat does not tell it either; with them it does.
    let timerlat = "Index   IRQ-000\n0   10\nover:   0\n";
    let run = import::read(timerlat, "x", None).unwrap();
    assert_eq!(figures(&run, 0), (10, 10, None, None, None));
    let run = import::read(&format!("{timerlat}count:   10\nmin:   1\navg:   2\nmax:   7\n"), "x", None).unwrap();
    assert_eq!((run.series[0].latency.quantile(0.5), figures(&run, 0).3), (Some(7_999), Some(7_999)));
}

#[test]
fn the_last_table_of_rtla_top_counts() {
    let run = read("rtla-top-timerlat.txt");
    assert_eq!(names(&run), ["cpu 0 irq", "cpu 0 thread", "cpu 1 irq", "cpu 1 thread"]);
    assert_eq!(figures(&run, 3), (1_997, 1_997, Some(2_000), Some(31_999), Some(10_000)));
    let run = read("rtla-top-osnoise.txt");
    assert_eq!((names(&run), run.measurement.as_str()), (vec!["cpu 0", "cpu 1"], "noise"));
    assert_eq!(figures(&run, 1), (59, 59, None, Some(8_092_999), Some(338_332_000 / 59)));
}

#[test]
fn hwlatdetect_counts_gaps_above_its_threshold() {
    let run = read("hwlatdetect.txt");
    assert_eq!(figures(&run, 0), (3, 0, Some(11_000), Some(27_999), Some(56_000 / 3)));
    let series = &run.series[0];
    assert_eq!((series.settings.outlier_threshold_ns, series.outlier_count), (10_000, 3));
    assert!(has_note(&run, "only gaps above the threshold of 10 us"));
    let quiet =
        fixture("hwlatdetect.txt").lines().filter(|l| !l.starts_with("ts:")).fold(String::new(), |a, l| a + l + "\n");
    let unlisted = import::read(&quiet, "x", None).unwrap();
    assert_eq!(figures(&unlisted, 0), (3, 3, None, Some(27_999), None));
    let none = quiet.replace("27us", "Below threshold").replace(": 3\n", ": 0\n");
    assert_eq!(figures(&import::read(&none, "x", None).unwrap(), 0), (0, 0, None, None, None));
}

#[test]
fn zyclictest_has_the_interrupt_and_the_thread() {
    let run = read("zyclictest.txt");
    assert_eq!(names(&run), ["irq", "thread"]);
    assert_eq!(figures(&run, 0), (1_000, 0, Some(2_000), Some(4_999), Some(2_021)));
    assert_eq!(figures(&run, 1).3, Some(7_999));
    let settings = &run.series[1].settings;
    assert_eq!((settings.interval_ns, settings.policy.as_str()), (400_000, "zephyr:-11"));
    let cut = fixture("zyclictest.txt").replace("  5         \t     0\t   590\n", "");
    let why = import::read(&cut, "x", None).unwrap_err().to_string();
    assert_eq!(
        why,
        "looks like zyclictest, thread: 410 samples are in the rows and 1000 were counted: rows are missing"
    );
    let quiet = fixture("zyclictest.txt").split("Histogram:").next().unwrap().to_owned();
    assert_eq!(
        figures(&import::read(&quiet, "x", None).unwrap(), 1),
        (1_000, 1_000, Some(4_000), Some(7_999), Some(5_000))
    );
}

#[test]
fn isochrons_summary_has_extremes_and_means() {
    let run = read("isochron.txt");
    assert_eq!(names(&run), ["Path delay", "Wakeup to HW TX timestamp", "Wakeup latency", "Arrival latency"]);
    let latency = &run.series[2].latency;
    assert_eq!((latency.min_ns, latency.max_ns, latency.mean_ns), (Some(5_230), Some(41_823), Some(6_120.75)));
    assert_eq!(latency.quantile(0.5), None);
    assert!(has_note(&run, "left out, as they go below 0: MAC latency"));
}

#[test]
fn a_log_of_histograms_reads_back() {
    let run = Run { simulated: Some("a line,\nsim:bench/17".into()), ..read("oslat.json") };
    let text = hlog::write(&run);
    assert!(text.contains("\n#[simulated: a line__sim:bench/17]\n"), "{text}");
    let back = import::read(&text, "x", None).unwrap();
    assert_eq!(
        (names(&back), &back.started, back.tool.as_str()),
        (vec!["thread_0", "thread_1"], &run.started, "HdrHistogram")
    );
    assert_eq!(back.duration_ns, run.duration_ns);
    for (back, run) in back.series.iter().zip(&run.series) {
        // What has no bucket cannot be written.
        assert_eq!(back.latency.count(), run.latency.count() - run.latency.overflow);
        assert_eq!(back.latency.below(1_000), run.latency.below(1_000));
    }
    assert!(has_note(&back, "values are taken to be ns"));
    let why = import::read(text.trim_end(), "x", None).unwrap_err().to_string();
    assert!(why.starts_with("looks like an HdrHistogram log, line ") && why.contains("cut off"), "{why}");
}

#[test]
fn a_tool_that_cannot_be_imported_is_named() {
    let text = fixture("oslat.json").replace("oslat --json", "/usr/bin/pmqtest --json");
    let why = import::read(&text, "x", None).unwrap_err().to_string();
    assert_eq!(why, "looks like pmqtest 2.40, whose output cannot be imported");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    assert!(store::read_any(file.path()).unwrap_err().to_string().contains("looks like pmqtest 2.40"));
}

#[test]
fn rows_without_comments_have_no_maximum() {
    let bare: String =
        fixture("cyclictest-overflow.txt").lines().filter(|l| !l.starts_with('#')).map(|l| format!("{l}\n")).collect();
    let run = import::read(&bare, "x", None).unwrap();
    assert_eq!(figures(&run, 0), (997, 0, Some(11_000), None, None));
    assert!(has_note(&run, "samples beyond its end are not known"));
}

#[test]
fn threads_without_samples_have_no_figures() {
    let text = r#"{"num_threads":1,"thread":{"0":{"histogram":{ },
        "cycles": 0, "min": 1000000, "max": 0, "avg": -nan, "cpu": -1}}}"#;
    let run = import::read(text, "x", None).unwrap();
    assert_eq!((figures(&run, 0), run.series[0].settings.cpu), ((0, 0, None, None, None), None));
    let rtla = fixture("rtla-timerlat.txt").replace("max:          4        19", "max:          4         -");
    assert_eq!(import::read(&rtla, "x", None).unwrap().series[1].latency.max_ns, Some(19_999), "from the rows");
}

#[test]
fn any_file_that_can_be_compared_reads() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    let with = |text: &str| {
        std::fs::write(&path, text).unwrap();
        store::read_any(&path).map_err(|e| e.to_string())
    };
    let run = read("cyclictest.hist");
    assert_eq!(with(&store::text(&run)).unwrap(), run);
    let journal = format!("{{\"journal\":\"ontick-journal/1\",\"run\":{}}}\n", store::text(&run).trim_end());
    assert!(with(&journal).unwrap().interrupted);
    for (text, word) in [
        ("Dear diary", "neither an ontick record nor output of hlog, rtla-timerlat"),
        ("", "the file is empty"),
        ("{}", "not an ontick record"),
        ("{\"schema\":\"ontick-run/9\"}", "ontick-run/9"),
        ("# Histogram\n000000 x\n", "line 2: \"x\" is not a number"),
    ] {
        let error = with(text).unwrap_err();
        assert!(error.contains(word) && error.contains("file"), "{error}");
    }
}

/// Samples of all series.
fn samples(run: &Run) -> u64 {
    run.series.iter().map(|s| s.latency.count()).sum()
}

#[test]
fn cut_anywhere_it_is_an_error_or_holds_no_more() {
    for (name, text) in fixtures() {
        let whole = samples(&import::read(&text, &name, None).unwrap());
        let format = import::detect(&text);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let cut = &text[..end];
            let formats = [format, import::detect(cut)];
            for format in formats.iter().take(if formats[0] == formats[1] { 1 } else { 2 }) {
                if let Ok(run) = import::read(cut, &name, *format) {
                    assert!(samples(&run) <= whole, "{name} cut at {end}");
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_answered(text in ".{0,200}", format in 0usize..12) {
        let _ = import::read(&text, "x", Format::all().nth(format));
    }

    #[test]
    fn lines_that_look_right_are_answered(
        lines in prop::collection::vec(
            "(# Histogram|# (Total|(Min|Avg|Max) Latencies|Histogram Overflows):( [0-9-]{1,20}){0,3}\
             |0000[0-9]{2}( [0-9]{6}){0,3}|T: [0-9]{1,20} \\([0-9]\\) P:[0-9]{1,2} I:9 C: *-?[0-9]{1,20} Min: *-?[0-9]{1,20} Max: [0-9]{1,20}\
             |Index(   (IRQ|Thr|Usr)-00[0-3]){1,2}|(over|count|min|avg|max): +([0-9-]{1,20} *){1,2}|[0-9]{1,20} +[0-9]{1,20} [0-9]{1,3})",
            0..12),
        format in 0usize..12,
    ) {
        let _ = import::read(&lines.join("\n"), "x", Format::all().nth(format));
        let _ = import::read(&(lines.join("\n") + "\n"), "x", Format::all().nth(format));
    }

    #[test]
    fn a_changed_byte_is_answered(at in 0.0f64..1.0, byte in 0u8..128, which in 0usize..20) {
        let (name, text) = fixtures().swap_remove(which);
        let mut bytes = text.into_bytes();
        let at = (at * bytes.len() as f64) as usize;
        bytes[at] = byte;
        if let Ok(run) = import::read(&String::from_utf8_lossy(&bytes), &name, None) {
            prop_assert_eq!(store::parse(&store::text(&run)).unwrap(), run);
        }
    }
}
