//! Faults as Python exceptions. The classes are those of `ontick/errors.py`.

use ontick_gpio::Error as LineError;
use ontick_measure::Error as MeasureError;
use ontick_record::store::StoreError;
use ontick_rt::timed_section::SectionError;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// A class of `ontick/errors.py`.
#[derive(Debug, Clone, Copy)]
pub enum Class {
    Argument,
    InUse,
    Line,
    LineInUse,
    LineNotFound,
    LinePermission,
    Measurement,
    Network,
    Record,
    Refused,
    WrongThread,
    Forked,
    Plan,
}

impl Class {
    fn name(self) -> &'static str {
        match self {
            Class::Argument => "ArgumentError",
            Class::InUse => "InUseError",
            Class::Line => "LineError",
            Class::LineInUse => "LineInUseError",
            Class::LineNotFound => "LineNotFoundError",
            Class::LinePermission => "LinePermissionError",
            Class::Measurement => "MeasurementError",
            Class::Network => "NetworkError",
            Class::Record => "RecordError",
            Class::Refused => "RefusedError",
            Class::WrongThread => "WrongThreadError",
            Class::Forked => "ForkedError",
            Class::Plan => "PlanError",
        }
    }

    /// An exception of this class with a sentence.
    pub fn error(self, sentence: impl ToString) -> PyErr {
        let sentence = sentence.to_string();
        Python::attach(|py| {
            let class = py.import("ontick.errors").and_then(|module| module.getattr(self.name()));
            match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
                Ok(class) => PyErr::from_type(class, (sentence,)),
                // The package is not whole.
                Err(_) => PyRuntimeError::new_err(sentence),
            }
        })
    }
}

pub fn argument(sentence: impl ToString) -> PyErr {
    Class::Argument.error(sentence)
}

pub fn of_line(error: &LineError) -> PyErr {
    let class = match error {
        LineError::Name(_) | LineError::Unsupported { .. } => Class::Argument,
        LineError::NoSuchLine { .. }
        | LineError::NoSuchChip { .. }
        | LineError::NoSuchName { .. }
        | LineError::NotMade { .. }
        | LineError::NotFound { .. } => Class::LineNotFound,
        LineError::InUse { .. } => Class::LineInUse,
        LineError::Permission { .. } => Class::LinePermission,
        _ => Class::Line,
    };
    class.error(error)
}

pub fn of_section(error: &SectionError) -> PyErr {
    let class = match error {
        SectionError::NotOnline { .. } => Class::Argument,
        SectionError::InUse(_) => Class::InUse,
        _ => Class::Refused,
    };
    class.error(error)
}

pub fn of_measurement(error: &MeasureError) -> PyErr {
    match error {
        MeasureError::Line(error) => of_line(error),
        MeasureError::Gone { .. } => Class::Line.error(error),
        MeasureError::Refused(_) | MeasureError::WouldStarve(_) => Class::Refused.error(error),
        _ => Class::Measurement.error(error),
    }
}

pub fn of_acquisition(error: &ontick_acquire::Error) -> PyErr {
    match error {
        ontick_acquire::Error::Invalid { .. } => argument(error),
        ontick_acquire::Error::Line(error) => of_line(error),
        _ => Class::Measurement.error(error),
    }
}

/// A file that cannot be read or written is an `OSError` as Python's own, by its number; what is no record is said to be none.
pub fn of_store(error: &StoreError) -> PyErr {
    match error {
        StoreError::Io { path, error } => {
            of_unreadable(path, error).unwrap_or_else(|| Class::Record.error(format!("{}: {error}", path.display())))
        }
        other => Class::Record.error(other),
    }
}

/// The `OSError` of a file, where the system has a number for what is wrong.
pub fn of_unreadable(file: &std::path::Path, error: &std::io::Error) -> Option<PyErr> {
    let number = error.raw_os_error()?;
    let words = error.to_string();
    let words = words.split(" (os error").next().unwrap_or_default().to_owned();
    Some(pyo3::exceptions::PyOSError::new_err((number, words, file.display().to_string())))
}
