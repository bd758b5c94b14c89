//! Reads XML into a tree: no document types and entities, and neither deep nor large.

use roxmltree::{Document, Node, ParsingOptions};

/// More elements, attributes and texts are no message.
const MOST_NODES: u32 = 200_000;
/// Elements within elements.
const DEEPEST: usize = 64;

/// Why a text is no message; one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum XmlError {
    /// It is not UTF-8.
    #[error("the message is not UTF-8")]
    Encoding,
    /// It is not well-formed, has a document type, or too many nodes.
    #[error("the message is not XML as NETCONF has it: {0}")]
    Parse(#[from] roxmltree::Error),
    /// Too deep.
    #[error("elements are nested more than {DEEPEST} deep")]
    Depth,
}

/// Reads a message.
pub fn read(octets: &[u8]) -> Result<Document<'_>, XmlError> {
    let text = std::str::from_utf8(octets).map_err(|_| XmlError::Encoding)?;
    let options = ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options)?;
    match is_deeper(document.root_element(), DEEPEST) {
        true => Err(XmlError::Depth),
        false => Ok(document),
    }
}

fn is_deeper(node: Node, than: usize) -> bool {
    than == 0 || node.children().filter(Node::is_element).any(|child| is_deeper(child, than - 1))
}

/// The elements in an element.
pub(super) fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// All text directly in an element, without white space around it.
pub(super) fn text(node: Node) -> String {
    let text: String = node.children().filter(Node::is_text).filter_map(|part| part.text()).collect();
    text.trim().to_owned()
}

/// A text as it stands in an element or an attribute.
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\t' | '\n' | '\r' => escaped += &format!("&#{};", u32::from(c)),
            // XML 1.0 has no way to write them.
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bombs_are_refused() {
        let entities = "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]><a>&c;</a>";
        assert!(matches!(read(entities.as_bytes()), Err(XmlError::Parse(roxmltree::Error::DtdDetected))));
        let nested = |depth| "<a>".repeat(depth) + &"</a>".repeat(depth);
        assert!(read(nested(DEEPEST).as_bytes()).is_ok());
        assert_eq!(read(nested(DEEPEST + 1).as_bytes()).unwrap_err(), XmlError::Depth);
        assert_eq!(read(nested(90_000).as_bytes()).unwrap_err(), XmlError::Depth);
        let many = format!("<a>{}</a>", "<b/>".repeat(MOST_NODES as usize));
        assert!(matches!(read(many.as_bytes()), Err(XmlError::Parse(roxmltree::Error::NodesLimitReached))));
        assert_eq!(read(b"<a>\xff</a>").unwrap_err(), XmlError::Encoding);
    }

    #[test]
    fn escaped_texts_come_back() {
        let text = "a<b> & \"c\"\r\n\t]]>";
        let xml = format!("<a b=\"{0}\">x{0}x</a>", escaped(text));
        let document = read(xml.as_bytes()).unwrap();
        let element = document.root_element();
        assert_eq!((element.attribute("b"), element.text()), (Some(text), Some(format!("x{text}x").as_str())));
    }
}
