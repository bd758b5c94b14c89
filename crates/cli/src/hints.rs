//! Which command mends an error of a library. What concerns one command alone is beside that command.

use std::error::Error;
use std::io::ErrorKind;

use ontick_gpio::{Error as LineError, Name};
use ontick_record::journal;
use ontick_record::store::StoreError;

/// The command, where there is one.
pub fn of(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref() {
        Some(StoreError::Io { path, error }) if error.kind() == ErrorKind::NotFound => {
            let journal = journal::path_for(path);
            let report = || format!("ontick report {} shows a run that goes on or was killed", journal.display());
            journal.is_file().then(report)
        }
        _ => of_line(line_error(error)?),
    }
}

/// Why a line could not be had, also where a measurement or a sampler needed it.
fn line_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a LineError> {
    let measured = error.downcast_ref().and_then(|error| match error {
        ontick_measure::Error::Line(error) => Some(error),
        _ => None,
    });
    let sampled = error.downcast_ref().and_then(|error| match error {
        ontick_acquire::Error::Line(error) => Some(error),
        _ => None,
    });
    error.downcast_ref().or(measured).or(sampled)
}

fn of_line(error: &LineError) -> Option<String> {
    match error {
        // A simulated chip may not be there, and all have the same lines.
        LineError::NoSuchLine { name: Name::Sim { .. }, .. } => None,
        LineError::NoSuchLine { chip, .. } => Some(format!("ontick gpio list {chip}")),
        LineError::NoSuchChip { .. } => Some("ontick gpio list".into()),
        LineError::NoSuchName { .. } => Some("ontick gpio list CHIP shows names".into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_a_killed_run_did_not_write_leads_to_its_journal() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.json");
        let missing = || ontick_record::store::read_any(&path).unwrap_err();
        assert_eq!(of(&missing()), None);
        std::fs::write(folder.path().join("run.json.journal"), "").unwrap();
        assert!(of(&missing()).unwrap().contains("run.json.journal shows a run that goes on or was killed"));
    }

    #[test]
    fn a_line_that_is_not_there_leads_to_the_list_whoever_needed_it() {
        let wrong = || LineError::NoSuchLine { name: Name::Register(54), chip: "reg".into(), last: 53 };
        for error in [
            Box::new(wrong()) as Box<dyn Error>,
            Box::new(ontick_measure::Error::from(wrong())),
            Box::new(ontick_acquire::Error::from(wrong())),
        ] {
            assert_eq!(of(&*error).as_deref(), Some("ontick gpio list reg"), "{error}");
        }
        assert_eq!(of(&std::io::Error::other("else")), None);
        let name = Name::Sim { chip: "bench".into(), line: 54 };
        assert_eq!(of(&LineError::NoSuchLine { name, chip: "sim:bench".into(), last: 53 }), None);
    }
}
