//! Nodes, named elsewhere in the file.

use std::collections::HashMap;

use toml::Spanned;
use toml::de::DeValue;

use super::NodeId;
use crate::config::problem::{Report, Reported};
use crate::config::suggest;
use crate::config::table::{At, Read, Table, text};

/// Names of nodes, and where they are declared.
pub(super) type Names<'a> = HashMap<&'a str, NodeId>;

pub(super) fn named(value: &At<&str>, names: &Names, report: &mut Report) -> Result<NodeId, Reported> {
    names.get(value.get_ref()).copied().ok_or_else(|| {
        // A long list helps nobody.
        let known: Vec<&str> = names.keys().copied().collect();
        let hint = suggest::nearest(value.get_ref(), &known);
        report.error(value.span(), format!("there is no node \"{}\"{hint}", value.get_ref()))
    })
}

/// One node, or a list of them, none of them twice.
pub(super) fn one_or_several(
    table: &mut Table,
    key: &'static str,
    names: &Names,
    report: &mut Report,
) -> Read<At<Vec<At<NodeId>>>> {
    let (span, list) = match table.get(key).map(|value| (value.span(), value.get_ref())) {
        None => return Ok(None),
        // One is often all.
        Some((span, DeValue::String(one))) => (span.clone(), vec![At::new(span, one.as_ref())]),
        Some((span, _)) => {
            let list = table.list(key, report)?;
            let values = list.as_ref().map(Spanned::get_ref).into_iter().flat_map(|values| values.iter());
            let texts: Result<Vec<_>, Reported> = values.map(|value| text(value, key, report)).collect();
            (span, texts?)
        }
    };
    let mut nodes: Vec<At<NodeId>> = Vec::new();
    let mut wrong = None;
    for name in &list {
        match named(name, names, report) {
            Ok(node) if nodes.iter().any(|known| *known.get_ref() == node) => {
                wrong = Some(report.error(name.span(), format!("\"{}\" occurs twice", name.get_ref())));
            }
            Ok(node) => nodes.push(At::new(name.span(), node)),
            Err(reported) => wrong = Some(reported),
        }
    }
    wrong.map_or(Ok(Some(At::new(span, nodes))), Err)
}
