//! A heading, and a line per sample (RFC 4180). A gap is a comment: `# missed 4: late`.

use std::io::Write;

use super::{Encode, Gap, TimedSample};
use crate::Channel;

/// Encodes CSV.
#[derive(Debug)]
pub struct Csv {
    channels: Vec<Channel>,
}

impl Csv {
    /// For samples of these channels.
    pub fn new(channels: &[Channel]) -> Self {
        Self { channels: channels.to_vec() }
    }
}

fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}

// Writing to a vector does not fail.
impl Encode for Csv {
    fn begin(&self, out: &mut Vec<u8>) {
        let _ = write!(out, "number,monotonic_ns,tai_ns,latency_ns");
        for channel in &self.channels {
            let unit = if channel.unit.is_empty() { String::new() } else { format!(" ({})", channel.unit) };
            let _ = write!(out, ",{}", quoted(&format!("{}{unit}", channel.name)));
        }
        out.push(b'\n');
    }

    fn sample(&self, sample: &TimedSample, out: &mut Vec<u8>) {
        let TimedSample { number, monotonic_ns, tai_ns, latency_ns, raw } = sample;
        let _ = write!(out, "{number},{monotonic_ns},{tai_ns},{latency_ns}");
        for (channel, raw) in self.channels.iter().zip(*raw) {
            let _ = write!(out, ",{}", channel.value(*raw));
        }
        out.push(b'\n');
    }

    fn gap(&self, gap: Gap, out: &mut Vec<u8>) {
        let _ = writeln!(out, "# missed {}: {}", gap.missed, gap.why.name());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Why;
    use super::*;

    #[test]
    fn names_with_commas_are_quoted() {
        let channel =
            |name: &str, unit: &str| Channel { name: name.into(), unit: unit.into(), scale: 0.5, offset: 0.0 };
        let csv = Csv::new(&[channel("a,b", ""), channel("t", "°C")]);
        let mut out = Vec::new();
        csv.begin(&mut out);
        csv.sample(&TimedSample { number: 7, monotonic_ns: 1, tai_ns: 2, latency_ns: 3, raw: &[5, -4] }, &mut out);
        csv.gap(Gap { missed: 1, why: Why::Late }, &mut out);
        let wanted = "number,monotonic_ns,tai_ns,latency_ns,\"a,b\",t (°C)\n7,1,2,3,2.5,-2\n# missed 1: late\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
