//! One JSON object a line.
//!
//! First the channels, then samples and gaps in order:
//! ```json
//! {"format":"ontick-sample/1","channels":[{"name":"sine","unit":""}]}
//! {"number":0,"monotonic_ns":1,"tai_ns":2,"latency_ns":3,"values":{"sine":0.5}}
//! {"missed":4,"why":"late"}
//! ```

use std::io::Write;

use serde_json::json;

use super::{Encode, Gap, TimedSample};
use crate::Channel;

/// Encodes NDJSON.
#[derive(Debug)]
pub struct Ndjson {
    channels: Vec<Channel>,
    /// The names as JSON strings.
    names: Vec<String>,
}

impl Ndjson {
    /// For samples of these channels.
    pub fn new(channels: &[Channel]) -> Self {
        let names = channels.iter().map(|channel| json!(channel.name).to_string()).collect();
        Self { channels: channels.to_vec(), names }
    }
}

/// The channels as every self-describing format names them.
pub(crate) fn description(channels: &[Channel]) -> serde_json::Value {
    let channels: Vec<_> = channels
        .iter()
        .map(|c| json!({ "name": c.name, "unit": c.unit, "scale": c.scale, "offset": c.offset }))
        .collect();
    json!({ "format": "ontick-sample/1", "channels": channels })
}

// Writing to a vector does not fail.
impl Encode for Ndjson {
    fn begin(&self, out: &mut Vec<u8>) {
        let _ = writeln!(out, "{}", description(&self.channels));
    }

    fn sample(&self, sample: &TimedSample, out: &mut Vec<u8>) {
        let TimedSample { number, monotonic_ns, tai_ns, latency_ns, raw } = sample;
        let _ = write!(
            out,
            "{{\"number\":{number},\"monotonic_ns\":{monotonic_ns},\"tai_ns\":{tai_ns},\"latency_ns\":{latency_ns},\"values\":{{"
        );
        for (index, raw) in raw.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(out, "{comma}{}:{}", self.names[index], json!(self.channels[index].value(*raw)));
        }
        out.extend_from_slice(b"}}\n");
    }

    fn gap(&self, gap: Gap, out: &mut Vec<u8>) {
        let _ = writeln!(out, "{{\"missed\":{},\"why\":\"{}\"}}", gap.missed, gap.why.name());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Why;
    use super::*;

    #[test]
    fn every_line_is_json() {
        let channel = |name: &str| Channel { name: name.into(), unit: "V".into(), scale: 0.001, offset: 1.0 };
        let ndjson = Ndjson::new(&[channel("odd \"name\""), channel("b")]);
        let mut out = Vec::new();
        ndjson.begin(&mut out);
        ndjson.sample(&TimedSample { number: 7, monotonic_ns: 1, tai_ns: 2, latency_ns: 3, raw: &[500, -1] }, &mut out);
        ndjson.gap(Gap { missed: 4, why: Why::Slow }, &mut out);
        let lines: Vec<serde_json::Value> =
            String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0]["channels"][1]["name"], "b");
        assert_eq!(lines[1]["values"]["odd \"name\""], 1.5);
        assert_eq!((&lines[1]["number"], &lines[1]["tai_ns"]), (&json!(7), &json!(2)));
        assert_eq!(lines[2], json!({ "missed": 4, "why": "slow client" }));
    }
}
