//! A JSON value with its path, so that whatever is wrong is named as RFC 7951 names it.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::config::suggest;

/// What is wrong with a document: one sentence with the path of the node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {what}")]
pub struct YangError {
    /// Where: `/ietf-interfaces:interfaces/interface[name='eth1']/…`, or the line where the text is no JSON.
    pub path: String,
    /// What is wrong there, and what would be right.
    pub what: String,
    /// The node that is not there and must be, where that is what is wrong.
    pub missing: Option<String>,
}

/// A value of the document.
#[derive(Clone)]
pub(super) struct Node<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    pub(super) fn error(&self, what: impl Into<String>) -> YangError {
        let path = if self.path.is_empty() { "/".into() } else { self.path.clone() };
        YangError { path, what: what.into(), missing: None }
    }

    /// As notes name it.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// A member of this node's own module, with or without the module's name.
    pub(super) fn member(&self, module: &str, name: &str) -> Result<Option<Node<'a>>, YangError> {
        let Value::Object(members) = self.value else { return Err(self.error("is not an object in { }")) };
        let qualified = format!("{module}:{name}");
        let (own, plain) = (members.get_key_value(&qualified), members.get_key_value(name));
        if own.is_some() && plain.is_some() {
            return Err(self.error(format!("has `{name}` twice, with and without the name of its module")));
        }
        let found = own.or(plain);
        Ok(found.map(|(key, value)| Node { value, path: format!("{}/{key}", self.path) }))
    }

    pub(super) fn require(&self, module: &str, name: &str) -> Result<Node<'a>, YangError> {
        self.member(module, name)?.ok_or_else(|| {
            let members: Vec<&str> =
                self.value.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            let qualified = format!("{module}:{name}");
            // The members are only worth naming where one looks like what was meant.
            let hint = Some(suggest::among(&qualified, &members)).filter(|hint| hint.starts_with(';'));
            let error = self.error(format!("lacks `{name}`{}", hint.unwrap_or_default()));
            YangError { missing: Some(name.into()), ..error }
        })
    }

    /// A member that is none of these, with or without the name of their module.
    pub(super) fn other(&self, module: &str, names: &[&str]) -> Result<Option<&'a str>, YangError> {
        let Value::Object(members) = self.value else { return Err(self.error("is not an object in { }")) };
        let is_known = |key: &&str| {
            let name = key.strip_prefix(module).and_then(|name| name.strip_prefix(':')).unwrap_or(*key);
            names.contains(&name)
        };
        Ok(members.keys().map(String::as_str).find(|key| !is_known(key)))
    }

    /// Refuses members that are none of these.
    pub(super) fn only(&self, module: &str, names: &[&str]) -> Result<(), YangError> {
        match self.other(module, names)? {
            None => Ok(()),
            Some(key) => Err(self.error(format!("`{key}` is not supported; leave it out"))),
        }
    }

    /// The entries of a list, with their position from 1 on (RFC 7950 section 9.13).
    pub(super) fn items(&self) -> Result<Vec<Node<'a>>, YangError> {
        let Value::Array(items) = self.value else { return Err(self.error("is not a list in [ ]")) };
        let item = |(index, value)| Node { value, path: format!("{}[{}]", self.path, index + 1) };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The same entry, called by its key.
    pub(super) fn keyed(mut self, key: &str, value: &str) -> Self {
        if let Some(bracket) = self.path.rfind('[') {
            self.path.truncate(bracket);
        }
        self.path += &predicate(key, value);
        self
    }

    /// The same entry, called by a second key, too.
    pub(super) fn also_keyed(mut self, key: &str, value: &str) -> Self {
        self.path += &predicate(key, value);
        self
    }

    /// The same entry, called by what its key is, also where that is wrong.
    pub(super) fn keyed_by(self, module: &str, key: &str) -> Result<Self, YangError> {
        let value = match self.require(module, key)?.value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        Ok(self.keyed(key, &value))
    }

    pub(super) fn text(&self) -> Result<&'a str, YangError> {
        self.value.as_str().ok_or_else(|| self.error(format!("is not a text in quotes but {}", kind(self.value))))
    }

    /// Also as a text: some tools write all leaves so.
    pub(super) fn flag(&self) -> Result<bool, YangError> {
        match self.value {
            Value::Bool(flag) => Ok(*flag),
            Value::String(text) if text == "true" => Ok(true),
            Value::String(text) if text == "false" => Ok(false),
            other => Err(self.error(format!("is not true or false but {}", kind(other)))),
        }
    }

    /// Refuses a function that is not there.
    pub(super) fn off(&self, module: &str, name: &str) -> Result<(), YangError> {
        match self.member(module, name)? {
            Some(leaf) if leaf.flag()? => Err(leaf.error("is not supported; write false")),
            _ => Ok(()),
        }
    }

    /// A whole number; those of 64 bits are texts (RFC 7951 section 6.1), and others may be.
    pub(super) fn number(&self, range: RangeInclusive<u64>) -> Result<u64, YangError> {
        let number = match self.value {
            Value::Number(number) => number.as_u64(),
            Value::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
            _ => None,
        };
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let range = format!("from {} to {}", range.start(), range.end());
            self.error(format!("is not a whole number {range} but {}", kind(self.value)))
        })
    }
}

/// What names an entry of a list by its key, as a literal of XPath, which has no escapes.
pub(crate) fn predicate(key: &str, value: &str) -> String {
    let quote = if value.contains('\'') { '"' } else { '\'' };
    format!("[{key}={quote}{value}{quote}]")
}

fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) if text.chars().count() > 40 => "a long text".into(),
        Value::String(text) => format!("\"{text}\""),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}
