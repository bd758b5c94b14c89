//! What must hold of everything that was read, from wherever.

use ontick_machine::boot::{Argument, BootFile};
use ontick_record::capture::{self, Changes, Format, Job, Rate, Recorded, Subject};
use ontick_record::import;
use ontick_record::instrument_check::{self, Between, Interval};
use ontick_record::{Run, compare, store};

/// It can be asked for anything, compared, and written and read without loss.
pub fn must_be_sound(run: &Run) {
    for series in &run.series {
        let latency = &series.latency;
        let percentiles: Vec<_> = [0.0, 0.5, 0.999, 1.0].into_iter().filter_map(|q| latency.quantile(q)).collect();
        assert!(percentiles.is_sorted(), "{percentiles:?} of {}", series.name);
        assert!(latency.below(3_000) <= latency.count());
        let mut twice = latency.clone();
        twice.merge(latency);
        assert_eq!(twice.count(), latency.count().saturating_mul(2));
    }
    for requirement in ["99.9% < 3us", "p99 < 20us", "max <= 1ms", "mean < 1s", "missed = 0"] {
        requirement.parse::<ontick_record::Requirement>().unwrap().judge(run, &run.series);
    }
    let compared = compare::compare(run, run);
    assert!(compared.only_before.is_empty() && compared.only_after.is_empty());
    assert_eq!(store::parse(&store::text(run)).as_ref(), Ok(run));
}

/// Reads a text as the output of a tool, by the name of its format, or of whichever it seems to be from.
pub fn must_import(text: &str, format: Option<&str>) {
    let format = format.map(|name| name.parse().expect("there is such a format"));
    match import::read(text, "file", format) {
        Ok(run) => must_be_sound(&run),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

/// Measures a capture in one of eight ways, by the name of its format. Which one its octets choose: all eight would take
/// eight times as long, and nearly all of them see the same of the reader.
pub fn must_measure(bytes: &[u8], format: &str) {
    let format = format.parse().expect("there is such a format");
    let way = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    let rate = (way & 4 != 0).then(|| Rate::new(24_000_000));
    let first = Some("0".to_owned());
    let subject = match way & 3 {
        0 => Subject::Intervals { channel: first },
        1 => Subject::Widths { channel: first, width_ns: 1_000, period_ns: Some(5_000), inverse: false },
        2 => Subject::Period { channel: first, period_ns: 5_000, inverse: true },
        _ => Subject::Response { input: "0".into(), output: "1".into(), changes: Changes::Both, inverse: false },
    };
    match capture::read(std::io::Cursor::new(bytes), "file", Some(format), &Job { subject, rate }) {
        Ok(run) => must_be_sound(&run),
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
}

/// Keeps the edges of a capture, whatever format it is taken for.
pub fn must_keep_edges(bytes: &[u8]) {
    let one = ["0".to_owned()];
    let two = ["0".to_owned(), "1".to_owned()];
    for format in Format::ALL {
        for channels in [&[][..], &one, &two] {
            match capture::edges(std::io::Cursor::new(bytes), format, channels) {
                Ok(recorded) => must_be_comparable(&recorded),
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
    }
}

/// The edges are in order and counted, and a program's pulses can be held against them: here those that the first channel
/// has, on a clock that began earlier.
pub fn must_be_comparable(recorded: &Recorded) {
    const BEGAN_EARLIER_NS: u64 = 1_000_000_007;
    // More take their time, and tell nothing new.
    const MOST: usize = 10_000;
    for edges in &recorded.edges {
        assert!(edges.is_sorted_by_key(|edge| edge.at_ns));
        assert!(edges.last().is_none_or(|last| last.at_ns <= recorded.ends_ns));
    }
    let count: usize = recorded.edges.iter().map(Vec::len).sum();
    assert_eq!(recorded.instrument.edges, count as u64);
    let pulses = recorded.edges.first().into_iter().flat_map(|edges| edges.windows(2));
    let pulses = pulses.filter(|two| two[0].rising && !two[1].rising).map(|two| Interval {
        from_ns: two[0].at_ns.saturating_add(BEGAN_EARLIER_NS),
        ns: two[1].at_ns - two[0].at_ns,
        rising: true,
    });
    let own: Vec<Interval> = pulses.take(MOST).collect();
    if count > MOST {
        return;
    }
    for between in [Between::Pulse, Between::Response { inverse: false }] {
        let check = instrument_check::check("fuzz", &own, between, recorded);
        assert!(check.alignment.is_some() != check.unaligned.is_some(), "{check:?}");
        assert!(check.alignment.is_none_or(|alignment| alignment.matched <= check.own_edges));
    }
}

/// A kernel argument.
pub fn argument(key: &str, value: &str) -> Argument {
    Argument { key: key.into(), value: value.into(), why: "" }
}

/// Edited once it is as wanted, and nothing but lines that hold arguments has changed.
pub fn must_be_edited(file: BootFile, text: &str, wanted: &[Argument]) {
    let Ok(once) = file.with(text, wanted) else { return };
    assert_eq!(file.with(&once, wanted).as_ref(), Ok(&once), "{file:?}");
    assert!(wanted.iter().all(|argument| once.contains(&argument.text())), "{file:?}: {once:?}");
    let line_ends = |text: &str| text.matches("\r\n").count();
    assert!(line_ends(&once) >= line_ends(text), "{file:?}: {once:?}");
    let (before, after): (Vec<&str>, Vec<&str>) = (text.lines().collect(), once.lines().collect());
    let changed = before.iter().zip(&after).filter(|(a, b)| a != b).count();
    assert!(changed <= 1 && after.len() >= before.len(), "{file:?}: {once:?}");
}

/// A folder of this process's own, in memory where there is such a place: what is tried there is not for keeping.
pub fn folder() -> std::path::PathBuf {
    static FOLDER: std::sync::OnceLock<std::path::PathBuf> = std::sync::OnceLock::new();
    let make = || {
        let memory = std::path::Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
        let folder = above.join(format!("ontick-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder can be made");
        folder
    };
    FOLDER.get_or_init(make).clone()
}
