//! Subtree filters (RFC 6241 section 6).

use roxmltree::Node as Element;
use serde_json::{Map, Value};

use super::schema::{self, Kind, Node, ROOT};
use super::xml::{elements, text};

/// What a filter selects of the data.
pub fn selected(data: &Value, filter: Element) -> Value {
    let selected = match data {
        // One that is empty selects nothing (section 6.4.2).
        Value::Object(members) if elements(filter).next().is_some() => select(members, filter, ROOT, "", &[]),
        _ => None,
    };
    Value::Object(selected.unwrap_or_default())
}

/// What is selected of a container or of an entry of a list; nothing if its contents do not match.
fn select(
    members: &Map<String, Value>,
    filter: Element,
    nodes: &'static [Node],
    around: &'static str,
    keys: &[&str],
) -> Option<Map<String, Value>> {
    let (matches, others): (Vec<Element>, Vec<Element>) =
        elements(filter).partition(|element| elements(*element).next().is_none() && !text(*element).is_empty());
    let mut found = Map::new();
    for element in &matches {
        let (node, value) =
            fitting(members, *element, nodes, around).into_iter().find(|(_, value)| holds(value, *element))?;
        found.insert(node.key().into_owned(), value.clone());
    }
    // Contents that match select all beside them, unless something is named.
    if others.is_empty() {
        return Some(members.clone());
    }
    let only_matched = found.len();
    for element in others {
        for (node, value) in fitting(members, element, nodes, around) {
            let part = if elements(element).next().is_none() {
                Some(value.clone())
            } else {
                within(value, element, node, node.module(around))
            };
            if let Some(part) = part {
                let slot = found.entry(node.key().into_owned()).or_insert(Value::Null);
                join(slot, part, node);
            }
        }
    }
    if found.len() == only_matched && only_matched == 0 {
        return None;
    }
    let keys = keys.iter().filter_map(|key| members.get_key_value(*key));
    found.extend(keys.map(|(key, value)| (key.clone(), value.clone())));
    Some(found)
}

/// The members that an element of a filter names; one without a namespace names those of any.
fn fitting<'a>(
    members: &'a Map<String, Value>,
    element: Element,
    nodes: &'static [Node],
    around: &'static str,
) -> Vec<(&'static Node, &'a Value)> {
    let namespace = element.tag_name().namespace().filter(|namespace| !namespace.is_empty());
    let name = element.tag_name().name();
    let is_it = |node: &&'static Node| {
        node.name == name && namespace.is_none_or(|own| schema::namespace(node.module(around)) == Some(own))
    };
    nodes.iter().filter(is_it).filter_map(|node| Some((node, members.get(&*node.key())?))).collect()
}

fn holds(value: &Value, element: Element) -> bool {
    let wanted = text(element);
    match value {
        // A name of a module may have another prefix.
        Value::String(own) => {
            *own == wanted
                || own
                    .split_once(':')
                    .is_some_and(|(_, name)| wanted.split_once(':').map_or(wanted.as_str(), |(_, name)| name) == name)
        }
        Value::Bool(flag) => flag.to_string() == wanted,
        Value::Number(number) => number.to_string() == wanted,
        Value::Array(values) => values.iter().any(|value| holds(value, element)),
        Value::Object(_) | Value::Null => false,
    }
}

fn within(value: &Value, element: Element, node: &'static Node, module: &'static str) -> Option<Value> {
    match (node.kind, value) {
        (Kind::Container(inner), Value::Object(members)) => {
            select(members, element, inner, module, &[]).map(Value::Object)
        }
        (Kind::List { keys, nodes }, Value::Array(items)) => {
            let one = |item: &Value| select(item.as_object()?, element, nodes, module, keys).map(Value::Object);
            let items: Vec<Value> = items.iter().filter_map(one).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        _ => None,
    }
}

/// Two parts of the same node, as two elements of a filter select them.
fn join(slot: &mut Value, part: Value, node: &'static Node) {
    match (node.kind, slot, part) {
        (Kind::Container(nodes), Value::Object(members), Value::Object(more)) => join_members(members, more, nodes),
        (Kind::List { keys, nodes }, Value::Array(items), Value::Array(more)) => {
            for item in more {
                let is_it = |other: &&mut Value| keys.iter().all(|key| other[*key] == item[*key]);
                match (items.iter_mut().find(is_it), item) {
                    (Some(Value::Object(members)), Value::Object(more)) => join_members(members, more, nodes),
                    (_, item) => items.push(item),
                }
            }
        }
        (_, slot, part) => *slot = part,
    }
}

fn join_members(members: &mut Map<String, Value>, more: Map<String, Value>, nodes: &'static [Node]) {
    for (key, part) in more {
        if let Some(node) = nodes.iter().find(|node| *node.key() == *key) {
            join(members.entry(key).or_insert(Value::Null), part, node);
        }
    }
}
