//! Nodes of `ietf-yang-library` (RFC 8525, and `modules-state` of RFC 7895).

use super::{Kind, Node, state};

pub(super) const LIBRARY: &[Node] = &[
    state("module-set", Kind::List { keys: &["name"], nodes: MODULE_SET }),
    state("schema", Kind::List { keys: &["name"], nodes: SCHEMA }),
    state("datastore", Kind::List { keys: &["name"], nodes: DATASTORE }),
    state("content-id", Kind::Text),
];

const MODULE_SET: &[Node] = &[
    state("name", Kind::Text),
    state("module", Kind::List { keys: &["name"], nodes: MODULE }),
    state("import-only-module", Kind::List { keys: &["name", "revision"], nodes: MODULE }),
];

const MODULE: &[Node] = &[
    state("name", Kind::Text),
    state("revision", Kind::Text),
    state("namespace", Kind::Text),
    state("feature", Kind::LeafList(&Kind::Text)),
];

const SCHEMA: &[Node] = &[state("name", Kind::Text), state("module-set", Kind::LeafList(&Kind::Text))];

const DATASTORE: &[Node] = &[state("name", Kind::Identity), state("schema", Kind::Text)];

pub(super) const MODULES_STATE: &[Node] = &[
    state("module-set-id", Kind::Text),
    state("module", Kind::List { keys: &["name", "revision"], nodes: OLD_MODULE }),
];

const OLD_MODULE: &[Node] = &[
    state("name", Kind::Text),
    state("revision", Kind::Text),
    state("namespace", Kind::Text),
    state("feature", Kind::LeafList(&Kind::Text)),
    state("conformance-type", Kind::Name(&["implement", "import"])),
];
