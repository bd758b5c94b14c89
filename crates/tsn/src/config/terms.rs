//! What sentences call the parts of a switch.

/// In whose terms a sentence says what is wrong and what would be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terms {
    /// The file's keys, which its reader can write.
    File,
    /// YANG's elements. Who configures a switch by them changes its gates and streams, and nothing else that the file says.
    Yang,
}

impl Terms {
    /// The words of these terms.
    pub fn pick<'a>(self, file: &'a str, yang: &'a str) -> &'a str {
        match self {
            Self::File => file,
            Self::Yang => yang,
        }
    }

    /// Begins a sentence with a key of the file. One of YANG's follows the path of its element, which is the subject.
    pub(crate) fn subject(self, key: &str) -> String {
        match self {
            Self::File => format!("`{key}` "),
            Self::Yang => String::new(),
        }
    }
}
