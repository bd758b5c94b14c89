//! The YANG modules.

use crate::yang::{
    BRIDGE, CBSA_BRIDGE, CBSA_IF, FRER, INTERFACES, PREEMPTION_BRIDGE, PSFP, PSFP_BRIDGE, SCHED, SCHED_BRIDGE,
    SCHED_IF, STREAM_IDENTIFICATION, TYPES,
};

/// Module of what modules there are.
pub const LIBRARY: &str = "ietf-yang-library";

/// A YANG module.
#[derive(Debug, PartialEq, Eq)]
pub struct Module {
    /// Its name.
    pub name: &'static str,
    /// Its namespace in XML.
    pub namespace: &'static str,
    /// The revision whose nodes these are.
    pub revision: &'static str,
    /// Those of its features that there are. Without its feature a node is not of the schema (RFC 7950 section 7.20.2).
    pub features: &'static [&'static str],
}

const fn module(name: &'static str, namespace: &'static str, revision: &'static str) -> Module {
    Module { name, namespace, revision, features: &[] }
}

const fn with(features: &'static [&'static str], module: Module) -> Module {
    Module { features, ..module }
}

/// All that occur.
pub const MODULES: [Module; 16] = [
    module(INTERFACES, "urn:ietf:params:xml:ns:yang:ietf-interfaces", "2018-02-20"),
    module("iana-if-type", "urn:ietf:params:xml:ns:yang:iana-if-type", "2014-05-08"),
    module(LIBRARY, "urn:ietf:params:xml:ns:yang:ietf-yang-library", "2019-01-04"),
    module("ietf-datastores", "urn:ietf:params:xml:ns:yang:ietf-datastores", "2018-02-14"),
    module(BRIDGE, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-bridge", "2023-10-26"),
    module(TYPES, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-types", "2023-10-26"),
    with(&["scheduled-traffic"], module(SCHED, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched", "2023-10-22")),
    module(SCHED_BRIDGE, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-sched-bridge", "2023-10-26"),
    module(SCHED_IF, "urn:ieee:std:802.1Q:yang:ieee802-dot1dc-sched-if", "2024-09-26"),
    with(
        &["frame-preemption"],
        module(PREEMPTION_BRIDGE, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-preemption-bridge", "2023-10-26"),
    ),
    with(
        &["credit-based-shaper-algorithm"],
        module(CBSA_BRIDGE, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-cbsa-bridge", "2024-08-07"),
    ),
    module(CBSA_IF, "urn:ieee:std:802.1Q:yang:ieee802-dot1dc-cbsa-if", "2024-09-26"),
    with(&["psfp"], module(PSFP, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp", "2023-10-26")),
    with(&["psfp"], module(PSFP_BRIDGE, "urn:ieee:std:802.1Q:yang:ieee802-dot1q-psfp-bridge", "2023-10-26")),
    module(STREAM_IDENTIFICATION, "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification", "2021-12-08"),
    module(FRER, "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-frer", "2021-12-08"),
];

/// Those that they take types and groups of nodes from, and nothing else.
pub const IMPORTED: [Module; 8] = [
    module("ietf-yang-types", "urn:ietf:params:xml:ns:yang:ietf-yang-types", "2013-07-15"),
    module("ietf-inet-types", "urn:ietf:params:xml:ns:yang:ietf-inet-types", "2013-07-15"),
    module("ieee802-types", "urn:ieee:std:802.1Q:yang:ieee802-types", "2023-10-22"),
    module("ieee802-dot1q-preemption", "urn:ieee:std:802.1Q:yang:ieee802-dot1q-preemption", "2023-10-26"),
    module("ieee802-dot1q-cbsa", "urn:ieee:std:802.1Q:yang:ieee802-dot1q-cbsa", "2024-08-07"),
    module(
        "ieee802-dot1q-stream-filters-gates",
        "urn:ieee:std:802.1Q:yang:ieee802-dot1q-stream-filters-gates",
        "2023-07-03",
    ),
    module(
        "ieee802-dot1cb-stream-identification-types",
        "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-stream-identification-types",
        "2021-12-09",
    ),
    module("ieee802-dot1cb-frer-types", "urn:ieee:std:802.1Q:yang:ieee802-dot1cb-frer-types", "2021-12-08"),
];
