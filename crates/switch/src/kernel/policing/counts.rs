//! What the actions of streams have counted.

use ontick_tsn::model::{Stream, Switch};
use serde::Serialize;
use serde_json::Value;

use super::actions::{as_planned, listed, parts};
use crate::apply::{Host, Plan, Refused, StreamActions};

/// What was counted of a stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamCount {
    /// The stream's name.
    pub stream: String,
    /// Frames of it that came in.
    pub frames: u64,
    /// Dropped: their service data unit was larger than it may be.
    pub over_sdu: u64,
    /// Dropped: they came while the gate of the stream was closed.
    pub gate_closed: u64,
    /// Dropped: they were more than the rate and the burst of the meter.
    pub red: u64,
}

impl StreamCount {
    /// Frames that were dropped, by their cause.
    pub fn drops(&self) -> [(&'static str, u64); 3] {
        let Self { over_sdu, gate_closed, red, .. } = self;
        [
            ("larger than allowed", *over_sdu),
            ("while its gate was closed", *gate_closed),
            ("above its rate and burst", *red),
        ]
    }
}

/// What was counted of each stream, in the order of the file; nothing where none is policed.
pub(in crate::kernel) fn counts(host: &impl Host, switch: &Switch, plan: &Plan) -> Result<Vec<StreamCount>, Refused> {
    let actions = as_planned(plan);
    if actions.is_empty() {
        return Ok(Vec::new());
    }
    let kinds = parts(switch);
    let shown = |kind: &str| if kinds.contains(&kind) { listed(host, kind) } else { Ok(Vec::new()) };
    let (police, gates) = (shown("police")?, shown("gate")?);
    let of = |all: &[Value], number: u32, key: &str| {
        let action = all.iter().find(|action| action["index"] == number);
        action.and_then(|action| action["stats"][key].as_u64()).unwrap_or(0)
    };
    let one = |(stream, actions): (&Stream, &StreamActions)| {
        let StreamActions { size, gate, meter, .. } = *actions;
        // Each frame is seen by the first of them.
        let frames = match stream {
            Stream { max_sdu: Some(_), .. } => of(&police, size, "packets"),
            Stream { gate: Some(_), .. } => of(&gates, gate, "packets"),
            _ => of(&police, meter, "packets"),
        };
        StreamCount {
            stream: stream.name.clone(),
            frames,
            over_sdu: of(&police, size, "drops"),
            gate_closed: of(&gates, gate, "drops"),
            red: of(&police, meter, "drops"),
        }
    };
    Ok(switch.streams.iter().zip(actions).map(one).collect())
}
