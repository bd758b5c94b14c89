//! Several outputs of one result: each is tried, whatever became of the others.

use crate::failure::Failure;

/// What failed so far.
#[derive(Default)]
pub struct Attempts(Vec<String>);

impl Attempts {
    /// Takes note of how an attempt ended.
    pub fn note(&mut self, ended: Result<(), impl Into<Failure>>) {
        self.0.extend(ended.err().map(|failure| failure.into().to_string()));
    }

    /// Whether all succeeded; if not, one sentence with everything that failed.
    pub fn end(self) -> Result<(), Failure> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(Failure::new(self.0.join("; "))),
        }
    }
}
