//! Captures that other programs wrote, held against what another program counts in them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ontick_record::capture::{self, Changes, Job, Rate, Subject};
use ontick_record::{Run, Series, store};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

fn measured(name: &str, subject: Subject, rate: Option<Rate>) -> Run {
    let file = File::open(path(name)).unwrap();
    let run = capture::read(file, name, None, &Job { subject, rate }).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(store::parse(&store::text(&run)).unwrap(), run, "{name}");
    run
}

fn intervals(channel: &str) -> Subject {
    Subject::Intervals { channel: Some(channel.into()) }
}

/// Each length of time in ns and how often it came, by series.
fn counted(run: &Run) -> Vec<(String, u64, u64)> {
    let rows = |series: &Series| {
        let what = series.name.rsplit(' ').next().unwrap().to_owned();
        series.latency.buckets().iter().map(move |b| (what.clone(), b.low_ns, b.count)).collect::<Vec<_>>()
    };
    let mut all: Vec<_> = run.series.iter().flat_map(rows).collect();
    all.sort();
    all
}

/// What `widths.py` counted, in samples of 24 MHz.
fn counts() -> Vec<(String, u64, u64)> {
    let text = fs::read_to_string(path("random.counts")).unwrap();
    let row = |line: &str| {
        let mut words = line.split(' ');
        let (what, samples, count) = (words.next()?, words.next()?.parse::<u64>().ok()?, words.next()?.parse().ok()?);
        Some((what.to_owned(), (samples * 1_000 + 12) / 24, count))
    };
    let mut all: Vec<_> = text.lines().map(|line| row(line).unwrap_or_else(|| panic!("{line}"))).collect();
    all.sort();
    assert!(all.len() > 20, "{all:?}");
    all
}

#[test]
fn what_another_program_counts_is_found_in_each_format() {
    let counts = counts();
    for name in ["random.sr", "random.vcd", "random.csv", "random-times.csv"] {
        let run = measured(name, intervals("D0"), None);
        assert_eq!(counted(&run), counts, "{name}");
        let instrument = run.instrument.unwrap();
        assert_eq!((instrument.rate_hz, instrument.resolution_ps), (Some(24_000_000), 41_667), "{name}");
        assert!(run.tool.contains("sigrok 0.5.2"), "{name}: {}", run.tool);
    }
}

/// sigrok-cli says the rate of samples without a format in a line of its own, amid what its output module writes.
#[test]
fn what_sigrok_cli_writes_of_raw_samples_is_read_with_its_rate() {
    let counts = counts();
    for (name, line) in [("random-raw.vcd", 0), ("random-raw.csv", 3)] {
        let text = fs::read_to_string(path(name)).unwrap();
        assert_eq!(text.lines().nth(line), Some("META samplerate: 24000000"), "{name}");
        let run = measured(name, intervals("0"), None);
        assert_eq!(counted(&run), counts, "{name}");
        assert_eq!(run.instrument.unwrap().rate_hz, Some(24_000_000), "{name}");
    }
}

#[test]
fn formats_agree_on_responses() {
    let subject =
        || Subject::Response { input: "D0".into(), output: "D1".into(), changes: Changes::Rising, inverse: false };
    let [first, others @ ..] = ["random.sr", "random.vcd", "random.csv", "random-times.csv"]
        .map(|name| measured(name, subject(), None).series.remove(0));
    assert!(first.latency.count() > 100 && first.missed > 10);
    for series in others {
        assert_eq!((&series.latency, series.missed), (&first.latency, first.missed));
    }
}

#[test]
fn pulses_of_a_session_are_held_against_what_was_asked_for() {
    let subject =
        Subject::Widths { channel: Some("D0".into()), width_ns: 100_000, period_ns: Some(1_000_000), inverse: false };
    let run = measured("pulses.sr", subject, None);
    let series = &run.series[0];
    assert_eq!((series.latency.count(), series.missed), (199, 1));
    assert_eq!(series.latency.buckets().iter().filter(|b| b.low_ns > 2_000).map(|b| b.count).sum::<u64>(), 2);
    assert_eq!(series.pulse.as_ref().unwrap().first.len(), 32);
}

#[test]
fn logic_2_says_no_rate_and_may_be_told() {
    let run = measured("logic2.csv", intervals("Channel 0"), None);
    assert_eq!(counted(&run)[..3], [99_875, 100_000, 100_125].map(|ns| ("high".to_owned(), ns, 1)));
    assert!(run.notes[0].contains("does not say at which rate"), "{:?}", run.notes);
    let rated = measured("logic2.csv", intervals("0"), Some(Rate::new(8_000_000)));
    assert_eq!((counted(&rated), rated.instrument.unwrap().resolution_ps), (counted(&run), 125_000));
}

#[test]
fn a_simulators_dump_is_read_with_what_is_undefined_in_it() {
    let subject = Subject::Response {
        input: "pulse".into(),
        output: "bench.answer".into(),
        changes: Changes::Both,
        inverse: false,
    };
    let run = measured("simulated.vcd", subject, None);
    assert_eq!(run.series[0].latency.buckets().iter().map(|b| (b.low_ns, b.count)).collect::<Vec<_>>(), [(2_500, 10)]);
    assert_eq!(run.tool, "Icarus Verilog");
    let run = measured("simulated.vcd", intervals("pulse"), None);
    let widths: Vec<_> = counted(&run).into_iter().filter(|(what, ..)| what == "high").collect();
    assert_eq!(widths, [("high".into(), 100_000, 4), ("high".into(), 112_000, 1)]);
}
