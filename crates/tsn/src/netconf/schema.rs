//! The nodes of the YANG modules that a switch has, as `ontick switch export --yang` writes them.

mod frer;
mod library;
mod modules;
mod streams;

use std::borrow::Cow;

use crate::yang::{
    BRIDGE, CBSA_BRIDGE, CBSA_IF, FRER, INTERFACES, PREEMPTION_BRIDGE, SCHED_BRIDGE, SCHED_IF, STREAM_IDENTIFICATION,
};

pub(super) use modules::{IMPORTED, LIBRARY};
pub use modules::{MODULES, Module};

/// The namespace of a module.
pub(super) fn namespace(module: &str) -> Option<&'static str> {
    MODULES.iter().find(|known| known.name == module).map(|known| known.namespace)
}

/// The module of a namespace.
pub(super) fn module(namespace: &str) -> Option<&'static str> {
    MODULES.iter().find(|known| known.namespace == namespace).map(|known| known.name)
}

/// What a node holds.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kind {
    Container(&'static [Node]),
    /// Children are state alone; it is there even if it is empty (RFC 7950 section 7.5.1).
    Presence,
    List {
        keys: &'static [&'static str],
        nodes: &'static [Node],
    },
    /// Values of this kind, each once.
    LeafList(&'static Kind),
    Text,
    Flag,
    /// One of these names.
    Name(&'static [&'static str]),
    /// At most so large.
    Number(u64),
    /// One of 64 bits, which JSON writes as a text (RFC 7951 section 6.1).
    LongNumber,
    /// A name of some module.
    Identity,
}

/// A node of the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// Its module, if another than that of the node around it.
    module: Option<&'static str>,
    pub name: &'static str,
    pub kind: Kind,
    /// Whether it can be configured; else it is state.
    pub config: bool,
}

impl Node {
    pub fn module(&self, around: &'static str) -> &'static str {
        self.module.unwrap_or(around)
    }

    /// Its name in JSON (RFC 7951 section 4).
    pub fn key(&self) -> Cow<'static, str> {
        match self.module {
            Some(module) => format!("{module}:{}", self.name).into(),
            None => self.name.into(),
        }
    }
}

const fn config(name: &'static str, kind: Kind) -> Node {
    Node { module: None, name, kind, config: true }
}

const fn state(name: &'static str, kind: Kind) -> Node {
    Node { module: None, name, kind, config: false }
}

const fn of(module: &'static str, name: &'static str, kind: Kind) -> Node {
    Node { module: Some(module), name, kind, config: true }
}

const fn state_of(module: &'static str, name: &'static str, kind: Kind) -> Node {
    Node { module: Some(module), name, kind, config: false }
}

const U8: Kind = Kind::Number(u8::MAX as u64);
const U32: Kind = Kind::Number(u32::MAX as u64);

/// The top of all.
pub(super) const ROOT: &[Node] = &[
    of(
        INTERFACES,
        "interfaces",
        Kind::Container(&[config("interface", Kind::List { keys: &["name"], nodes: INTERFACE })]),
    ),
    of(
        BRIDGE,
        "bridges",
        Kind::Container(&[config("bridge", Kind::List { keys: &["name"], nodes: streams::BRIDGES })]),
    ),
    of(STREAM_IDENTIFICATION, "stream-identity", Kind::List { keys: &["index"], nodes: streams::IDENTITY }),
    of(FRER, "frer", Kind::Container(frer::TABLES)),
    state_of(LIBRARY, "yang-library", Kind::Container(library::LIBRARY)),
    state_of(LIBRARY, "modules-state", Kind::Container(library::MODULES_STATE)),
];

const INTERFACE: &[Node] = &[
    config("name", Kind::Text),
    config("type", Kind::Identity),
    state("oper-status", Kind::Text),
    state("statistics", Kind::Container(STATISTICS)),
    of(
        BRIDGE,
        "bridge-port",
        Kind::Container(&[
            config("bridge-name", Kind::Text),
            config("traffic-class", Kind::Container(&[config("traffic-class-table", Kind::Container(CLASSES))])),
            config(
                "transmission-selection-algorithm-table",
                Kind::Container(&[config(
                    "transmission-selection-algorithm-map",
                    Kind::List { keys: &["traffic-class"], nodes: ALGORITHM },
                )]),
            ),
            of(
                PREEMPTION_BRIDGE,
                "frame-preemption-parameters",
                Kind::Container(&[config("frame-preemption-status-table", Kind::Container(PREEMPTION))]),
            ),
            of(CBSA_BRIDGE, "cbsa", Kind::Container(CBSA)),
            of(SCHED_BRIDGE, "gate-parameter-table", Kind::Container(TABLE)),
        ]),
    ),
    of(CBSA_IF, "cbsa", Kind::Container(CBSA)),
    of(SCHED_IF, "gate-parameter-table", Kind::Container(TABLE)),
];

const STATISTICS: &[Node] = &[
    state("discontinuity-time", Kind::Text),
    state("in-octets", Kind::LongNumber),
    state("out-octets", Kind::LongNumber),
    state("out-discards", Kind::LongNumber),
    state_of(FRER, "frer", Kind::Container(frer::STATISTICS)),
];

const CLASSES: &[Node] = &[
    config("number-of-traffic-classes", U8),
    config("priority0", U8),
    config("priority1", U8),
    config("priority2", U8),
    config("priority3", U8),
    config("priority4", U8),
    config("priority5", U8),
    config("priority6", U8),
    config("priority7", U8),
];

const ALGORITHM: &[Node] = &[config("traffic-class", U8), config("transmission-selection-algorithm", Kind::Identity)];

const CBSA: &[Node] = &[config(
    "cbsa-parameter-table",
    Kind::List {
        keys: &["traffic-class"],
        nodes: &[
            config("traffic-class", U8),
            config("admin-idle-slope", Kind::LongNumber),
            state("oper-idle-slope", Kind::LongNumber),
        ],
    },
)];

const STATUS: Kind = Kind::Name(&["express", "preemptable"]);

const PREEMPTION: &[Node] = &[
    config("priority0", STATUS),
    config("priority1", STATUS),
    config("priority2", STATUS),
    config("priority3", STATUS),
    config("priority4", STATUS),
    config("priority5", STATUS),
    config("priority6", STATUS),
    config("priority7", STATUS),
];

const FRACTION: Kind = Kind::Container(&[config("numerator", U32), config("denominator", U32)]);
const TIME: Kind = Kind::Container(&[config("seconds", Kind::LongNumber), config("nanoseconds", U32)]);

const TABLE: &[Node] = &[
    config(
        "queue-max-sdu-table",
        Kind::List { keys: &["traffic-class"], nodes: &[config("traffic-class", U8), config("queue-max-sdu", U32)] },
    ),
    config("gate-enabled", Kind::Flag),
    config("admin-gate-states", U8),
    config(
        "admin-control-list",
        Kind::Container(&[config("gate-control-entry", Kind::List { keys: &["index"], nodes: ENTRY })]),
    ),
    config("admin-cycle-time", FRACTION),
    state("oper-cycle-time", FRACTION),
    config("admin-cycle-time-extension", U32),
    config("admin-base-time", TIME),
    state("oper-base-time", TIME),
    config("config-change", Kind::Flag),
    state("config-pending", Kind::Flag),
];

const ENTRY: &[Node] = &[
    config("index", U32),
    config("operation-name", Kind::Identity),
    config("time-interval-value", U32),
    config("gate-states-value", U8),
];
