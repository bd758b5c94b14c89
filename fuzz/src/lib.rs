//! What must hold of everything that was read, from wherever.

use ontick_machine::boot::{Argument, BootFile};
use ontick_record::capture::{self, Changes, Job, Rate, Subject};
use ontick_record::import;
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
        requirement.parse::<ontick_record::Requirement>().unwrap().judge(&run.series);
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

/// Measures a capture in every way, by the name of its format.
pub fn must_measure(bytes: &[u8], format: &str) {
    let format = format.parse().expect("there is such a format");
    let first = || Some("0".to_owned());
    for rate in [None, Some(Rate::new(24_000_000))] {
        for subject in [
            Subject::Intervals { channel: first() },
            Subject::Widths { channel: first(), width_ns: 1_000, period_ns: Some(5_000), inverse: false },
            Subject::Period { channel: first(), period_ns: 5_000, inverse: true },
            Subject::Response { input: "0".into(), output: "1".into(), changes: Changes::Both, inverse: false },
        ] {
            match capture::read(std::io::Cursor::new(bytes), "file", Some(format), &Job { subject, rate }) {
                Ok(run) => must_be_sound(&run),
                Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            }
        }
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
