//! Where samples go, and in which form, which the file's name says.

use std::path::{Path, PathBuf};

/// A file for every sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleFile {
    path: PathBuf,
    form: Form,
}

/// How samples are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A heading and a line per sample.
    Csv,
    /// Arrow IPC.
    #[cfg(feature = "arrow")]
    Arrow,
}

/// Why a file is none for samples.
#[derive(Debug, thiserror::Error)]
pub enum SampleFileError {
    /// Its name asks for another form.
    #[error("{}: samples are written in two forms: name a file that ends in .csv or in .arrow", path.display())]
    OtherForm {
        /// The file.
        path: PathBuf,
    },
    /// Its name asks for Arrow.
    #[error("{}: this program was built without Arrow (its feature `arrow`): name a file that ends in .csv", path.display())]
    WithoutArrow {
        /// The file.
        path: PathBuf,
    },
}

impl SampleFile {
    /// In the form that the name ends in; without an ending, as a pipe, comma-separated values.
    pub fn at(path: PathBuf) -> Result<Self, SampleFileError> {
        let ending = path.extension().map(|ending| ending.to_string_lossy().into_owned());
        match ending.as_deref() {
            None | Some("csv") => Ok(Self { path, form: Form::Csv }),
            #[cfg(feature = "arrow")]
            Some("arrow" | "feather") => Ok(Self { path, form: Form::Arrow }),
            #[cfg(not(feature = "arrow"))]
            Some("arrow" | "feather") => Err(SampleFileError::WithoutArrow { path }),
            Some(_) => Err(SampleFileError::OtherForm { path }),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn form(&self) -> Form {
        self.form
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_that_of_the_name() {
        let form = |name: &str| SampleFile::at(name.into()).map(|file| file.form());
        assert_eq!([form("a/b.csv"), form("/dev/fd/63")].map(Result::unwrap), [Form::Csv; 2]);
        #[cfg(feature = "arrow")]
        assert_eq!([form("a.arrow"), form("a.b.feather")].map(Result::unwrap), [Form::Arrow; 2]);
        for other in ["run.json", "samples.raw"] {
            let said = form(other).unwrap_err().to_string();
            assert!(said.starts_with(other) && said.contains(".csv or in .arrow"), "{said}");
        }
    }
}
