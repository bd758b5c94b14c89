//! Numbers that name streams and entries.

use std::collections::BTreeMap;

use super::super::node::{Node, YangError};
use crate::config::MOST_STREAMS;

/// A stream_handle.
pub(super) fn handle_of(node: &Node) -> Result<u32, YangError> {
    node.number(0..=u32::MAX.into()).map(|handle| handle as u32)
}

/// The entries of a list by their number, in ascending order.
pub(super) fn numbered<'a>(
    list: Option<Node<'a>>,
    module: &str,
    key: &str,
) -> Result<BTreeMap<u32, Node<'a>>, YangError> {
    let mut entries = BTreeMap::new();
    let Some(list) = list else { return Ok(entries) };
    let items = list.items()?;
    if items.len() > MOST_STREAMS {
        return Err(list.error(format!("{} entries; {MOST_STREAMS} at most", items.len())));
    }
    for item in items {
        let number = item.require(module, key)?.number(0..=u32::MAX.into())? as u32;
        if entries.contains_key(&number) {
            return Err(item.error(format!("there are two entries with {key} {number}")));
        }
        entries.insert(number, item.keyed(key, &number.to_string()));
    }
    Ok(entries)
}
