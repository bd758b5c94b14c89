//! How a node's clock stands to its network's, as a document.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The schema's name and version, which a document begins with.
pub const SCHEMA: &str = "ontick-network-time/1";

/// A node's time at one look.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeStatus {
    /// `ontick-network-time/1`.
    pub schema: String,
    /// The node's name in the network's file.
    pub node: String,
    /// The profile of PTP.
    pub profile: TimeProfile,
    /// The domain's number.
    pub domain: u8,
    /// The identity of the node's clock, as linuxptp writes it: `90e2ba.fffe.20c7f8`.
    pub clock: String,
    /// What the node is.
    pub role: TimeRole,
    /// Whose time it has.
    pub grandmaster: Grandmaster,
    /// Whether its time is the network's, as the file has it.
    pub good: bool,
    /// For how long that has been so, in ns; null: no process watches it.
    pub for_ns: Option<u64>,
    /// Why it is not good, as a sentence; null: it is.
    pub reason: Option<String>,
    /// Its clock before the grandmaster's, in ns; null: it follows none, or nothing was measured.
    pub offset_ns: Option<i64>,
    /// How far the file lets it be, in ns; null: as far as it is.
    pub offset_bound_ns: Option<u64>,
    /// Delay of the way to its master, in ns: of the whole way, or of the port's cable; null: it has no master, or none was
    /// measured.
    pub path_delay_ns: Option<i64>,
    /// Its ports, by number.
    pub ports: Vec<TimePort>,
    /// Who steers the machine's clocks.
    pub steering: Steering,
    /// What the time does to gates.
    pub gates: GateStatus,
    /// The process that watches the time; null: there is none.
    pub watch: Option<TimeWatch>,
    /// What else is not as the file has it, as sentences.
    pub notes: Vec<String>,
    /// What happened since the document before; none at a single look.
    #[serde(default)]
    pub events: Vec<TimeEvent>,
}

/// Something happened to a node's time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeEvent {
    /// What: `lost`, `returned`, `silent`, …
    pub event: String,
    /// The same as a sentence.
    pub text: String,
}

/// A profile of PTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeProfile {
    /// IEEE 802.1AS.
    Gptp,
    /// The default profile of IEEE 1588.
    Default,
}

/// What a node is in its network's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeRole {
    /// It gives the time.
    Grandmaster,
    /// It has another one's time.
    Follower,
    /// Neither: it waits for a master, or for its clock to be in step.
    Unsynchronized,
}

/// The clock whose time a node has; its own where it hears no better one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grandmaster {
    /// Its identity.
    pub clock: String,
    /// Its name in the network's file, by the `priority1` that the file gives it; null: the file names none with this.
    pub node: Option<String>,
    /// Its `priority1`.
    pub priority1: u8,
    /// Clocks between the node and it, it counted; 0: it is the node itself.
    pub steps_removed: u16,
}

/// A port of a node's clock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimePort {
    /// From 1.
    pub number: u16,
    /// Its interface; null: ptp4l does not tell.
    pub interface: Option<String>,
    /// Its state, as IEEE 1588 has it: `MASTER`, `SLAVE`, `LISTENING`, …
    pub state: String,
    /// What stamps its frames; null: ptp4l does not tell.
    pub stamps: Option<Stamps>,
    /// Delay of its cable, in ns; null where the whole way's is measured.
    pub peer_delay_ns: Option<i64>,
}

/// What stamps frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stamps {
    /// The network card, by its clock.
    Hardware,
    /// The driver, by the system's clock.
    Software,
}

/// The programs that steer clocks of the machine now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Steering {
    /// That of the system's clock; null: none of those that are known.
    pub system: Option<String>,
    /// That of the network cards' clocks; null: none, or there are none that stamp frames.
    pub cards: Option<String>,
    /// Whether ptp4l is known to measure only.
    pub free_running: bool,
}

/// What the time does to the gates of the machine's switches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateStatus {
    /// What they do now.
    pub now: Gates,
    /// What becomes of them when the time is lost.
    pub on_time_loss: TimeLossPolicy,
    /// The time is lost when it was not good for longer, in ns; null: nothing becomes of them.
    pub holdover_ns: Option<u64>,
}

/// What gates do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Gates {
    /// They follow their lists.
    Lists,
    /// All are open, as the time is lost.
    Open,
    /// All are closed, as the time is lost.
    Closed,
}

/// `on-time-loss` of the network's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeLossPolicy {
    /// They follow their lists.
    Keep,
    /// All are opened.
    Open,
    /// All are closed.
    Stop,
}

/// A process that has watched a node's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeWatch {
    /// For so long, in ns.
    pub for_ns: u64,
    /// How often it saw the grandmaster lost.
    pub losses: u64,
    /// How many offsets were beyond the bound.
    pub beyond_bound: u64,
}

impl TimeStatus {
    /// The JSON Schema of this document.
    pub fn schema() -> serde_json::Value {
        schemars::schema_for!(TimeStatus).to_value()
    }
}
