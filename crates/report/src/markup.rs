//! Text inside SVG and HTML. Everything that comes from a record goes through [`escape`].

use std::fmt::{Display, Write};

/// Text for element content and for attribute values in double quotes. Characters that XML forbids
/// become U+FFFD, so that the result is well-formed whatever a record holds.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => safe.push('\u{fffd}'),
            // Marks that reorder what stands after them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Markup that grows element by element; it knows what is open, so nothing stays open.
#[derive(Default)]
pub(crate) struct Markup {
    text: String,
    open: Vec<&'static str>,
}

impl Markup {
    /// Opens an element.
    pub fn open(&mut self, name: &'static str, attributes: &[(&str, &dyn Display)]) -> &mut Self {
        self.start(name, attributes);
        self.text.push('>');
        self.open.push(name);
        self
    }

    /// Closes the innermost element.
    pub fn close(&mut self) -> &mut Self {
        if let Some(name) = self.open.pop() {
            let _ = write!(self.text, "</{name}>");
        }
        self
    }

    /// An element without content, as SVG has them.
    pub fn empty(&mut self, name: &'static str, attributes: &[(&str, &dyn Display)]) -> &mut Self {
        self.start(name, attributes);
        self.text.push_str("/>");
        self
    }

    /// An element that holds only text.
    pub fn leaf(&mut self, name: &'static str, attributes: &[(&str, &dyn Display)], text: &str) -> &mut Self {
        self.open(name, attributes).words(text).close()
    }

    /// Text, escaped.
    pub fn words(&mut self, text: &str) -> &mut Self {
        self.text.push_str(&escape(text));
        self
    }

    /// Markup that is already safe.
    pub fn raw(&mut self, markup: &str) -> &mut Self {
        self.text.push_str(markup);
        self
    }

    /// The whole, with whatever is still open closed.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.text
    }

    fn start(&mut self, name: &str, attributes: &[(&str, &dyn Display)]) {
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escape(&value.to_string()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_escaped_parses_as_one_text(text in any::<String>()) {
            let mut markup = Markup::default();
            markup.leaf("a", &[("b", &text)], &text);
            let markup = markup.finish();
            let document = roxmltree::Document::parse(&markup).unwrap();
            let root = document.root_element();
            prop_assert!(root.children().all(|c| c.is_text()));
            prop_assert_eq!(root.text().unwrap_or("").chars().count(), text.chars().count());
            prop_assert_eq!(root.attribute("b").unwrap_or("").chars().count(), text.chars().count());
        }
    }
}
