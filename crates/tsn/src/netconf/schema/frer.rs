//! Nodes of streams that take several paths.

use super::{Kind, Node, U32, config, state};

/// Of a switch.
pub(super) const TABLES: &[Node] = &[
    config("sequence-generation", Kind::List { keys: &["index"], nodes: GENERATION }),
    config("sequence-recovery", Kind::List { keys: &["index"], nodes: RECOVERY }),
    config("sequence-identification", Kind::List { keys: &["port", "direction-out-facing"], nodes: IDENTIFICATION }),
];

const STREAMS: Kind = Kind::LeafList(&U32);

const GENERATION: &[Node] =
    &[config("index", U32), config("stream", STREAMS), config("direction-out-facing", Kind::Flag)];

const RECOVERY: &[Node] = &[
    config("index", U32),
    config("stream", STREAMS),
    config("port", Kind::LeafList(&Kind::Text)),
    config("direction-out-facing", Kind::Flag),
    config("algorithm", Kind::Container(&[config("vector", Kind::Presence), config("match", Kind::Presence)])),
    config("history-length", U32),
    config("reset-timeout", U32),
    config("take-no-sequence", Kind::Flag),
    config("individual-recovery", Kind::Flag),
    config("latent-error-detection", Kind::Flag),
    config(
        "latent-error-detection-parameters",
        Kind::Container(&[
            config("difference", U32),
            config("period", U32),
            config("paths", U32),
            config("reset-period", U32),
        ]),
    ),
];

const IDENTIFICATION: &[Node] = &[
    config("port", Kind::Text),
    config("direction-out-facing", Kind::Flag),
    config("stream", STREAMS),
    config("active", Kind::Flag),
    config("encapsulation", Kind::Container(&[config("r-tag", Kind::Presence)])),
];

/// Of an interface.
pub(super) const STATISTICS: &[Node] =
    &[state("per-port-per-stream-counters", Kind::List { keys: &["direction-out-facing", "handle"], nodes: COUNTERS })];

const COUNTERS: &[Node] = &[
    state("direction-out-facing", Kind::Flag),
    state("handle", U32),
    state("rx-out-of-order-pkts", Kind::LongNumber),
    state("rx-rogue-pkts", Kind::LongNumber),
    state("rx-passed-pkts", Kind::LongNumber),
    state("rx-discarded-pkts", Kind::LongNumber),
    state("rx-lost-pkts", Kind::LongNumber),
    state("rx-tagless-pkts", Kind::LongNumber),
    state("rx-resets", Kind::LongNumber),
];
