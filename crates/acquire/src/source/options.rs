//! The words after a source's name: `key=value`, or a key alone.

use super::SpecError;

/// Keys, with their values where they have one, in any order, each once.
#[derive(Debug)]
pub struct Options<'a> {
    known: &'static [&'static str],
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Options<'a> {
    /// Of these words.
    pub fn read(known: &'static [&'static str], words: &[&'a str]) -> Result<Self, SpecError> {
        let mut given: Vec<(&str, &str)> = Vec::new();
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            if !known.contains(&key) {
                return Err(SpecError::UnknownOption { word: (*word).into(), known: known.join(", ") });
            }
            if given.iter().any(|(other, _)| *other == key) {
                return Err(SpecError::Twice(key.into()));
            }
            given.push((key, value));
        }
        Ok(Self { known, given })
    }

    /// The value of this key.
    pub fn get(&self, key: &str) -> Option<&'a str> {
        debug_assert!(self.known.contains(&key));
        self.given.iter().find(|(other, _)| *other == key).map(|(_, value)| *value)
    }
}
