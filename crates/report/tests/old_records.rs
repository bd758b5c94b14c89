//! Records from before a series' case was kept beside its name load, and show the same.

use std::fs;
use std::path::{Path, PathBuf};

use ontick_record::{Case, Measurement, Side, store};
use ontick_report::text::{self, Style};

fn all() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect()
}

#[test]
fn records_of_every_kind_show_what_they_did() {
    assert_eq!(all().len(), 11);
    for path in all() {
        let run = store::read(&path).unwrap();
        assert!(!matches!(run.measurement, Measurement::Other(_)), "{}", run.measurement);
        let then = fs::read_to_string(path.with_extension("txt")).unwrap();
        assert_eq!(text::summary(&run, &Style::default()), then, "{}", path.display());
    }
}

#[test]
fn names_become_cases() {
    for path in all() {
        let run = store::read(&path).unwrap();
        let cases: Vec<&Case> = run.series.iter().map(|series| &series.case).filter(|case| !case.is_empty()).collect();
        let of_table = matches!(run.measurement, Measurement::Prove | Measurement::Response | Measurement::PulseTable);
        assert_eq!(cases.len(), if of_table { run.series.len() } else { 0 }, "{}", path.display());
        if run.measurement == Measurement::PulseTable {
            let minimised = cases.iter().filter(|case| case.side == Some(Side::Minimised)).count();
            assert_eq!((minimised, cases.len()), (24, 48));
        }
    }
}
