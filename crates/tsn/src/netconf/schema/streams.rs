//! Nodes of bridges and of their streams.

use super::{FRACTION, Kind, Node, TIME, U32, config, of, state};
use crate::yang::PSFP_BRIDGE;

/// Of a bridge.
pub(super) const BRIDGES: &[Node] = &[
    config("name", Kind::Text),
    config("address", Kind::Text),
    config("bridge-type", Kind::Identity),
    config("component", Kind::List { keys: &["name"], nodes: COMPONENT }),
];

const COMPONENT: &[Node] = &[
    config("name", Kind::Text),
    config("type", Kind::Identity),
    of(
        PSFP_BRIDGE,
        "flow-meters",
        Kind::Container(&[
            config("flow-meter-instance-table", Kind::List { keys: &["flow-meter-instance-id"], nodes: METER }),
            config("max-flow-meter-instances", U32),
        ]),
    ),
    of(
        PSFP_BRIDGE,
        "stream-gates",
        Kind::Container(&[
            config("stream-gate-instance-table", Kind::List { keys: &["stream-gate-instance-id"], nodes: GATE }),
            config("supported-list-max", U32),
            config("supported-cycle-max", FRACTION),
            config("supported-interval-max", U32),
        ]),
    ),
    of(
        PSFP_BRIDGE,
        "stream-filters",
        Kind::Container(&[config(
            "stream-filter-instance-table",
            Kind::List { keys: &["stream-filter-instance-id"], nodes: FILTER },
        )]),
    ),
];

const METER: &[Node] = &[
    config("flow-meter-instance-id", U32),
    config("committed-information-rate", Kind::LongNumber),
    config("committed-burst-size", U32),
    config("excess-information-rate", Kind::LongNumber),
    config("excess-burst-size", U32),
    config("coupling-flag", Kind::Name(&["zero", "one"])),
    config("color-mode", Kind::Name(&["color-blind", "color-aware"])),
    config("drop-on-yellow", Kind::Flag),
];

const STATE: Kind = Kind::Name(&["open", "closed"]);
const IPV: Kind = Kind::Name(&["zero", "one", "two", "three", "four", "five", "six", "seven", "null"]);

const GATE: &[Node] = &[
    config("stream-gate-instance-id", U32),
    config("gate-enable", Kind::Flag),
    config("admin-gate-states", STATE),
    config(
        "admin-control-list",
        Kind::Container(&[config("gate-control-entry", Kind::List { keys: &["index"], nodes: ENTRY })]),
    ),
    config("admin-cycle-time", FRACTION),
    config("admin-cycle-time-extension", U32),
    config("admin-base-time", TIME),
    config("config-change", Kind::Flag),
];

const ENTRY: &[Node] = &[
    config("index", U32),
    config("operation-name", Kind::Identity),
    config("time-interval-value", U32),
    config("gate-state-value", STATE),
    config("ipv-spec", IPV),
];

const FILTER: &[Node] = &[
    config("stream-filter-instance-id", U32),
    config("stream-handle", U32),
    config("priority-spec", Kind::Name(&["zero", "one", "two", "three", "four", "five", "six", "seven", "wildcard"])),
    config("max-sdu-size", U32),
    config("stream-gate-ref", U32),
    config("flow-meter-ref", U32),
    config("flow-meter-enable", Kind::Flag),
    state("matching-frames-count", Kind::LongNumber),
    state("passing-frames-count", Kind::LongNumber),
    state("not-passing-frames-count", Kind::LongNumber),
    state("passing-sdu-count", Kind::LongNumber),
    state("not-passing-sdu-count", Kind::LongNumber),
    state("red-frames-count", Kind::LongNumber),
];

/// Of a stream.
pub(super) const IDENTITY: &[Node] = &[
    config("index", U32),
    config("handle", U32),
    config(
        "out-facing",
        Kind::Container(&[
            config("input-port", Kind::LeafList(&Kind::Text)),
            config("output-port", Kind::LeafList(&Kind::Text)),
        ]),
    ),
    config(
        "null-stream-identification",
        Kind::Container(&[
            config("destination-mac", Kind::Text),
            config("tagged", Kind::Name(&["tagged", "priority", "all"])),
            config("vlan", Kind::Number(4095)),
        ]),
    ),
];
