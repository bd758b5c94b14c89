//! What becomes of a document that is not quite as it says.

use std::fmt;

use super::node::Node;

/// A value that is taken, and in whose place something else is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Otherwise {
    /// Where the value stands.
    pub path: String,
    /// What is done.
    pub what: String,
}

impl fmt::Display for Otherwise {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.what)
    }
}

/// Collects both kinds while a document is read.
#[derive(Default)]
pub(super) struct Notes {
    /// What follows from the document, and is perhaps not expected.
    pub sentences: Vec<String>,
    pub otherwise: Vec<Otherwise>,
}

impl Notes {
    pub fn push(&mut self, sentence: String) {
        self.sentences.push(sentence);
    }

    pub fn otherwise(&mut self, node: &Node, what: impl Into<String>) {
        self.otherwise.push(Otherwise { path: node.path().into(), what: what.into() });
    }
}
