//! `edit-config` (RFC 6241 section 7.2): one configuration brought into another.

use std::collections::BTreeSet;

use roxmltree::Node as Element;
use serde_json::{Map, Value};

use super::BASE;
use super::data::{leaf, node_of};
use super::error::{RpcError, Tag};
use super::schema::{Kind, Node, ROOT};
use super::xml::{elements, text};
use crate::yang::predicate;

/// What becomes of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are RFC 6241's names")]
pub enum Operation {
    Merge,
    Replace,
    Create,
    Delete,
    Remove,
    None,
}

impl Operation {
    /// The value of `default-operation`.
    pub fn default_of(name: &str) -> Option<Self> {
        match name {
            "merge" => Some(Self::Merge),
            "replace" => Some(Self::Replace),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    fn of(element: Element, inherited: Self) -> Result<Self, RpcError> {
        // Without its prefix an operation would be none, and what was to be deleted would stay.
        if let Some(plain) = element.attributes().find(|attribute| attribute.namespace().is_none()) {
            let why = format!("attribute \"{}\" has no namespace; an operation's is {BASE}", plain.name());
            return Err(RpcError::protocol(Tag::UnknownAttribute, why)
                .with("bad-attribute", plain.name())
                .with("bad-element", element.tag_name().name()));
        }
        match element.attribute((BASE, "operation")) {
            None => Ok(inherited),
            Some("merge") => Ok(Self::Merge),
            Some("replace") => Ok(Self::Replace),
            Some("create") => Ok(Self::Create),
            Some("delete") => Ok(Self::Delete),
            Some("remove") => Ok(Self::Remove),
            Some(other) => {
                let why = format!("operation \"{other}\" is none of merge, replace, create, delete, remove");
                Err(RpcError::protocol(Tag::BadAttribute, why)
                    .with("bad-attribute", "operation")
                    .with("bad-element", element.tag_name().name()))
            }
        }
    }
}

/// The configuration with the elements in `config` brought in; all of them or an error.
pub fn edited(data: &Value, config: Element, default: Operation) -> Result<Value, RpcError> {
    let mut members = match (default, data) {
        (Operation::Replace, _) => Map::new(),
        (_, Value::Object(members)) => members.clone(),
        _ => Map::new(),
    };
    let operation = if default == Operation::Replace { Operation::Merge } else { default };
    edit(&mut members, config, &Place { nodes: ROOT, module: "", keys: &[], path: String::new() }, operation)?;
    prune(&mut members, ROOT);
    Ok(Value::Object(members))
}

/// Where an element stands.
struct Place {
    nodes: &'static [Node],
    module: &'static str,
    /// The leaves that name the entry of a list.
    keys: &'static [&'static str],
    path: String,
}

fn edit(members: &mut Map<String, Value>, around: Element, at: &Place, inherited: Operation) -> Result<(), RpcError> {
    if !text(around).is_empty() {
        let why = format!("<{}> holds text beside its elements", around.tag_name().name());
        return Err(RpcError::application(Tag::InvalidValue, path_of(&at.path), why));
    }
    let mut single = BTreeSet::new();
    for element in elements(around) {
        let node = node_of(element, at.nodes, at.module, &at.path)?;
        let (key, path) = (node.key(), format!("{}/{}", at.path, node.key()));
        let is_repeated = matches!(node.kind, Kind::List { .. } | Kind::LeafList(_));
        if !is_repeated && !single.insert(key.clone()) {
            let why = format!("<{}> is there twice", node.name);
            return Err(RpcError::application(Tag::BadElement, path, why).with("bad-element", node.name));
        }
        let operation = Operation::of(element, inherited)?;
        if !node.config {
            let why = format!("{} is state, which cannot be configured", node.name);
            return Err(RpcError::application(Tag::UnknownElement, path, why).with("bad-element", node.name));
        }
        let module = node.module(at.module);
        match node.kind {
            Kind::Container(_) | Kind::Presence => {
                let nodes = if let Kind::Container(nodes) = node.kind { nodes } else { &[] };
                let place = Place { nodes, module, keys: &[], path };
                if let Some(below) = settle(members.get(&*key), operation, &place.path)? {
                    let slot = members.entry(key.into_owned()).or_insert_with(|| Value::Object(Map::new()));
                    descend(slot, element, &place, operation, below)?;
                } else {
                    members.remove(&*key);
                }
            }
            Kind::List { keys, nodes } => {
                let values = keys.iter().map(|name| key_of(element, name, nodes, module, &path));
                let values: Vec<Value> = values.collect::<Result<_, _>>()?;
                let named = || keys.iter().zip(&values);
                let predicates: String = named().map(|(name, value)| predicate(name, &plain(value))).collect();
                let place = Place { nodes, module, keys, path: path + &predicates };
                let slot = members.entry(key.into_owned()).or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(items) = slot else { continue };
                let is_it = |item: &Value| named().all(|(name, value)| item[*name] == *value);
                let found = items.iter().position(is_it);
                match (settle(found.map(|at| &items[at]), operation, &place.path)?, found) {
                    (Some(below), Some(at)) => descend(&mut items[at], element, &place, operation, below)?,
                    (Some(below), None) => {
                        let members = named().map(|(name, value)| ((*name).to_owned(), value.clone()));
                        let mut new = Value::Object(members.collect());
                        descend(&mut new, element, &place, operation, below)?;
                        items.push(new);
                    }
                    (None, Some(at)) => drop(items.remove(at)),
                    (None, None) => {}
                }
            }
            Kind::LeafList(of) => {
                let value = leaf(element, *of, &path)?;
                let slot = members.entry(key.into_owned()).or_insert_with(|| Value::Array(Vec::new()));
                let Value::Array(items) = slot else { continue };
                let found = items.iter().position(|item| *item == value);
                let path = format!("{path}{}", predicate(".", &plain(&value)));
                match (settle(found.map(|at| &items[at]), operation, &path)?, found) {
                    (Some(_), None) => items.push(value),
                    (None, Some(at)) => drop(items.remove(at)),
                    (Some(_), Some(_)) | (None, None) => {}
                }
            }
            // It stays as long as its entry.
            kind if at.keys.contains(&node.name) => drop(members.insert(key.into_owned(), leaf(element, kind, &path)?)),
            kind => {
                // The value of a leaf that goes need not be given.
                if settle(members.get(&*key), operation, &path)?.is_none() {
                    members.remove(&*key);
                } else if operation != Operation::None {
                    members.insert(key.into_owned(), leaf(element, kind, &path)?);
                }
            }
        }
    }
    Ok(())
}

/// Edits what stands in a container or an entry of a list.
fn descend(
    slot: &mut Value,
    element: Element,
    place: &Place,
    operation: Operation,
    below: Operation,
) -> Result<(), RpcError> {
    if operation == Operation::Replace {
        *slot = Value::Object(Map::new());
    }
    match slot {
        Value::Object(members) => edit(members, element, place, below),
        _ => Ok(()),
    }
}

/// What holds below a node; nothing if the node goes.
fn settle(found: Option<&Value>, operation: Operation, path: &str) -> Result<Option<Operation>, RpcError> {
    match (operation, found) {
        (Operation::Create, Some(_)) => {
            Err(RpcError::application(Tag::DataExists, path, "it is to be created, and is there already"))
        }
        (Operation::Delete, None) => {
            Err(RpcError::application(Tag::DataMissing, path, "it is to be deleted, and is not there"))
        }
        (Operation::None, None) => {
            Err(RpcError::application(Tag::DataMissing, path, "it is not there, and nothing says that it is to be"))
        }
        (Operation::Delete | Operation::Remove, _) => Ok(None),
        (Operation::None, Some(_)) => Ok(Some(Operation::None)),
        (Operation::Merge | Operation::Replace | Operation::Create, _) => Ok(Some(Operation::Merge)),
    }
}

fn key_of(
    element: Element,
    name: &'static str,
    nodes: &'static [Node],
    module: &'static str,
    path: &str,
) -> Result<Value, RpcError> {
    for child in elements(element) {
        if let Ok(node) = node_of(child, nodes, module, path) {
            if node.name == name {
                return leaf(child, node.kind, &format!("{path}/{name}"));
            }
        }
    }
    let why = format!("an entry lacks its key <{name}>");
    Err(RpcError::application(Tag::MissingElement, path, why).with("bad-element", name))
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn path_of(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}

/// A container or a list that is empty is none.
fn prune(members: &mut Map<String, Value>, nodes: &'static [Node]) {
    for node in nodes {
        let key = node.key();
        let empty = match (node.kind, members.get_mut(&*key)) {
            (Kind::Container(inner), Some(Value::Object(members))) => {
                prune(members, inner);
                members.is_empty()
            }
            (Kind::List { nodes: inner, .. }, Some(Value::Array(items))) => {
                items.iter_mut().filter_map(Value::as_object_mut).for_each(|members| prune(members, inner));
                items.is_empty()
            }
            (Kind::LeafList(_), Some(Value::Array(items))) => items.is_empty(),
            _ => false,
        };
        if empty {
            members.remove(&*key);
        }
    }
}
