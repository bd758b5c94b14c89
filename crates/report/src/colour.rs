//! Colour for meaning, where it is wanted.

/// All that is ever written to paint.
pub(crate) const SEQUENCES: [&str; 4] = ["\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"];

/// Paints, or leaves text as it is.
pub(crate) struct Paint(pub bool);

impl Paint {
    pub fn good(&self, text: &str) -> String {
        self.with("32", text)
    }

    pub fn bad(&self, text: &str) -> String {
        self.with("31", text)
    }

    /// Worth a look.
    pub fn notice(&self, text: &str) -> String {
        self.with("33", text)
    }

    fn with(&self, code: &str, text: &str) -> String {
        // Spaces and line ends stay outside, so that only words carry colour.
        let word = text.trim_end();
        if !self.0 || word.is_empty() {
            return text.into();
        }
        format!("\x1b[{code}m{word}\x1b[0m{}", &text[word.len()..])
    }
}
