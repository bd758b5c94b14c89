//! How a network is cabled, held against its file, as a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema's name and version, which a document begins with.
pub const SCHEMA: &str = "ontick-network-check/1";

/// What is at the other end of each cable of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkCheck {
    /// `ontick-network-check/1`.
    pub schema: String,
    /// Whether every port has the neighbour that the file gives it, and no other port has one of the network's nodes.
    pub as_planned: bool,
    /// The nodes of the network that this machine is, in the order of the file.
    pub nodes: Vec<CheckedNode>,
    /// Ports of the machine that the file gives no cable, and that hear a node of the network.
    pub unplanned: Vec<CheckedPort>,
}

/// A node that this machine is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedNode {
    /// Its name in the network's file.
    pub node: String,
    /// Its ports, in the order of the file's links.
    pub ports: Vec<CheckedPort>,
}

/// A port, and who is heard there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedPort {
    /// The interface; null: the file names none, and no port hears the neighbour.
    pub port: Option<String>,
    /// Who is to be at the other end; null: the file has no link here.
    pub planned: Option<CableEnd>,
    /// What was found.
    pub verdict: CableVerdict,
    /// Who is heard, by LLDP.
    pub heard: Vec<Neighbour>,
    /// Other ports of this machine that hear the same port of the same neighbour.
    pub heard_also_at: Vec<String>,
    /// What is not as planned, as a sentence; null: all is.
    pub difference: Option<String>,
}

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CableEnd {
    /// The node's name in the network's file.
    pub node: String,
    /// Its interface; null: the file names none.
    pub port: Option<String>,
}

/// How a port's neighbour stands to the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CableVerdict {
    /// The node is heard that is to be there, by the port that is to be there.
    AsPlanned,
    /// Another node is heard.
    OtherNode,
    /// The right node is heard, by another port of its.
    OtherPort,
    /// More than one neighbour is heard.
    Several,
    /// Another port of this machine hears the same port of the same neighbour.
    Shared,
    /// Nobody is heard.
    Silent,
    /// The link is down.
    LinkDown,
    /// lldpd does not listen at this port.
    NotListening,
    /// A node of the network is heard where the file has no link.
    Unplanned,
}

/// A neighbour, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// The node of the file that calls itself so; null: none does, or more than one may.
    pub node: Option<String>,
    /// Its system name; null: it sends none.
    pub system_name: Option<String>,
    /// Its chassis.
    pub chassis: Option<Identifier>,
    /// Its port.
    pub port: Option<Identifier>,
    /// What it says of its port: often the interface's name.
    pub port_description: Option<String>,
    /// For how long it has been heard as it is, in s.
    pub age_s: Option<u64>,
    /// Where the cable from this port of the neighbour leads by the file; null: the file does not have this port.
    pub belongs_at: Option<CableEnd>,
}

/// An identifier of LLDP.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Identifier {
    /// Its subtype, as lldpd calls it: `mac`, `ifname`, `local`, …
    pub subtype: String,
    /// Its value.
    pub value: String,
}

impl NetworkCheck {
    /// The JSON Schema of this document.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(NetworkCheck).to_value()
    }
}
