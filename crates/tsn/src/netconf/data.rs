//! Configuration between JSON (RFC 7951), as it is kept, and XML (RFC 7950), as NETCONF carries it.

use roxmltree::Node as Element;
use serde_json::{Map, Value, json};

use super::error::{RpcError, Tag};
use super::schema::{self, Kind, Node, ROOT};
use super::xml::{elements, escaped, text};

/// A value of a leaf, as JSON has it.
pub(super) fn leaf(element: Element, kind: Kind, path: &str) -> Result<Value, RpcError> {
    if let Some(child) = elements(element).next() {
        return Err(unknown(child, path));
    }
    let text = text(element);
    let wrong = |should: &str| {
        let shown: String = text.chars().take(40).collect();
        RpcError::application(Tag::InvalidValue, path, format!("\"{shown}\" is not {should}"))
    };
    match kind {
        Kind::Container(_) | Kind::Presence | Kind::List { .. } | Kind::LeafList(_) => Err(wrong("a leaf")),
        Kind::Name(names) if names.contains(&text.as_str()) => Ok(json!(text)),
        Kind::Name(names) => Err(wrong(&format!("one of {}", names.join(", ")))),
        Kind::Text if text.is_empty() => Err(wrong("a name")),
        Kind::Text => Ok(json!(text)),
        Kind::Flag => match text.as_str() {
            "true" => Ok(json!(true)),
            "false" => Ok(json!(false)),
            _ => Err(wrong("true or false")),
        },
        Kind::Number(most) => match number(&text).filter(|number| *number <= most) {
            Some(number) => Ok(json!(number)),
            None => Err(wrong(&format!("a whole number from 0 to {most}"))),
        },
        Kind::LongNumber => match number(&text) {
            Some(number) => Ok(json!(number.to_string())),
            None => Err(wrong("a whole number of 64 bits")),
        },
        Kind::Identity => {
            let (prefix, name) = match text.split_once(':') {
                Some((prefix, name)) => (Some(prefix), name),
                None => (None, text.as_str()),
            };
            let module = element.lookup_namespace_uri(prefix).and_then(schema::module);
            match module.filter(|_| !name.is_empty()) {
                Some(module) => Ok(json!(format!("{module}:{name}"))),
                None => Err(wrong("a name of a module that is known here (prefix:name)")),
            }
        }
    }
}

fn number(text: &str) -> Option<u64> {
    text.bytes().all(|octet| octet.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The node of the schema that an element is.
pub(super) fn node_of(
    element: Element,
    nodes: &'static [Node],
    around: &'static str,
    path: &str,
) -> Result<&'static Node, RpcError> {
    let (namespace, name) = (element.tag_name().namespace().unwrap_or_default(), element.tag_name().name());
    let is_it = |node: &&Node| node.name == name && schema::namespace(node.module(around)) == Some(namespace);
    nodes.iter().find(is_it).ok_or_else(|| unknown(element, path))
}

fn unknown(element: Element, path: &str) -> RpcError {
    let name = element.tag_name().name();
    let path = if path.is_empty() { "/" } else { path };
    match element.tag_name().namespace() {
        Some(namespace) if schema::module(namespace).is_some() => {
            let why = format!("there is no <{name}> here that this switch has");
            RpcError::application(Tag::UnknownElement, path, why).with("bad-element", name)
        }
        namespace => {
            let namespace = namespace.unwrap_or_default();
            let why = format!("<{name}> is of the namespace \"{namespace}\", which this switch does not have");
            RpcError::application(Tag::UnknownNamespace, path, why)
                .with("bad-element", name)
                .with("bad-namespace", namespace)
        }
    }
}

/// The elements of a configuration, without one around them.
pub fn xml(data: &Value) -> String {
    let mut xml = String::new();
    if let Value::Object(members) = data {
        write(members, ROOT, "", &mut xml);
    }
    xml
}

fn write(members: &Map<String, Value>, nodes: &'static [Node], around: &'static str, xml: &mut String) {
    // In the order of the schema, which has keys first as RFC 7950 section 7.8.5 wants them.
    for node in nodes {
        let Some(value) = members.get(&*node.key()) else { continue };
        let module = node.module(around);
        let items = match (node.kind, value) {
            (Kind::List { .. } | Kind::LeafList(_), Value::Array(items)) => items.as_slice(),
            _ => std::slice::from_ref(value),
        };
        for item in items {
            let own = if module == around { "" } else { schema::namespace(module).unwrap_or_default() };
            let declared = if own.is_empty() { String::new() } else { format!(" xmlns=\"{own}\"") };
            match (node.kind, item) {
                (Kind::Container(inner) | Kind::List { nodes: inner, .. }, Value::Object(members)) => {
                    *xml += &format!("<{}{declared}>", node.name);
                    write(members, inner, module, xml);
                }
                (Kind::Presence, _) => *xml += &format!("<{}{declared}>", node.name),
                (Kind::Identity, Value::String(name)) => {
                    let prefix = name.split(':').next().unwrap_or_default();
                    let of = schema::namespace(prefix).unwrap_or_default();
                    *xml += &format!("<{}{declared} xmlns:{prefix}=\"{of}\">{}", node.name, escaped(name));
                }
                (_, Value::String(text)) => *xml += &format!("<{}{declared}>{}", node.name, escaped(text)),
                (_, other) => *xml += &format!("<{}{declared}>{other}", node.name),
            }
            *xml += &format!("</{}>", node.name);
        }
    }
}
